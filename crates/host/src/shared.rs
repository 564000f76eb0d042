//! Files of one host that another host reads too.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::{host::Host, id::HostId, path::Roots, scope::Scope};

/// A hook file that is written for one host and run by others as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedHooks {
    /// The file.
    pub file: Utf8PathBuf,
    /// The host that it is written for.
    pub written_for: HostId,
    /// The configured hosts that run it besides their own. An event that is registered for both fires
    /// twice there.
    pub also_run_by: Vec<HostId>,
}

/// The hook files that more than one of the configured hosts runs. Copilot runs the hooks of the
/// project's `.claude/settings.json` next to its own, so a tool that writes both fires twice.
#[must_use]
pub fn shared_hooks(hosts: &[&Host], scope: Scope, roots: &Roots<'_>) -> Vec<SharedHooks> {
    let paths: Vec<_> = hosts.iter().map(|host| (&host.id, host.paths(scope, roots))).collect();
    let shared = paths.iter().filter_map(|(id, resolved)| {
        let file = resolved.hook_file.clone()?;
        let also_run_by: Vec<HostId> = paths
            .iter()
            .filter(|(other, other_paths)| {
                other != id && other_paths.hook_files_read.contains(&file)
            })
            .map(|(other, _)| (*other).clone())
            .collect();
        let written_for = (*id).clone();
        (!also_run_by.is_empty()).then_some(SharedHooks { file, written_for, also_run_by })
    });
    shared.collect()
}

#[cfg(test)]
mod tests;
