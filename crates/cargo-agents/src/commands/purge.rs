//! `cargo agents uninstall --purge`: also what is our own, so that nothing is left of us but the program.

mod own;

use std::{process::ExitCode, time::Duration};

use agents_plugin::skills::MARKER;
use agents_sync::{Edited, Places};
use agents_system::{
    ask::Answer,
    explain::{Code, ErrorKind},
    finding::Finding,
    ledger::{Entry, Ledger, Property},
    lock::Lock,
};
use agents_task::isolate::{Manner as Collecting, What};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use self::own::{Lost, Own};
use super::{
    cache::human_size,
    sync_hosts::{Mode, SyncHostsDocument, take_back},
    task::worktrees,
};
use crate::{failure::Failure, output::Output, settings::Settings};

/// How often a lock is tried: every process that is being started has those of whoever starts it for a moment.
const TRIES: usize = 5;
const BETWEEN: Duration = Duration::from_millis(10);
/// Locks are not deeper than this below our state.
const DEPTH: usize = 5;
/// Where the files of other people's repositories are, which may be called anything.
const TREES: &str = "trees";

/// Whether to ask before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Ask,
    Given,
}

/// `cargo agents uninstall --purge --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PurgeDocument {
    #[serde(flatten)]
    hosts: SyncHostsDocument,
    /// What is our own, and was (or would be) removed
    own: Vec<OwnView>,
    /// What is in our directories and not ours, so it stays
    left: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OwnView {
    path: String,
    /// What it holds, in words
    holds: &'static str,
    /// Whether nothing can make it again
    lost: bool,
    bytes: u64,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    edited: Edited,
    mode: Mode,
    consent: Consent,
) -> Result<ExitCode, Failure> {
    let own = own::found(&settings.dirs);
    if mode != Mode::Apply {
        let brought = take_back(settings, edited, mode)?;
        if output.is_json() {
            return tell(output, brought.document(mode), &own, settings);
        }
        show(output, &own)?;
        brought.report(mode, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before anything is taken back: who works here needs it.
    drop(all_locks(&settings.dirs.state)?);
    agree(output, &own, consent)?;
    let brought = take_back(settings, edited, mode)?;
    if !output.is_json() {
        brought.report(mode, output)?;
    }
    all_is_taken_back(settings)?;
    put_worktrees_away(settings)?;
    // What was taken back is not to be made anew meanwhile.
    let locks = all_locks(&settings.dirs.state)?;
    // Taking back may have written something.
    let own = own::found(&settings.dirs);
    let failed = own::remove(&own, locks, &settings.dirs);
    if !failed.is_empty() {
        return Err(Failure::new(ErrorKind::Failure, "not everything could be removed")
            .code(Code::NotWritable)
            .hint("what is gone is gone; the same command removes the rest")
            .with_findings(failed));
    }
    if output.is_json() {
        return tell(output, brought.document(mode), &own, settings);
    }
    let size = human_size(own.iter().map(|it| it.bytes).sum());
    output.line(format!(
        "Removed {size} of our own. `cargo uninstall cargo-agents` removes the program."
    ))?;
    for path in own::not_ours(&settings.dirs) {
        output.line(format!("Left alone, because it is not ours: {path}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows what would be lost, and has somebody say yes to it.
fn agree(output: &Output, own: &[Own], consent: Consent) -> Result<(), Failure> {
    if consent == Consent::Given {
        return Ok(());
    }
    let Some(asker) = output.asker() else {
        return Err(Failure::new(ErrorKind::Refused, "there is nobody here to agree to that")
            .code(Code::NobodyToAsk)
            .hint("`--yes` agrees, after you have read what `--dry-run` says"));
    };
    show(output, own)?;
    output.flush()?;
    match asker.yes("Remove all of it?", Answer::No)? {
        Answer::Yes => Ok(()),
        Answer::No => Err(Failure::new(ErrorKind::Cancelled, "nothing was removed")),
    }
}

/// What cannot be made again, each for itself; the rest in one line.
fn show(output: &Output, own: &[Own]) -> Result<(), Failure> {
    let (lost, rest): (Vec<&Own>, Vec<&Own>) = own.iter().partition(|it| it.lost == Lost::Forever);
    let width = lost.iter().map(|it| it.holds.chars().count()).max().unwrap_or(0);
    for it in &lost {
        output.line(format!("{:width$}  {:>9}  {}", it.holds, human_size(it.bytes), it.path))?;
    }
    let size = human_size(rest.iter().map(|it| it.bytes).sum());
    output.line(match (lost.is_empty(), rest.is_empty()) {
        (true, true) => "There is nothing of our own.".to_owned(),
        (true, false) => format!("{size} that can be recreated."),
        (false, _) => format!("All of this would be lost, and {size} that can be recreated."),
    })
}

fn tell(
    output: &Output,
    hosts: SyncHostsDocument,
    own: &[Own],
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    let left = own::not_ours(&settings.dirs).iter().map(ToString::to_string).collect();
    output.document(&PurgeDocument {
        hosts,
        own: own.iter().map(OwnView::from).collect(),
        left,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The record of what is ours in other people's files must not go before all of that has gone.
fn all_is_taken_back(settings: &Settings) -> Result<(), Failure> {
    let ledger = Ledger::load(&Places::below(&settings.dirs.state).ledger)?;
    // A skill that was edited and bears our mark would be taken for ours one day, and written over.
    let needed = |entry: &&Entry| match &entry.property {
        Property::Directory { dir, .. } => dir.join(MARKER).exists(),
        Property::File { .. } | Property::Part(_) => true,
    };
    let count = ledger.entries.iter().filter(needed).count();
    if count == 0 {
        return Ok(());
    }
    let what = if count == 1 { "1 thing" } else { &format!("{count} things") };
    let said = format!(
        "{what} that `sync` wrote could not be taken back, so we still need what we remember"
    );
    Err(Failure::new(ErrorKind::Failure, said).hint(
        "`--overwrite` also takes back what was edited since; to keep such a skill, delete `.symposium` in it. Nothing of our own was removed",
    ))
}

/// What was done in worktrees goes to branches; git forgets that they were there.
fn put_worktrees_away(settings: &Settings) -> Result<(), Failure> {
    let done = worktrees(&settings.dirs).gc(Duration::ZERO, Collecting::Do);
    let kept = done.iter().filter(|it| it.path.starts_with(&settings.dirs.state));
    let kept = kept.filter_map(|it| match &it.what {
        What::Kept { why } => Some(Finding::error(format!("`{}` stays: {why}", it.path))),
        _ => None,
    });
    let kept: Vec<Finding> = kept.collect();
    if kept.is_empty() {
        return Ok(());
    }
    Err(Failure::new(ErrorKind::Failure, "there is work of tasks that no branch holds")
        .hint("take from it what you need and delete it; nothing of our own was removed")
        .with_findings(kept))
}

/// All locks below our state. Whoever works for us holds one: a supervisor, a task, a plan, a worker, a sync.
fn all_locks(state: &Utf8Path) -> Result<Vec<Lock>, Failure> {
    let mut files = Vec::new();
    lock_files(state, DEPTH, &mut files);
    files.iter().map(|file| only_ours(file)).collect()
}

fn lock_files(dir: &Utf8Path, depth: usize, found: &mut Vec<Utf8PathBuf>) {
    for entry in dir.read_dir_utf8().into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth > 0 && entry.file_name() != TREES {
            lock_files(path, depth - 1, found);
        } else if kind.is_file()
            && (entry.file_name() == "lock" || path.extension() == Some("lock"))
        {
            found.push(path.to_owned());
        }
    }
}

fn only_ours(file: &Utf8Path) -> Result<Lock, Failure> {
    for _ in 0..TRIES {
        match Lock::try_acquire(file) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) => std::thread::sleep(BETWEEN),
            Err(error) => {
                let said = format!("cannot lock `{file}`: {error}");
                return Err(Failure::new(ErrorKind::Failure, said).code(Code::NotWritable));
            }
        }
    }
    Err(Failure::new(ErrorKind::Failure, format!("cargo agents is running: it holds `{file}`"))
        .code(Code::Busy)
        .hint("wait for it, or end it: `cargo agents task supervisor --stop --cancel`, `cargo agents plan cancel last`, or Ctrl-C where it runs"))
}

impl From<&Own> for OwnView {
    fn from(it: &Own) -> Self {
        let lost = it.lost == Lost::Forever;
        Self { path: it.path.to_string(), holds: it.holds, lost, bytes: it.bytes }
    }
}
