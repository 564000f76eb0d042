//! What became of a run, for people: results on standard output, the rest beside it.

use std::process::ExitCode;

use agents_plan::{
    event::{Index, PlanEnding, Source},
    graph::{Join, Work},
    journal::RunId,
    schedule::{Scheduler, State},
};
use agents_system::explain::{Code, ErrorKind};
use serde_json::Value;

use super::{
    drive::{Left, Run, agents_of},
    view::{self, Stand},
};
use crate::{args::PlanManner, failure::Failure};

/// The most tasks that are named one by one.
const NAMED: usize = 20;

/// Results, what it cost, and what is left to do.
pub(super) fn summary(
    run: &Run<'_>,
    id: &RunId,
    scheduler: &Scheduler,
    stand: Stand,
    left: Option<Left>,
) -> Result<ExitCode, Failure> {
    let output = run.output;
    let failure = failure(id, scheduler, stand, left, run.manner);
    if output.is_json() {
        return Ok(failure.map_or(ExitCode::SUCCESS, |(kind, _)| ExitCode::from(kind.exit_code())));
    }
    let results: Vec<Index> = results(scheduler);
    for (at, index) in results.iter().enumerate() {
        let gap = if at > 0 { "\n" } else { "" };
        output.line(format!("{gap}## {}", view::name(scheduler.graph(), *index)))?;
        let Some(outcome) = scheduler.outcome(*index) else { continue };
        match &*outcome.output {
            Value::Null => output.line(outcome.text.trim_end())?,
            Value::String(text) => output.line(text.trim_end())?,
            value => output.line(format!("{value:#}"))?,
        }
    }
    output.flush()?;
    if !output.is_quiet() {
        let spent = scheduler.spent();
        let turns =
            if spent.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", spent.turns) };
        let cost = if spent.cost.0 == 0 { String::new() } else { format!(", {}", spent.cost) };
        let known = agents_of(scheduler.graph())
            .filter_map(|it| scheduler.outcome(it))
            .filter(|it| it.source == Source::Memory)
            .count();
        let known = match known {
            0 => String::new(),
            known => format!(" ({known} known from earlier runs)"),
        };
        let counted = view::counted(scheduler) + &known;
        output.talk(&format!("{id}: {counted}; {turns}, {} tokens{cost}", spent.tokens));
    }
    match failure {
        None => Ok(ExitCode::SUCCESS),
        Some((_, failure)) => Err(failure),
    }
}

/// What nobody else uses: the results of a plan are those of its last tasks.
fn results(scheduler: &Scheduler) -> Vec<Index> {
    let graph = scheduler.graph();
    // What only puts results together has none of its own, and is no use of them; a race has that of its winner.
    let collects = |index: Index| {
        let work = graph.node(index).map(|it| &it.work);
        matches!(work, Some(Work::Join(Join::Each { .. } | Join::Plan { .. })))
    };
    let is_used = |index: Index| {
        let mut users = graph.dependents(index).iter().map(|(to, _)| *to);
        users.any(|to| !collects(to) || !graph.dependents(to).is_empty())
    };
    let is_result = |index: &Index| {
        scheduler.state(*index) == State::Completed && !collects(*index) && !is_used(*index)
    };
    graph.indices().filter(is_result).collect()
}

fn failure(
    id: &RunId,
    scheduler: &Scheduler,
    stand: Stand,
    left: Option<Left>,
    manner: &PlanManner,
) -> Option<(ErrorKind, Failure)> {
    let (kind, code, message) = match (stand, left) {
        (Stand::Ended(PlanEnding::Completed), _) => return None,
        (_, Some(Left::Interrupted)) => {
            (ErrorKind::Cancelled, None, format!("interrupted; `{id}` is as it was left"))
        }
        (_, Some(Left::Unanswered)) => (
            ErrorKind::Failure,
            Some(Code::PlanWaits),
            format!("`{id}` waits for somebody to say what is to be done"),
        ),
        (Stand::Ended(PlanEnding::Cancelled), _) => {
            (ErrorKind::Cancelled, None, format!("`{id}` was cancelled"))
        }
        (Stand::Ended(PlanEnding::Partly), _) => {
            (ErrorKind::Failure, Some(Code::PlanFailed), format!("`{id}` completed only partly"))
        }
        (Stand::Ended(PlanEnding::OutOfBudget), _) => {
            (ErrorKind::Failure, Some(Code::PlanBudget), format!("the budget of `{id}` is used up"))
        }
        _ => (ErrorKind::Failure, Some(Code::PlanFailed), format!("`{id}` failed")),
    };
    let graph = scheduler.graph();
    let mut lines = Vec::new();
    for index in agents_of(graph) {
        let state = scheduler.state(index);
        let why = scheduler.outcome(index).map(|it| it.message.as_str()).unwrap_or_default();
        let name = view::name(graph, index);
        match state {
            State::Completed => {}
            State::Failed | State::Asking => lines.push(format!("{name}: {}: {why}", state.word())),
            state => lines.push(format!("{name}: {}", state.word())),
        }
    }
    if lines.len() > NAMED {
        let more = lines.len() - NAMED;
        lines.truncate(NAMED);
        lines.push(format!("and {more} more: `cargo agents plan show {id}`"));
    }
    let hint = match (stand, left) {
        (_, Some(Left::Interrupted)) => next("resume", id, "", manner),
        (_, Some(Left::Unanswered)) => {
            let asks = agents_of(graph).find(|it| scheduler.state(*it) == State::Asking);
            let task = asks.map(|it| view::name(graph, it)).unwrap_or_default();
            next("resume", id, &format!(" --answer {task}=retry"), manner)
        }
        _ => next("retry", id, "", manner),
    };
    let failure = Failure::new(kind, message).hint(hint);
    let failure = match code {
        Some(code) => failure.code(code),
        None => failure,
    };
    let failure = if lines.is_empty() { failure } else { failure.details(lines.join("\n")) };
    Some((kind, failure))
}

/// What to type next: what was allowed must be said again.
fn next(word: &str, id: &RunId, more: &str, manner: &PlanManner) -> String {
    use clap::ValueEnum as _;
    let mut line = format!("`cargo agents plan {word} {id}{more}");
    if let Some(mode) = manner.mode.and_then(|it| it.to_possible_value()) {
        line.push_str(&format!(" --mode {}", mode.get_name()));
    }
    for tool in &manner.allow {
        line.push_str(&format!(" --allow \"{tool}\""));
    }
    let flags = [
        (" --dirty", manner.dirty),
        (" --on-branch", manner.on_branch),
        (" --fresh", manner.fresh),
    ];
    for (flag, is_said) in flags {
        if is_said {
            line.push_str(flag);
        }
    }
    let what = if word == "retry" { "does again what did not complete" } else { "continues" };
    format!("{line}` {what}")
}
