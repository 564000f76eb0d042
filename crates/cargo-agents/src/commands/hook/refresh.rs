//! `auto-sync`: hosts are brought up to date while they work, at the beginning of a session and when what the workspace is
//! made of has changed.
//!
//! Nobody notices unless there is something new. Nothing is asked, nothing is fetched, and nobody is waited for. Where a host
//! does not let us write, nothing happens. The answer to the host waits for it, because what is new is told in it; but
//! not longer than [`BUDGET`]: then the answer goes out and the work ends where it is, which a sync survives.

use std::{sync::mpsc, time::Duration};

use agents_hook::{HookOutput, Wire};
use agents_host::Event;
use agents_plugin::config::AutoSync;
use agents_sync::{Action, Applied, Change, Edited, Places, preview, sync_if_free};
use agents_system::ledger::What;
use camino::Utf8PathBuf;

use super::prewarm;
use crate::{
    commands::{
        agreed::{self, Terms, Writing},
        wanted,
    },
    here::{Here, glance},
    settings::Settings,
};

/// How long an answer may wait for it.
const BUDGET: Duration = Duration::from_secs(3);
/// How many things are told by name.
const NAMED: usize = 10;

/// Whether what applies here had to be found out anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    Held,
    Rebuilt,
}

/// Brings the hosts up to date if this is the moment; what the model should know about it.
pub(super) fn refresh(
    settings: &Settings,
    wire: Wire,
    event: Event,
    index: Index,
) -> Option<HookOutput> {
    let due = match event {
        Event::SessionStart => true,
        Event::UserPromptSubmit | Event::PostToolUse => index == Index::Rebuilt,
        _ => false,
    };
    if !due {
        return None;
    }
    let (flags, cwd) = (settings.flags.clone(), settings.cwd.clone());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let settings = Settings::new(&flags).ok().map(|it| Settings { cwd, ..it });
        let work = |here: &Here<'_>| {
            if event == Event::SessionStart {
                prewarm::begin(here);
            }
            bring(here)
        };
        let news = settings.and_then(|settings| glance(&settings, work).ok().flatten().flatten());
        // Nobody listens any more once the budget is spent.
        let _ = tell.send(news.and_then(|applied| describe(&applied, wire)));
    });
    told.recv_timeout(BUDGET).ok().flatten().map(HookOutput::context)
}

fn bring(here: &Here<'_>) -> Option<Applied> {
    let (settings, config) = (here.settings, here.registries.config);
    if config.auto_sync == AutoSync::Off || config.hosts.is_empty() {
        return None;
    }
    let root = here.workspace.as_ref()?.root.as_path();
    let (all, mut findings) = wanted::hosts_of(settings, config).ok()?;
    let hosts = wanted::configured(config, &all, &mut findings);
    let home: Utf8PathBuf = wanted::home().ok()?;
    let mut wanted = wanted::wanted(here, &hosts, &wanted::roots(&home, Some(root)));
    // What waits for the user is not brought behind their back.
    agreed::settle(here, root, &mut wanted, &Terms::default(), Writing::No).ok()?;
    let desired = wanted.desired;
    let places = Places::below(&settings.dirs.state).remembering(&settings.dirs.cache);
    // Looking writes nothing, not even a lock.
    if preview(&places, &desired, root, Edited::Keep).ok()?.is_empty() {
        return None;
    }
    sync_if_free(&places, &desired, root, Edited::Keep).ok().flatten()
}

/// What is new to this host, in one line.
fn describe(applied: &Applied, wire: Wire) -> Option<String> {
    let is_new = |action: Action| action != Action::Removed;
    let mut names: Vec<String> = Vec::new();
    for change in &applied.plan.changes {
        match change {
            Change::Skill { slot, action, from, hosts, .. }
                if is_new(*action) && hosts.iter().any(|host| host.as_str() == wire.host()) =>
            {
                let name = slot.file_name().unwrap_or_default();
                names.push(format!("the skill `{name}` ({from})"));
            }
            Change::File { notes, .. } => {
                let new = notes.iter().filter(|note| {
                    is_new(note.action)
                        && note.host.as_ref().is_some_and(|host| host.as_str() == wire.host())
                });
                names.extend(new.filter_map(|note| {
                    let what = note.what.named(&note.name);
                    match note.what {
                        // Hosts read both when a session begins.
                        What::Server | What::Agent => {
                            Some(format!("{what} ({}), from the next session on", note.from))
                        }
                        What::Skill | What::Hook | What::Ignore => None,
                    }
                }));
            }
            Change::Skill { .. } => {}
        }
    }
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    (!names.is_empty()).then(|| format!("New in this workspace: {}.", names.join("; ")))
}
