//! The rooms of which something is changed.

use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};

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

/// Nothing may be listed that nobody tries: each file that `.cargo/mutants.toml` names is there, in a room of this suite.
pub(crate) fn check_listed(root: &Utf8Path) -> anyhow::Result<()> {
    let text = fs_err::read_to_string(root.join(".cargo/mutants.toml"))?;
    let listed = text.lines().map(|it| it.trim().trim_matches([',', '"']));
    for glob in listed.filter(|it| it.starts_with("crates/")) {
        if !ROOMS.iter().any(|room| Utf8Path::new(glob).starts_with(room.path())) {
            bail!("`.cargo/mutants.toml` names `{glob}`, which is in no room of this suite");
        }
        // Of a pattern, the directory that it begins with.
        let named = glob.split_once('*').map_or(glob, |(directory, _)| directory);
        if !root.join(named).exists() {
            bail!("`.cargo/mutants.toml` names `{glob}`, and there is no `{named}`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_listed_is_there() {
        let root = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        check_listed(root).unwrap();
    }

    #[test]
    fn what_was_renamed_or_is_of_no_room_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        fs_err::create_dir_all(root.join("crates/tool/src/shell")).unwrap();
        fs_err::create_dir(root.join(".cargo")).unwrap();
        let said = |glob: &str| {
            let text = format!("examine_globs = [\n    # why\n    \"{glob}\",\n]\n");
            fs_err::write(root.join(".cargo/mutants.toml"), text).unwrap();
            check_listed(root).map_err(|it| it.to_string())
        };
        assert_eq!(said("crates/tool/src/shell/*.rs"), Ok(()));
        assert!(said("crates/tool/src/gone.rs").unwrap_err().contains("there is no"));
        assert!(said("crates/elsewhere/src/*.rs").unwrap_err().contains("in no room"));
    }
}
