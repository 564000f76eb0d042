//! Events without what nobody may see.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agents_tool::secrets::{Held, Mask};
use serde::{Serialize, de::DeserializeOwned};

use super::{Event, Sink, What};
use crate::{id::TaskId, transcript::hide_in};

/// Passes events on, without any value that is masked. Text comes in pieces, and a value may be cut anywhere: from the first secret of a tree
/// on, the end of what was said is held back until it is certain.
pub(crate) struct Masked {
    inner: Arc<dyn Sink>,
    mask: Arc<Mask>,
    /// What is held back, by task.
    held: Mutex<HashMap<TaskId, (Kind, Held)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Kind {
    fn say(self, text: String) -> What {
        match self {
            Self::Text => What::Text { text },
            Self::Thinking => What::Thinking { text },
        }
    }
}

impl Masked {
    pub(crate) fn new(inner: Arc<dyn Sink>, mask: Arc<Mask>) -> Self {
        Self { inner, mask, held: Mutex::default() }
    }

    /// Passes on what was said.
    fn pass(&self, event: &Event, kind: Kind, text: String) {
        if !text.is_empty() {
            let Event { task, path, .. } = event;
            self.inner.event(&Event { task: *task, path: path.clone(), what: kind.say(text) });
        }
    }

    fn said(&self, event: &Event, kind: Kind, text: &str) {
        let (before, now) = {
            let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let (was, held) = all.entry(event.task).or_insert_with(|| (kind, Held::default()));
            let before = (*was != kind).then(|| (*was, held.finish(&self.mask)));
            *was = kind;
            (before, held.push(text, &self.mask))
        };
        if let Some((kind, text)) = before {
            self.pass(event, kind, text);
        }
        self.pass(event, kind, now);
    }

    fn finish(&self, event: &Event) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&event.task);
        if let Some((kind, mut held)) = held {
            self.pass(event, kind, held.finish(&self.mask));
        }
    }
}

impl Sink for Masked {
    fn event(&self, event: &Event) {
        if self.mask.is_empty() {
            return self.inner.event(event);
        }
        match &event.what {
            What::Text { text } => self.said(event, Kind::Text, text),
            What::Thinking { text } => self.said(event, Kind::Thinking, text),
            what => {
                self.finish(event);
                match what {
                    What::Turn { .. } | What::Spent { .. } | What::Compacted { .. } => {
                        self.inner.event(event);
                    }
                    _ => self.inner.event(&self.hidden(event)),
                }
            }
        }
    }
}

impl Masked {
    /// The event without values. One that is no event any more without them is not told in full: nothing of ours is such a one.
    fn hidden(&self, event: &Event) -> Event {
        hidden(event, &self.mask).unwrap_or_else(|| {
            let (task, path) = (event.task, event.path.clone());
            let text = "[an event that held a secret]".to_owned();
            Event { task, path, what: What::Text { text } }
        })
    }
}

/// A value without anything that nobody may see; `None` if it is no such value any more.
pub(crate) fn hidden<T: Clone + Serialize + DeserializeOwned>(value: &T, mask: &Mask) -> Option<T> {
    let json = serde_json::to_value(value).ok()?;
    match hide_in(&json, mask) {
        Cow::Borrowed(_) => Some(value.clone()),
        Cow::Owned(json) => serde_json::from_value(json).ok(),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;
    use crate::{
        id::TaskPath,
        outcome::{Ending, Failure, Outcome, Report},
    };

    const VALUE: &str = "planted-value-0815";

    #[test]
    fn no_event_has_a_value_wherever_it_is_cut() {
        let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
        let log = Arc::clone(&seen);
        let mask = Arc::new(Mask::default());
        let inner: Arc<dyn Sink> =
            Arc::new(move |event: &Event| log.lock().unwrap().push(event.clone()));
        let sink = Masked::new(inner, Arc::clone(&mask));
        let (task, path) = (TaskId::new(), TaskPath::root());
        let tell = |what: What| sink.event(&Event { task, path: path.clone(), what });
        let text = |text: &str| tell(What::Text { text: text.to_owned() });
        text("before ");
        assert_eq!(
            seen.lock().unwrap().len(),
            1,
            "nothing is held back where there is nothing to hide"
        );
        mask.register("token", &SecretString::from(VALUE));
        for piece in ["it is pla", "nted-va", "lue-0815", ", and ", VALUE, "."] {
            text(piece);
        }
        tell(What::Thinking { text: format!("hm: {VALUE}") });
        tell(What::ToolStarted {
            call: "1".into(),
            tool: "bash".into(),
            input: json!({ "command": format!("echo {VALUE}"), VALUE: [VALUE] }),
        });
        let message = format!("no: {VALUE}");
        let ending = Ending::Failed { why: Failure::Model { message, hint: None, code: None } };
        let report = Report { text: VALUE.to_owned(), ..Report::default() };
        let outcome = Outcome { id: task, path: path.clone(), ending, report };
        tell(What::Ended { outcome: Box::new(outcome) });
        let seen = seen.lock().unwrap();
        let all = serde_json::to_string(&*seen).unwrap();
        assert!(!all.contains(VALUE) && !all.contains("nted-va"), "{all}");
        let said: String = seen
            .iter()
            .filter_map(|it| match &it.what {
                What::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(said.starts_with("before it is <SECRET:") && said.ends_with(">."), "{said}");
        assert!(matches!(seen.last().unwrap().what, What::Ended { .. }), "{all}");
    }
}
