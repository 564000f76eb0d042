//! What happens, for whoever wants to show it: a terminal, lines of JSON, a transcript.
//!
//! Every task has exactly one first event and exactly one last one, however it ends; [`Emitter`] sees to it, also when the task is
//! dropped in the middle.
//!
//! A [`Sink`] is told at once and must not take long. Whoever wants to take their time reads a [`stream()`].

mod masked;
mod stream;

use std::sync::Arc;

use agents_model::{Usage, cost::MicroDollars};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::masked::{Masked, hidden};
pub use self::stream::{Events, Told, stream};
use crate::{
    id::{TaskId, TaskPath},
    limits::Limit,
    outcome::Outcome,
    telemetry::TraceId,
};

/// Something that happened to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    /// The task.
    #[cfg_attr(test, schemars(with = "String"))]
    pub task: TaskId,
    /// Where it stands.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub path: TaskPath,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum What {
    /// The task began.
    Started {
        /// Its agent.
        agent: String,
        /// Its model, with the provider.
        model: String,
        /// Why this agent, where nobody named it.
        #[serde(skip_serializing_if = "Option::is_none")]
        chosen: Option<String>,
        /// The task that it goes on from.
        #[serde(rename = "resumed-from", skip_serializing_if = "Option::is_none")]
        resumed_from: Option<Earlier>,
    },
    /// It has to wait before it can work.
    Waiting {
        /// For what.
        what: Awaited,
        /// How many there are of it, all of them taken.
        of: usize,
    },
    /// The model is asked.
    Turn {
        /// Counted from 1.
        number: u64,
    },
    /// It says more.
    Text {
        /// What.
        text: String,
    },
    /// It thinks.
    Thinking {
        /// What.
        text: String,
    },
    /// A tool is called.
    ToolStarted {
        /// Which call.
        call: String,
        /// The tool.
        tool: String,
        /// What it is given.
        input: Value,
    },
    /// It has answered.
    ToolEnded {
        /// Which call.
        call: String,
        /// The tool.
        tool: String,
        /// How it went.
        state: ToolState,
    },
    /// What the task has cost so far.
    Spent {
        /// Tokens.
        #[cfg_attr(test, schemars(with = "crate::schemas::Tokens"))]
        usage: Usage,
        /// Money; `None` where the price is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(with = "Option<u64>"))]
        cost: Option<MicroDollars>,
    },
    /// There is little left of something, and the agent is told.
    Notice {
        /// Of what.
        limit: Limit,
        /// In words.
        message: String,
    },
    /// The agent stopped without a result, and is told to hand one in.
    Reminded {
        /// Counted from 1.
        number: u32,
    },
    /// What the agent handed in went back to it.
    Rejected {
        /// Why.
        message: String,
    },
    /// The conversation was made shorter.
    Compacted {
        /// How many messages are gone.
        left_out: usize,
    },
    /// The task ended.
    Ended {
        /// How, and what it leaves.
        outcome: Box<Outcome>,
    },
}

/// A task that another one goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Earlier {
    /// The task.
    #[cfg_attr(test, schemars(with = "String"))]
    pub task: TaskId,
    /// The trace that its span belongs to, if there is one.
    #[cfg_attr(test, schemars(with = "String"))]
    pub trace: TraceId,
}

/// What a task may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Awaited {
    /// A directory to build in that nobody else has.
    BuildSlot,
}

/// How a call of a tool went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ToolState {
    /// As asked.
    Done,
    /// It did not work, or was not allowed.
    Failed,
}

/// Somebody who wants to know.
pub trait Sink: Send + Sync {
    /// Something happened. It must not take long.
    fn event(&self, event: &Event);
}

/// Nobody wants to know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Sink for Silent {
    fn event(&self, _: &Event) {}
}

impl<F: Fn(&Event) + Send + Sync> Sink for F {
    fn event(&self, event: &Event) {
        self(event);
    }
}

/// The events of one task.
pub struct Emitter {
    id: TaskId,
    path: TaskPath,
    sink: Arc<dyn Sink>,
    resumed_from: Option<Earlier>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Begun,
    Over,
}

impl Emitter {
    /// For a task that has not begun.
    #[must_use]
    pub fn new(id: TaskId, path: TaskPath, sink: Arc<dyn Sink>) -> Self {
        Self { id, path, sink, resumed_from: None, state: State::New }
    }

    fn send(&self, what: What) {
        self.sink.event(&Event { task: self.id, path: self.path.clone(), what });
    }

    /// That it goes on from another task, for when it begins.
    #[must_use]
    pub fn resuming(mut self, earlier: Option<Earlier>) -> Self {
        self.resumed_from = earlier;
        self
    }

    /// It begins. Only the first time counts.
    pub fn start(&mut self, agent: &str, model: &str, chosen: Option<String>) {
        if self.state == State::New {
            self.state = State::Begun;
            let (agent, model) = (agent.to_owned(), model.to_owned());
            let resumed_from = self.resumed_from.take();
            self.send(What::Started { agent, model, chosen, resumed_from });
        }
    }

    /// Something happened in between.
    pub fn emit(&self, what: What) {
        if self.state == State::Begun {
            self.send(what);
        }
    }

    /// It ended, like this. Only the first time counts. What became of it is given back, as it is told.
    pub fn end(&mut self, outcome: Box<Outcome>) -> Box<Outcome> {
        if self.state != State::Begun {
            return outcome;
        }
        self.state = State::Over;
        let what = What::Ended { outcome };
        let event = Event { task: self.id, path: self.path.clone(), what };
        self.sink.event(&event);
        match event.what {
            What::Ended { outcome } => outcome,
            _ => Box::new(Outcome::broke_down(self.id, self.path.clone(), false)),
        }
    }
}

impl Drop for Emitter {
    /// A task that is dropped in the middle was cancelled, or broke down.
    fn drop(&mut self) {
        if self.state == State::Begun {
            let panicked = std::thread::panicking();
            self.end(Box::new(Outcome::broke_down(self.id, self.path.clone(), panicked)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn one_first_event_and_one_last_one_whatever_happens() {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        let sink: Arc<dyn Sink> = Arc::new(move |event: &Event| {
            let json = serde_json::to_value(event).unwrap();
            log.lock().unwrap().push(json["event"].as_str().unwrap().to_owned());
        });
        let new = || Emitter::new(TaskId::new(), TaskPath::root(), Arc::clone(&sink));
        let mut task = new();
        task.emit(What::Turn { number: 1 });
        task.start("a", "m", None);
        task.start("a", "m", None);
        task.emit(What::Turn { number: 1 });
        drop(task);
        drop(new());
        assert_eq!(*seen.lock().unwrap(), ["started", "turn", "ended"]);
    }
}
