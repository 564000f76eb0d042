//! The hook engine of hosts, for our own agents.
//!
//! Handlers get what Claude Code would have sent, or the neutral format, because that is what they are written for: names and inputs
//! of the tools are Claude Code's ([`super::translate`]), and `host` in the neutral format says `cargo-agents`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agents_hook::{
    HookInput, HookOutput, Source, Wire,
    input::{Session, ToolCall, ToolFailure, ToolResult},
    merge, run,
};
use agents_system::{finding::Finding, process::Bounds};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;

use super::{After, Before, Decision, Hooks, Outcome, translate};
use crate::{context::CallContext, executor::Request};

/// The format whose names and rules count.
const DIALECT: Wire = Wire::Claude;
/// How long all handlers of one event together may take.
const PATIENCE: Duration = Duration::from_secs(25);
/// How much of a result handlers are shown.
const MAX_SHOWN: usize = 1024 * 1024;

/// The handlers that are to be run for one event.
#[derive(Debug, Default)]
pub struct Chosen {
    /// What is run.
    pub handlers: Vec<agents_hook::Handler>,
    /// Where confined handlers may write; there until all have answered.
    pub temporary: Vec<TempDir>,
    /// What there is to say about those that are not run.
    pub findings: Vec<Finding>,
    /// Those whose failure is a no.
    pub fail_closed: Vec<Source>,
}

/// Knows the hooks that apply: which of them are for an event. It may look at the disk, and runs on a thread for that.
pub trait Choose: Send + Sync {
    /// Those for this one. Matchers are in the rules of Claude Code.
    fn choose(&self, input: &HookInput) -> Chosen;
}

impl<F: Fn(&HookInput) -> Chosen + Send + Sync> Choose for F {
    fn choose(&self, input: &HookInput) -> Chosen {
        self(input)
    }
}

/// Runs the programs that plugins have for an event.
pub struct Engine {
    choose: Arc<dyn Choose>,
    session: Session,
    heard: Box<dyn Fn(Finding) + Send + Sync>,
}

impl Engine {
    /// For an agent of which handlers are told these facts. `heard` gets what is wrong with handlers: it does not concern the call.
    pub fn new(
        choose: Arc<dyn Choose>,
        session: Session,
        heard: impl Fn(Finding) + Send + Sync + 'static,
    ) -> Self {
        Self { choose, session, heard: Box::new(heard) }
    }

    fn call(&self, request: &Request, context: &CallContext) -> ToolCall {
        let session = Session {
            host: Some("cargo-agents".to_owned()),
            cwd: Some(context.area.cwd().to_string()),
            ..self.session.clone()
        };
        let tool_name = translate::name(&request.tool);
        let tool_input = translate::input(&request.tool, &request.input);
        ToolCall { session, tool_name, tool_input, tool_use_id: None }
    }

    async fn ask(&self, input: HookInput, context: &CallContext) -> HookOutput {
        let left = context.deadline.saturating_duration_since(Instant::now());
        let bounds = Bounds {
            whole: PATIENCE.min(left),
            grace: Duration::from_millis(500),
            output: 8 * 1024 * 1024,
        };
        let choose = Arc::clone(&self.choose);
        let ran = tokio::task::spawn_blocking(move || {
            let Chosen { handlers, temporary, mut findings, fail_closed } = choose.choose(&input);
            let raw = DIALECT.render_input(&input);
            // Each has its own deadline, and its process group is ended with the time of the call at the latest.
            let steps = run::run(DIALECT, &raw, &input, &handlers, bounds);
            drop(temporary);
            let answer = |step: &run::Step| {
                let failed = !step.findings.is_empty() && fail_closed.contains(&step.source);
                let output = if failed { unasked(&step.source) } else { step.output.clone() };
                (step.source.clone(), output)
            };
            let answers: Vec<_> = steps.iter().map(answer).collect();
            let (merged, conflicts) = merge(&answers);
            findings.extend(steps.into_iter().flat_map(|step| step.findings).chain(conflicts));
            (merged, findings)
        });
        let Ok((merged, findings)) = ran.await else {
            (self.heard)(Finding::error("the hooks of a tool call broke down: this is a bug"));
            return HookOutput::default();
        };
        findings.into_iter().for_each(&self.heard);
        merged
    }
}

impl Hooks for Engine {
    fn before<'a>(
        &'a self,
        request: &'a Request,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Before> {
        Box::pin(async move {
            let said = self.ask(HookInput::PreToolUse(self.call(request, context)), context).await;
            let decision = match said.decision {
                Some(agents_hook::Decision::Deny) => Decision::Deny,
                Some(agents_hook::Decision::Ask) => Decision::Ask,
                Some(agents_hook::Decision::Allow) | None => Decision::None,
            };
            let stop = stop(&said);
            Before {
                decision,
                reason: said.reason,
                input: said.updated_input.map(|input| translate::input_back(&request.tool, input)),
                context: said.additional_context,
                stop,
            }
        })
    }

    fn after<'a>(
        &'a self,
        request: &'a Request,
        outcome: Outcome<'a>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, After> {
        Box::pin(async move {
            let call = self.call(request, context);
            let input = match outcome {
                Outcome::Done(text) => HookInput::PostToolUse(ToolResult {
                    call,
                    tool_response: Value::String(first(text).to_owned()),
                }),
                Outcome::Failed(text) => HookInput::PostToolUseFailure(ToolFailure {
                    call,
                    error: Some(first(text).to_owned()),
                }),
            };
            let said = self.ask(input, context).await;
            let stop = stop(&said);
            let denied = said.decision == Some(agents_hook::Decision::Deny);
            let parts = [said.reason.filter(|_| denied), said.additional_context];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let context = (!parts.is_empty()).then(|| parts.join("\n"));
            let output = said.updated_output.map(|output| match output {
                Value::String(text) => text,
                other => other.to_string(),
            });
            After { output, context, stop }
        })
    }
}

/// What a hook says that must be asked and could not be.
fn unasked(source: &Source) -> HookOutput {
    let reason = format!("hook `{source}` could not be asked, and must be");
    HookOutput {
        decision: Some(agents_hook::Decision::Deny),
        reason: Some(reason),
        ..HookOutput::default()
    }
}

fn stop(said: &HookOutput) -> Option<String> {
    let reason = said.stop_reason.clone().or_else(|| said.reason.clone());
    said.stop.then(|| reason.unwrap_or_else(|| "a hook wants it to end".to_owned()))
}

fn first(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SHOWN)]
}
