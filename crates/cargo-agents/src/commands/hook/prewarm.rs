//! When a session begins, the installed programs of hooks are brought up to date: by a process of its own that nobody waits
//! for, since building a program takes longer than a host has patience.
//!
//! Nothing is installed that was not there, each program is looked after once a day at most, and nobody hears of it.

use std::{ffi::OsString, process::ExitCode, time::Duration};

use agents_plugin::{config::AutoSync, hooks::ActiveHook};
use agents_system::process::{Call, this_program};
use agents_workspace::Network;

use super::answer::hooks_here;
use crate::{
    args::Flags,
    here::{Here, glance},
    settings::{Settings, network},
};

const COMMAND: &str = "__prewarm";
/// How long a program is good enough after somebody has looked for a newer one.
const REST: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether this is the process that [`begin`] starts.
pub(crate) fn called(argv: &[OsString]) -> bool {
    matches!(argv, [_, command] if command == COMMAND)
}

/// Starts the process, if there is something for it to do and the user has not turned the network off.
pub(super) fn begin(here: &Here<'_>) {
    let installer = here.registries.installer;
    let is_due = |hook: &ActiveHook| hook.is_refresh_due(installer, REST);
    if network(&Flags::default()) == Network::Allowed
        && hooks(here).iter().any(is_due)
        && let Ok(us) = this_program()
    {
        // A host that lets us start nothing gets what is there.
        let _ = Call::new(us).arg(COMMAND).cwd(here.settings.cwd.clone()).detach();
    }
}

/// What the process does. Whatever goes wrong, what is installed stays.
pub(crate) fn run() -> ExitCode {
    let flags = Flags { quiet: true, ..Flags::default() };
    if let Ok(settings) = Settings::new(&flags) {
        let _ = glance(&settings, |here| {
            for hook in hooks(here) {
                let _ = hook.refresh(here.registries.installer, REST);
            }
        });
    }
    ExitCode::SUCCESS
}

/// The hooks that may run here; none if the user does not want anything to be brought by itself.
fn hooks(here: &Here<'_>) -> Vec<ActiveHook> {
    if here.registries.config.auto_sync == AutoSync::Off {
        return Vec::new();
    }
    hooks_here(here).0.hooks
}
