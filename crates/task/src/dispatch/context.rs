//! What a run may use and knows, and who dispatches.

use agents_tool::Rights;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::request::DispatchSource;

/// What holds for one run of a subagent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// The session that it belongs to; blank for none.
    pub session_id: String,
    /// What is known about it.
    pub metadata: Map<String, Value>,
    /// Which tools it may use. That nothing was said is everything; that nothing is left is nothing.
    pub tools: Rights,
    /// The model that it asks; blank for the usual one.
    pub model: String,
}

impl Context {
    /// One that may use only these tools. A list that says nothing restricts nothing.
    #[must_use]
    pub fn with_tools<S: AsRef<str>>(tools: impl IntoIterator<Item = S>) -> Self {
        Self::default().restrict_tools(tools)
    }

    /// Whether a tool may be used. Case and surrounding space do not count.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        self.tools.allows(&tool.trim().to_lowercase())
    }

    /// The same with no other tools than these. Blanks count for nothing, and a list of blanks changes nothing; a list that shares
    /// nothing with what there was leaves nothing.
    #[must_use]
    pub fn restrict_tools<S: AsRef<str>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        let lower = tools.into_iter().map(|it| it.as_ref().trim().to_lowercase());
        self.tools = self.tools.restrict(lower);
        self
    }

    /// The tools that it may use, by our names for them, sorted, each once; `None` where nothing restricts them.
    #[must_use]
    pub fn tool_list(&self) -> Option<Vec<String>> {
        self.tools.list()
    }

    /// With this known besides; what is known under the same name is replaced. Nobody who holds a copy notices.
    #[must_use]
    pub fn with_metadata(mut self, more: &Map<String, Value>) -> Self {
        self.metadata.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        self
    }

    /// In this session; a blank one changes nothing.
    #[must_use]
    pub fn with_session(mut self, id: &str) -> Self {
        let id = id.trim();
        if !id.is_empty() {
            id.clone_into(&mut self.session_id);
        }
        self
    }

    /// As part of a run with another context: its session, model and what it knows count, and its tools are all that there are.
    #[must_use]
    pub(super) fn within(mut self, outer: &Self) -> Self {
        self = self.with_session(&outer.session_id).with_metadata(&outer.metadata);
        if !outer.model.trim().is_empty() {
            outer.model.trim().clone_into(&mut self.model);
        }
        self.tools = self.tools.meet(&outer.tools);
        self
    }
}

/// What whoever dispatches has: a source, a context to stay within, and a way to be told to stop. Values; what is done to one
/// changes no other.
#[derive(Debug, Clone, Default)]
pub struct Ambient {
    source: Option<String>,
    context: Option<Context>,
    cancel: CancellationToken,
}

impl Ambient {
    /// With a source. Case and surrounding space do not count; a blank one changes nothing, the last one counts.
    #[must_use]
    pub fn with_dispatch_source(mut self, source: &str) -> Self {
        let source = source.trim().to_lowercase();
        if !source.is_empty() {
            self.source = Some(source);
        }
        self
    }

    /// As the tool `task`, which is the one that may dispatch.
    #[must_use]
    pub fn with_task_dispatch(self) -> Self {
        self.with_dispatch_source(DispatchSource::TaskTool.word())
    }

    /// Whether it may dispatch.
    #[must_use]
    pub fn may_dispatch(&self) -> bool {
        let source = self.source.as_deref().and_then(DispatchSource::from_word);
        source == Some(DispatchSource::TaskTool)
    }

    /// Within a context.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = Some(context);
        self
    }

    /// That context.
    #[must_use]
    pub fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    /// Until this is cancelled.
    #[must_use]
    pub fn until(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Cancelled, everything that is dispatched with it ends.
    #[must_use]
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}
