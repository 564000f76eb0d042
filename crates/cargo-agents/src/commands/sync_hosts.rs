//! `cargo agents sync`, `cargo agents diff` and `cargo agents uninstall`

use std::process::ExitCode;

use agents_host::Host;
use agents_plugin::{hooks::ActiveHook, probes::Acquire};
use agents_sync::{Action, Change, Edited, Note, Places, Plan, preview, sync, uninstall};
use agents_system::{
    explain::{ErrorKind, Explain as _},
    finding::{Finding, Severity},
    ledger::What,
};
use serde::Serialize;
use similar::TextDiff;

use super::{
    consent,
    wanted::{self, Wanted},
};
use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// What `sync` does with its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Apply,
    /// Only say what would be done.
    DryRun,
    /// Only say whether something would be done.
    Check,
    /// Show every line that would change.
    Diff,
}

/// `cargo agents sync --json`, `… diff --json` and `… uninstall --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SyncHostsDocument {
    /// Whether the changes were made
    applied: bool,
    changes: Vec<ChangeView>,
    /// How many things are as they should be
    unchanged: usize,
    findings: Vec<FindingView>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeView {
    /// `skill`, `mcp` or `hook`
    kind: &'static str,
    name: String,
    /// `new`, `updated` or `removed`
    action: &'static str,
    /// Where it comes from, in words
    from: String,
    hosts: Vec<String>,
    /// The directory or the file
    place: String,
    /// The change of a file as a unified diff
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// What was done, or would be.
pub(super) struct Brought {
    plan: Plan,
    findings: Vec<Finding>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    mode: Mode,
    edited: Edited,
) -> Result<ExitCode, Failure> {
    if mode == Mode::Apply {
        consent::settle(settings, output)?;
    }
    let brought = bring(settings, mode, edited)?;
    brought.report(mode, output)?;
    Ok(brought.code(mode))
}

/// Brings the hosts up to date without asking or saying anything.
pub(super) fn bring(settings: &Settings, mode: Mode, edited: Edited) -> Result<Brought, Failure> {
    let (all, mut findings) = wanted::all_hosts(settings)?;
    let acquire = if mode == Mode::Apply { Acquire::IfMissing } else { Acquire::Never };
    visit(settings, acquire, BrokenWorkspace::Fails, |here, _| {
        let root = root_of(here)?;
        let hosts = wanted::configured(here.registries.config, &all, &mut findings);
        let home = wanted::home()?;
        let roots = wanted::roots(&home, Some(root));
        let Wanted { desired, hooks, findings: said } = wanted::wanted(here, &hosts, &roots);
        findings.extend(here.findings.iter().chain(&here.set.findings).cloned().chain(said));
        if mode == Mode::Apply {
            findings.extend(acquire_programs(here, &hooks));
            Failure::if_interrupted()?;
        }
        if hosts.is_empty() {
            findings.push(
                Finding::warning("no coding agent is configured, so nothing is brought anywhere")
                    .hint("`cargo agents init` configures those that are installed"),
            );
        }
        let places = Places::below(&settings.dirs.state).remembering(&settings.dirs.cache);
        settings.progress.begin("Bringing hosts up to date");
        let plan = match mode {
            Mode::Apply => {
                let applied = sync(&places, &desired, root, edited, &settings.progress)?;
                findings.extend(applied.failed);
                applied.plan
            }
            Mode::DryRun | Mode::Check | Mode::Diff => preview(&places, &desired, root, edited)?,
        };
        settings.progress.end();
        findings.extend(plan.findings.iter().cloned());
        findings.extend(untrusted(&plan, &hosts));
        Ok(Brought { plan, findings })
    })
}

impl Brought {
    /// What the program ends with.
    pub(super) fn code(&self, mode: Mode) -> ExitCode {
        let drift = mode == Mode::Check && !self.plan.is_empty();
        let failed = self.findings.iter().any(|it| it.severity == Severity::Error);
        if drift || failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// The same as `sync` prints it.
    pub(super) fn report(&self, mode: Mode, output: &Output) -> Result<(), Failure> {
        report(&self.plan, &self.findings, mode, output)
    }

    pub(super) fn document(&self, mode: Mode) -> SyncHostsDocument {
        let views = self.plan.changes.iter().flat_map(view).collect();
        document(views, &self.plan, &self.findings, mode)
    }
}

/// Takes back everything.
pub(crate) fn remove_all(
    settings: &Settings,
    output: &Output,
    edited: Edited,
) -> Result<ExitCode, Failure> {
    let places = Places::below(&settings.dirs.state);
    let applied = uninstall(&places, edited, &settings.progress)?;
    let (mut failed, mut changes, mut findings) = (false, Vec::new(), Vec::new());
    for done in applied {
        failed |= !done.failed.is_empty();
        findings.extend(done.failed);
        findings.extend(done.plan.findings);
        changes.extend(done.plan.changes);
    }
    let plan = Plan { changes, ..Plan::default() };
    report(&plan, &findings, Mode::Apply, output)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Has the programs of hooks ready: nothing is installed while a host waits for an answer.
fn acquire_programs(here: &Here<'_>, hooks: &[ActiveHook]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for hook in hooks {
        match hook.acquire(here.registries.installer) {
            Ok(runnable) => findings.extend(runnable.findings),
            Err(error) => {
                let (plugin, name) = (&hook.plugin, &hook.hook.name);
                let said = format!("the hook `{name}` of `{plugin}` will not run: {error}");
                findings.push(Finding { hint: error.hint(), ..Finding::error(said) });
            }
        }
    }
    findings
}

/// What the user has to do before hosts run the hooks that are new to them.
fn untrusted(plan: &Plan, hosts: &[&Host]) -> Vec<Finding> {
    let notes = plan.changes.iter().flat_map(|change| match change {
        Change::File { notes, .. } => notes.as_slice(),
        Change::Skill { .. } => &[],
    });
    let new: Vec<&Note> =
        notes.filter(|note| note.what == What::Hook && note.action != Action::Removed).collect();
    let asking = hosts.iter().filter_map(|host| {
        let trust = host.hooks.get()?.trust.as_ref()?;
        new.iter().any(|note| note.host.as_ref() == Some(&host.id)).then(|| {
            let said = format!("{} runs new hooks only when you have accepted them", host.name);
            Finding::warning(said).hint(trust.hint.clone())
        })
    });
    asking.collect()
}

pub(super) fn root_of<'h>(here: &'h Here<'_>) -> Result<&'h camino::Utf8Path, Failure> {
    let workspace = here.workspace.as_ref();
    workspace.map(|workspace| workspace.root.as_path()).ok_or_else(|| {
        Failure::new(ErrorKind::Usage, "this is not a Rust workspace")
            .hint("run it in a directory with a `Cargo.toml`, or below one")
    })
}

fn report(plan: &Plan, findings: &[Finding], mode: Mode, output: &Output) -> Result<(), Failure> {
    let views: Vec<ChangeView> = plan.changes.iter().flat_map(view).collect();
    if output.is_json() {
        return output.document(&document(views, plan, findings, mode));
    }
    if mode == Mode::Diff {
        for diff in plan.changes.iter().filter_map(diff) {
            output.text(diff)?;
        }
    }
    let rows = joined(&views);
    let width = |part: fn(&ChangeView) -> &str| {
        rows.iter().map(|it| part(it).chars().count()).max().unwrap_or(0)
    };
    let (from, name) = (width(|it| &it.from), width(|it| &it.name));
    for it in &rows {
        let hosts = if it.hosts.is_empty() { it.place.clone() } else { it.hosts.join(", ") };
        output.line(format!(
            "{:from$}  {:5}  {:name$}  {:8}  {hosts}",
            it.from, it.kind, it.name, it.action
        ))?;
    }
    let (done, nothing) = match mode {
        Mode::Apply => ("", "Nothing to do"),
        Mode::DryRun | Mode::Check | Mode::Diff => {
            (" Nothing was written.", "Nothing would change")
        }
    };
    output.line(match rows.len() {
        0 => format!("{nothing}, {} unchanged.", plan.unchanged),
        1 => format!("1 change, {} unchanged.{done}", plan.unchanged),
        count => format!("{count} changes, {} unchanged.{done}", plan.unchanged),
    })?;
    output.flush()?;
    output.findings(findings);
    Ok(())
}

fn document(
    changes: Vec<ChangeView>,
    plan: &Plan,
    findings: &[Finding],
    mode: Mode,
) -> SyncHostsDocument {
    SyncHostsDocument {
        applied: mode == Mode::Apply,
        changes,
        unchanged: plan.unchanged,
        findings: findings.iter().map(FindingView::from).collect(),
    }
}

/// One row for what several hosts get. The events that a host calls us for are one row, too: nobody chose them one by one.
fn joined(views: &[ChangeView]) -> Vec<ChangeView> {
    let mut rows: Vec<ChangeView> = Vec::new();
    let hook = What::Hook.word();
    for view in views {
        let same = |row: &&mut ChangeView| {
            (&row.from, row.kind, row.action) == (&view.from, view.kind, view.action)
                && (row.name == view.name || view.kind == hook)
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.hosts.extend(view.hosts.iter().cloned()),
            None if view.kind == hook => {
                rows.push(ChangeView { name: "events".to_owned(), ..view.clone() });
            }
            None => rows.push(view.clone()),
        }
    }
    for row in &mut rows {
        row.hosts.sort();
        row.hosts.dedup();
    }
    rows
}

fn view(change: &Change) -> Vec<ChangeView> {
    match change {
        Change::Skill { slot, action, from, hosts, .. } => vec![ChangeView {
            kind: "skill",
            name: slot.file_name().unwrap_or_default().to_owned(),
            action: action.word(),
            from: from.clone(),
            hosts: hosts.iter().map(ToString::to_string).collect(),
            place: slot.to_string(),
            diff: None,
        }],
        Change::File { file, notes, .. } => {
            let one = |note: &Note| ChangeView {
                kind: note.what.word(),
                name: note.name.clone(),
                action: note.action.word(),
                from: note.from.clone(),
                hosts: note.host.iter().map(ToString::to_string).collect(),
                place: file.to_string(),
                diff: diff(change),
            };
            notes.iter().map(one).collect()
        }
    }
}

/// The change of a file, with three lines around every part.
fn diff(change: &Change) -> Option<String> {
    let Change::File { file, before, after, .. } = change else { return None };
    let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    let names = match change.action() {
        Action::New => ("/dev/null", file.as_str()),
        Action::Removed => (file.as_str(), "/dev/null"),
        Action::Updated => (file.as_str(), file.as_str()),
    };
    let diff = TextDiff::from_lines(old, new);
    Some(diff.unified_diff().context_radius(3).header(names.0, names.1).to_string())
}
