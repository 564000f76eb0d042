//! What a graph is made of.

use std::{collections::BTreeMap, fmt, time::Duration};

use agents_model::cost::MicroDollars;
use agents_task::{TaskRequest, done_when::DoneWhen};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    event::Ending,
    file::{Isolation, OnFailure},
    reference::{Condition, Template},
};

/// The name of a node: that of a task, with that of an item, contender or inner task after a `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(Box<str>);

impl NodeId {
    /// This one.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Node {
    /// Its name.
    pub id: NodeId,
    /// What is done.
    pub work: Work,
    /// What must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Whether it is done at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// Whether it is tried again.
    #[serde(default)]
    pub retry: Retry,
    /// What happens if it fails for good.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// How long it may take.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// What it uses while it runs.
    #[serde(default)]
    pub uses: Uses,
    /// Those with more of it start first.
    #[serde(default)]
    pub priority: i32,
}

impl Node {
    /// A node for an agent that needs nothing and uses nothing.
    #[must_use]
    pub fn agent(id: impl Into<Box<str>>, agent: impl Into<String>, prompt: Template) -> Self {
        let assignment = Assignment { agent: agent.into(), prompt, ..Assignment::default() };
        Self::of(NodeId::new(id), Work::Agent(Box::new(assignment)))
    }

    pub(crate) fn of(id: NodeId, work: Work) -> Self {
        Self {
            id,
            work,
            needs: Vec::new(),
            when: None,
            retry: Retry::default(),
            on_failure: OnFailure::default(),
            deadlines: Deadlines::default(),
            uses: Uses::default(),
            priority: 0,
        }
    }

    /// The same, after these have completed.
    #[must_use]
    pub fn needs<S: AsRef<str>>(mut self, needs: impl IntoIterator<Item = S>) -> Self {
        self.needs.extend(needs.into_iter().map(|it| Need::completed(NodeId::new(it.as_ref()))));
        self
    }
}

/// What a node does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// An agent works.
    Agent(Box<Assignment>),
    /// Nobody works: what became of other nodes is gathered.
    Join(Join),
}

/// What an agent is to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Assignment {
    /// The agent.
    pub agent: String,
    /// What is to be done.
    pub prompt: Template,
    /// What the result must look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// What must hold before it is done.
    #[serde(skip_serializing_if = "DoneWhen::is_empty")]
    pub done_when: DoneWhen,
    /// Acceptable models, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Calls of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// In and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Of all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroDollars>,
}

impl Assignment {
    /// As a task, with the prompt in words.
    #[must_use]
    pub fn request(&self, name: &NodeId, prompt: String, time: Option<Duration>) -> TaskRequest {
        TaskRequest {
            name: Some(name.as_str().to_owned()),
            schema: self.schema.clone(),
            model: self.model.clone(),
            isolation: self.isolation.map(Into::into),
            limits: agents_task::Limits {
                turns: self.turns,
                time,
                tokens: self.tokens,
                cost: self.cost,
                children: None,
            },
            done_when: self.done_when.clone(),
            ..TaskRequest::new(self.agent.clone(), prompt)
        }
    }
}

/// How results are gathered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// Those of a `for-each`, in its order.
    Each {
        /// The nodes.
        of: Vec<NodeId>,
        /// What each of them was for.
        items: Vec<Value>,
    },
    /// That of the first contender that completes; the others are stopped.
    First {
        /// The contenders.
        of: Vec<NodeId>,
    },
    /// That which most contenders have.
    Vote {
        /// The contenders.
        of: Vec<NodeId>,
    },
    /// That of the contender whose number the judge hands in as `winner`, counted from 1.
    Judge {
        /// The contenders.
        of: Vec<NodeId>,
        /// Who decides.
        judge: NodeId,
    },
    /// Those of a sub-plan.
    Plan {
        /// Its nodes.
        of: Vec<NodeId>,
        /// What it hands on.
        outputs: BTreeMap<String, Template>,
    },
}

impl Join {
    /// The nodes whose results are gathered.
    #[must_use]
    pub fn of(&self) -> &[NodeId] {
        match self {
            Self::Each { of, .. }
            | Self::First { of }
            | Self::Vote { of }
            | Self::Judge { of, .. }
            | Self::Plan { of, .. } => of,
        }
    }

    /// Whether those are contenders, whose failures are nobody's but the join's.
    #[must_use]
    pub fn is_race(&self) -> bool {
        matches!(self, Self::First { .. } | Self::Vote { .. } | Self::Judge { .. })
    }

    /// How it is called.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Each { .. } => "for-each",
            Self::First { .. } => "race",
            Self::Vote { .. } => "vote",
            Self::Judge { .. } => "judge",
            Self::Plan { .. } => "plan",
        }
    }
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// From which node.
    pub on: NodeId,
    /// What of it is needed.
    #[serde(default, skip_serializing_if = "Until::is_completed")]
    pub until: Until,
}

impl Need {
    /// That it completes.
    #[must_use]
    pub fn completed(on: NodeId) -> Self {
        Self { on, until: Until::Completed }
    }

    /// That it ends.
    #[must_use]
    pub fn ended(on: NodeId) -> Self {
        Self { on, until: Until::Ended }
    }
}

/// What of a node is needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// That it completes.
    #[default]
    Completed,
    /// That it ends, however.
    Ended,
}

impl Until {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    fn is_completed(&self) -> bool {
        *self == Self::Completed
    }
}

/// Whether something is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Retry {
    /// How often it is tried at all.
    pub attempts: u32,
    /// How long to wait before the second attempt; twice as long before each further one.
    pub backoff: Duration,
    /// After which endings.
    pub on: Vec<Ending>,
}

impl Retry {
    /// The longest wait.
    pub const MAX_BACKOFF: Duration = Duration::from_secs(60 * 60);

    /// How long to wait after so many failures.
    #[must_use]
    pub fn wait(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.backoff.saturating_mul(1 << doublings).min(Self::MAX_BACKOFF)
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 1,
            backoff: Duration::ZERO,
            on: vec![Ending::Failed, Ending::OutOfLimits, Ending::TimedOut, Ending::Lost],
        }
    }
}

/// How long an attempt may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Deadlines {
    /// As a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Duration>,
    /// Without a sign of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Duration>,
}

/// What a node uses while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Uses {
    /// The provider that answers, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// So much of each resource.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u32>,
    /// Paths that nobody else may write below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Utf8PathBuf>,
    /// Paths that nobody else may read or write below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Utf8PathBuf>,
}

/// How much runs at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Concurrency {
    /// Nodes.
    pub total: u32,
    /// Nodes of an agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, u32>,
    /// Nodes that a provider answers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, u32>,
    /// How much there is of a resource; 1 where nothing is said.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u32>,
}

impl Concurrency {
    /// How many nodes run at once if nobody says anything.
    pub const TOTAL: u32 = 4;
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            total: Self::TOTAL,
            agents: BTreeMap::new(),
            providers: BTreeMap::new(),
            resources: BTreeMap::new(),
        }
    }
}

/// How much a whole plan may use; `None` where nothing limits it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Budget {
    /// Calls of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// In and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Of all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroDollars>,
}
