//! The rooms of which something is changed.

use anyhow::{Context as _, bail};
use camino::Utf8PathBuf;

/// A room, and what of it `.cargo/mutants.toml` names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
}

/// In the order of the table.
pub(crate) const ROOMS: [Room; 8] = [
    Room { name: "hook", what: "merging of answers, running of handlers" },
    Room { name: "sync", what: "what is wanted and what is there, made one plan" },
    Room { name: "plan", what: "the scheduler" },
    Room { name: "task", what: "which agents may run, and with what rights" },
    Room { name: "trust", what: "what was agreed to, and what has changed since" },
    Room { name: "agent", what: "which definitions are believed, edits of them" },
    Room { name: "tool", what: "rights, rules, commands, confinement, edits" },
    Room { name: "system", what: "edits of files of others" },
];

impl Room {
    pub(crate) fn package(self) -> String {
        format!("agents-{}", self.name)
    }

    /// Its directory below the root.
    pub(crate) fn path(self) -> Utf8PathBuf {
        Utf8PathBuf::from("crates").join(self.name)
    }
}

/// Those that are named, or all.
pub(crate) fn chosen(names: &[String]) -> anyhow::Result<Vec<Room>> {
    let known = || ROOMS.map(|it| it.name).join(", ");
    let one = |name: &String| {
        let room = ROOMS.into_iter().find(|it| it.name == *name);
        room.with_context(|| format!("nothing is changed in `{name}`; rooms are {}", known()))
    };
    match names {
        [] => Ok(ROOMS.to_vec()),
        names => names.iter().map(one).collect(),
    }
}

/// Nothing may be listed that nobody tries.
pub(crate) fn check_listed(globs: &str) -> anyhow::Result<()> {
    let listed = globs.lines().filter_map(|it| it.trim().strip_prefix("\"crates/"));
    for name in listed.filter_map(|it| it.split('/').next()) {
        if !ROOMS.iter().any(|it| it.name == name) {
            bail!("`.cargo/mutants.toml` names `{name}`, which is no room of this suite");
        }
    }
    Ok(())
}
