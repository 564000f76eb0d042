//! Being told when agents change.
//!
//! [`Watch`] looks when it is asked, at the price of one `stat` for each place. [`Watch::subscribe`] asks again and again from a thread of
//! its own, for programs that would rather be called. Nothing of the system's own notifications is used: those miss changes on
//! network drives and in containers, and there are not enough of them for many directories.
//!
//! ```
//! use std::{sync::mpsc, time::Duration};
//! use agents_agent::{Search, Watch};
//! # let scratch = agents_testkit::scratch::Scratch::new();
//! # let cwd = scratch.root();
//! # let roots = agents_host::Roots { home: cwd, workspace: None, env: &|_| None };
//! let search = Search::new(cwd, &[], &roots);
//! let (tell, told) = mpsc::channel();
//! let subscription = Watch::new(search).subscribe(Duration::from_secs(2), move |news| {
//!     let _ = tell.send(news.map(|news| news.added));
//! });
//! // The first time, everything is new.
//! assert!(told.recv().unwrap().unwrap().contains(&"explore".to_owned()));
//! drop(subscription); // ends it
//! ```

use std::{
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    agents::Agents,
    finder::{DiscoverError, Finder},
    search::Search,
};

/// Tells when the agents have changed. It looks when it is asked: the program that embeds it decides how often, and no
/// thread or handle of the system is held meanwhile.
#[derive(Debug)]
pub struct Watch {
    search: Search,
    finder: Finder,
    last: Option<Arc<Agents>>,
}

impl Watch {
    /// Watches what this search finds.
    #[must_use]
    pub fn new(search: Search) -> Self {
        Self { search, finder: Finder::new(), last: None }
    }

    /// The agents, if they are others than last time; the first time, always. A file that was only touched, or changed in a
    /// way that means the same, is no change.
    pub fn poll(&mut self) -> Result<Option<Arc<Agents>>, DiscoverError> {
        let now = self.finder.find(&self.search)?;
        let same = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &now) || **last == *now);
        self.last = Some(Arc::clone(&now));
        Ok((!same).then_some(now))
    }

    /// Polls in a thread of its own, and calls with what is new: at once, and then whenever something changed. An error, which only what was
    /// named can be the reason of, is told once until it is another one or gone. Ends when the subscription is dropped.
    pub fn subscribe(
        mut self,
        every: Duration,
        mut tell: impl FnMut(Result<News, DiscoverError>) + Send + 'static,
    ) -> Subscription {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut failed = None;
            loop {
                let before = self.last.clone();
                match self.poll() {
                    Ok(Some(agents)) => tell(Ok(News::between(before.as_deref(), agents))),
                    Ok(None) => {}
                    Err(error) => {
                        let said = Some(error.to_string());
                        if failed != said {
                            tell(Err(error));
                        }
                        failed = said;
                        // What is found next is new again.
                        self.last = None;
                    }
                }
                if self.last.is_some() {
                    failed = None;
                }
                if stopped.recv_timeout(every) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Subscription { stop: Some(stop), thread: Some(thread) }
    }
}

/// What is new.
#[derive(Debug, Clone)]
pub struct News {
    /// All agents as they are now.
    pub agents: Arc<Agents>,
    /// Names that were not there before.
    pub added: Vec<String>,
    /// Names that mean something else than before.
    pub changed: Vec<String>,
    /// Names that are gone.
    pub removed: Vec<String>,
}

impl News {
    fn between(before: Option<&Agents>, agents: Arc<Agents>) -> Self {
        let names = |all: &Agents| all.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
        let was = |name: &str| before.and_then(|before| before.get(name));
        let (known, added): (Vec<String>, Vec<String>) =
            names(&agents).into_iter().partition(|name| was(name).is_some());
        let changed = known.into_iter().filter(|name| was(name) != agents.get(name)).collect();
        let removed = before.map(names).unwrap_or_default();
        let removed = removed.into_iter().filter(|name| agents.get(name).is_none()).collect();
        Self { agents, added, changed, removed }
    }
}

/// A subscription. It ends when it is dropped, after which nobody is called any more.
#[derive(Debug)]
pub struct Subscription {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            // Whoever drops it while being called must not wait for itself.
            && thread.thread().id() != std::thread::current().id()
        {
            // It panicked if the caller's own function did, which has been said.
            let _ = thread.join();
        }
    }
}
