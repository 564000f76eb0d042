//! What is asked of a model.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Sealed};

/// What is asked of a model. Cheap to clone: what is large is shared.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model, by the name that the provider knows.
    pub model: String,
    /// The instructions.
    pub system: Arc<str>,
    /// The conversation, the oldest first.
    pub messages: Vec<Arc<Sealed<Message>>>,
    /// The tools that the model may call.
    pub tools: Arc<Sealed<Vec<ToolSpec>>>,
    /// Whether it has to.
    pub choice: ToolChoice,
    /// What the answer must look like.
    pub schema: Option<Arc<OutputSchema>>,
    /// How much the model may think; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// The longest answer, thoughts included; `None` leaves it to the provider where it has a default.
    pub max_output_tokens: Option<u32>,
    /// Whether the provider shall keep what it has read for the next turn.
    pub caching: Caching,
    /// How long to wait.
    pub deadlines: Deadlines,
    /// That it is a whole task, for a provider with [tools of its own](crate::provider::Hands::Own). Others do not look at it.
    pub work: Option<Work>,
}

/// A whole task for a program that works with its own tools: it ends with its last message, which is the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Where it works.
    pub cwd: Utf8PathBuf,
    /// What it may at most do.
    pub rights: OwnRights,
}

/// What a program with its own tools may do by itself, the least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnRights {
    /// Look.
    #[default]
    Read,
    /// Change files of the workspace, too.
    Edit,
    /// Whatever the user may.
    All,
}

impl OwnRights {
    /// All of them, with their words in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("read", Self::Read), ("edit", Self::Edit), ("all", Self::All)];

    /// Its word in the configuration.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }
}

impl Request {
    /// A question to a model, without anything else.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        // Every turn begins with a request, and most of them have both.
        static NO_TOOLS: LazyLock<Arc<Sealed<Vec<ToolSpec>>>> =
            LazyLock::new(|| Arc::new(Sealed::new(Vec::new())));
        static SILENCE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));
        Self {
            model: model.into(),
            system: Arc::clone(&SILENCE),
            messages: Vec::new(),
            tools: Arc::clone(&NO_TOOLS),
            choice: ToolChoice::Auto,
            schema: None,
            effort: None,
            max_output_tokens: None,
            caching: Caching::On,
            deadlines: Deadlines::default(),
            work: None,
        }
    }

    /// With these instructions.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<Arc<str>>) -> Self {
        self.system = system.into();
        self
    }

    /// With this message at the end.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.messages.push(message.seal());
        self
    }

    /// With these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        self.tools = Arc::new(Sealed::new(tools.into_iter().collect()));
        self
    }

    /// With this choice of tools.
    #[must_use]
    pub fn with_choice(mut self, choice: ToolChoice) -> Self {
        self.choice = choice;
        self
    }

    /// With an answer that keeps to this schema.
    #[must_use]
    pub fn with_schema(mut self, schema: OutputSchema) -> Self {
        self.schema = Some(Arc::new(schema));
        self
    }

    /// With so much thinking.
    #[must_use]
    pub fn with_effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// As a whole task.
    #[must_use]
    pub fn with_work(mut self, work: Work) -> Self {
        self.work = Some(work);
        self
    }

    /// With so much patience.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for, for the model to read.
    pub description: String,
    /// The JSON schema of its input; an object.
    pub schema: Value,
}

/// Whether the model calls tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoice {
    /// When it wants to.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Tool(String),
}

/// What the answer must look like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// A name for it: letters, digits, `-` and `_`.
    pub name: String,
    /// A JSON schema.
    pub schema: Value,
}

/// How much the model may think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Not at all, or as little as the model can.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
}

/// Whether the provider shall keep what it has read for the next turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caching {
    /// Yes, where it is offered.
    #[default]
    On,
    /// Not worth it: there will be no next turn.
    Off,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From the sending of one attempt to its first event.
    pub first_token: Duration,
    /// From one event to the next.
    pub idle: Duration,
    /// For everything, retries and the waiting between them included.
    pub total: Duration,
}

impl Default for Deadlines {
    /// Generous: a large model that thinks hard is silent for minutes.
    fn default() -> Self {
        Self {
            first_token: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(1800),
        }
    }
}
