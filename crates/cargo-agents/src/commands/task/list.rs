//! `cargo agents task list`

use std::process::ExitCode;

use agents_system::{finding::Finding, span};
use agents_task::transcript::{Meta, Node, Stamp, Standing, TranscriptError, tree};
use serde::Serialize;

use super::transcripts;
use crate::{
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents task list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskListDocument {
    /// The newest first
    tasks: Vec<TaskView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskView {
    id: String,
    /// Where it stands in its tree, with slashes
    path: String,
    agent: String,
    model: String,
    /// `running`, `interrupted`, `completed`, `failed`, `cancelled`, `out-of-limits` or `refused`
    state: &'static str,
    /// How it ended, in words
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_from: Option<String>,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    turns: u64,
    tool_calls: u64,
    tokens: u64,
    /// In micro-dollars; missing if the price is not known
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    /// The most that it may cost, in micro-dollars
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_limit: Option<u64>,
    /// The most turns that it may take
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_limit: Option<u64>,
}

pub(super) fn run(settings: &Settings, output: &Output, most: usize) -> Result<ExitCode, Failure> {
    let store = transcripts(settings);
    let (metas, wrong) = store.list()?;
    let findings: Vec<Finding> = wrong.into_iter().map(unreadable).collect();
    let known = metas.into_iter().map(|meta| {
        let standing = store.standing(&meta);
        (meta, standing)
    });
    let roots = newest(known.collect(), most);
    if output.is_json() {
        output.document(&TaskListDocument::new(&roots, &findings))?;
        return Ok(ExitCode::SUCCESS);
    }
    if roots.is_empty() {
        output.line("no task has run here yet: `cargo agents task run` starts one")?;
    }
    for (depth, node) in roots.iter().flat_map(Node::flat) {
        output.line(line(depth, node))?;
    }
    output.flush()?;
    output.findings(&findings);
    Ok(ExitCode::SUCCESS)
}

/// What is wrong with a transcript that cannot be read.
pub(crate) fn unreadable(error: TranscriptError) -> Finding {
    Failure::from(error).into_finding("a transcript")
}

/// The trees of the tasks that nobody started but the user, the newest first.
pub(crate) fn newest(known: Vec<(Meta, Standing)>, most: usize) -> Vec<Node> {
    let mut roots = tree(known);
    roots.reverse();
    roots.truncate(most);
    roots
}

impl TaskListDocument {
    pub(crate) fn new(roots: &[Node], findings: &[Finding]) -> Self {
        let all = roots.iter().flat_map(Node::flat);
        Self {
            tasks: all.map(|(_, node)| view(&node.meta, node.standing)).collect(),
            findings: findings.iter().map(FindingView::from).collect(),
        }
    }
}

fn line(depth: usize, node: &Node) -> String {
    let Node { meta, standing, .. } = node;
    let name = format!("{:1$}{2}", "", 2 * depth, meta.path.name());
    let ago =
        span::told(std::time::Duration::from_secs(Stamp::now().seconds_since(meta.started_at)));
    let cost = meta.cost.map(|it| format!(", {it}")).unwrap_or_default();
    let turns = if meta.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", meta.turns) };
    format!("{}  {name:24} {:13}  {ago} ago   {turns}{cost}", meta.id.short(), standing.word())
}

pub(crate) fn view(meta: &Meta, standing: Standing) -> TaskView {
    TaskView {
        id: meta.id.to_string(),
        path: meta.path.to_string(),
        agent: meta.agent.clone(),
        model: meta.model.clone(),
        state: standing.word(),
        reason: meta.stop_reason.clone(),
        parent: meta.parent.map(|it| it.to_string()),
        resumed_from: meta.resumed_from.map(|it| it.to_string()),
        started_at: meta.started_at.to_string(),
        finished_at: meta.finished_at.map(|it| it.to_string()),
        turns: meta.turns,
        tool_calls: meta.tool_calls,
        tokens: meta.usage.total(),
        cost: meta.cost.map(|it| it.0),
        cost_limit: meta.limits.and_then(|it| it.cost).map(|it| it.0),
        turn_limit: meta.limits.and_then(|it| it.turns),
    }
}
