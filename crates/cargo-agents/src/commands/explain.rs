//! `cargo agents plugin explain <plugin>`

use std::process::ExitCode;

use agents_plugin::{
    active::{Cause, Reason, State},
    explain::{Contribution, Explanation},
    plugin::{Origin, Plugin},
    predicate::Step,
    probes::Acquire,
    skills::{Fetch, Skill, SkillName, Skills, Skipped, Why},
};
use camino::Utf8PathBuf;
use serde::Serialize;

use super::show::not_found;
use crate::{
    failure::Failure,
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// `cargo agents plugin explain --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExplainDocument {
    plugins: Vec<ExplanationView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExplanationView {
    name: String,
    /// Where it comes from, in words
    origin: String,
    file: String,
    active: bool,
    /// Why, in words
    because: String,
    conditions: Vec<StepView>,
    contributions: Vec<ContributionView>,
    /// The skills that it brings here
    skills: Vec<String>,
    /// What brings no skill here
    skipped: Vec<SkippedView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SkippedView {
    /// A crate, a skill or a group of skills, in words
    what: String,
    because: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepView {
    condition: String,
    holds: bool,
    because: String,
    /// How deep it stands inside `any`, `all` and `not`
    depth: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ContributionView {
    /// `skills`, `agents`, `subcommand`, `hook`, `mcp server` or `plugin`
    kind: &'static str,
    name: String,
    active: bool,
    conditions: Vec<StepView>,
}

pub(crate) fn run(settings: &Settings, output: &Output, name: &str) -> Result<ExitCode, Failure> {
    explained(settings, name, |here, all, skills| {
        if output.is_json() {
            output.document(&ExplainDocument::new(all, skills))?;
        } else {
            for explanation in all {
                render(explanation, output)?;
                render_skills(explanation, skills, output)?;
            }
            output.findings(&here.findings);
        }
        Ok(ExitCode::SUCCESS)
    })
}

impl ExplainDocument {
    fn new(all: &[Explanation<'_>], skills: &Skills) -> Self {
        Self { plugins: all.iter().map(|it| view(it, skills)).collect() }
    }

    /// All plugins of a name, here and now.
    #[cfg(feature = "http")]
    pub(crate) fn now(settings: &Settings, name: &str) -> Result<Self, Failure> {
        explained(settings, name, |_, all, skills| Ok(Self::new(all, skills)))
    }
}

/// Finds out everything about the plugins of a name, and hands it on.
fn explained<T>(
    settings: &Settings,
    name: &str,
    work: impl FnOnce(&Here<'_>, &[Explanation<'_>], &Skills) -> Result<T, Failure>,
) -> Result<T, Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::Fails, |here, _| {
        let workspace = here.workspace.as_ref();
        let all = here.registries.explain(&here.set, name, workspace, &settings.cwd);
        Failure::if_interrupted()?;
        if all.is_empty() {
            return Err(not_found(here, name));
        }
        let skills = here.registries.skills(&here.set, workspace, &settings.cwd, Fetch::Never);
        work(here, &all, &skills)
    })
}

/// Where it is said: the manifest, or what a crate without one has in its place.
fn place(plugin: &Plugin) -> Utf8PathBuf {
    let skills = plugin.dir().join("skills");
    let is_implied = matches!(plugin.origin, Origin::Crate(..) | Origin::Member(_));
    if is_implied && !plugin.file.is_file() && skills.is_dir() {
        skills
    } else {
        plugin.file.clone()
    }
}

fn render(explanation: &Explanation<'_>, output: &Output) -> Result<(), Failure> {
    let plugin = explanation.plugin;
    output.line(format!("{}  ({}, {})", plugin.name, plugin.origin, place(plugin)))?;
    render_steps(&explanation.steps, 1, output)?;
    let (active, dormant): (Vec<_>, Vec<_>) =
        explanation.contributions.iter().partition(|contribution| contribution.active);
    output.line(format!("  {}", state_in_words(explanation.state)))?;
    for (contributions, word) in [(&active, "active"), (&dormant, "not active")] {
        if !contributions.is_empty() {
            output.line(format!("  {word} here: {}", count(contributions)))?;
        }
        for contribution in contributions {
            output.line(format!("    {}  {}", contribution.kind, contribution.name))?;
            render_steps(&contribution.steps, 3, output)?;
        }
    }
    Ok(())
}

/// What became of its groups of skills.
fn render_skills(
    explanation: &Explanation<'_>,
    skills: &Skills,
    output: &Output,
) -> Result<(), Failure> {
    for name in brought(explanation.plugin, skills) {
        output.line(format!("    brings the skill {name}"))?;
    }
    for it in skipped(explanation.plugin, skills) {
        output.line(format!("    brings nothing: {}: {}", it.what, it.why))?;
    }
    Ok(())
}

fn brought<'s>(plugin: &Plugin, skills: &'s Skills) -> impl Iterator<Item = &'s SkillName> {
    let (name, origin) = (plugin.name.clone(), plugin.origin.clone());
    let is_its =
        move |skill: &&Skill| skill.plugins().any(|it| (&it.name, &it.origin) == (&name, &origin));
    skills.skills.iter().filter(is_its).map(|skill| &skill.name)
}

/// Groups whose conditions do not hold are explained condition by condition.
fn skipped<'s>(plugin: &Plugin, skills: &'s Skills) -> impl Iterator<Item = &'s Skipped> {
    let name = plugin.name.clone();
    skills.skipped.iter().filter(move |it| it.plugin == name && it.why != Why::GroupGate)
}

fn render_steps(steps: &[Step], indent: usize, output: &Output) -> Result<(), Failure> {
    let width = steps.iter().map(|step| step.condition.len() + 2 * step.depth).max().unwrap_or(0);
    for step in steps {
        let verdict = if step.holds { "yes" } else { "no" };
        let margin = "  ".repeat(indent + step.depth);
        let width = width - 2 * step.depth;
        output.line(format!("{margin}{:width$}  {verdict:3}  {}", step.condition, step.because))?;
    }
    Ok(())
}

/// `2 skills groups, 1 subcommand`
fn count(contributions: &[&Contribution]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for contribution in contributions {
        match kinds.iter_mut().find(|(kind, _)| *kind == contribution.kind) {
            Some((_, number)) => *number += 1,
            None => kinds.push((contribution.kind, 1)),
        }
    }
    let words = kinds.into_iter().map(|(kind, number)| match (kind, number) {
        ("skills" | "agents", 1) => format!("1 group of {kind}"),
        ("skills" | "agents", number) => format!("{number} groups of {kind}"),
        (kind, 1) => format!("1 {kind}"),
        (kind, number) => format!("{number} {kind}s"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A decision as a short clause.
pub(super) fn state_in_words(state: &State) -> String {
    match state {
        State::Active(Cause::Gate) => "active".to_owned(),
        State::Active(Cause::Used) => "active: `[plugins] use` names it".to_owned(),
        State::Active(Cause::AutoEnabled) => "active: `[plugins] auto-enable` names it".to_owned(),
        State::Active(Cause::Chained(by)) => format!("active: brought along by `{by}`"),
        State::Inactive(Reason::Gate) => "not active: its conditions do not hold".to_owned(),
        State::Inactive(Reason::Disabled) => "not active: `[plugins] disable` names it".to_owned(),
        State::Inactive(Reason::Sleeping) => {
            "not active: it names no crate, so it sleeps until `[plugins] use` names it".to_owned()
        }
        State::Inactive(Reason::WouldRun) => {
            "not active: it comes with this workspace and its conditions run programs; `[plugins] use` turns it on"
                .to_owned()
        }
        State::Inactive(Reason::NoConsent) => {
            "not active: a dependency brings it; `[plugins] use` or `auto-enable` turns it on"
                .to_owned()
        }
        State::Inactive(Reason::Superseded(origin)) => {
            format!("not active: {origin} has a plugin of that name")
        }
    }
}

fn view(explanation: &Explanation<'_>, skills: &Skills) -> ExplanationView {
    let plugin = explanation.plugin;
    ExplanationView {
        name: plugin.name.to_string(),
        origin: plugin.origin.to_string(),
        file: place(plugin).to_string(),
        active: matches!(explanation.state, State::Active(_)),
        because: state_in_words(explanation.state),
        conditions: explanation.steps.iter().map(step_view).collect(),
        contributions: explanation
            .contributions
            .iter()
            .map(|contribution| ContributionView {
                kind: contribution.kind,
                name: contribution.name.clone(),
                active: contribution.active,
                conditions: contribution.steps.iter().map(step_view).collect(),
            })
            .collect(),
        skills: brought(plugin, skills).map(ToString::to_string).collect(),
        skipped: skipped(plugin, skills)
            .map(|it| SkippedView { what: it.what.clone(), because: it.why.to_string() })
            .collect(),
    }
}

fn step_view(step: &Step) -> StepView {
    StepView {
        condition: step.condition.clone(),
        holds: step.holds,
        because: step.because.clone(),
        depth: step.depth,
    }
}
