//! `cargo agents plugin cache list|prune`

use std::{
    process::ExitCode,
    time::{Duration, SystemTime},
};

use agents_install::cache::{CacheEntry, Keep, Kind, Standing, changed_files, list, plan_prune};
use serde::Serialize;

use crate::{args::CacheCommand, failure::Failure, output::Output, settings::Settings};

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
    /// `installation` or `repository`
    kind: &'static str,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// `current`, `superseded`, `being acquired` or `left over`
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
            let plan = plan_prune(&entries, keep, SystemTime::now());
            if *dry_run {
                (plan.remove, false, Vec::new())
            } else {
                let pruned = plan.apply()?;
                (pruned.removed, true, pruned.busy)
            }
        }
    };
    if output.is_json() {
        let entries = shown.iter().map(view).collect();
        let busy = busy.iter().map(view).collect();
        output.document(&CacheDocument { entries, removed, busy })?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = shown.iter().map(|entry| entry.what.chars().count()).max().unwrap_or(0);
    for entry in &shown {
        let view = view(entry);
        let version = view.version.or(view.commit).unwrap_or_default();
        let version: String = version.chars().take(16).collect();
        let size = human_size(entry.size);
        output.line(format!(
            "{:width$}  {version:16}  {:14}  {size:>9}  {}",
            entry.what, view.standing, view.path
        ))?;
        for file in &view.changed {
            output.line(format!("  changed since it was installed: {file}"))?;
        }
    }
    let total = human_size(shown.iter().map(|entry| entry.size).sum());
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

fn human_size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let bytes = bytes as f64;
    match bytes {
        b if b < 1024.0 => format!("{b} B"),
        b if b < 1024.0 * 1024.0 => format!("{:.1} KiB", b / 1024.0),
        b => format!("{:.1} MiB", b / 1024.0 / 1024.0),
    }
}
