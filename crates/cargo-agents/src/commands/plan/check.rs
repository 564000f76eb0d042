//! `cargo agents plan check FILE`, `cargo agents plan check-journal RUN`

use std::process::ExitCode;

use agents_plan::{
    check::check,
    journal::{Checked, RunId},
};
use agents_system::{
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::facts;
use crate::{
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents plan check --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanCheckDocument {
    file: String,
    /// Its name, if it can be read
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// How many tasks it names
    tasks: usize,
    /// Whether it can run
    valid: bool,
    findings: Vec<FindingView>,
}

/// `cargo agents plan check-journal --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanJournalDocument {
    runs: Vec<JournalView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JournalView {
    run: String,
    /// How many events can be read
    events: u64,
    /// What is wrong; nothing if the run can be resumed, and every event of it be believed
    problems: Vec<String>,
}

/// Every event in its place, and the state that they lead to.
pub(super) fn journals(
    settings: &Settings,
    output: &Output,
    run: Option<&str>,
) -> Result<ExitCode, Failure> {
    let journals = super::journals(settings);
    let ids: Vec<RunId> = match run {
        Some(run) => vec![super::meant(&journals, run)?],
        None => {
            let listed = journals.list()?;
            listed.into_iter().map(|it| it.map_or_else(|(id, _)| id, |it| it.id)).collect()
        }
    };
    let checked = ids.iter().map(|id| match journals.check(id) {
        Ok(Checked { events, problems }) => JournalView { run: id.to_string(), events, problems },
        Err(error) => {
            let problems = vec![Failure::from(error).into_finding(id.as_str()).message];
            JournalView { run: id.to_string(), events: 0, problems }
        }
    });
    let runs: Vec<JournalView> = checked.collect();
    let broken = runs.iter().filter(|it| !it.problems.is_empty()).count();
    if output.is_json() {
        output.document(&PlanJournalDocument { runs })?;
        let code = if broken == 0 { 0 } else { ErrorKind::Failure.exit_code() };
        return Ok(ExitCode::from(code));
    }
    for JournalView { run, events, problems } in &runs {
        let told = if problems.is_empty() { "sound".to_owned() } else { problems.join("; ") };
        output.line(format!("{run}  {events} events  {told}"))?;
    }
    output.flush()?;
    match broken {
        0 => Ok(ExitCode::SUCCESS),
        broken => Err(Failure::new(
            ErrorKind::Failure,
            format!("{broken} of {} journals are damaged", runs.len()),
        )
        .code(Code::JournalDamaged)
        .hint("`cargo agents plan show RUN --at N` shows a run as it was before the damage")),
    }
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    file: &Utf8Path,
    named: &[Utf8PathBuf],
) -> Result<ExitCode, Failure> {
    let found = facts::found(settings, file, named)?;
    output.findings(&found.surroundings);
    let mut findings = found.findings;
    if let Some(bundle) = &found.bundle {
        findings.extend(check(bundle, &found.facts));
    }
    let errors = findings.iter().filter(|it| it.severity == Severity::Error).count();
    let main = found.bundle.as_ref().map(|it| &it.main().plan);
    if output.is_json() {
        output.document(&PlanCheckDocument {
            file: file.to_string(),
            plan: main.map(|it| it.plan.clone()),
            tasks: main.map_or(0, |it| it.tasks.len()),
            valid: errors == 0,
            findings: findings.iter().map(FindingView::from).collect(),
        })?;
        let code = if errors == 0 { 0 } else { ErrorKind::Usage.exit_code() };
        return Ok(ExitCode::from(code));
    }
    let shown: Vec<&Finding> = findings.iter().collect();
    output.findings(shown);
    if errors > 0 {
        return Err(Failure::new(ErrorKind::Usage, facts::told(errors)).code(Code::PlanInvalid));
    }
    if let Some(plan) = main {
        let tasks = if plan.tasks.len() == 1 {
            "1 task".to_owned()
        } else {
            format!("{} tasks", plan.tasks.len())
        };
        output.line(format!("{}: {tasks}, nothing is wrong with it", plan.plan))?;
    }
    Ok(ExitCode::SUCCESS)
}
