//! What plugins have to say about a call, before and after it.
//!
//! [`Hooked`] is one more executor. It stands around the guard, so that what a hook makes of an input is judged by the policy like
//! any other input, and no hook can allow what the policy does not:
//!
//! | a hook says | before a call | after it |
//! |---|---|---|
//! | deny | nothing is called; the model reads the reason | the model reads the reason besides the result |
//! | ask | somebody has to agree | |
//! | allow | nothing: the policy decides | |
//! | another input | that is called | |
//! | another output | | the model reads that, marked as data |
//! | context | the model reads it with the result | the same |
//! | stop | nothing is called, and the agent ends | the agent ends |
//!
//! Hooks are told nothing of a call that cannot be made anyway: of a tool that is not there, or with an input that is not understood.

mod engine;
mod own;
mod translate;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

pub use engine::{Choose, Chosen, Engine};
pub use own::{All, OwnHooks};

use crate::{
    context::CallContext,
    executor::{Answer, Approver, Executor, Request},
    policy::{Question, Why},
    secrets::Mask,
    tool::{Intent, Output, Tool, ToolError},
};

/// Whoever wants to know of calls. What goes wrong with a hook is its own affair and never an error of the call.
pub trait Hooks: Send + Sync {
    /// A call is about to be made.
    fn before<'a>(
        &'a self,
        request: &'a Request,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Before>;

    /// A call was made. The text of the outcome holds no secret.
    fn after<'a>(
        &'a self,
        request: &'a Request,
        outcome: Outcome<'a>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, After>;
}

/// Nobody wants to know.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn before<'a>(&'a self, _: &'a Request, _: &'a CallContext) -> BoxFuture<'a, Before> {
        Box::pin(std::future::ready(Before::default()))
    }

    fn after<'a>(
        &'a self,
        _: &'a Request,
        _: Outcome<'a>,
        _: &'a CallContext,
    ) -> BoxFuture<'a, After> {
        Box::pin(std::future::ready(After::default()))
    }
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It gave this back.
    Done(&'a str),
    /// It failed, with this to say.
    Failed(&'a str),
}

/// What shall become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decision {
    /// Whatever the policy says.
    #[default]
    None,
    /// Somebody has to agree.
    Ask,
    /// It is not made.
    Deny,
}

/// What hooks say before a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Before {
    /// What shall become of it.
    pub decision: Decision,
    /// Why.
    pub reason: Option<String>,
    /// What the tool shall be given instead.
    pub input: Option<Value>,
    /// What the model shall know.
    pub context: Option<String>,
    /// Why the agent shall end, if it shall.
    pub stop: Option<String>,
}

/// What hooks say after a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct After {
    /// What the model shall read instead of what the tool gave back.
    pub output: Option<String>,
    /// What it shall know besides.
    pub context: Option<String>,
    /// Why the agent shall end, if it shall.
    pub stop: Option<String>,
}

/// Asks hooks before and after each call.
pub struct Hooked<E> {
    inner: E,
    hooks: Arc<dyn Hooks>,
    approver: Arc<dyn Approver>,
    mask: Arc<Mask>,
}

impl<E: Executor> Hooked<E> {
    /// Around `inner`, which has the policy. The mask is that of the whole tree of agents: hooks see no secrets.
    pub fn new(
        inner: E,
        hooks: Arc<dyn Hooks>,
        approver: Arc<dyn Approver>,
        mask: Arc<Mask>,
    ) -> Self {
        Self { inner, hooks, approver, mask }
    }

    /// What it stands around.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    /// The request as the hooks want it, and what they want to be known.
    async fn pass(
        &self,
        mut request: Request,
        context: &CallContext,
    ) -> Result<(Request, Option<String>), ToolError> {
        let before = context.bounded(self.hooks.before(&request, context)).await?;
        if let Some(reason) = before.stop {
            return Err(ToolError::Stopped { reason });
        }
        match before.decision {
            Decision::None => {}
            Decision::Deny => {
                let reason = before.reason.unwrap_or_else(|| "no reason was given".to_owned());
                return Err(ToolError::Blocked { tool: request.tool, reason });
            }
            Decision::Ask => {
                let why = Why::Hook(before.reason.unwrap_or_default());
                let question = Question { tool: request.tool.clone(), about: None, why };
                // A hook asks about this one call: a grant would answer for others.
                if context.bounded(self.approver.ask(&question)).await? == Answer::No {
                    return Err(ToolError::NotAgreed { question, answer: "nobody agreed to that" });
                }
            }
        }
        if let Some(input) = before.input {
            request.input = input;
        }
        Ok((request, before.context))
    }

    async fn told(&self, request: &Request, output: &mut Output, context: &CallContext) {
        let text = self.mask.apply(&output.text);
        let outcome = if output.failed { Outcome::Failed(&text) } else { Outcome::Done(&text) };
        // The call has been made: that there is no time left for hooks does not undo it.
        let Ok(after) = context.bounded(self.hooks.after(request, outcome, context)).await else {
            return;
        };
        if let Some(text) = after.output {
            output.text = text;
            output.ours = false;
        }
        output.notes.extend(after.context);
        output.stop = after.stop;
    }
}

impl<E: Executor> Executor for Hooked<E> {
    fn show(&self, see: &mut dyn FnMut(&dyn Tool)) {
        self.inner.show(see);
    }

    fn intent(&self, request: &Request, context: &CallContext) -> Result<Intent, ToolError> {
        self.inner.intent(request, context)
    }

    fn execute<'a>(
        &'a self,
        request: Request,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            self.inner.intent(&request, context)?;
            let (request, note) = self.pass(request, context).await?;
            let mut output = match self.inner.execute(request.clone(), context).await {
                Ok(output) => output,
                Err(error) => {
                    let text = self.mask.apply(&crate::executor::told(&error));
                    let outcome = Outcome::Failed(&text);
                    let after = self.hooks.after(&request, outcome, context);
                    // Nobody waits for hooks after a cancellation; what they say about a failure has no place but the error.
                    let after = context.bounded(after).await.unwrap_or_default();
                    return match after.stop {
                        Some(reason) => Err(ToolError::Stopped { reason }),
                        None if after.context.is_none() => Err(error),
                        None => Ok(Output {
                            failed: true,
                            notes: after.context.into_iter().collect(),
                            ..Output::said(text)
                        }),
                    };
                }
            };
            output.notes.extend(note);
            self.told(&request, &mut output, context).await;
            Ok(output)
        })
    }
}
