//! One watcher for all pages that are open. It looks at what somebody is shown, tells them when it changes, and goes when nobody is there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_task::runner::Unavailable;
use serde_json::json;
use tokio::sync::{Notify, watch};

use super::{Sight, Topic};

/// How often it looks.
const PAUSE: Duration = Duration::from_millis(400);

/// The newest document about something, as text; nothing before the first look.
type Newest = Option<Arc<str>>;

/// What somebody looks at.
struct Watched {
    mark: Option<u64>,
    newest: watch::Sender<Newest>,
}

/// Everything that somebody looks at.
#[derive(Default)]
struct Board {
    topics: HashMap<Topic, Watched>,
    /// Whether somebody is watching already.
    is_watched: bool,
}

/// Where pages say what they look at.
#[derive(Clone)]
pub(super) struct Watcher(Arc<Inner>);

struct Inner {
    sight: Arc<dyn Sight>,
    board: Mutex<Board>,
    /// Somebody wants to see something new at once.
    stir: Notify,
}

impl Watcher {
    pub(super) fn new(sight: Arc<dyn Sight>) -> Self {
        Self(Arc::new(Inner { sight, board: Mutex::default(), stir: Notify::new() }))
    }

    /// What there is about a topic now, and whatever it changes to. Whoever drops it has gone.
    pub(super) fn follow(&self, topic: Topic) -> watch::Receiver<Newest> {
        let mut board = self.0.board.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = board.topics.entry(topic);
        let fresh = || Watched { mark: None, newest: watch::Sender::new(None) };
        let receiver = watched.or_insert_with(fresh).newest.subscribe();
        if !std::mem::replace(&mut board.is_watched, true) {
            tokio::spawn(Arc::clone(&self.0).watch());
        }
        self.0.stir.notify_one();
        receiver
    }

    /// Something was done: whoever looks need not wait to see it.
    pub(super) fn stir(&self) {
        self.0.stir.notify_one();
    }
}

impl Inner {
    async fn watch(self: Arc<Self>) {
        loop {
            let own = Arc::clone(&self);
            // A look that breaks down ends the watch; the next page begins another one.
            let goes_on = tokio::task::spawn_blocking(move || own.round()).await;
            if !goes_on.unwrap_or_else(|_| self.over()) {
                return;
            }
            // What was asked for meanwhile is looked at without a pause.
            tokio::select! {
                () = self.stir.notified() => {}
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Looks at everything once; whether somebody is still there.
    fn round(&self) -> bool {
        let wanted: Vec<(Topic, Option<u64>)> = {
            let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
            board.topics.retain(|_, it| it.newest.receiver_count() > 0);
            if board.topics.is_empty() {
                board.is_watched = false;
                return false;
            }
            board.topics.iter().map(|(topic, it)| (topic.clone(), it.mark)).collect()
        };
        for (topic, before) in wanted {
            let mark = self.sight.mark(&topic);
            if before == Some(mark) {
                continue;
            }
            let text: Arc<str> = document(self.sight.look(&topic)).into();
            let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(watched) = board.topics.get_mut(&topic) {
                watched.mark = Some(mark);
                watched.newest.send_if_modified(|newest| {
                    let differs = newest.as_deref() != Some(&*text);
                    *newest = Some(text);
                    differs
                });
            }
        }
        true
    }

    fn over(&self) -> bool {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        // Those who wait for something hear that nothing comes any more, and come again.
        board.topics.clear();
        board.is_watched = false;
        false
    }
}

/// What was seen, or why nothing was.
pub(super) fn document(seen: Result<serde_json::Value, Unavailable>) -> String {
    match seen {
        Ok(value) => value.to_string(),
        Err(error) => trouble(&error),
    }
}

/// As the page is told that something is not so.
pub(super) fn trouble(error: &Unavailable) -> String {
    json!({ "trouble": { "message": error.message, "hint": error.hint } }).to_string()
}
