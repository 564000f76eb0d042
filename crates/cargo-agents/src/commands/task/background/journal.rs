//! What happened to a run, for whoever comes later.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use super::{lines, wire::Say};

/// The most that is kept of one run, in bytes; then the oldest is forgotten. The transcript has all of it.
const MOST: usize = 8 * 1024 * 1024;

/// Everything that is told of a run. Readers go at their own pace: a slow one keeps nobody waiting and costs no memory.
pub(super) struct Journal {
    kept: Mutex<Kept>,
    /// Changes whenever there is more.
    more: watch::Sender<()>,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<Arc<[u8]>>,
    /// How many are forgotten.
    gone: u64,
    bytes: usize,
    over: bool,
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line(Arc<[u8]>),
    /// So many are forgotten.
    Gone(u64),
    /// There will be no more.
    Over,
}

impl Journal {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), more: watch::Sender::new(()) })
    }

    pub(super) fn push(&self, say: &Say) {
        // What has no form as JSON cannot be told; nothing of ours is like that.
        let Ok(line) = lines::line(say) else { return };
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.bytes += line.len();
            kept.lines.push_back(line.into());
            while kept.bytes > MOST && kept.lines.len() > 1 {
                let length = kept.lines.pop_front().map_or(0, |it| it.len());
                kept.bytes -= length;
                kept.gone += 1;
            }
        }
        self.more.send_replace(());
    }

    /// Nothing follows.
    pub(super) fn close(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.more.send_replace(());
    }

    /// The next thing for a reader that has had everything before `at`, as soon as there is one.
    pub(super) async fn next(&self, at: &mut u64) -> Next {
        let mut more = self.more.subscribe();
        loop {
            if let Some(next) = self.look(at) {
                return next;
            }
            if more.changed().await.is_err() {
                return Next::Over;
            }
        }
    }

    fn look(&self, at: &mut u64) -> Option<Next> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if *at < kept.gone {
            let gone = kept.gone - *at;
            *at = kept.gone;
            return Some(Next::Gone(gone));
        }
        let index = usize::try_from(*at - kept.gone).unwrap_or(usize::MAX);
        match kept.lines.get(index) {
            Some(line) => {
                *at += 1;
                Some(Next::Line(Arc::clone(line)))
            }
            None => kept.over.then_some(Next::Over),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Say {
        Say::Note { text: text.to_owned() }
    }

    #[test]
    fn whoever_comes_late_gets_everything_and_is_told_what_is_forgotten() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let journal = Journal::new();
            journal.push(&note("one"));
            journal.push(&note("two"));
            let mut at = 0;
            let expected = |text: &str| Next::Line(lines::line(&note(text)).unwrap().into());
            assert_eq!(journal.next(&mut at).await, expected("one"));
            let long = "x".repeat(MOST / 2);
            journal.push(&note(&long));
            journal.push(&note(&long));
            journal.close();
            assert_eq!(journal.next(&mut at).await, Next::Gone(2));
            assert_eq!(journal.next(&mut at).await, expected(&long));
            assert_eq!(journal.next(&mut at).await, Next::Over);
        });
    }
}
