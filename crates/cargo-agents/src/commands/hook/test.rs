//! `cargo agents hook test` and `cargo agents hook replay`

use std::{io::Read as _, process::ExitCode};

use agents_hook::{Source, Wire};
use agents_host::Event;
use agents_plugin::{
    active::here_for,
    hooks::ActiveHook,
    plugin::Hooking,
    predicate::{Surroundings, evaluate::Asker},
};
use agents_system::explain::ErrorKind;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::{
    account::{AnswerView, HookDocument, HookView, State, in_words},
    answer::work,
    event_named, host_named, trace,
};
use crate::{
    commands::{agreed, explain::state_in_words},
    failure::Failure,
    here::{Here, glance},
    output::Output,
    settings::Settings,
};

/// How much of a text is shown to people.
const SHOWN: usize = 2_000;

/// Calls the hooks as the host would, and tells everything about it.
pub(super) fn run(
    settings: &Settings,
    output: &Output,
    (wire, event): (Wire, Event),
    input: Option<&Utf8Path>,
    record: Option<&Utf8Path>,
) -> Result<ExitCode, Failure> {
    let raw = read(input)?;
    let account = work(wire, event, &raw, Some(&settings.cwd));
    let mut document = account.document(wire, event, &raw);
    let there = if account.cwd.as_str().is_empty() { &settings.cwd } else { &account.cwd };
    for other in others(settings, there, event)? {
        let known = |it: &HookView| (&it.plugin, &it.hook) == (&other.plugin, &other.hook);
        if !document.hooks.iter().any(known) {
            document.hooks.push(other);
        }
    }
    if let Some(file) = record {
        trace::append(file, &document).map_err(|error| unusable(&error))?;
    }
    if output.is_json() {
        output.document(&document)?;
    } else {
        render(wire, &document, output)?;
        output.flush()?;
        output.findings(&account.findings);
    }
    Ok(ExitCode::SUCCESS)
}

fn read(input: Option<&Utf8Path>) -> Result<Vec<u8>, Failure> {
    let mut raw = Vec::new();
    match input.filter(|file| *file != "-") {
        Some(file) => raw = fs_err::read(file).map_err(|error| unusable(&error))?,
        None => {
            let read = std::io::stdin().lock().read_to_end(&mut raw);
            read.map_err(|error| unusable(&error))?;
        }
    }
    Ok(raw)
}

fn unusable(error: &std::io::Error) -> Failure {
    Failure::new(ErrorKind::Usage, error.to_string())
}

/// The hooks that were not thought of for this call: they are for other events or hosts, or do not apply here.
fn others(settings: &Settings, cwd: &Utf8Path, event: Event) -> Result<Vec<HookView>, Failure> {
    let settings = Settings { cwd: cwd.to_owned(), ..Settings::new(&settings.flags)? };
    let others = glance(&settings, |here| inapplicable(here, event))?;
    Ok(others.unwrap_or_default())
}

fn inapplicable(here: &Here<'_>, event: Event) -> Vec<HookView> {
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let applying = here.registries.hooks(&here.set, surroundings).hooks;
    let mut agreed_to = applying.clone();
    agreed::may_run(here, &mut agreed_to);
    let mut views = Vec::new();
    for considered in here.set.considered().filter(|it| it.plugin.hooking == Hooking::Yes) {
        let plugin = considered.plugin;
        let Ok(manifest) = plugin.manifest() else { continue };
        for hook in &manifest.hooks {
            let is_in = |hooks: &[ActiveHook]| {
                hooks.iter().any(|active| {
                    (&active.plugin, &active.origin, &active.hook)
                        == (&plugin.name, &plugin.origin, hook)
                })
            };
            let applies = is_in(&applying);
            let because = if !considered.is_active() {
                format!("its plugin is {}", state_in_words(considered.state))
            } else if hook.event != event.name() {
                format!("it is for {}", hook.event)
            } else if let Some(host) = &hook.host
                && applies
            {
                format!("it is for {host} only")
            } else if applies && !is_in(&agreed_to) {
                let name = &plugin.name;
                format!("its plugin changed; `cargo agents update {name}` shows and accepts that")
            } else if applies {
                "no hook is called for such an input".to_owned()
            } else if hook.gate.holds(here_for(surroundings, plugin)) {
                "it comes with this workspace, and the user has not said yes".to_owned()
            } else {
                "its own conditions do not hold".to_owned()
            };
            let source = Source::new(plugin.name.as_str(), &hook.name);
            views.push(HookView {
                because: Some(because),
                ..HookView::new(&source, State::Skipped)
            });
        }
    }
    views
}

fn render(wire: Wire, document: &HookDocument, output: &Output) -> Result<(), Failure> {
    let HookDocument { event, cwd, raw, hooks, merged, losses, answer, .. } = document;
    output.line(format!("{} calls for {event} in {cwd}", wire.host()))?;
    field(output, "sends", raw)?;
    for hook in hooks {
        let name = format!("{}/{}", hook.plugin, hook.hook);
        match hook.state {
            State::Skipped => {
                let because = hook.because.as_deref().unwrap_or_default();
                output.line(format!("\n{name}  skipped: {because}"))?;
                continue;
            }
            State::BuiltIn => output.line(format!("\n{name}"))?,
            State::Ran => {
                let (ended, millis) = (hook.ended.as_deref(), hook.millis.unwrap_or_default());
                output.line(format!("\n{name}  ran {millis} ms, {}", ended.unwrap_or_default()))?;
            }
        }
        let texts = [("got", &hook.got), ("gave", &hook.stdout), ("said", &hook.stderr)];
        for (word, text) in texts {
            if let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) {
                field(output, word, text)?;
            }
        }
        field(output, "means", &in_words(&hook.means))?;
    }
    output.line("\nall together")?;
    field(output, "means", &in_words(merged))?;
    for loss in losses {
        field(output, "lost", loss)?;
    }
    output.line(format!("\n{} sees", wire.host()))?;
    for (word, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        if !text.is_empty() {
            field(output, word, text)?;
        }
    }
    field(output, "exit", &answer.exit_code.to_string())
}

/// A word and a text beside it, which may have several lines and is cut where it is long.
fn field(output: &Output, word: &str, text: &str) -> Result<(), Failure> {
    let text = text.trim_end();
    let (shown, cut) = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => (&text[..end], " …"),
        None => (text, ""),
    };
    let mut lines = shown.lines();
    let first = lines.next().unwrap_or_default();
    output.line(format!("  {word:6}  {first}").trim_end())?;
    for line in lines {
        output.line(format!("  {:6}  {line}", ""))?;
    }
    if cut.is_empty() { Ok(()) } else { output.line(format!("  {:6}  {cut}", "")) }
}

/// `cargo agents hook replay --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReplayDocument {
    calls: Vec<ReplayView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReplayView {
    event: String,
    /// The host
    agent: String,
    cwd: String,
    /// Whether the host gets what it got then
    same: bool,
    then: AnswerView,
    now: AnswerView,
}

/// Makes recorded calls again.
pub(super) fn replay(_: &Settings, output: &Output, file: &Utf8Path) -> Result<ExitCode, Failure> {
    let read = trace::read(file).map_err(|error| unusable(&error))?;
    let recorded = read.map_err(|(line, error)| {
        let said = format!("line {line} of `{file}` is no recorded call: {error}");
        Failure::new(ErrorKind::Usage, said)
    })?;
    let mut calls = Vec::new();
    for call in recorded {
        let (wire, event) = (host_named(&call.agent)?, event_named(&call.event)?);
        let cwd = Some(Utf8PathBuf::from(&call.cwd)).filter(|cwd| !cwd.as_str().is_empty());
        let raw = call.raw.as_bytes();
        let now = work(wire, event, raw, cwd.as_deref()).document(wire, event, raw).answer;
        let HookDocument { event, agent, cwd, answer: then, .. } = call;
        calls.push(ReplayView { event, agent, cwd, same: then == now, then, now });
    }
    let all_same = calls.iter().all(|call| call.same);
    if output.is_json() {
        output.document(&ReplayDocument { calls })?;
    } else {
        for (at, call) in calls.iter().enumerate() {
            let word = if call.same { "the same" } else { "differs" };
            output.line(format!("{:3}  {} {}  {word}", at + 1, call.agent, call.event))?;
            if !call.same {
                for (word, answer) in [("then", &call.then), ("now", &call.now)] {
                    let AnswerView { stdout, stderr, exit_code } = answer;
                    field(output, word, &format!("exit code {exit_code}\n{stdout}\n{stderr}"))?;
                }
            }
        }
        let differ = calls.iter().filter(|call| !call.same).count();
        output.line(format!("{} calls, {differ} with another answer.", calls.len()))?;
    }
    Ok(if all_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
