//! A plan as it is run: plain nodes with edges between them, validated, in an order that does not change.
//!
//! There is no `for-each`, no sub-plan, no parameter and no race in here any more; `expand` has made them into nodes with
//! stable names, and into [`Join`]s that gather what became of those. Edges always point to nodes that exist, and never in a circle.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    time::Duration,
};

use agents_model::cost::MicroDollars;
use agents_task::{TaskRequest, done_when::DoneWhen};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    event::{Ending, Index},
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
    /// Which models will do, the best one first.
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

/// A validated graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    name: String,
    nodes: Vec<Node>,
    concurrency: Concurrency,
    budget: Budget,
    by_id: HashMap<NodeId, Index>,
    dependents: Vec<Vec<(Index, Until)>>,
}

/// Why nodes are no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two have the same name.
    #[error("there are two nodes named `{0}`")]
    Duplicate(NodeId),
    /// One needs a node that there is not.
    #[error("`{node}` needs `{on}`, which does not exist")]
    Unknown {
        /// The node.
        node: NodeId,
        /// What it needs.
        on: NodeId,
    },
    /// They need each other.
    #[error("{}", told(.0))]
    Cycle(Vec<NodeId>),
    /// Something that has already begun cannot get new needs.
    #[error("`{0}` has begun already")]
    Begun(NodeId),
}

fn told(cycle: &[NodeId]) -> String {
    let names: Vec<String> =
        cycle.iter().chain(cycle.first()).map(|it| format!("`{it}`")).collect();
    match names.as_slice() {
        [one, _] => format!("{one} needs itself"),
        names => format!("tasks need each other: {}", names.join(" needs ")),
    }
}

/// Nodes to be added to a graph that runs, all or none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// The new nodes. They may need each other, and those that there are.
    pub nodes: Vec<Node>,
    /// Nodes that have not begun, with the new ones that they need from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed_by: Vec<(NodeId, Need)>,
}

/// As it is written into a journal.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    nodes: Vec<Node>,
    concurrency: Concurrency,
    budget: Budget,
}

impl Serialize for Graph {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, nodes, concurrency, budget, .. } = self.clone();
        Stored { name, nodes, concurrency, budget }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Graph {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { name, nodes, concurrency, budget } = Stored::deserialize(deserializer)?;
        let graph = Self::new(name, nodes).map_err(serde::de::Error::custom)?;
        Ok(graph.within(concurrency, budget))
    }
}

impl Graph {
    /// A graph of these nodes.
    ///
    /// # Errors
    /// They are none.
    pub fn new(name: impl Into<String>, nodes: Vec<Node>) -> Result<Self, GraphError> {
        let mut graph = Self {
            name: name.into(),
            nodes: Vec::new(),
            concurrency: Concurrency::default(),
            budget: Budget::default(),
            by_id: HashMap::new(),
            dependents: Vec::new(),
        };
        graph.inject(&Injection { nodes, needed_by: Vec::new() })?;
        Ok(graph)
    }

    /// The same, within these limits.
    #[must_use]
    pub fn within(self, concurrency: Concurrency, budget: Budget) -> Self {
        Self { concurrency, budget, ..self }
    }

    /// What the plan is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The nodes, in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How much runs at once.
    #[must_use]
    pub fn concurrency(&self) -> &Concurrency {
        &self.concurrency
    }

    /// How much it may use.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Where a node is.
    #[must_use]
    pub fn find(&self, id: &NodeId) -> Option<Index> {
        self.by_id.get(id).copied()
    }

    /// One node.
    #[must_use]
    pub fn node(&self, index: Index) -> Option<&Node> {
        self.nodes.get(index.at())
    }

    /// What waits for a node, and for what of it.
    #[must_use]
    pub fn dependents(&self, index: Index) -> &[(Index, Until)] {
        self.dependents.get(index.at()).map_or(&[], Vec::as_slice)
    }

    /// All positions.
    pub fn indices(&self) -> impl Iterator<Item = Index> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(Index)
    }

    /// A node and all that waits for it, directly or not.
    #[must_use]
    pub fn from(&self, index: Index) -> Vec<Index> {
        let mut seen = vec![false; self.nodes.len()];
        let mut found = Vec::new();
        let mut waiting = vec![index];
        while let Some(index) = waiting.pop() {
            if index.at() < seen.len() && !std::mem::replace(&mut seen[index.at()], true) {
                found.push(index);
                waiting.extend(self.dependents(index).iter().map(|(to, _)| *to));
            }
        }
        found.sort_unstable();
        found
    }

    /// Adds nodes, all or none.
    ///
    /// # Errors
    /// The graph would be none; it is as it was.
    pub fn inject(&mut self, injection: &Injection) -> Result<(), GraphError> {
        let before = self.nodes.len();
        let added = self.add(injection);
        if added.is_err() {
            self.nodes.truncate(before);
            self.dependents.truncate(before);
            self.by_id.retain(|_, index| index.at() < before);
            for dependents in &mut self.dependents {
                dependents.retain(|(to, _)| to.at() < before);
            }
            for (id, need) in &injection.needed_by {
                // Only what was added just now: what was needed before is there still.
                if let Some(index) = self.by_id.get(id)
                    && !self.by_id.contains_key(&need.on)
                {
                    self.nodes[index.at()].needs.retain(|it| it != need);
                }
            }
        }
        added
    }

    fn add(&mut self, injection: &Injection) -> Result<(), GraphError> {
        let before = self.nodes.len();
        for node in &injection.nodes {
            let index = Index(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
            if self.by_id.contains_key(&node.id) {
                return Err(GraphError::Duplicate(node.id.clone()));
            }
            self.by_id.insert(node.id.clone(), index);
            self.nodes.push(node.clone());
            self.dependents.push(Vec::new());
        }
        for index in before..self.nodes.len() {
            for at in 0..self.nodes[index].needs.len() {
                let need = &self.nodes[index].needs[at];
                let (on, until) = (self.known(&self.nodes[index].id, &need.on)?, need.until);
                self.dependents[on.at()].push((Index(u32::try_from(index).unwrap_or(0)), until));
            }
        }
        for (id, need) in &injection.needed_by {
            let to = self.known(id, id)?;
            let on = self.known(id, &need.on)?;
            if on.at() < before {
                return Err(GraphError::Unknown { node: id.clone(), on: need.on.clone() });
            }
            self.nodes[to.at()].needs.push(need.clone());
            self.dependents[on.at()].push((to, need.until));
        }
        self.acyclic()
    }

    fn known(&self, node: &NodeId, on: &NodeId) -> Result<Index, GraphError> {
        let unknown = || GraphError::Unknown { node: node.clone(), on: on.clone() };
        self.find(on).ok_or_else(unknown)
    }

    /// The positions so that each comes after what it needs; those that need each other are missing.
    #[must_use]
    pub fn order(&self) -> Vec<Index> {
        let mut unmet: Vec<u32> =
            self.nodes.iter().map(|it| u32::try_from(it.needs.len()).unwrap_or(u32::MAX)).collect();
        let mut order: Vec<Index> = Vec::with_capacity(self.nodes.len());
        order.extend(self.indices().filter(|it| unmet[it.at()] == 0));
        let mut at = 0;
        while at < order.len() {
            for (to, _) in &self.dependents[order[at].at()] {
                unmet[to.at()] -= 1;
                if unmet[to.at()] == 0 {
                    order.push(*to);
                }
            }
            at += 1;
        }
        order
    }

    fn acyclic(&self) -> Result<(), GraphError> {
        let order = self.order();
        if order.len() == self.nodes.len() {
            return Ok(());
        }
        let mut done = vec![false; self.nodes.len()];
        order.iter().for_each(|it| done[it.at()] = true);
        // Each that is left needs one that is left: following that leads into the circle.
        let left = |at: usize| {
            let needs = self.nodes[at].needs.iter().filter_map(|it| self.find(&it.on));
            needs.map(Index::at).find(|it| !done[*it])
        };
        let mut path: Vec<usize> = Vec::new();
        let mut at = done.iter().position(|it| !it).unwrap_or(0);
        while !path.contains(&at) {
            path.push(at);
            at = left(at).unwrap_or(at);
        }
        let start = path.iter().position(|it| *it == at).unwrap_or(0);
        Err(GraphError::Cycle(path[start..].iter().map(|it| self.nodes[*it].id.clone()).collect()))
    }
}
