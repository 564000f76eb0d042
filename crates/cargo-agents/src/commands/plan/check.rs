//! `cargo agents plan check FILE`

use std::process::ExitCode;

use agents_plan::check::check;
use agents_system::{
    explain::ErrorKind,
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
        return Err(Failure::new(ErrorKind::Usage, facts::told(errors)));
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
