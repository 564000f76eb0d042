//! From what a host sent to what it gets.

use std::{
    io::{Read as _, Write as _},
    process::ExitCode,
};

use agents_hook::{Answer, HookInput, HookOutput, Received, Wire, wire::whereabouts};
use agents_host::Event;
use agents_plugin::{
    hooks::{
        ActiveHook,
        index::{HookIndex, Known, Scrutiny, Session},
    },
    predicate::{Surroundings, evaluate::Asker},
};
use agents_system::{env, finding::Finding, fingerprint::Fingerprint};
use agents_workspace::Workspaces;
use camino::Utf8Path;

use super::{handlers, session};
use crate::{
    args::Flags,
    commands::agreed,
    failure::Failure,
    here::{Here, glance},
    settings::Settings,
};

/// More than any host sends; what lies beyond is not read.
const MAX_INPUT: u64 = 512 * 1024 * 1024;

/// Answers a call.
pub(crate) fn answer(wire: Wire, event: Event) -> ExitCode {
    let mut raw = Vec::new();
    // A host that sends nothing gets the answer to nothing.
    let _ = std::io::stdin().lock().take(MAX_INPUT).read_to_end(&mut raw);
    if is_for_another_host(wire, &raw) {
        return ExitCode::SUCCESS;
    }
    let (answer, findings) = match prepare(wire, event, &raw) {
        Ok(Prepared::Idle) => (wire.render_output(event, &HookOutput::default()).0, Vec::new()),
        Ok(Prepared::Work(work)) => handlers::run(wire, &raw, *work),
        Err(failure) => {
            // What we cannot do must not stop the host.
            let nothing = wire.render_output(event, &HookOutput::default()).0;
            (nothing, failure.into_findings())
        }
    };
    emit(&answer, &findings)
}

/// Copilot CLI also runs the hooks of the project's `.claude/settings.json`, in nearly the same format. It has hooks of its
/// own, so what is registered with Claude Code keeps quiet then. Claude Code itself always says where its transcript is.
fn is_for_another_host(wire: Wire, raw: &[u8]) -> bool {
    let mentions = |word: &[u8]| raw.windows(word.len()).any(|at| at == word);
    wire == Wire::Claude && env::COPILOT_CLI.get().is_some() && !mentions(b"\"transcript_path\"")
}

/// What there is to do.
enum Prepared {
    Idle,
    Work(Box<Work>),
}

/// Everything that the answer is made of.
pub(super) struct Work {
    pub(super) settings: Settings,
    pub(super) input: HookInput,
    /// The hooks that apply, for any event.
    pub(super) hooks: Vec<ActiveHook>,
    /// Our own answers.
    pub(super) ours: Vec<HookOutput>,
    pub(super) findings: Vec<Finding>,
}

fn prepare(wire: Wire, event: Event, raw: &[u8]) -> Result<Prepared, Failure> {
    let flags = Flags { quiet: true, offline: true, ..Flags::default() };
    let mut settings = Settings::new(&flags)?;
    if let Some(cwd) = whereabouts(raw).filter(|cwd| cwd.is_absolute()) {
        settings.cwd = cwd;
    }
    let facts = applicable(&settings, event)?;
    let ours = match event {
        Event::SessionStart => session::hints(&facts.session),
        _ => Vec::new(),
    };
    if facts.hooks.is_empty() && ours.is_empty() {
        return Ok(Prepared::Idle);
    }
    let Received::Input(input) = wire.parse_input(event, raw).map_err(|error| {
        Failure::new(
            agents_system::explain::ErrorKind::Failure,
            format!("what {} sent cannot be understood: {error}", wire.host()),
        )
    })?
    else {
        return Ok(Prepared::Idle);
    };
    let Facts { hooks, findings, .. } = facts;
    Ok(Prepared::Work(Box::new(Work { settings, input: *input, hooks, ours, findings })))
}

/// What is known about the place that a call is about.
struct Facts {
    hooks: Vec<ActiveHook>,
    session: Session,
    findings: Vec<Finding>,
}

fn applicable(settings: &Settings, event: Event) -> Result<Facts, Failure> {
    let workspaces = Workspaces {
        cache: &settings.dirs.cache,
        cargo: &settings.cargo,
        progress: &settings.progress,
    };
    let index = HookIndex::of(&workspaces, &settings.cwd);
    // Hosts have read what we registered when a session begins; what plugins have become meanwhile counts from there.
    let scrutiny = match event {
        Event::SessionStart | Event::UserPromptSubmit => Scrutiny::Full,
        _ => Scrutiny::Quick,
    };
    if let Some(known) = index.load(scrutiny)
        && !known.undecided.iter().any(|it| it == event.name())
    {
        let hooks = if known.is_idle(event.name()) { Vec::new() } else { known.hooks() };
        return Ok(Facts { hooks, session: known.session, findings: Vec::new() });
    }
    let fresh = glance(settings, |here| decide(here, &index, &settings.cwd));
    let (last, findings) = match fresh {
        Ok(Some(facts)) => return Ok(facts),
        // Until cargo has resolved the workspace again, what applied before still does.
        Ok(None) => (index.load_last(), Vec::new()),
        Err(failure) => match index.load_last() {
            Some(last) => (Some(last), failure.into_findings()),
            None => return Err(failure),
        },
    };
    let hooks = last.as_ref().map(Known::hooks).unwrap_or_default();
    let session = last.map(|known| known.session).unwrap_or_default();
    Ok(Facts { hooks, session, findings })
}

/// Decides about everything and remembers what is certain.
fn decide(here: &Here<'_>, index: &HookIndex, cwd: &Utf8Path) -> Facts {
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let mut set = here.registries.hooks(&here.set, surroundings);
    agreed::may_run(here, &mut set.hooks);
    let session = session::facts(here);
    let agreed = workspace.map(|it| agreed::inputs(&it.root));
    if let Some(all) = here.registries.inputs(&here.set, workspace, cwd) {
        let all = Fingerprint::joined(agreed.into_iter().chain([all]));
        let quick = agents_plugin::catalog::Registries::inputs_of_hooks(&here.set, &all);
        index.store(&set, session.clone(), &all, quick);
    }
    Facts { hooks: set.hooks, session, findings: Vec::new() }
}

/// Standard output is the protocol. What there is to say goes to standard error, unless the host takes that for a reason.
fn emit(answer: &Answer, findings: &[Finding]) -> ExitCode {
    let _ = std::io::stdout().lock().write_all(answer.stdout.as_bytes());
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(answer.stderr.as_bytes());
    if answer.code == 0 && answer.stderr.is_empty() {
        for finding in findings {
            let _ = writeln!(stderr, "cargo agents: {}", finding.message);
        }
    }
    ExitCode::from(answer.code)
}
