//! A transcript for people to read.
//!
//! [`Page`] is what there is to show; [`Page::text`], [`Page::markdown`] and [`Page::html`] show it.

mod html;
mod markdown;
mod text;

use agents_model::{Part, Role, Usage, cost::MicroDollars, message::ToolStatus};
use serde_json::Value;

use super::{
    TranscriptError,
    meta::{Meta, Stamp},
    reader::{Entry, Loaded, Record},
    store::{Standing, Store},
    tree::{Node, tree},
    wire::Begin,
};
use crate::id::TaskId;

/// What there is to show of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Its metadata. What a run that was cut off took is what was written down.
    pub meta: Meta,
    /// Whether it still lives.
    pub standing: Standing,
    /// The tasks that it goes on from, the first one first.
    pub earlier: Vec<TaskId>,
    /// How it began.
    pub begin: Option<Begin>,
    /// It and what it started.
    pub tree: Option<Node>,
    /// What happened.
    pub items: Vec<Item>,
    /// What is missing.
    pub damage: Vec<String>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// The model answered.
    Turn {
        /// Counted from 1.
        number: u64,
        /// When.
        at: Stamp,
        /// Tokens.
        usage: Usage,
        /// Money.
        cost: Option<MicroDollars>,
    },
    /// We said something to it.
    Told(String),
    /// It said something.
    Said(String),
    /// It thought something.
    Thought(String),
    /// It called a tool.
    Called {
        /// The tool.
        tool: String,
        /// What the tool was given.
        input: String,
    },
    /// A tool answered.
    Answered {
        /// The tool.
        tool: String,
        /// What it said.
        content: String,
        /// How it went.
        status: ToolStatus,
    },
    /// The conversation was made shorter.
    Compacted(usize),
}

impl Item {
    /// What a record shows. How a task began and ended stands at the top of its page.
    #[must_use]
    pub fn of(entry: &Entry) -> Vec<Self> {
        match &entry.record {
            Record::Usage(spent) => vec![Self::Turn {
                number: spent.turn,
                at: entry.at,
                usage: spent.tokens,
                cost: spent.cost,
            }],
            Record::Compacted(compacted) => vec![Self::Compacted(compacted.left_out)],
            Record::Message(message) => {
                message.parts.iter().map(|part| item(message.role, part)).collect()
            }
            Record::Begin(_) | Record::Outcome(_) => Vec::new(),
        }
    }
}

impl Page {
    /// The page of a task.
    ///
    /// # Errors
    /// Its transcript cannot be had.
    pub fn load(store: &Store, id: TaskId) -> Result<Self, TranscriptError> {
        let loaded = store.load(id)?;
        let (metas, _) = store.list()?;
        let mut earlier = Vec::new();
        let mut next = loaded.meta.resumed_from;
        while let Some(id) = next.filter(|it| !earlier.contains(it)) {
            earlier.push(id);
            next = metas.iter().find(|it| it.id == id).and_then(|it| it.resumed_from);
        }
        earlier.reverse();
        let standing = store.standing(&loaded.meta);
        let known = metas.into_iter().map(|meta| {
            let standing = store.standing(&meta);
            (meta, standing)
        });
        let roots = tree(known.collect());
        let tree = roots.iter().find_map(|it| it.find(id)).cloned();
        Ok(Self::new(&loaded, standing, earlier, tree))
    }

    fn new(loaded: &Loaded, standing: Standing, earlier: Vec<TaskId>, tree: Option<Node>) -> Self {
        let begin = loaded.begin().cloned();
        let damage = loaded.damage.iter().map(super::Damage::told);
        let incomplete =
            loaded.meta.incomplete.iter().map(|it| format!("records are missing: {it}"));
        let damage = damage.chain(incomplete).collect();
        let mut meta = loaded.meta.clone();
        if !meta.state.is_terminal() {
            (meta.turns, meta.usage, meta.cost) = loaded.spent();
        }
        let items = loaded.entries.iter().flat_map(Item::of).collect();
        Self { meta, standing, earlier, begin, tree, items, damage }
    }

    /// The facts, each with its name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let meta = &self.meta;
        let state = match (&meta.stop_reason, self.standing) {
            (Some(reason), Standing::Ended(_)) => reason.clone(),
            (_, Standing::Interrupted) => {
                "interrupted: the program that ran it is gone; it can be resumed".to_owned()
            }
            (_, standing) => standing.word().to_owned(),
        };
        let mut facts = vec![
            ("task", meta.id.to_string()),
            ("agent", meta.agent.clone()),
            ("path", meta.path.to_string()),
            ("state", state),
            ("model", meta.model.clone()),
            ("started", meta.started_at.to_string()),
        ];
        if let Some(ended) = meta.finished_at {
            let took = ended.seconds_since(meta.started_at);
            facts.push(("ended", format!("{ended} ({took} s)")));
        }
        facts.push(("took", took(meta.turns, meta.tool_calls, &meta.usage, meta.cost)));
        if let Some(parent) = meta.parent {
            facts.push(("started by", parent.to_string()));
        }
        if !self.earlier.is_empty() {
            let earlier: Vec<String> = self.earlier.iter().map(ToString::to_string).collect();
            facts.push(("resumed from", earlier.join(", ")));
        }
        facts
    }

    /// One line for each task of the tree, with how deep it is.
    fn lines(&self) -> Vec<(usize, String)> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let line = |(depth, node): (usize, &Node)| {
            let meta = &node.meta;
            let took = took(meta.turns, meta.tool_calls, &meta.usage, meta.cost);
            let name = if meta.name.is_empty() { &meta.agent } else { &meta.name };
            (depth, format!("{name} [{}] {}: {took}", meta.id.short(), node.standing.word()))
        };
        tree.flat().into_iter().map(line).collect()
    }
}

/// `4 turns, 9 calls, 18204 tokens, $0.06`.
fn took(turns: u64, calls: u64, usage: &Usage, cost: Option<MicroDollars>) -> String {
    let plural =
        |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![plural(turns, "turn")];
    if calls > 0 {
        parts.push(plural(calls, "call"));
    }
    parts.push(tokens(usage));
    parts.extend(cost.map(|it| it.to_string()));
    parts.join(", ")
}

fn tokens(usage: &Usage) -> String {
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    format!("{} tokens", parts.into_iter().fold(0, u64::saturating_add))
}

fn item(role: Role, part: &Part) -> Item {
    match part {
        Part::Text(text) if role == Role::User => Item::Told(text.clone()),
        Part::Text(text) => Item::Said(text.clone()),
        Part::Thinking(thinking) => Item::Thought(thinking.text.clone()),
        Part::ToolCall(call) => {
            let input = match &call.input {
                agents_model::ToolInput::Json(value) => short(value),
                agents_model::ToolInput::Raw(text) => text.clone(),
            };
            Item::Called { tool: call.name.clone(), input }
        }
        Part::ToolResult(result) => Item::Answered {
            tool: result.name.clone(),
            content: result.content.clone(),
            status: result.status,
        },
    }
}

/// A value in one line if it is short, otherwise as it is easiest to read.
fn short(value: &Value) -> String {
    let line = value.to_string();
    if line.len() <= 120 { line } else { format!("{value:#}") }
}
