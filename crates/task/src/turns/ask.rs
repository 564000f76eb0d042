//! One call of the model.

use std::{sync::Arc, time::Instant};

use agents_model::{
    Event, EventStream, ModelError, OutputSchema, Problem, Request, ToolChoice, Turn,
    error::Deadline, event::ToolPhase,
};
use agents_system::explain::{Explain as _, with_causes};
use futures_util::{TryStreamExt as _, future::BoxFuture};

use super::{Task, whole};
use crate::{
    event::{Emitter, What},
    limits::{Allowance, Limit},
    outcome::{Ending, Failure},
};

/// Below this, what is left of the tokens is the longest answer. Above, it may be more than the model could say.
const SHORT: u64 = 4096;

/// Why there is no answer.
pub(super) enum Stop {
    /// The task is over.
    Ends(Ending),
    /// The conversation is too long; how it ends if it cannot be made shorter.
    TooLong(Ending),
}

/// Why an answer is not complete.
enum Broken {
    Model(ModelError),
    Cancelled,
    TimeOver,
}

/// Hears what the model has to say, up to its end.
async fn heard(
    asked: BoxFuture<'_, Result<EventStream, ModelError>>,
    emitter: &Emitter,
    turn: &mut Turn,
    used: &mut u64,
) -> Result<(), ModelError> {
    let mut events = asked.await?;
    while let Some(event) = events.try_next().await? {
        match &event {
            Event::Text(text) => emitter.emit(What::Text { text: text.clone() }),
            Event::Thinking(text) => emitter.emit(What::Thinking { text: text.clone() }),
            Event::ToolNotice(notice) => {
                *used += u64::from(notice.phase == ToolPhase::Begins);
                emitter.emit(whole::shown(notice));
            }
            _ => {}
        }
        turn.push(event);
    }
    Ok(())
}

async fn over(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end.into()).await,
        None => std::future::pending().await,
    }
}

impl Task {
    /// Asks the model. What it said before something went wrong is kept.
    pub(super) async fn ask(&mut self, allowance: &Allowance) -> Result<Box<Turn>, Stop> {
        let request = self.request(allowance);
        let cancel = self.ground.cancel.child_token();
        let mut turn = Box::<Turn>::default();
        let mut used = 0;
        let answered = {
            let emitter = &self.emitter;
            // The request is the provider's from here on, and not kept by us as well.
            let asked = self.ground.provider.stream(request, cancel.clone());
            let (turn, used) = (&mut turn, &mut used);
            let end = self.ground.budget.end();
            // Futures that have a name before they are waited for take their place twice.
            tokio::select! {
                biased;
                answered = heard(asked, emitter, turn, used) => answered.map_err(Broken::Model),
                () = cancel.cancelled() => Err(Broken::Cancelled),
                () = over(end) => Err(Broken::TimeOver),
            }
        };
        // Whatever became of it, the connection is not needed any more.
        cancel.cancel();
        self.spend(turn.usage);
        self.own_calls += used;
        self.heard(&turn);
        if !turn.model.is_empty() {
            self.report.model.clone_from(&turn.model);
        }
        match answered {
            Ok(()) => Ok(turn),
            Err(Broken::Cancelled) => Err(Stop::Ends(Ending::Cancelled)),
            Err(Broken::TimeOver) => Err(Stop::Ends(Ending::OutOfLimits { limit: Limit::Time })),
            Err(Broken::Model(error)) => Err(self.broken(&error)),
        }
    }

    fn request(&mut self, allowance: &Allowance) -> Request {
        let mut deadlines = self.ground.patience.model;
        if let Some(end) = self.ground.budget.end() {
            deadlines.total = deadlines.total.min(end.saturating_duration_since(Instant::now()));
        }
        if self.is_whole() {
            let silence = whole::SILENCE.min(deadlines.total);
            deadlines.first_token = deadlines.first_token.max(silence);
            deadlines.idle = deadlines.idle.max(silence);
        }
        let short = allowance.tokens.filter(|left| *left <= SHORT);
        let mut request = Request::new(self.agent.model.model.id.clone())
            .with_system(match self.is_whole() {
                true => self.agent.role().into(),
                false => Arc::clone(&self.agent.system),
            })
            .with_choice(std::mem::replace(&mut self.choice, ToolChoice::Auto))
            .with_deadlines(deadlines);
        request.messages = self.history.messages();
        match &self.whole {
            None => request.tools = Arc::clone(&self.specs),
            Some(work) => {
                request.schema = self.schema().map(|schema| {
                    let name = "result".to_owned();
                    Arc::new(OutputSchema { name, schema: schema.json().clone() })
                });
                request.work = Some(work.clone());
            }
        }
        request.effort = self.agent.model.effort.map(|(effort, _)| effort.into());
        request.max_output_tokens = short.and_then(|left| u32::try_from(left).ok());
        request
    }

    fn broken(&self, error: &ModelError) -> Stop {
        let failed = || {
            let message = with_causes(error);
            Ending::Failed {
                why: Failure::Model { message, hint: error.hint(), code: error.code() },
            }
        };
        let limit = |limit| Stop::Ends(Ending::OutOfLimits { limit });
        match &error.problem {
            Problem::Cancelled => Stop::Ends(Ending::Cancelled),
            Problem::Timeout { .. } if self.is_late() => limit(Limit::Time),
            Problem::Timeout { deadline: Deadline::FirstToken, .. } => limit(Limit::FirstToken),
            Problem::Timeout { deadline: Deadline::Idle, .. } => limit(Limit::Idle),
            Problem::Timeout { deadline: Deadline::Total, .. } => limit(Limit::Answer),
            Problem::Refused { .. } => Stop::Ends(Ending::Failed { why: Failure::ModelRefused }),
            Problem::ContextTooLong { .. } => Stop::TooLong(failed()),
            _ => Stop::Ends(failed()),
        }
    }
}
