//! `cargo agents model explain <agent>`

use std::process::ExitCode;

use agents_model::select::{Ask, EffortFrom, Outcome, Resolution, Step, level_word, select};
use camino::Utf8PathBuf;
use serde::Serialize;

use super::{super::agent, Models};
use crate::{
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents model explain --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ModelExplainDocument {
    agent: String,
    provider: String,
    model: String,
    /// `off`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; missing if it is left to the provider
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    /// Who wants that much effort, in words
    #[serde(skip_serializing_if = "Option::is_none")]
    effort_from: Option<&'static str>,
    /// Everything that was looked at, in order
    chain: Vec<StepView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepView {
    pattern: String,
    /// Whose pattern it is, in words
    said_by: &'static str,
    /// How many roles and aliases it is inside of
    depth: usize,
    /// `expands`, `inherits`, `empty`, `cycle`, `matches`, `no-key`, `no-match` or `not-needed`
    outcome: &'static str,
    /// In words
    why: String,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    name: &str,
    request: Option<&str>,
    named: &[Utf8PathBuf],
) -> Result<ExitCode, Failure> {
    let found = agent::found(settings, named)?;
    let definition = found.agents.lookup(name)?;
    let models = Models::here(settings, None)?;
    let request: Vec<String> = request.iter().map(ToString::to_string).collect();
    let patterns: Vec<String> = definition.model.iter().map(|pattern| pattern.0.clone()).collect();
    let ask = Ask {
        name: Some(name),
        request: &request,
        agent: &patterns,
        agent_effort: definition.effort,
        ..Ask::default()
    };
    let resolution = select(&ask, &models.available(), &models.preferences).map_err(|error| {
        let chain = lines(&error.chain).join("\n");
        Failure::from(error).details(chain)
    })?;
    if output.is_json() {
        let mut all = models.findings;
        all.extend(resolution.findings.iter().cloned());
        output.document(&document(
            name,
            &resolution,
            all.iter().map(FindingView::from).collect(),
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let place = definition.origin.file.as_ref().map_or("in the program", |it| it.as_str());
    output.line(format!("{name}  ({place})"))?;
    let effort = resolution
        .effort
        .map(|(effort, from)| format!("   effort {} ({})", level_word(effort), effort_from(from)));
    output.line(format!("  runs on {}{}", resolution.model, effort.unwrap_or_default()))?;
    output.line("because:")?;
    for line in lines(&resolution.chain) {
        output.line(format!("  {line}"))?;
    }
    output.flush()?;
    output.findings(found.findings.iter().chain(&models.findings).chain(&resolution.findings));
    Ok(ExitCode::SUCCESS)
}

fn effort_from(from: EffortFrom) -> &'static str {
    match from {
        EffortFrom::Request => "the call",
        EffortFrom::Pattern => "the pattern",
        EffortFrom::Agent => "the definition",
        EffortFrom::Expansion => "the role or alias",
    }
}

/// Each step as a line, with what it is inside of to its left.
fn lines(chain: &[Step]) -> Vec<String> {
    // What came after the decision is told once.
    let told = chain.iter().filter(|step| step.outcome != Outcome::NotNeeded);
    let rows: Vec<(String, &'static str, String)> = told
        .map(|step| {
            (
                format!("{:1$}{2}", "", 2 * step.depth, step.pattern),
                step.said.words(),
                words(&step.outcome).1,
            )
        })
        .collect();
    let width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let mut before = "";
    rows.into_iter()
        .map(|(pattern, said, why)| {
            let said = if std::mem::replace(&mut before, said) == said { "" } else { said };
            let said = if said.is_empty() { String::new() } else { format!("   ({said})") };
            format!("{pattern:width$}  {why}{said}")
        })
        .collect()
}

fn words(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Expands(patterns) => ("expands", format!("stands for {}", patterns.join(", "))),
        Outcome::Inherits => ("inherits", "means the parent's model".to_owned()),
        Outcome::EmptyRole => ("empty", "a role that means nothing here".to_owned()),
        Outcome::Cycle => ("cycle", "stands for itself".to_owned()),
        Outcome::Matches { model, how } => ("matches", format!("fits {model}, {}", how.words())),
        Outcome::NoKey { model } => ("no-key", format!("fits {model}, for which there is no key")),
        Outcome::NoMatch => ("no-match", "fits no model".to_owned()),
        Outcome::NotNeeded => ("not-needed", "not needed any more".to_owned()),
    }
}

fn document(
    name: &str,
    resolution: &Resolution,
    findings: Vec<FindingView>,
) -> ModelExplainDocument {
    let chain = resolution.chain.iter().map(|step| {
        let (outcome, why) = words(&step.outcome);
        StepView {
            pattern: step.pattern.clone(),
            said_by: step.said.words(),
            depth: step.depth,
            outcome,
            why,
        }
    });
    ModelExplainDocument {
        agent: name.to_owned(),
        provider: resolution.model.provider.clone(),
        model: resolution.model.id.clone(),
        effort: resolution.effort.map(|(effort, _)| level_word(effort)),
        effort_from: resolution.effort.map(|(_, from)| effort_from(from)),
        chain: chain.collect(),
        findings,
    }
}
