//! Programs that are spoken with: servers of MCP and of LSP.

use std::{
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agents_system::process::keeper::KeepError;
use camino::Utf8Path;
use secrecy::SecretString;
use tokio::sync::watch;

use crate::{
    context::Ground,
    program::{self, Heard, Roots, Surroundings},
};

/// How much of what it prints on standard error first and last is kept, each.
const MAX_HALF: usize = 16 * 1024;
/// How much of it is repeated.
const QUOTED: usize = 500;

/// The running program. It is ended when this goes away.
pub(crate) struct Child {
    stopped: Arc<AtomicBool>,
    over: watch::Receiver<bool>,
    heard: Arc<Mutex<Story>>,
}

#[derive(Default)]
struct Story {
    last_words: Option<String>,
    no_sandbox: Option<String>,
}

impl Child {
    /// Starts it; what it says and is told goes over the stream.
    pub(crate) fn start(
        program: &str,
        args: &[String],
        env: &[(String, SecretString)],
        cwd: &Utf8Path,
        ground: &Ground,
    ) -> Result<(Self, tokio::net::UnixStream), String> {
        let room = program::room().map_err(|error| error.to_string())?;
        let order = Surroundings {
            area: &ground.area,
            secrets: env,
            variables: &[],
            confinement: &ground.confinement,
            roots: Roots::ReadOnly,
            room: &room.path,
        }
        .order(program, args.to_vec(), cwd);
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        ours.set_nonblocking(true).map_err(|error| error.to_string())?;
        let stream = tokio::net::UnixStream::from_std(ours).map_err(|error| error.to_string())?;
        let stopped = Arc::new(AtomicBool::new(false));
        let heard = Arc::new(Mutex::new(Story::default()));
        let (say, over) = watch::channel(false);
        let child = Self { stopped: Arc::clone(&stopped), over, heard: Arc::clone(&heard) };
        let keeper = ground.keeper.clone();
        std::thread::spawn(move || {
            let mut printed = Heard::new(MAX_HALF);
            let mut stop = || stopped.load(Ordering::Relaxed);
            let hear = &mut |bytes: &[u8]| printed.push(bytes);
            let kept = keeper.converse(&order, theirs.into(), hear, &mut stop);
            drop(room);
            let mut story = heard.lock().unwrap_or_else(PoisonError::into_inner);
            let mut words = printed.text();
            match kept {
                Ok(_) => {}
                Err(KeepError::NoSandbox(why)) => story.no_sandbox = Some(why),
                Err(error) => words.push_str(&error.to_string()),
            }
            story.last_words = Some(words);
            drop(story);
            // Nobody may be left who wants to know.
            let _ = say.send(true);
        });
        Ok((child, stream))
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until it has ended.
    pub(crate) async fn over(&self) {
        let _ = self.over.clone().wait_for(|over| *over).await;
    }

    /// Ends it.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What it printed on standard error before it ended, or the end of it.
    pub(crate) fn last_words(&self) -> String {
        let story = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let text = story.last_words.as_deref().unwrap_or_default().trim();
        let from = text.ceil_char_boundary(text.len().saturating_sub(QUOTED));
        text[from..].to_owned()
    }

    /// What is missing for the sandbox that it must run in, if that is why it has ended.
    pub(crate) fn no_sandbox(&self) -> Option<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).no_sandbox.clone()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}
