//! `cargo agents hook explain`

use std::process::ExitCode;

use agents_hook::{HookOutput, Part, Wire};
use agents_host::{Event, find};
use serde::Serialize;
use serde_json::json;

use crate::{commands::wanted, failure::Failure, output::Output, settings::Settings};

/// `cargo agents hook explain --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HookExplainDocument {
    host: String,
    /// Its name for people
    name: String,
    /// What the user must do before it runs hooks
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<String>,
    events: Vec<EventView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EventView {
    event: String,
    /// What the host calls it; absent where it has no such moment
    #[serde(skip_serializing_if = "Option::is_none")]
    called: Option<String>,
    /// What it can be told
    understands: Vec<&'static str>,
    /// What it cannot be told, and what happens instead
    lost: Vec<LossView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LossView {
    part: &'static str,
    instead: String,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    wire: Wire,
    only: Option<Event>,
) -> Result<ExitCode, Failure> {
    let (hosts, findings) = wanted::all_hosts(settings)?;
    let host = find(&hosts, wire.host()).ok();
    let trust = host.and_then(|it| it.hooks.get()?.trust.as_ref()).map(|it| it.hint.clone());
    let document = HookExplainDocument {
        host: wire.host().to_owned(),
        name: host.map_or(wire.host(), |it| &it.name).to_owned(),
        trust,
        events: Event::ALL
            .into_iter()
            .filter(|event| only.is_none_or(|only| only == *event))
            .map(|event| view(wire, event))
            .collect(),
    };
    if output.is_json() {
        output.document(&document)?;
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&document.name)?;
    if let Some(trust) = &document.trust {
        output.line(format!("  before it runs hooks: {trust}"))?;
    }
    for it in &document.events {
        let Some(called) = &it.called else {
            output
                .line(format!("\n{}  it has no such moment; hooks for it do not run", it.event))?;
            continue;
        };
        output.line(format!("\n{}  called `{called}`", it.event))?;
        let understands = if it.understands.is_empty() {
            "nothing".to_owned()
        } else {
            it.understands.join(", ")
        };
        output.line(format!("  understands  {understands}"))?;
        for loss in &it.lost {
            output.line(format!("  {:11}  {}", loss.part, loss.instead))?;
        }
    }
    output.flush()?;
    output.findings(&findings);
    Ok(ExitCode::SUCCESS)
}

fn view(wire: Wire, event: Event) -> EventView {
    let called = wire.event(event);
    let can = wire.can(event);
    let lost = Part::ALL.into_iter().filter(|part| called.is_some() && !can.contains(part));
    let lost = lost.filter_map(|part| {
        let (_, losses) = wire.reduce(event, &saying(part));
        let loss = losses.into_iter().find(|loss| loss.part == part)?;
        Some(LossView { part: part.word(), instead: loss.instead.to_string() })
    });
    EventView {
        event: event.name().to_owned(),
        called: called.map(str::to_owned),
        understands: can.iter().map(|part| part.word()).collect(),
        lost: lost.collect(),
    }
}

/// An answer that says this and nothing else.
fn saying(part: Part) -> HookOutput {
    let text = "text".to_owned();
    match part {
        Part::Allow => HookOutput::allow(),
        Part::Ask => HookOutput::ask(text),
        Part::Deny => HookOutput::deny(text),
        Part::UpdatedInput => HookOutput::update_input(json!({})),
        Part::Context => HookOutput::context(text),
        Part::UpdatedOutput => HookOutput::update_output(json!(text)),
        Part::Stop => HookOutput::stop(text),
        Part::SystemMessage => HookOutput { system_message: Some(text), ..HookOutput::default() },
        Part::Suppress => HookOutput { suppress_output: true, ..HookOutput::default() },
    }
}
