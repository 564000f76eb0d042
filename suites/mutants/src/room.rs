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
pub(crate) const ROOMS: [Room; 9] = [
    Room { name: "plugin", what: "which plugins apply, with whose word, and confined to what" },
    Room { name: "hook", what: "which handlers are run, merging of their answers" },
    Room { name: "sync", what: "what is wanted and what is there, made one plan and written" },
    Room { name: "plan", what: "the scheduler" },
    Room {
        name: "task",
        what: "which agents may run, how far, with what rights and secrets; queues; merging of their work",
    },
    Room { name: "trust", what: "what was agreed to, and what has changed since" },
    Room { name: "agent", what: "which definitions are believed and meant, edits of them" },
    Room { name: "tool", what: "rights, rules, commands, addresses, confinement, edits" },
    Room { name: "system", what: "edits of files of others, the sandbox" },
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
