//! The calls of tools of one answer.

use std::{panic::AssertUnwindSafe, time::Duration};

use agents_model::{ToolCall, ToolInput};
use agents_tool::{CallContext, Effects, Executor as _, Intent, Request};
use futures_util::{FutureExt as _, future::join_all};
use serde_json::Value;

use super::{Task, Tools};
use crate::{
    effective::TASK,
    event::{ToolState, What},
};

/// Longer than any task: its own end comes first.
const LONG: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What became of a call.
pub(super) struct Called {
    pub(super) content: String,
    pub(super) state: ToolState,
    /// Why the agent must end now, if a hook wants it to.
    pub(super) stop: Option<String>,
}

impl Task {
    /// Makes calls, those that do not get in each other's way at the same time. Results are in the order of the calls.
    pub(super) async fn call_all(&mut self, calls: &[ToolCall]) -> Vec<Called> {
        let context = self.context(self.ground.patience.tool);
        let intents: Vec<Option<Intent>> = calls
            .iter()
            .map(|call| self.ground.tools.inner().intent(&request(call)?, &context).ok())
            .collect();
        // What is not understood is refused before it does anything.
        let effects: Vec<Effects> =
            intents.iter().map(|it| it.as_ref().map_or(Effects::NONE, |it| it.effects)).collect();
        let mut done: Vec<Called> = Vec::with_capacity(calls.len());
        for wave in waves(&effects) {
            let (tools, patience) = (&self.ground.tools, self.ground.patience);
            let emitter = &self.emitter;
            let running = calls[wave].iter().map(|call| {
                // Each wave has its own time. Other agents have limits of their own, and time of their own to end.
                let (time, grace) = match call.name.as_str() {
                    TASK => (LONG, patience.grace * 3),
                    _ => (patience.tool, patience.grace),
                };
                let mut context = self.context(time);
                self.give_secrets(call, &mut context);
                async move {
                    emitter.emit(What::ToolStarted {
                        call: call.id.clone(),
                        tool: call.name.clone(),
                        input: shown(&call.input),
                    });
                    let called = one(tools, call, &context, grace).await;
                    emitter.emit(What::ToolEnded {
                        call: call.id.clone(),
                        tool: call.name.clone(),
                        state: called.state,
                    });
                    called
                }
            });
            done.extend(join_all(running).await);
        }
        for ((call, intent), called) in calls.iter().zip(&intents).zip(&mut done) {
            let subject = intent.as_ref().map(|it| &it.subject);
            let failed = called.state == ToolState::Failed;
            let mark = self.record.add(&call.id, subject, &called.content, failed, &context.area);
            if self.marked {
                called.content.push_str(&format!("\n{mark}"));
            }
        }
        done
    }
}

fn request(call: &ToolCall) -> Option<Request> {
    match &call.input {
        ToolInput::Json(input) => Some(Request { tool: call.name.clone(), input: input.clone() }),
        ToolInput::Raw(_) => None,
    }
}

fn shown(input: &ToolInput) -> Value {
    match input {
        ToolInput::Json(value) => value.clone(),
        ToolInput::Raw(text) => Value::String(text.clone()),
    }
}

/// One call. It ends when its tool does, or a little after the tool was told to.
async fn one(tools: &Tools, call: &ToolCall, context: &CallContext, grace: Duration) -> Called {
    let failed =
        |what: &str| Called { content: what.to_owned(), state: ToolState::Failed, stop: None };
    let Some(request) = request(call) else {
        return failed("the input of the call is not JSON, or nested too deeply: write it again");
    };
    let working = AssertUnwindSafe(tools.call(request, context)).catch_unwind();
    let deaf = async {
        tokio::select! {
            () = context.cancelled.cancelled() => {}
            () = tokio::time::sleep_until(context.deadline.into()) => {}
        }
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        result = working => match result {
            Ok(result) => Called {
                content: result.content,
                state: if result.is_error { ToolState::Failed } else { ToolState::Done },
                stop: result.stop,
            },
            Err(_) => failed("the tool broke down: this is a bug in it"),
        },
        () = deaf => failed("the tool did not end when it was told to, and is not waited for any longer"),
    }
}

/// Neighbours that may run at the same time. Their order is never changed.
fn waves(effects: &[Effects]) -> Vec<std::ops::Range<usize>> {
    let mut waves: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, own) in effects.iter().enumerate() {
        match waves.last_mut() {
            Some(wave) if !effects[wave.clone()].iter().any(|it| it.conflict(*own)) => {
                wave.end = at + 1;
            }
            _ => waves.push(at..at + 1),
        }
    }
    waves
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_looks_runs_together_and_what_changes_runs_alone() {
        let (r, w, n) = (Effects::READS, Effects::WRITES, Effects::NONE);
        assert_eq!(waves(&[r, r, n, w, r, r]), [0..3, 3..4, 4..6]);
        assert_eq!(waves(&[w, w]), [0..1, 1..2]);
        assert_eq!(waves(&[w, n, w]), [0..2, 2..3]);
        assert!(waves(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn every_call_is_made_once_in_order_and_never_beside_one_that_it_conflicts_with(
            kinds in proptest::collection::vec(0..4_usize, 0..20),
        ) {
            let all = [Effects::NONE, Effects::READS, Effects::WRITES, Effects::ALL];
            let effects: Vec<Effects> = kinds.into_iter().map(|it| all[it]).collect();
            let waves = waves(&effects);
            let order: Vec<usize> = waves.iter().cloned().flatten().collect();
            prop_assert_eq!(order, (0..effects.len()).collect::<Vec<_>>());
            for wave in waves {
                for one in wave.clone() {
                    for other in wave.clone().filter(|it| *it != one) {
                        prop_assert!(!effects[one].conflict(effects[other]));
                    }
                }
            }
        }
    }
}
