//! Where the replies of an endpoint come from.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, PoisonError},
};

use super::request::Request;
use crate::script::{Player, Reply, ScriptFile};

type Rule = Box<dyn FnMut(&Request) -> Reply + Send>;

/// Where the replies come from: a list, one turn after the other, or a rule.
pub struct Script(Mutex<Source>);

enum Source {
    List(VecDeque<Reply>),
    Rule(Rule),
}

impl Script {
    /// These replies in their order, whoever asks. A request beyond the last one is answered with an
    /// error that says so.
    #[must_use]
    pub fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self(Mutex::new(Source::List(replies.into_iter().collect())))
    }

    /// What `rule` says to each request. A real host asks more than the script is about (a title for
    /// the session, a summary); a rule can tell these requests apart, a list cannot.
    #[must_use]
    pub fn rule(rule: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self(Mutex::new(Source::Rule(Box::new(rule))))
    }

    /// What a file says, as the provider `script` plays it.
    #[must_use]
    pub fn file(file: ScriptFile) -> Self {
        let player = Player::new(file);
        Self::rule(move |request| {
            player.next(&request.asked()).unwrap_or_else(|| {
                // No status that a client would try again.
                Reply::status(400, "the script has no reply to this")
            })
        })
    }

    pub(super) fn reply(&self, request: &Request) -> Reply {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::List(replies) => replies.pop_front().unwrap_or_else(|| {
                Reply::status(500, "the script of the test has no further turn")
            }),
            Source::Rule(rule) => rule(request),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::List(replies) => f.debug_tuple("Script::of").field(replies).finish(),
            Source::Rule(_) => f.write_str("Script::rule(..)"),
        }
    }
}
