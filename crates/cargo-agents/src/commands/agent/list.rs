//! `cargo agents agent list`

use std::{fmt::Write as _, process::ExitCode};

use agents_agent::{Candidate, Standing};
use serde::Serialize;

use super::{Found, name_of, scope_of, source_in_words};
use crate::{
    failure::{Failure, FindingView},
    output::Output,
};

/// `cargo agents agent list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentListDocument {
    /// Every file that should be an agent, in order of precedence
    agents: Vec<AgentView>,
    /// The nearest project directory with agents
    #[serde(skip_serializing_if = "Option::is_none")]
    project_dir: Option<String>,
    /// What plugins would bring elsewhere
    skipped: Vec<SkippedView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AgentView {
    /// Its name; of a file that is no definition, the name of the file
    name: String,
    /// `command-line`, `project`, `user`, `plugin`, `crate` or `bundled`
    scope: &'static str,
    /// The same with the plugin's or crate's name
    source: String,
    /// Whose way of keeping agents it is: a host, `agents`, `omp`, `zeph`, a plugin
    family: String,
    /// Absent for what is in the program
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Whether the name means this one
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SkippedView {
    plugin: String,
    what: String,
    why: String,
}

/// A description longer than this is cut.
const WIDTH: usize = 80;

pub(super) fn run(found: &Found, output: &Output) -> Result<ExitCode, Failure> {
    if output.is_json() {
        output.document(&document(found))?;
        return Ok(ExitCode::SUCCESS);
    }
    let candidates = &found.agents.candidates;
    // Those that are shadowed are notes, and `explain` has them.
    let shown = |wanted| candidates.iter().filter(move |it| it.standing == wanted);
    let shown: Vec<&Candidate> = shown(Standing::Wins).chain(shown(Standing::Invalid)).collect();
    let sources: Vec<String> = shown.iter().map(|it| source_in_words(&it.source)).collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = width(&mut shown.iter().map(|it| name_of(it).chars().count()));
    let places = width(&mut sources.iter().map(|it| it.chars().count()));
    let mut text = String::new();
    for (candidate, source) in shown.iter().zip(&sources) {
        let said = match (&candidate.definition, found.why_not(candidate)) {
            (Some(definition), _) => definition.description.clone(),
            (None, why) => format!("(no agent: {})", why.unwrap_or_default()),
        };
        let (name, said) = (name_of(candidate), one_line(&said, WIDTH));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:names$}  {source:places$}  {said}");
    }
    output.text(text)?;
    output.flush()?;
    output.findings(&found.findings);
    output.findings(&found.agents.all_findings());
    Ok(ExitCode::SUCCESS)
}

/// The text on one line, cut after so many characters.
pub(in crate::commands) fn one_line(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let cut: String = line.chars().take(width - 1).collect();
    format!("{}…", cut.trim_end())
}

pub(crate) fn document(found: &Found) -> AgentListDocument {
    let view = |candidate: &Candidate| AgentView {
        name: name_of(candidate),
        scope: scope_of(&candidate.source),
        source: source_in_words(&candidate.source),
        family: candidate.family.clone(),
        file: candidate.file.as_ref().map(ToString::to_string),
        description: candidate.definition.as_ref().map(|it| it.description.clone()),
        available: candidate.standing == Standing::Wins,
        why_not: found.why_not(candidate),
    };
    let skipped = found.brought.skipped.iter().map(|it| SkippedView {
        plugin: it.plugin.to_string(),
        what: it.what.clone(),
        why: it.why.to_string(),
    });
    let own = found.agents.all_findings();
    AgentListDocument {
        agents: found.agents.candidates.iter().map(view).collect(),
        project_dir: found.agents.project_dir.as_ref().map(ToString::to_string),
        skipped: skipped.collect(),
        findings: found.findings.iter().chain(&own).map(FindingView::from).collect(),
    }
}
