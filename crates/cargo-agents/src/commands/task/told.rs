//! What became of tasks, on standard output.

use std::process::ExitCode;

use agents_system::explain::{Code, ErrorKind};
use agents_task::{Ending, Failure as Why, Outcome, outcome::Validity, workplace::Settled};
use serde_json::Value;

use crate::{
    failure::{Failure, explained_by},
    output::Output,
};

/// The result of the only task. With `--json` the last event has told it.
pub(super) fn one(output: &Output, outcomes: &[Outcome]) -> Result<ExitCode, Failure> {
    let Some(outcome) = outcomes.first() else { return Ok(ExitCode::FAILURE) };
    if output.is_json() {
        return Ok(code(outcomes));
    }
    result(output, outcome)?;
    output.flush()?;
    match failure(outcome) {
        None => Ok(ExitCode::SUCCESS),
        Some(failure) => Err(failure),
    }
}

/// The results of all, each under its name, in order.
pub(super) fn many(output: &Output, outcomes: &[Outcome]) -> Result<ExitCode, Failure> {
    if output.is_json() {
        return Ok(code(outcomes));
    }
    for (at, outcome) in outcomes.iter().enumerate() {
        let gap = if at > 0 { "\n" } else { "" };
        output.line(format!("{gap}## {}: {}", outcome.path, outcome.ending.told()))?;
        result(output, outcome)?;
    }
    output.flush()?;
    let failed = outcomes.iter().filter(|it| it.ending != Ending::Completed).count();
    if failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let message = format!("{failed} of {} tasks did not complete", outcomes.len());
    Err(Failure::new(worst(outcomes).unwrap_or(ErrorKind::Failure), message).code(Code::SomeFailed))
}

/// What it leaves, however it ended.
fn result(output: &Output, outcome: &Outcome) -> Result<(), Failure> {
    let report = &outcome.report;
    match &report.output {
        Some(handed_in) => {
            match &handed_in.value {
                Value::String(text) => output.line(text.trim_end())?,
                value => output.line(format!("{value:#}"))?,
            }
            if let Validity::Invalid(issues) = &handed_in.validity {
                for issue in issues {
                    output.talk(&format!("not valid: {issue}"));
                }
            }
        }
        None if report.text.trim().is_empty() => {}
        None => output.line(report.text.trim_end())?,
    }
    if let Some(changes) = report.changes.as_ref().and_then(Settled::told) {
        output.talk(&changes);
    }
    for line in &report.not_agreed {
        output.talk(&format!("not done: {line}"));
    }
    if !report.not_agreed.is_empty() && !output.is_quiet() {
        output.talk(&explained_by(Code::NotPermitted));
    }
    if report.evidence.doubt.is_some() {
        output.talk("doubtful: it had tools and used none");
    }
    Ok(())
}

fn failure(outcome: &Outcome) -> Option<Failure> {
    let kind = outcome.ending.kind()?;
    let told = outcome.ending.told();
    let message = told.strip_prefix("failed: ").unwrap_or(&told).to_owned();
    let failure = Failure::new(kind, message);
    let failure = match outcome.ending.code() {
        Some(code) => failure.code(code),
        None => failure,
    };
    Some(match &outcome.ending {
        Ending::Failed {
            why: Why::Model { hint: Some(hint), .. } | Why::NotStarted { hint: Some(hint), .. },
        } => failure.hint(hint.clone()),
        Ending::OutOfLimits { .. } if !outcome.report.text.is_empty() => {
            failure.hint("what it had so far is above")
        }
        _ => failure,
    })
}

/// The kind that is the worst: a cancellation before everything else, since it explains the rest.
fn worst(outcomes: &[Outcome]) -> Option<ErrorKind> {
    let kinds: Vec<ErrorKind> = outcomes.iter().filter_map(|it| it.ending.kind()).collect();
    let order = [ErrorKind::Cancelled, ErrorKind::Failure, ErrorKind::Network, ErrorKind::Refused];
    order.into_iter().find(|kind| kinds.contains(kind)).or_else(|| kinds.first().copied())
}

pub(super) fn code(outcomes: &[Outcome]) -> ExitCode {
    worst(outcomes).map_or(ExitCode::SUCCESS, |kind| ExitCode::from(kind.exit_code()))
}
