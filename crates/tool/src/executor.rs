//! What stands around the tools.
//!
//! Each restriction is an [`Executor`] around another one, so that neither the tools nor the loop of a task know of any:
//!
//! ```text
//! Presented   bounds, masks and marks what the model will read
//!   Hooked    what plugins have to say about it ([`crate::hooks`])
//!     Guarded   one judgement before the call; paths and secrets of this call
//!       Catalogue   the tools
//! ```

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use agents_system::explain::{Explain as _, with_causes};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{
    bounds::{Bounds, marked},
    confine::{Place, protected},
    context::CallContext,
    grants::{Grant, Moment, SecretKey},
    policy::{Call, Question, Standing, Verdict},
    secrets::Mask,
    tool::{Intent, Output, Tool, ToolError, ToolSpec},
};

/// A call that a model wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The name of the tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// Something that makes calls.
pub trait Executor: Send + Sync {
    /// Shows each tool that the model is shown, in the order of their names. What they are for is not copied: thousands of agents
    /// may have the same ones.
    fn show(&self, see: &mut dyn FnMut(&dyn Tool));

    /// The same, described.
    fn offered(&self) -> Vec<ToolSpec> {
        let mut offered = Vec::new();
        self.show(&mut |tool| {
            offered.push(ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                input_schema: Value::clone(&tool.schema()),
            });
        });
        offered
    }

    /// What a call would do: whether two of them may run at the same time, for one.
    fn intent(&self, request: &Request, context: &CallContext) -> Result<Intent, ToolError>;

    /// Makes the call.
    fn execute<'a>(
        &'a self,
        request: Request,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>>;
}

/// Whoever can agree to a call.
pub trait Approver: Send + Sync {
    /// Asks. The caller sees to it that nobody waits for ever.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and this grant from now on.
    Granted(Grant),
    /// No.
    No,
}

/// Nobody is there: everything that would be asked for is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::No))
    }
}

/// Makes only the calls that the policy allows.
pub struct Guarded<E> {
    inner: E,
    /// Shared with others that stand where it stood when it began, until it is given something.
    standing: Mutex<Arc<Standing>>,
    approver: Arc<dyn Approver>,
    start: Instant,
}

impl<E: Executor> Guarded<E> {
    /// Around `inner`, for an agent that stands here. All agents of one tree share `start`.
    pub fn new(
        inner: E,
        standing: impl Into<Arc<Standing>>,
        approver: Arc<dyn Approver>,
        start: Instant,
    ) -> Self {
        Self { inner, standing: Mutex::new(standing.into()), approver, start }
    }

    /// Where the agent stands now.
    #[must_use]
    pub fn standing(&self) -> Arc<Standing> {
        Arc::clone(&self.standing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes its grants: gives one, takes them back.
    pub fn change(&self, change: impl FnOnce(&mut crate::grants::Grants)) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut Arc::make_mut(&mut standing).grants);
    }

    /// Now, on the clock of the grants.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(self.start.elapsed())
    }

    async fn pass(
        &self,
        request: &Request,
        context: &CallContext,
    ) -> Result<CallContext, ToolError> {
        let tool = &request.tool;
        let standing = self.standing();
        if !standing.offers(tool) {
            let rule = standing.rights.cover(tool, &crate::rights::Subject::Nothing).err();
            let rule = rule.map(crate::policy::Rule::Rights);
            return Err(match rule {
                Some(rule) => ToolError::Denied { tool: tool.clone(), rule },
                None => ToolError::failed(format!("`{tool}` is not offered")),
            });
        }
        let intent = self.inner.intent(request, context)?;
        let is_protected = |place: &&Place| protected::reason(place.relative()).is_some();
        let changed: Vec<Place> = intent.changes.iter().filter(is_protected).cloned().collect();
        let call = Call {
            tool,
            effects: intent.effects,
            subject: &intent.subject,
            protected: changed.first().map(|place| place.relative().as_str()),
        };
        let now = self.now();
        match standing.judge(&call, now) {
            Verdict::Allow => {}
            Verdict::Deny(rule) => return Err(ToolError::Denied { tool: tool.clone(), rule }),
            Verdict::Ask(question) => match context.bounded(self.approver.ask(&question)).await? {
                Answer::Once => {}
                Answer::Granted(grant) => self.change(|grants| grants.add(grant)),
                Answer::No => {
                    return Err(ToolError::NotAgreed { question, answer: "nobody agreed to that" });
                }
            },
        }
        let mut context = context.clone();
        context.area = context.area.under(standing.rights.paths(tool), changed);
        let standing = self.standing();
        let granted: Vec<String> = standing.grants.secrets(now).map(SecretKey::variable).collect();
        context.secrets.retain(|(name, _)| granted.contains(name));
        Ok(context)
    }
}

impl<E: Executor> Executor for Guarded<E> {
    fn show(&self, see: &mut dyn FnMut(&dyn Tool)) {
        let standing = self.standing();
        self.inner.show(&mut |tool| {
            if standing.offers(tool.name()) {
                see(tool);
            }
        });
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
            let context = self.pass(&request, context).await?;
            self.inner.execute(request, &context).await
        })
    }
}

/// What the model reads of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The text: bounded, without secrets, and marked if somebody else wrote it.
    pub content: String,
    /// Whether it is the story of a failure.
    pub is_error: bool,
    /// Why the agent must end now, if a hook wants it to.
    pub stop: Option<String>,
}

/// Turns whatever comes of a call into what a model may read.
pub struct Presented<E> {
    inner: E,
    mask: Arc<Mask>,
    bounds: Bounds,
}

impl<E: Executor> Presented<E> {
    /// Around `inner`; the mask is that of the whole tree of agents.
    pub fn new(inner: E, mask: Arc<Mask>, bounds: Bounds) -> Self {
        Self { inner, mask, bounds }
    }

    /// What it stands around.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    /// Makes a call. Nothing that goes wrong in it is an error of the caller.
    pub async fn call(&self, request: Request, context: &CallContext) -> ToolResult {
        let tool = request.tool.clone();
        for (key, value) in &context.secrets {
            self.mask.register(key, value);
        }
        let (output, is_error) = match self.inner.execute(request, context).await {
            Ok(output) => (output.clone(), output.failed),
            Err(error) => {
                let stop = match &error {
                    ToolError::Stopped { reason } => Some(reason.clone()),
                    _ => None,
                };
                (Output { stop, ..Output::said(told(&error)) }, true)
            }
        };
        let shown = |text: &str| self.bounds.cut(self.mask.apply(text), context.artifacts.as_ref());
        let text = shown(&output.text);
        let mut content = if output.ours { text } else { marked(&tool, &text, crate::random()) };
        if !output.notes.is_empty() {
            content.push_str(&format!("\n[a hook says: {}]", shown(&output.notes.join("\n"))));
        }
        ToolResult { content, is_error, stop: output.stop.map(|stop| self.mask.apply(&stop)) }
    }
}

/// An error with its causes and what to do.
pub(crate) fn told(error: &ToolError) -> String {
    let mut text = with_causes(error);
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}
