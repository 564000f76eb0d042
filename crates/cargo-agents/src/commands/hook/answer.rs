//! From what a host sent to what it gets.

use std::{
    io::{Read as _, Write as _},
    process::ExitCode,
};

use agents_hook::{
    Answer, HookInput, HookOutput, Received, Wire,
    wire::{WireError, is_by_copilot, whereabouts},
};
use agents_host::Event;
use agents_plugin::{
    config::Config,
    hooks::{
        ActiveHook, HookSet,
        index::{HookIndex, Scrutiny, Session},
    },
    predicate::{Surroundings, evaluate::Asker},
};
use agents_system::{env, explain::ErrorKind, finding::Finding, fingerprint::Fingerprint};
use agents_workspace::Workspaces;
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    account::Account,
    handlers,
    refresh::{Index, refresh},
    session, trace,
};
use crate::{
    args::Flags,
    commands::agreed,
    failure::Failure,
    here::{Here, glance, glance_without_packages},
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
    let account = work(wire, event, &raw, None);
    let code = emit(&account.answer, &account.findings);
    if let Some(file) = trace::wanted() {
        // The host has its answer; that it is not written down is no reason to bother it.
        let _ = trace::append(&file, &account.document(wire, event, &raw));
    }
    code
}

/// Everything that happens at a call. Where nothing else is said it is about `cwd`, or else the current directory.
pub(super) fn work(wire: Wire, event: Event, raw: &[u8], cwd: Option<&Utf8Path>) -> Account {
    match prepare(wire, event, raw, cwd) {
        Ok(Prepared::Idle { cwd, findings }) => Account::idle(wire, event, cwd, findings),
        Ok(Prepared::Unreadable { cwd, error }) => {
            let reason = format!(
                "cargo agents cannot tell what this call is about, so the hooks that guard it could not be asked: {error}"
            );
            Account::ours(wire, event, cwd, HookOutput::deny(reason))
        }
        Ok(Prepared::Work(work)) => {
            let (cwd, input, ours) =
                (work.settings.cwd.clone(), work.input.clone(), work.ours.clone());
            let (dispatched, skipped) = handlers::run(wire, raw, *work);
            Account::of(cwd, input, ours, dispatched, skipped)
        }
        Err(failure) => {
            // What we cannot do must not stop the host.
            Account::idle(wire, event, Utf8PathBuf::new(), failure.into_findings())
        }
    }
}

/// Copilot CLI also runs the hooks of the project's `.claude/settings.json`, in nearly the same format. It has hooks of its
/// own, so what is registered with Claude Code keeps quiet then. Whoever was started from within it has its variables, too.
fn is_for_another_host(wire: Wire, raw: &[u8]) -> bool {
    wire == Wire::Claude && env::COPILOT_CLI.get().is_some() && is_by_copilot(raw)
}

/// What there is to do.
enum Prepared {
    /// Nothing: no hook is for this event.
    Idle {
        cwd: Utf8PathBuf,
        findings: Vec<Finding>,
    },
    /// There are hooks that could deny what happens, and no telling what that is.
    Unreadable {
        cwd: Utf8PathBuf,
        error: WireError,
    },
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

fn prepare(
    wire: Wire,
    event: Event,
    raw: &[u8],
    cwd: Option<&Utf8Path>,
) -> Result<Prepared, Failure> {
    let flags = Flags { quiet: true, offline: true, ..Flags::default() };
    let mut settings = Settings::new(&flags)?;
    let said = whereabouts(raw).filter(|cwd| cwd.is_absolute());
    if let Some(cwd) = said.or_else(|| cwd.map(Utf8Path::to_owned)) {
        settings.cwd = cwd;
    }
    let Facts { hooks, session, index, findings } = applicable(&settings, event)?;
    let mut ours = match event {
        Event::SessionStart => {
            let mut hints = session::hints(&session);
            hints.extend(session::update_hint(&settings.dirs));
            hints
        }
        _ => Vec::new(),
    };
    ours.extend(refresh(&settings, wire, event, index));
    if ours.is_empty() && !handlers::is_wanted(&hooks, wire, event) {
        return Ok(Prepared::Idle { cwd: settings.cwd, findings });
    }
    match wire.parse_input(event, raw) {
        Ok(Received::Input(input)) => {
            Ok(Prepared::Work(Box::new(Work { settings, input: *input, hooks, ours, findings })))
        }
        Ok(Received::Nothing) => Ok(Prepared::Idle { cwd: settings.cwd, findings }),
        Err(error) if can_be_guarded(event) => {
            Ok(Prepared::Unreadable { cwd: settings.cwd, error })
        }
        Err(error) => {
            let said = format!("what {} sent cannot be understood: {error}", wire.host());
            Err(Failure::new(ErrorKind::Failure, said))
        }
    }
}

/// Whether it is decided at this event if something happens at all. Otherwise a call could be made that no hook understands.
fn can_be_guarded(event: Event) -> bool {
    matches!(event, Event::PreToolUse | Event::PermissionRequest)
}

/// What is known about the place that a call is about.
struct Facts {
    hooks: Vec<ActiveHook>,
    session: Session,
    index: Index,
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
    let known = index.load(scrutiny);
    let state = if known.is_some() { Index::Held } else { Index::Rebuilt };
    if let Some(known) = known
        && !known.undecided.iter().any(|it| it == event.name())
    {
        let hooks = if known.is_idle(event.name()) { Vec::new() } else { known.hooks() };
        return Ok(Facts { hooks, session: known.session, index: state, findings: Vec::new() });
    }
    let fresh =
        glance(settings, |here| Facts { index: state, ..decide(here, &index, &settings.cwd) });
    let findings = match fresh {
        Ok(Some(facts)) => return Ok(facts),
        Ok(None) => Vec::new(),
        Err(failure) => failure.into_findings(),
    };
    // What cannot be told is not brought anywhere either.
    let state = Index::Held;
    let Some(last) = index.load_last() else {
        // A guard that is for every workspace does not wait for cargo.
        let ((set, _), session) =
            glance_without_packages(settings, |here| (hooks_here(here), session::facts(here)))?;
        let hooks = set.hooks;
        return Ok(Facts { hooks, session, index: state, findings });
    };
    // Until cargo has resolved the workspace again, what applied before still does.
    let mut hooks = last.hooks();
    // Who is confined does not wait for cargo.
    if let Ok(config) = Config::load(&settings.dirs) {
        hooks.iter_mut().for_each(|hook| hook.confine_by(&config));
    }
    Ok(Facts { hooks, session: last.session, index: state, findings })
}

/// The hooks that may run at this moment, and what that was decided by.
pub(crate) fn hooks_here(here: &Here<'_>) -> (HookSet, Fingerprint) {
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let mut set = here.registries.hooks(&here.set, surroundings);
    let agreed = agreed::may_run(here, &mut set.hooks);
    (set, agreed)
}

/// Decides about everything and remembers what is certain.
fn decide(here: &Here<'_>, index: &HookIndex, cwd: &Utf8Path) -> Facts {
    let (set, agreed) = hooks_here(here);
    let workspace = here.workspace.as_ref();
    let session = session::facts(here);
    if let Some(all) = here.registries.inputs(&here.set, workspace, cwd) {
        let quick = agents_plugin::catalog::Registries::inputs_of_hooks(&here.set, &all);
        let quick = Fingerprint::joined([agreed.clone(), quick]);
        let all = Fingerprint::joined([agreed, all]);
        index.store(&set, session.clone(), &all, quick);
    }
    Facts { hooks: set.hooks, session, index: Index::Rebuilt, findings: Vec::new() }
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
