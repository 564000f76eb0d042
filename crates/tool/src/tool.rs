//! What a tool is.
//!
//! A tool knows what it does and nothing of who may use it: every restriction stands around it ([`crate::executor`]). Most are
//! written as a [`Typed`] one, whose input is a type with a schema; what is only known when the program runs (a tool of an MCP
//! server) implements [`Tool`] itself.

use std::{
    any::TypeId,
    collections::HashMap,
    future::Future,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use agents_system::explain::{Code, ErrorKind, Explain};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    confine::{ConfineError, Place},
    context::CallContext,
    policy::Effects,
    rights::Subject,
};

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// What the model is told about it.
    fn description(&self) -> &str;

    /// The JSON schema of its input.
    fn schema(&self) -> Arc<Value>;

    /// What a call with this input is about, and what it may do. An input that is not understood is an error here already.
    fn intent(&self, input: &Value, context: &CallContext) -> Result<Intent, ToolError>;

    /// Makes the call. It ends soon after the context is cancelled or its deadline is over.
    fn call<'a>(
        &'a self,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>>;
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its possible effects.
    pub effects: Effects,
    /// What rules are compared with.
    pub subject: Subject,
    /// The places that it would change: protected ones are asked for.
    pub changes: Vec<Place>,
}

impl Intent {
    /// A call that rules can only allow or deny as a whole.
    #[must_use]
    pub fn plain(effects: Effects) -> Self {
        Self { effects, subject: Subject::Nothing, changes: Vec::new() }
    }
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// What the model is shown.
    pub text: String,
    /// The same for programs, where whoever made it has that.
    pub structured: Option<Value>,
    /// Whether it is the story of a failure: a program that ended with an error is one.
    pub failed: bool,
    /// Whether the text is of our own making; everything else is data that somebody else wrote.
    pub ours: bool,
    /// What hooks want the model to know besides.
    pub notes: Vec<String>,
    /// Why the agent shall end after this, if a hook wants it to.
    pub stop: Option<String>,
}

impl Output {
    /// What somebody else wrote: a file, a program, a page.
    #[must_use]
    pub fn data(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What we say about what was done.
    #[must_use]
    pub fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ours: true, ..Self::default() }
    }
}

/// Why a call came to nothing. The model gets to read it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no such tool, or it is not offered to this agent.
    #[error("there is no tool `{name}`")]
    Unknown {
        /// As it was called.
        name: String,
        /// Those that there are.
        offered: Vec<String>,
    },
    /// The input is not what the schema asks for.
    #[error("the input of `{tool}` is not right")]
    Input {
        /// Its name.
        tool: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The policy says no.
    #[error("`{tool}` was refused: {rule}")]
    Denied {
        /// Its name.
        tool: String,
        /// The rule.
        rule: crate::policy::Rule,
    },
    /// Somebody was asked and said no, or nobody was there.
    #[error("{question}: {answer}")]
    NotAgreed {
        /// What was asked.
        question: crate::policy::Question,
        /// What became of it.
        answer: &'static str,
    },
    /// A hook says no.
    #[error("`{tool}` was blocked by a hook: {reason}")]
    Blocked {
        /// Its name.
        tool: String,
        /// What the hook said.
        reason: String,
    },
    /// A hook wants the agent to end.
    #[error("a hook has stopped the agent: {reason}")]
    Stopped {
        /// What the hook said.
        reason: String,
    },
    /// A file is not to be had.
    #[error(transparent)]
    File(#[from] ConfineError),
    /// It cannot be done, for a reason that the tool knows.
    #[error("{what}")]
    Failed {
        /// The reason.
        what: String,
        /// What would work.
        hint: Option<String>,
    },
    /// An MCP server did not do what it was asked for.
    #[cfg(feature = "mcp")]
    #[error(transparent)]
    Server(#[from] crate::mcp::ServerError),
    /// It took too long.
    #[error("the call was stopped: its time was over")]
    TimedOut,
    /// Somebody stopped it.
    #[error("the call was cancelled")]
    Cancelled,
    /// The sandbox that it must run in is not available.
    #[error("the sandbox that this agent must run programs in is not available: {why}")]
    NoSandbox {
        /// What is missing.
        why: String,
    },
}

impl ToolError {
    /// A failure that the tool knows the reason of.
    #[must_use]
    pub fn failed(what: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: None }
    }

    /// The same with what would work.
    #[must_use]
    pub fn hinted(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), hint: Some(hint.into()) }
    }
}

impl Explain for ToolError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Denied { .. }
            | Self::NotAgreed { .. }
            | Self::NoSandbox { .. }
            | Self::Blocked { .. }
            | Self::Stopped { .. } => ErrorKind::Refused,
            Self::Unknown { .. } | Self::Input { .. } => ErrorKind::Usage,
            Self::Cancelled => ErrorKind::Cancelled,
            #[cfg(feature = "mcp")]
            Self::Server(crate::mcp::ServerError::NoSandbox { .. }) => ErrorKind::Refused,
            #[cfg(feature = "mcp")]
            Self::Server(_) => ErrorKind::Failure,
            Self::File(_) | Self::Failed { .. } | Self::TimedOut => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Denied { .. }
            | Self::NotAgreed { .. }
            | Self::Blocked { .. }
            | Self::Stopped { .. } => Some(Code::NotPermitted),
            Self::NoSandbox { .. } => Some(Code::NoSandbox),
            #[cfg(feature = "mcp")]
            Self::Server(crate::mcp::ServerError::NoSandbox { .. }) => Some(Code::NoSandbox),
            #[cfg(feature = "mcp")]
            Self::Server(_) => None,
            // A model reads these.
            Self::Unknown { .. }
            | Self::Input { .. }
            | Self::File(_)
            | Self::Failed { .. }
            | Self::TimedOut
            | Self::Cancelled => None,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { offered, .. } => Some(format!("there are {}", offered.join(", "))),
            Self::Failed { hint, .. } => hint.clone(),
            Self::TimedOut => Some("ask for more time, or for less at once".to_owned()),
            _ => None,
        }
    }
}

/// A tool whose input is a type. The documentation of the type is what the model is told about the tool, that of its fields is in
/// the schema.
pub trait Typed: Send + Sync + 'static {
    /// Its input.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;

    /// What it is called.
    const NAME: &'static str;
    /// What the model is told about it.
    const DESCRIPTION: &'static str;

    /// What a call with this input is about.
    fn intent(&self, input: &Self::Input, context: &CallContext) -> Result<Intent, ToolError>;

    /// Makes the call.
    fn run(
        &self,
        input: Self::Input,
        context: &CallContext,
    ) -> impl Future<Output = Result<Output, ToolError>> + Send;
}

impl<T: Typed> Tool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn schema(&self) -> Arc<Value> {
        schema_of::<T::Input>()
    }

    fn intent(&self, input: &Value, context: &CallContext) -> Result<Intent, ToolError> {
        Typed::intent(self, &parse::<T>(input.clone())?, context)
    }

    fn call<'a>(
        &'a self,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.run(parse::<T>(input)?, context).await })
    }
}

fn parse<T: Typed>(input: Value) -> Result<T::Input, ToolError> {
    // Models leave an empty input out.
    let input = if input.is_null() { Value::Object(serde_json::Map::new()) } else { input };
    serde_json::from_value(input)
        .map_err(|source| ToolError::Input { tool: T::NAME.to_owned(), source })
}

/// The schema of a type, without what only tells where it comes from. It is made once: every agent has the same tools.
pub(crate) fn schema_of<I: JsonSchema + 'static>() -> Arc<Value> {
    static MADE: LazyLock<Mutex<HashMap<TypeId, Arc<Value>>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = made.entry(TypeId::of::<I>()).or_insert_with(|| {
        let mut settings = schemars::generate::SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        let mut schema = settings.into_generator().into_root_schema_for::<I>();
        schema.remove("title");
        Arc::new(schema.to_value())
    });
    Arc::clone(schema)
}

/// A tool as it is described to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its input.
    pub input_schema: Value,
}
