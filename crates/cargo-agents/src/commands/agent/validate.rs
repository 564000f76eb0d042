//! `cargo agents agent validate <path>`

use std::process::ExitCode;

use agents_agent::{
    parse::Strictness,
    validate::{Checked, validate},
};
use agents_system::explain::{Code, ErrorKind};
use camino::Utf8Path;
use serde::Serialize;

use crate::{
    failure::{Failure, FindingView, explained_by},
    output::Output,
};

/// `cargo agents agent validate --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentValidateDocument {
    valid: bool,
    checked: Vec<CheckedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CheckedView {
    file: String,
    /// The name of the agent, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    valid: bool,
    findings: Vec<FindingView>,
}

pub(super) fn run(output: &Output, path: &Utf8Path, strict: bool) -> Result<ExitCode, Failure> {
    let strictness = if strict { Strictness::Strict } else { Strictness::Lenient };
    let checked = validate(path, strictness)
        .map_err(|error| Failure::new(ErrorKind::Usage, error.to_string()))?;
    if checked.is_empty() {
        return Err(Failure::new(ErrorKind::Usage, format!("no agents found in `{path}`"))
            .code(Code::AgentInvalid)
            .hint("an agent is a Markdown file with a header between two `---` lines"));
    }
    let valid = checked.iter().all(Checked::is_valid);
    if output.is_json() {
        let checked = checked.iter().map(view).collect();
        output.document(&AgentValidateDocument { valid, checked })?;
    } else {
        render(&checked, output)?;
    }
    if !valid && !output.is_json() {
        output.flush()?;
        output.talk(&explained_by(Code::AgentInvalid));
    }
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn render(checked: &[Checked], output: &Output) -> Result<(), Failure> {
    for item in checked {
        let word = if item.is_valid() { "ok" } else { "wrong" };
        output.line(format!("{word:5}  {}", item.file))?;
        for finding in &item.findings {
            output.line(output.render_finding(finding))?;
        }
    }
    let all = checked.len();
    output.line(match checked.iter().filter(|item| !item.is_valid()).count() {
        0 => format!("{all} checked, nothing wrong"),
        wrong => format!("{all} checked, {wrong} wrong"),
    })
}

fn view(checked: &Checked) -> CheckedView {
    CheckedView {
        file: checked.file.to_string(),
        name: checked.definition.as_ref().map(|it| it.name.to_string()),
        valid: checked.is_valid(),
        findings: checked.findings.iter().map(FindingView::from).collect(),
    }
}
