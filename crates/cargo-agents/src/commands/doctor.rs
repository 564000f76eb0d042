//! `cargo agents doctor`: what is wrong on this machine, and what to do about it.
//!
//! | module | looks at |
//! |---|---|
//! | [`checks`] | the list of all kinds of problems |
//! | [`machine`] | what is read once for all checks |
//! | [`program`] | the program, as hosts find it |
//! | [`configured`] | our settings and who can change them |
//! | [`record`] | the ledger, and whether the disk agrees with it |
//! | [`host_files`] | the hosts and their files |
//! | [`trust`] | what hosts do not use before their user has agreed |
//! | [`loading`] | what a host finds twice, or has no room for |
//! | [`brought`] | what this workspace brings hosts |
//! | [`plugins`] | registries, plugins, installed programs |
//! | [`repair`] | what `--fix` does |
//! | [`probe`] | what `--probe` does |
//! | [`notes`] | the MCP server that hosts are given then |
//!
//! Looking writes nothing outside our own cache, and no check depends on another one having been possible.

mod brought;
pub(crate) mod checks;
mod configured;
mod host_files;
mod journals;
mod loading;
mod machine;
pub(crate) mod notes;
mod plugins;
pub(crate) mod probe;
mod program;
mod record;
mod repair;
mod trust;
mod version;

use std::process::ExitCode;

use agents_plugin::probes::Acquire;
use agents_system::finding::Severity;
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use self::{checks::Problem, machine::Machine, program::Programs, repair::Attempt};
use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, visit},
    output::Output,
    settings::Settings,
};

/// What to do about problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Only say them.
    Report,
    /// Repair what is safe to repair.
    Fix,
}

/// `cargo agents doctor --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DoctorDocument {
    /// Whether no problem remains; notes do not count
    healthy: bool,
    /// How many kinds of problems were looked for
    checks: usize,
    /// What remains, after `--fix` if that was asked for
    problems: Vec<ProblemView>,
    /// What `--fix` did, and what it could not do
    repairs: Vec<RepairView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProblemView {
    /// The kind of problem, as `docs/doctor.md` lists them
    code: &'static str,
    #[serde(flatten)]
    finding: FindingView,
    /// Whether `--fix` does something about it
    fixable: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RepairView {
    /// The kinds of problems that it was for
    codes: Vec<&'static str>,
    done: bool,
    /// What was done, or why not
    message: String,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    treatment: Treatment,
) -> Result<ExitCode, Failure> {
    let mut problems = examine(settings)?;
    let mut attempts = Vec::new();
    if treatment == Treatment::Fix {
        attempts = repair::all(settings, &problems)?;
        if !attempts.is_empty() {
            problems = examine(settings)?;
        }
    }
    settings.progress.end();
    let counted = |problem: &&Problem| problem.finding.severity > Severity::Note;
    let remaining = problems.iter().filter(counted).count();
    if output.is_json() {
        output.document(&document(&problems, &attempts, remaining))?;
    } else {
        render(&problems, &attempts, settings, output)?;
    }
    Ok(if remaining == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything that is wrong, the worst first.
fn examine(settings: &Settings) -> Result<Vec<Problem>, Failure> {
    settings.progress.begin("Looking at this machine");
    let machine = Machine::look(settings)?;
    let mut problems: Vec<Problem> = program::check(&Programs::look()).into_iter().collect();
    problems.extend(configured::check(&machine));
    problems.extend(record::check(&machine));
    problems.extend(journals::check(settings));
    problems.extend(host_files::check(&machine));
    problems.extend(trust::check(&machine));
    problems.extend(loading::check(&machine));
    problems.extend(plugins::tampered(&settings.dirs.cache));
    if machine.config.is_ok() {
        let more = visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, _| {
            let mut more = brought::check(&machine, here, &problems);
            more.extend(plugins::check(here));
            Ok(more)
        })?;
        problems.extend(more);
    }
    Failure::if_interrupted()?;
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.finding.severity));
    Ok(problems)
}

fn document(problems: &[Problem], attempts: &[Attempt], remaining: usize) -> DoctorDocument {
    let problems = problems.iter().map(|problem| ProblemView {
        code: problem.check.code,
        finding: FindingView::from(&problem.finding),
        fixable: problem.repair.is_some(),
    });
    let repairs = attempts.iter().map(|attempt| RepairView {
        codes: attempt.codes.clone(),
        done: attempt.result.is_ok(),
        message: attempt.words().to_owned(),
    });
    DoctorDocument {
        healthy: remaining == 0,
        checks: checks::ALL.len(),
        problems: problems.collect(),
        repairs: repairs.collect(),
    }
}

fn render(
    problems: &[Problem],
    attempts: &[Attempt],
    settings: &Settings,
    output: &Output,
) -> Result<(), Failure> {
    for attempt in attempts {
        let (word, color) = match attempt.result {
            Ok(_) => ("fixed", AnsiColor::Green),
            Err(_) => ("not fixed", AnsiColor::Red),
        };
        let word = colored(word, color, output);
        output.line(format!("{word}: {} ({})", attempt.words(), attempt.codes.join(", ")))?;
    }
    let least = if settings.flags.verbose { Severity::Note } else { Severity::Warning };
    let shown: Vec<&Problem> =
        problems.iter().filter(|problem| problem.finding.severity >= least).collect();
    let width = shown.iter().map(|problem| problem.check.code.len()).max().unwrap_or(0);
    for problem in &shown {
        let (word, color) = match problem.finding.severity {
            Severity::Error => ("error  ", AnsiColor::Red),
            Severity::Warning => ("warning", AnsiColor::Yellow),
            Severity::Note => ("note   ", AnsiColor::Green),
        };
        let word = colored(word, color, output);
        let finding = &problem.finding;
        output.line(format!("{word}  {:width$}  {}", problem.check.code, finding.message))?;
        let indent = " ".repeat("warning".len() + 2 + width + 2);
        if let Some(place) = &finding.place {
            output.line(format!("{indent}in {place}"))?;
        }
        if let Some(hint) = &finding.hint {
            output.line(format!("{indent}{} {hint}", colored("hint:", AnsiColor::Cyan, output)))?;
        }
    }
    output.line(summary(problems))
}

fn summary(problems: &[Problem]) -> String {
    let count = |severity| problems.iter().filter(|it| it.finding.severity == severity).count();
    let plural = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let notes = match count(Severity::Note) {
        0 => String::new(),
        count => format!(", {}", plural(count, "note")),
    };
    let checks = plural(checks::ALL.len(), "check");
    if errors + warnings == 0 {
        return format!("{checks}, healthy{notes}.");
    }
    let (errors, warnings) = (plural(errors, "error"), plural(warnings, "warning"));
    let fixable = problems.iter().filter(|problem| problem.repair.is_some()).count();
    let fix = match fixable {
        0 => String::new(),
        count => format!("  `cargo agents doctor --fix` does something about {count} of them."),
    };
    format!("{checks}: {errors}, {warnings}{notes}.{fix}")
}

pub(crate) fn colored(word: &str, color: AnsiColor, output: &Output) -> String {
    let style = Style::new().bold().fg_color(Some(color.into()));
    if output.colors_results() { format!("{style}{word}{style:#}") } else { word.to_owned() }
}
