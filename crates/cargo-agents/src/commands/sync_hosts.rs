//! `cargo agents sync`, `cargo agents diff` and `cargo agents uninstall`

mod lines;

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
};

use agents_host::Host;
use agents_plugin::{hooks::ActiveHook, probes::Acquire};
use agents_sync::{
    Action, Change, Edited, Note, Places, Plan, preview, preview_uninstall, sync, uninstall,
};
use agents_system::{
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
    ledger::What,
};
use agents_trust::review::Review;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

pub(super) use self::lines::unified;
use super::{
    agreed::{Settled, Terms, Writing, settle},
    consent, wanted,
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
    /// Only show what would be done.
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
    /// Whether the changes were made; not, if none of them could be
    applied: bool,
    /// What was done, or would be
    changes: Vec<ChangeView>,
    /// How many changes could not be made; the findings say why
    failed: usize,
    /// How many things are as they should be
    unchanged: usize,
    /// What changed, or would change, in `agents.lock`
    agreements: Vec<String>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeView {
    /// `skill`, `mcp`, `hook`, `agent`, or `ignore` for what keeps agents from git
    kind: &'static str,
    name: String,
    /// `new`, `updated` or `removed`
    action: &'static str,
    /// Where it comes from, in words
    from: String,
    hosts: Vec<String>,
    /// The directory or the file
    place: String,
    /// How many lines of a skill changed
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
    /// The change of a file or a skill as a unified diff; what is in a new or removed skill only from `diff`
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// What was done, or would be.
pub(super) struct Brought {
    /// With the changes that were made, or would be.
    pub(super) plan: Plan,
    /// The changes that could not be made.
    pub(super) undone: Vec<Change>,
    pub(super) findings: Vec<Finding>,
    /// What changed, or would change, in `agents.lock`.
    pub(super) agreements: Vec<String>,
    /// What was not brought, or only now, because it changed.
    pub(super) settled: Option<Settled>,
    /// Which dependencies need the user's consent.
    pub(super) waiting: Option<Finding>,
    /// What hosts should have, by name, whether it changes or not; only for [`Mode::Diff`].
    pub(super) names: BTreeSet<String>,
    /// The lines of skills by their directories; only for [`Mode::Diff`].
    pub(super) contents: BTreeMap<Utf8PathBuf, Review>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    mode: Mode,
    edited: Edited,
    terms: &Terms,
    only: Option<&str>,
) -> Result<ExitCode, Failure> {
    if mode == Mode::Apply {
        consent::settle(settings, output)?;
    }
    let mut brought = bring(settings, mode, edited, terms)?;
    // Who was asked and said "later" need not be told.
    if mode == Mode::Diff || (mode == Mode::Apply && output.asker().is_some()) {
        brought.waiting = None;
    }
    if let Some(name) = only {
        lines::refuse_unknown(&brought, name)?;
    }
    report(&brought, mode, only, output)?;
    Ok(brought.code(mode))
}

/// Brings hosts what they should have, as far as it was agreed to, without asking or saying anything.
pub(super) fn bring(
    settings: &Settings,
    mode: Mode,
    edited: Edited,
    terms: &Terms,
) -> Result<Brought, Failure> {
    let acquire = if mode == Mode::Apply { Acquire::IfMissing } else { Acquire::Never };
    visit(settings, acquire, BrokenWorkspace::Fails, |here, _| {
        let root = root_of(here)?;
        let config = here.registries.config;
        let (all, mut findings) = wanted::hosts_of(settings, config)?;
        let hosts = wanted::configured(config, &all, &mut findings);
        let home = wanted::home()?;
        let roots = wanted::roots(&home, Some(root));
        let mut wanted = wanted::wanted(here, &hosts, &roots);
        findings.extend(here.findings.iter().chain(&here.set.findings).cloned());
        findings.extend(here.left_out());
        findings.extend(here.unknown_sandboxed());
        findings.append(&mut wanted.findings);
        let writing = if mode == Mode::Apply { Writing::Yes } else { Writing::No };
        let names = match mode {
            // Also what is taken out below because it waits.
            Mode::Diff => lines::names(&wanted.desired),
            Mode::Apply | Mode::DryRun | Mode::Check => BTreeSet::new(),
        };
        // Without hosts, too: commands and our own tasks need it.
        let mut settled = settle(here, root, &mut wanted, terms, writing)?;
        if mode == Mode::Apply {
            findings.extend(acquire_programs(here, &wanted.hooks));
            Failure::if_interrupted()?;
        }
        let agreements = settled.record(here, &wanted.hooks, writing)?;
        findings.append(&mut settled.findings);
        if hosts.is_empty() {
            findings.push(
                Finding::warning("no coding agent is configured, so nothing is brought anywhere")
                    .hint("`cargo agents init` configures those that are installed"),
            );
        }
        let places = Places::below(&settings.dirs.state).remembering(&settings.dirs.cache);
        settings.progress.begin("Bringing hosts up to date");
        let desired = &wanted.desired;
        let (plan, undone) = match mode {
            Mode::Apply => {
                let applied = sync(&places, desired, root, edited, &settings.progress)?;
                findings.extend(applied.failed);
                (applied.plan, applied.undone)
            }
            Mode::DryRun | Mode::Check | Mode::Diff => {
                (preview(&places, desired, root, edited)?, Vec::new())
            }
        };
        settings.progress.end();
        findings.extend(plan.findings.iter().cloned());
        findings.extend(untrusted(&plan, &hosts));
        let contents = match mode {
            Mode::Diff => lines::of_skills(&plan, &mut findings),
            Mode::Apply | Mode::DryRun | Mode::Check => BTreeMap::new(),
        };
        let waiting = consent::waiting(here);
        let settled = Some(settled);
        Ok(Brought { plan, undone, findings, agreements, settled, waiting, names, contents })
    })
}

impl Brought {
    /// What the program ends with.
    pub(super) fn code(&self, mode: Mode) -> ExitCode {
        let drift = mode == Mode::Check && !(self.plan.is_empty() && self.agreements.is_empty());
        let failed = self.findings.iter().any(|it| it.severity == Severity::Error);
        if drift || failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// How many things could not be changed, counted as those that were.
    fn failed(&self) -> usize {
        self.undone.iter().map(|change| view(change).len()).sum()
    }

    /// The same as `sync` prints it.
    pub(super) fn report(&self, mode: Mode, output: &Output) -> Result<(), Failure> {
        report(self, mode, None, output)
    }

    pub(super) fn document(&self, mode: Mode) -> SyncHostsDocument {
        document(self.views(), self, mode)
    }

    /// What changed, or would change, with what people look at before they agree.
    fn views(&self) -> Vec<ChangeView> {
        let mut views: Vec<ChangeView> = self.plan.changes.iter().flat_map(view).collect();
        for view in views.iter_mut().filter(|it| it.kind == "skill") {
            let agreed = self.settled.as_ref().and_then(|it| it.reviews.get(&view.name));
            let agreed = agreed.filter(|_| view.action == "updated");
            let review = agreed.or_else(|| self.contents.get(Utf8Path::new(&view.place)));
            view.lines = agreed.map(|review| review.lines);
            view.diff = review.map(|review| review.diff.clone());
        }
        views
    }
}

/// Takes back everything.
pub(crate) fn remove_all(
    settings: &Settings,
    output: &Output,
    edited: Edited,
    mode: Mode,
) -> Result<ExitCode, Failure> {
    let brought = take_back(settings, edited, mode)?;
    report(&brought, mode, None, output)?;
    Ok(brought.code(mode))
}

/// Takes back everything, without saying so.
pub(super) fn take_back(
    settings: &Settings,
    edited: Edited,
    mode: Mode,
) -> Result<Brought, Failure> {
    let places = Places::below(&settings.dirs.state);
    let (mut failed, mut undone, mut plans) = (Vec::new(), Vec::new(), Vec::new());
    if mode == Mode::Apply {
        for done in uninstall(&places, edited, &settings.progress)? {
            failed.extend(done.failed);
            undone.extend(done.undone);
            plans.push(done.plan);
        }
    } else {
        plans = preview_uninstall(&places, edited)?;
    }
    let (mut plan, mut findings) = (Plan::default(), failed);
    for of_workspace in plans {
        findings.extend(of_workspace.findings);
        plan.changes.extend(of_workspace.changes);
    }
    Ok(Brought {
        plan,
        undone,
        findings,
        agreements: Vec::new(),
        settled: None,
        waiting: None,
        names: BTreeSet::new(),
        contents: BTreeMap::new(),
    })
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
                findings.push(Finding::error(said).advised_by(&error));
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
            .code(Code::NoWorkspace)
            .hint("run it in a directory with a `Cargo.toml`, or below one")
    })
}

fn report(
    brought: &Brought,
    mode: Mode,
    only: Option<&str>,
    output: &Output,
) -> Result<(), Failure> {
    let Brought { plan, findings, .. } = brought;
    let mut views = brought.views();
    views.retain(|view| lines::is_meant(view, only));
    if output.is_json() {
        return output.document(&document(views, brought, mode));
    }
    if mode == Mode::Diff {
        for diff in lines::distinct(brought, &views, only) {
            output.text(diff)?;
        }
    }
    let rows = joined(&views);
    let width = |part: fn(&ChangeView) -> &str| {
        rows.iter().map(|it| part(it).chars().count()).max().unwrap_or(0)
    };
    let (from, name) = (width(|it| &it.from), width(|it| &it.name));
    for it in &rows {
        let hosts = if it.hosts.is_empty() { taken_from(it, &views) } else { it.hosts.join(", ") };
        let lines = match (it.lines, mode) {
            (None, _) => String::new(),
            (Some(lines), Mode::Apply | Mode::Diff) => format!("  {} changed", counted(lines)),
            (Some(lines), _) => {
                let lines = counted(lines);
                format!("  {lines} changed, see `cargo agents diff {}`", it.name)
            }
        };
        output.line(format!(
            "{:from$}  {:5}  {:name$}  {:8}  {hosts}{lines}",
            it.from, it.kind, it.name, it.action
        ))?;
    }
    let (done, nothing) = match mode {
        Mode::Apply => ("", "Nothing to do"),
        Mode::DryRun | Mode::Check | Mode::Diff => {
            (" Nothing was written.", "Nothing would change")
        }
    };
    // Rows are for reading; what is as it should be is counted by things, and so is what is not.
    let (failed, unchanged) = (brought.failed(), plan.unchanged);
    let mut parts = vec![match views.len() {
        0 if failed > 0 => "No change".to_owned(),
        0 => nothing.to_owned(),
        1 => "1 change".to_owned(),
        count => format!("{count} changes"),
    }];
    parts.extend((failed > 0).then(|| format!("{failed} failed")));
    let done = if views.is_empty() { "" } else { done };
    output.line(format!("{}, {unchanged} unchanged.{done}", parts.join(", ")))?;
    output.flush()?;
    output.findings(findings);
    if let Some(waiting) = &brought.waiting {
        output.note(waiting);
    }
    Ok(())
}

fn document(changes: Vec<ChangeView>, brought: &Brought, mode: Mode) -> SyncHostsDocument {
    let failed = brought.failed();
    SyncHostsDocument {
        applied: mode == Mode::Apply && (failed == 0 || !changes.is_empty()),
        changes,
        failed,
        unchanged: brought.plan.unchanged,
        agreements: brought.agreements.clone(),
        findings: brought.findings.iter().chain(&brought.waiting).map(FindingView::from).collect(),
    }
}

/// `1 line`, `2 lines`
pub(super) fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

/// One row for what several hosts get. The events that a host calls us for are one row, too: nobody chose them one by one. What keeps ours
/// from git goes without saying, unless there is nothing else.
fn joined(views: &[ChangeView]) -> Vec<ChangeView> {
    let mut rows: Vec<ChangeView> = Vec::new();
    let hook = What::Hook.word();
    let ignore = What::Ignore.word();
    let said = views.iter().any(|view| view.kind != ignore);
    for view in views.iter().filter(|view| !said || view.kind != ignore) {
        let same = |row: &&mut ChangeView| {
            (&row.from, row.kind, row.action) == (&view.from, view.kind, view.action)
                && (row.name == view.name || view.kind == hook)
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.hosts.extend(view.hosts.iter().cloned()),
            None if view.kind == hook => {
                rows.push(ChangeView { name: lines::EVENTS.to_owned(), ..view.clone() });
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

/// Where something is, of which no host is known any more.
fn taken_from(row: &ChangeView, all: &[ChangeView]) -> String {
    let is_same = |it: &&ChangeView| (it.kind, &it.from) == (row.kind, &row.from);
    let is_named = |it: &&ChangeView| it.name == row.name || it.kind == What::Hook.word();
    let mut places: Vec<&str> =
        all.iter().filter(is_same).filter(is_named).map(|it| it.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    places.join(", ")
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
            lines: None,
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
                lines: None,
                diff: lines::of_file(change),
            };
            notes.iter().map(one).collect()
        }
    }
}
