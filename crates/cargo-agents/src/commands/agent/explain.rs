//! `cargo agents agent explain <agent>`

use std::process::ExitCode;

use agents_agent::{Candidate, Standing, agents::Searched, shelf::ShelfState};
use serde::Serialize;

use super::{Found, scope_of, source_in_words};
use crate::{
    failure::{Failure, FindingView},
    output::Output,
};

/// `cargo agents agent explain --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentExplainDocument {
    name: String,
    /// Every candidate for the name, in order of precedence
    chain: Vec<StepView>,
    /// Every place that was looked at, in order
    searched: Vec<SearchedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepView {
    /// `wins`, `shadowed`, `copy` (`sync` delivered it), `waits` (nobody has agreed to it) or `invalid`
    standing: &'static str,
    /// `command-line`, `project`, `user`, `plugin`, `crate` or `bundled`
    scope: &'static str,
    source: String,
    family: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SearchedView {
    path: String,
    source: String,
    family: String,
    /// In words: `3 files`, `missing`, `cannot be read`, `the same as …`
    state: String,
}

pub(super) fn run(found: &Found, output: &Output, name: &str) -> Result<ExitCode, Failure> {
    let chain: Vec<&Candidate> = found.agents.chain(name).collect();
    if chain.is_empty() {
        found.agents.lookup(name)?;
    }
    if output.is_json() {
        let chain = chain.iter().map(|it| step(found, it)).collect();
        let searched = found.agents.searched.iter().map(searched).collect();
        output.document(&AgentExplainDocument { name: name.to_owned(), chain, searched })?;
        return Ok(ExitCode::SUCCESS);
    }
    output.line(name)?;
    for candidate in &chain {
        let place = candidate.file.as_ref().map_or("in the program", |it| it.as_str());
        let source = source_in_words(&candidate.source);
        output.line(format!("  {:8}  {source:8}  {place}", word(candidate.standing)))?;
        let explained = !matches!(candidate.standing, Standing::Wins | Standing::Invalid);
        if let Some(why) = found.why_not(candidate).filter(|_| explained) {
            output.line(format!("            {why}"))?;
        }
        for finding in &candidate.findings {
            output.line(format!("            {}", finding.message))?;
        }
    }
    output.line("looked at, in this order:")?;
    for Searched { shelf, state } in &found.agents.searched {
        if *state == ShelfState::Missing {
            continue;
        }
        let source = source_in_words(&shelf.source);
        output.line(format!("  {source:8}  {}  ({state})", shelf.path))?;
    }
    let missing = found.agents.searched.iter().filter(|it| it.state == ShelfState::Missing);
    output.line(format!("  and {} places with none", missing.count()))?;
    output.flush()?;
    output.findings(&found.findings);
    Ok(ExitCode::SUCCESS)
}

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Wins => "wins",
        Standing::ShadowedBy(_) => "shadowed",
        Standing::Copy => "copy",
        Standing::Held => "waits",
        Standing::Invalid => "invalid",
    }
}

fn step(found: &Found, candidate: &Candidate) -> StepView {
    StepView {
        standing: word(candidate.standing),
        scope: scope_of(&candidate.source),
        source: source_in_words(&candidate.source),
        family: candidate.family.clone(),
        file: candidate.file.as_ref().map(ToString::to_string),
        why_not: found.why_not(candidate),
        findings: candidate.findings.iter().map(FindingView::from).collect(),
    }
}

fn searched(searched: &Searched) -> SearchedView {
    SearchedView {
        path: searched.shelf.path.to_string(),
        source: source_in_words(&searched.shelf.source),
        family: searched.shelf.family.clone(),
        state: searched.state.to_string(),
    }
}
