//! `cargo agents plugin cache list|prune`

use std::{
    collections::BTreeSet,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use agents_install::cache::{CacheEntry, Keep, Kind, Standing, changed_files, list, plan_prune};
use agents_sync::Places;
use agents_system::ledger::Ledger;
use agents_trust::{
    agreement::LockFile,
    lock::Lock,
    store::{Kept, Store},
};
use serde::Serialize;

use crate::{args::CacheCommand, failure::Failure, output::Output, settings::Settings};

/// How long a content stays that no lock file lists any more: a branch that does may come back.
const CONTENTS_STAY: Duration = Duration::from_hours(24 * 30);

/// `cargo agents plugin cache list --json` and `… prune --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CacheDocument {
    /// What is there, or what was (or would be) removed
    entries: Vec<EntryView>,
    /// Whether the entries were removed
    removed: bool,
    /// What somebody is using right now and therefore stays
    busy: Vec<EntryView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EntryView {
    /// `installation`, `repository` or `content`
    kind: &'static str,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// `current`, `superseded`, `being acquired`, `left over` or `not listed`
    standing: &'static str,
    bytes: u64,
    path: String,
    /// Programs in it that are not what was installed
    changed: Vec<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &CacheCommand,
) -> Result<ExitCode, Failure> {
    let entries = list(&settings.dirs.cache);
    let mut contents = Vec::new();
    let (shown, removed, busy) = match command {
        CacheCommand::List => (entries, false, Vec::new()),
        CacheCommand::Prune { all, unused_for, dry_run } => {
            let keep = match (all, unused_for) {
                (true, _) => Keep::Nothing,
                (false, Some(days)) => {
                    Keep::UsedWithin(Duration::from_hours(24 * u64::from(*days)))
                }
                (false, None) => Keep::Current,
            };
            contents = unlisted_contents(settings);
            let plan = plan_prune(&entries, keep, SystemTime::now());
            if *dry_run {
                (plan.remove, false, Vec::new())
            } else {
                let pruned = plan.apply()?;
                // One that cannot be removed, or that somebody else has removed, is not reported as gone.
                contents.retain(|it| fs_err::remove_file(&it.path).is_ok());
                (pruned.removed, true, pruned.busy)
            }
        }
    };
    let shown: Vec<EntryView> =
        shown.iter().map(view).chain(contents.iter().map(content_view)).collect();
    if output.is_json() {
        let entries = shown;
        let busy = busy.iter().map(view).collect();
        output.document(&CacheDocument { entries, removed, busy })?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = shown.iter().map(|entry| entry.what.chars().count()).max().unwrap_or(0);
    for view in &shown {
        let version = view.version.as_ref().or(view.commit.as_ref()).cloned().unwrap_or_default();
        let version: String = version.chars().take(16).collect();
        let size = human_size(view.bytes);
        output.line(format!(
            "{:width$}  {version:16}  {:14}  {size:>9}  {}",
            view.what, view.standing, view.path
        ))?;
        for file in &view.changed {
            output.line(format!("  changed since it was installed: {file}"))?;
        }
    }
    let total = human_size(shown.iter().map(|view| view.bytes).sum());
    output.line(match command {
        CacheCommand::List if shown.is_empty() => "Nothing is installed for plugins.".to_owned(),
        CacheCommand::List => format!("{} entries, {total}", shown.len()),
        CacheCommand::Prune { dry_run: true, .. } => {
            format!("Would remove {} entries, {total}", shown.len())
        }
        CacheCommand::Prune { .. } => format!("Removed {} entries, {total}", shown.len()),
    })?;
    for entry in &busy {
        output.line(format!("In use and kept: {}", entry.path))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Accepted contents that the lock file of no workspace that we have written to lists any more. A lock file that cannot be read may
/// list anything.
fn unlisted_contents(settings: &Settings) -> Vec<Kept> {
    let Some(since) = SystemTime::now().checked_sub(CONTENTS_STAY) else { return Vec::new() };
    let Ok(ledger) = Ledger::load(&Places::below(&settings.dirs.state).ledger) else {
        return Vec::new();
    };
    let workspaces: BTreeSet<_> = ledger.entries.iter().flat_map(|it| &it.workspaces).collect();
    let mut listed = BTreeSet::new();
    for workspace in workspaces {
        match LockFile::beside(workspace).load() {
            Ok(lock) => {
                let entries = lock.iter().flat_map(Lock::entries);
                listed.extend(entries.filter_map(|entry| entry.hash.clone()));
            }
            Err(_) => return Vec::new(),
        }
    }
    Store::new(&settings.dirs.cache).unneeded(&listed, since)
}

fn content_view(kept: &Kept) -> EntryView {
    EntryView {
        kind: "content",
        what: "accepted content".to_owned(),
        version: None,
        commit: None,
        standing: "not listed",
        bytes: kept.size,
        path: kept.path.to_string(),
        changed: Vec::new(),
    }
}

fn view(entry: &CacheEntry) -> EntryView {
    EntryView {
        kind: match entry.kind {
            Kind::Installation => "installation",
            Kind::Repository => "repository",
        },
        what: entry.what.clone(),
        version: entry.version.clone(),
        commit: entry.commit.clone(),
        standing: match entry.standing {
            Standing::Current => "current",
            Standing::Superseded => "superseded",
            Standing::BeingAcquired => "being acquired",
            Standing::Leftover => "left over",
        },
        bytes: entry.size,
        path: entry.path.to_string(),
        changed: changed_files(entry).iter().map(ToString::to_string).collect(),
    }
}

pub(super) fn human_size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let bytes = bytes as f64;
    match bytes {
        b if b < 1024.0 => format!("{b} B"),
        b if b < 1024.0 * 1024.0 => format!("{:.1} KiB", b / 1024.0),
        b => format!("{:.1} MiB", b / 1024.0 / 1024.0),
    }
}
