//! `cargo agents plan show FILE|RUN`

use std::process::ExitCode;

use agents_plan::{
    draw::{self, Drawing},
    graph::{Graph, Need, Node, Until, Work},
    schedule::Scheduler,
};
use agents_system::explain::ErrorKind;
use camino::Utf8Path;
use serde::Serialize;

use super::{
    facts, journals, meant, runs,
    view::{self, BudgetView, PlanRunDocument, Stand},
};
use crate::{
    args::{DrawingFormat, PlanShowArgs},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// `cargo agents plan show FILE --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanGraphDocument {
    plan: String,
    file: String,
    /// How much a run may use altogether
    budget: BudgetView,
    /// Each after what it needs
    tasks: Vec<NodeView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NodeView {
    task: String,
    /// The agent; nobody for what gathers the results of others
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// How the results of others are gathered: `for-each`, `race`, `vote`, `judge` or `plan`
    #[serde(skip_serializing_if = "Option::is_none")]
    gathers: Option<&'static str>,
    /// What must be done before
    needs: Vec<NeedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NeedView {
    task: String,
    /// `completed`, or `ended` if it does not matter how
    until: &'static str,
}

impl PlanGraphDocument {
    fn new(file: &Utf8Path, graph: &Graph) -> Self {
        let nodes = graph.order().into_iter().filter_map(|it| graph.node(it));
        Self {
            plan: graph.name().to_owned(),
            file: file.to_string(),
            budget: graph.budget().into(),
            tasks: nodes.map(NodeView::from).collect(),
        }
    }
}

impl From<&Node> for NodeView {
    fn from(node: &Node) -> Self {
        let (agent, gathers) = match &node.work {
            Work::Agent(assignment) => (Some(assignment.agent.clone()), None),
            Work::Join(join) => (None, Some(join.word())),
        };
        let needs = node.needs.iter().map(NeedView::from).collect();
        Self { task: node.id.to_string(), agent, gathers, needs }
    }
}

impl From<&Need> for NeedView {
    fn from(need: &Need) -> Self {
        let until = match need.until {
            Until::Completed => "completed",
            Until::Ended => "ended",
        };
        Self { task: need.on.to_string(), until }
    }
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &PlanShowArgs,
) -> Result<ExitCode, Failure> {
    output.refuse_file_of_json(args.output.as_deref())?;
    let file = Utf8Path::new(&args.what);
    let is_plan = matches!(file.extension(), Some("toml" | "yaml" | "yml" | "json"));
    if is_plan || settings.cwd.join(file).is_file() {
        if args.at.is_some() {
            return Err(Failure::new(ErrorKind::Usage, "`--at` is about a run, not about a file"));
        }
        let graph = facts::found(settings, file, &args.named.agents)?.graph(&args.params)?;
        if output.is_json() {
            output.document(&PlanGraphDocument::new(file, &graph))?;
            return Ok(ExitCode::SUCCESS);
        }
        return print(output, args, &drawn((&graph).into(), args.format));
    }
    let journals = journals(settings);
    let id = meant(&journals, &args.what)?;
    let seen = journals.view(&id)?;
    let last = seen.last()?;
    if args.at.is_some_and(|at| at > last) {
        let message = format!("`{id}` has {last} events");
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    let scheduler = seen.at(args.at.unwrap_or(u64::MAX))?;
    let stand = match runs::stand(&journals, &id, &scheduler) {
        // Something happened after that.
        Stand::Suspended if args.at.is_some_and(|at| at < last) => Stand::Running,
        stand => stand,
    };
    if output.is_json() {
        let origin = journals.summary(&id)?.map(|it| it.origin).unwrap_or_default();
        output.document(&PlanRunDocument::new(&id, &origin, stand, &scheduler))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = drawn((&scheduler).into(), args.format);
    if args.format == DrawingFormat::Text {
        let of = args
            .at
            .map_or_else(|| format!("{last} events"), |at| format!("after {at} of {last} events"));
        text.push_str(&format!("\n{id}: {}, {of}; {}\n", stand.word(), view::counted(&scheduler)));
        text.push_str(&failures(&scheduler));
    }
    print(output, args, &text)
}

fn drawn(drawing: Drawing<'_>, format: DrawingFormat) -> String {
    match format {
        DrawingFormat::Text => draw::text(drawing),
        DrawingFormat::Mermaid => draw::mermaid(drawing),
        DrawingFormat::Svg => draw::svg(drawing),
    }
}

/// Why tasks failed.
fn failures(scheduler: &Scheduler) -> String {
    let graph = scheduler.graph();
    let failed = graph.indices().filter_map(|index| {
        let outcome = scheduler.outcome(index)?;
        (!outcome.message.is_empty() && outcome.ending != agents_plan::event::Ending::Completed)
            .then(|| format!("  {}: {}\n", view::name(graph, index), outcome.message))
    });
    failed.collect()
}

fn print(output: &Output, args: &PlanShowArgs, text: &str) -> Result<ExitCode, Failure> {
    match &args.output {
        Some(file) => fs_err::write(file, text)
            .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?,
        None => output.text(text)?,
    }
    Ok(ExitCode::SUCCESS)
}
