//! One sub-agent, from its start to its end.

use std::{panic::AssertUnwindSafe, sync::Arc};

use agents_agent::AgentDefinition;
use agents_model::select::{Available, Credentials, ModelRef};
use agents_tool::Area;
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use super::{
    Model, SubAgentError, Toolbox,
    state::{Cell, Guard, SubAgentState},
};
use crate::{
    event::{Event, Sink, What},
    outcome::{Ending, Failure, Outcome},
    runner::{Equipment, Known, Opened, Ready, Surroundings, Unavailable, Wearer},
};

/// What is left of a sub-agent: `None` of one whose runtime went away.
pub(super) type End = Option<Box<Outcome>>;

/// A sub-agent that is known.
pub(super) struct Run {
    pub(super) definition: Arc<AgentDefinition>,
    pub(super) cell: Arc<Cell<End>>,
    pub(super) cancel: CancellationToken,
}

impl Run {
    pub(super) fn cancel(&self) {
        if self.cell.cancel() {
            self.cancel.cancel();
        }
    }
}

/// The state that an outcome means.
pub(super) fn state_of(outcome: &Outcome) -> SubAgentState {
    match outcome.ending {
        Ending::Completed => SubAgentState::Completed,
        Ending::Cancelled => SubAgentState::Canceled,
        Ending::Failed { .. } | Ending::OutOfLimits { .. } | Ending::Refused { .. } => {
            SubAgentState::Failed
        }
    }
}

/// Lives, and ends what goes with it.
pub(super) fn run(ready: Ready, guard: Guard<End>) -> impl Future<Output = ()> + Send + 'static {
    let (id, path) = (ready.id(), ready.path().clone());
    // An `async` block would keep what it waits for twice.
    AssertUnwindSafe(ready.live()).catch_unwind().map(move |lived| {
        // Its last event has told the same: `Emitter` sees to it.
        let outcome = lived.unwrap_or_else(|_| Box::new(Outcome::broke_down(id, path, true)));
        guard.settle(state_of(&outcome), Some(outcome));
    })
}

/// The guard of a run was dropped: the wrapper around it panicked, or its runtime went away.
pub(super) fn dropped(panicked: bool) -> (SubAgentState, End) {
    (if panicked { SubAgentState::Failed } else { SubAgentState::Canceled }, None)
}

/// What whoever collects it gets.
pub(super) fn collected(state: SubAgentState, end: &End) -> Result<String, SubAgentError> {
    let Some(outcome) = end else {
        return Err(match state {
            SubAgentState::Canceled => SubAgentError::Cancelled,
            _ => SubAgentError::Spawn("the sub-agent broke down: this is a bug".to_owned()),
        });
    };
    match &outcome.ending {
        Ending::Completed => Ok(text(outcome)),
        Ending::Cancelled => Err(SubAgentError::Cancelled),
        Ending::OutOfLimits { limit } => Err(SubAgentError::OutOfLimits(*limit)),
        Ending::Refused { message, .. } => Err(SubAgentError::Spawn(message.clone())),
        Ending::Failed { why } => Err(match why {
            Failure::Model { .. } | Failure::ModelRefused => {
                SubAgentError::Llm(outcome.ending.told())
            }
            Failure::NotStarted { .. } | Failure::BrokeDown => {
                SubAgentError::Spawn(outcome.ending.told())
            }
            _ => SubAgentError::Failed(outcome.ending.told()),
        }),
    }
}

/// The result as a text: what was handed in, or what was said last.
fn text(outcome: &Outcome) -> String {
    match outcome.report.output.as_ref().map(|it| &it.value) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => format!("{value:#}"),
        None => outcome.report.text.clone(),
    }
}

/// What happens, for the state of the run and for whoever else wants to know.
pub(super) struct Watcher {
    pub(super) cell: Arc<Cell<End>>,
    pub(super) next: Arc<dyn Sink>,
    /// What the agent says, as far as it has come.
    pub(super) saying: std::sync::Mutex<String>,
}

impl Sink for Watcher {
    fn event(&self, event: &Event) {
        // What it started in turn has a life of its own.
        if event.path.depth() == 1 {
            let saying = || self.saying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match &event.what {
                What::Started { .. } => self.cell.works(0),
                What::Turn { number } => {
                    saying().clear();
                    self.cell.works(u32::try_from(*number).unwrap_or(u32::MAX));
                }
                What::Text { text } => {
                    let mut saying = saying();
                    // More than is ever shown need not be kept.
                    if saying.len() < 1000 {
                        saying.push_str(text);
                        self.cell.says(&saying);
                    }
                }
                _ => {}
            }
        }
        self.next.event(event);
    }
}

/// What a sub-agent is surrounded by.
pub(super) struct Session {
    /// The definition that it runs by, and then the others.
    pub(super) known: Known,
    pub(super) model: Model,
    pub(super) tools: Arc<dyn Toolbox>,
}

impl Surroundings for Session {
    fn agents(&self) -> Known {
        Arc::clone(&self.known)
    }

    fn models(&self) -> Vec<Available> {
        vec![Available::new(self.model.model.clone(), Credentials::Ready)]
    }

    fn open(&self, _: &ModelRef, _: &Area) -> Result<Opened, Unavailable> {
        Ok(self.model.opened.clone())
    }

    fn area(&self) -> Result<Area, Unavailable> {
        self.tools.area()
    }

    fn equip<'a>(&'a self, wearer: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        Box::pin(std::future::ready(self.tools.equip(wearer.definition, wearer.area)))
    }
}
