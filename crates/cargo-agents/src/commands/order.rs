//! What came of an order: the answer of commands that only do something.

#![cfg_attr(not(unix), expect(dead_code, reason = "there is no supervisor"))]

use serde::Serialize;

use crate::{failure::Failure, output::Output};

/// `--json` of commands that give an order: `plan pause`, `task cancel` and the like
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OrderDocument {
    /// In the order in which it was said
    done: Vec<Done>,
}

/// One thing that was done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Done {
    action: Action,
    /// To what
    object: Object,
    /// The run, task or question; absent for the supervisor
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The tasks of the run that it is about; none if it is about all of it
    tasks: Vec<String>,
    /// Where a task stands now, as `state` in `task list`
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// The same in words
    message: String,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Nothing more starts.
    Paused,
    /// Things start again, in the process that runs it.
    Continued,
    /// It was made to end.
    Cancelled,
    /// Tasks were added.
    Added,
    /// The answer was yes.
    Approved,
    /// The answer was no.
    Denied,
    /// The process has ended.
    Stopped,
    /// There was nothing to do: it had ended before.
    None,
}

/// What an order is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Object {
    Run,
    Task,
    Question,
    Supervisor,
}

/// Where people read what was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// On standard output: it is the result.
    Result,
    /// On standard error: standard output is for what tasks say.
    Aside,
}

impl Done {
    pub(crate) fn new(action: Action, object: Object, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { action, object, id: None, tasks: Vec::new(), state: None, message }
    }

    pub(crate) fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    pub(crate) fn tasks(self, tasks: impl IntoIterator<Item = String>) -> Self {
        Self { tasks: tasks.into_iter().collect(), ..self }
    }

    pub(crate) fn state(self, state: &'static str) -> Self {
        Self { state: Some(state), ..self }
    }

    /// The same in words.
    #[cfg(feature = "http")]
    pub(crate) fn into_words(self) -> String {
        self.message
    }

    /// Says that this is all.
    pub(crate) fn tell(self, output: &Output, told: Told) -> Result<(), Failure> {
        tell_all(std::iter::once(Ok(self)), output, told)
    }
}

/// Says what was done as soon as it is, or all of it in one document.
pub(crate) fn tell_all(
    orders: impl IntoIterator<Item = Result<Done, Failure>>,
    output: &Output,
    told: Told,
) -> Result<(), Failure> {
    let mut done = Vec::new();
    for order in orders {
        let order = order?;
        match told {
            _ if output.is_json() => done.push(order),
            Told::Result => output.line(order.message)?,
            Told::Aside => output.talk(&order.message),
        }
    }
    if output.is_json() { output.document(&OrderDocument { done }) } else { Ok(()) }
}
