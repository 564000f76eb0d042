//! What is ours in our own directories, by name. Whatever else is there is somebody else's: `CARGO_AGENTS_HOME` may be any directory.

use std::io;

use agents_system::{atomic::UNFINISHED, dirs::Dirs, finding::Finding, lock::Lock};
use camino::{Utf8Path, Utf8PathBuf};

use Lost::{Forever, MadeAgain};

/// What it means that something is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    Forever,
    /// Made again when it is needed, or of no use without the rest.
    MadeAgain,
}

/// A file or a directory of ours.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) path: Utf8PathBuf,
    pub(super) holds: &'static str,
    pub(super) lost: Lost,
    pub(super) bytes: u64,
}

type Named = (&'static str, &'static str, Lost);

const CONFIG: &[Named] = &[
    ("config.toml", "your settings", Forever),
    ("plugins", "your own plugins", Forever),
    ("hosts.toml", "what you say about hosts", Forever),
    ("agents-audits.toml", "what you have looked at", Forever),
    ("audits", "what others have looked at", Forever),
];

/// Files of the same directory go in this order: the record of what we own comes late, and locks come last.
const STATE: &[Named] = &[
    ("transcripts", "what tasks said and did", Forever),
    ("plans", "journals and results of plans", Forever),
    ("agent-memory", "notes of agents", Forever),
    ("sessions", "conversations with editors", Forever),
    ("artifacts", "long results of tasks", Forever),
    ("worktrees", "patches of tasks", Forever),
    ("tasks", "tasks of programs that embed us", Forever),
    ("worker", "what was done for a cluster", Forever),
    ("mcp-token", "the token of `mcp --http`", MadeAgain),
    ("update-check.json", "when we looked for a newer version", MadeAgain),
    ("supervisor", "the log of background tasks", MadeAgain),
    ("agreements", "locks of `agents.lock`", MadeAgain),
    ("backups", "originals of files that we touched", MadeAgain),
    ("ledger.json", "what we wrote into other programs' files", MadeAgain),
    ("config.lock", "a lock", MadeAgain),
    ("sync.lock", "a lock", MadeAgain),
];

const CACHE: &[&str] = &[
    "artifacts",
    "builds",
    "contents",
    "fetched-crates",
    "hooks",
    "installations",
    "predicates",
    "registries",
    "repositories",
    "sandbox",
    "skill-crates",
    "skills",
    "slots",
    "workspace-plugins",
    "workspaces",
];

/// How the name begins of something that is being removed: after a kill, what is there under its own name is whole.
const GOING: &str = ".removed-";

/// What there is, in the order in which it goes: what is worth least first, the settings last.
pub(super) fn found(dirs: &Dirs) -> Vec<Own> {
    let cache = CACHE.iter().map(|name| (*name, "a part of the cache", MadeAgain));
    let named = cache.map(|it| (&dirs.cache, it));
    let named = named.chain(STATE.iter().map(|it| (&dirs.state, *it)));
    let named = named.chain(CONFIG.iter().map(|it| (&dirs.config, *it)));
    let here = named.map(|(dir, (name, holds, lost))| (dir.join(name), holds, lost));
    let going = [&dirs.cache, &dirs.state, &dirs.config].into_iter().flat_map(|dir| names(dir));
    let is_half = |name: &str| [GOING, UNFINISHED].iter().any(|it| name.starts_with(it));
    let going = going.filter(|it| it.file_name().is_some_and(is_half));
    let going = going.map(|path| (path, "half written, or half removed", MadeAgain));
    going
        .chain(here)
        .filter_map(|(path, holds, lost)| {
            let bytes = size(&path).ok()?;
            Some(Own { path, holds, lost, bytes })
        })
        .collect()
}

/// What is in our directories and has no name that we give.
pub(super) fn not_ours(dirs: &Dirs) -> Vec<Utf8PathBuf> {
    let all = [&dirs.config, &dirs.state, &dirs.cache];
    let ours =
        |path: &Utf8PathBuf| all.contains(&path) || found(dirs).iter().any(|it| it.path == *path);
    all.into_iter().flat_map(|dir| names(dir)).filter(|path| !ours(path)).collect()
}

/// Removes it, then the directories that are empty. What cannot be removed stays, and the rest goes.
pub(super) fn remove(own: &[Own], locks: Vec<Lock>, dirs: &Dirs) -> Vec<Finding> {
    let mut failed = Vec::new();
    for it in own {
        if let Err(error) = remove_one(&it.path) {
            failed.push(Finding::error(format!("`{}` is still there: {error}", it.path)));
        }
    }
    drop(locks);
    for dir in [&dirs.cache, &dirs.state, &dirs.config] {
        // One that is not empty holds what is not ours.
        let _ = fs_err::remove_dir(dir);
    }
    failed
}

/// First under another name, so that nobody finds one half of it.
fn remove_one(path: &Utf8Path) -> io::Result<()> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let mut gone = path.to_owned();
    if !name.starts_with(GOING) {
        let going = dir.join(format!("{GOING}{name}"));
        // What an earlier run could not remove may be in the way; a directory may be a place where something is mounted.
        let _ = remove_tree(&going);
        if fs_err::rename(path, &going).is_ok() {
            gone = going;
        }
    }
    remove_tree(&gone)
}

/// A link goes, not what it leads to.
fn remove_tree(path: &Utf8Path) -> io::Result<()> {
    let removed = match fs_err::symlink_metadata(path) {
        Ok(it) if it.is_dir() => fs_err::remove_dir_all(path),
        Ok(_) => fs_err::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn names(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    let mut all: Vec<Utf8PathBuf> = entries.map(camino::Utf8DirEntry::into_path).collect();
    all.sort();
    all
}

/// Of a file, or of all files below a directory; of a link nothing.
fn size(path: &Utf8Path) -> io::Result<u64> {
    let found = fs_err::symlink_metadata(path)?;
    if found.is_dir() {
        return Ok(names(path).iter().filter_map(|it| size(it).ok()).sum());
    }
    Ok(if found.is_file() { found.len() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the sources of a room put into our state and our cache, by the words that they do it with.
    fn written(dir: &Utf8Path, word: &str, found: &mut Vec<(Utf8PathBuf, String)>) {
        for path in names(dir) {
            if path.is_dir() && path.file_name() != Some("tests") {
                written(&path, word, found);
            } else if path.extension() == Some("rs") && path.file_name() != Some("tests.rs") {
                let text = fs_err::read_to_string(&path).unwrap();
                for part in text.split(&format!("{word}.join(\"")).skip(1) {
                    let name = part.split(['"', '/', '{']).next().unwrap();
                    found.push((path.clone(), name.to_owned()));
                }
            }
        }
    }

    #[test]
    fn everything_that_we_write_has_a_name_here() {
        let crates = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let state: Vec<&str> = STATE.iter().map(|it| it.0).collect();
        for (word, known, least) in [("state", state.as_slice(), 10), ("cache", CACHE, 8)] {
            let mut all = Vec::new();
            for room in names(crates) {
                written(&room.join("src"), word, &mut all);
            }
            assert!(all.len() >= least, "{word}: {all:?}");
            for (file, name) in all {
                assert!(
                    known.contains(&name.as_str()),
                    "{file}: `{name}` would stay after a purge"
                );
            }
        }
    }

    #[test]
    fn what_is_not_ours_stays_and_a_link_leads_nobody_astray() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(scratch.path()).unwrap();
        let home = root.join("home");
        let dirs = Dirs::below(&home);
        for (path, text) in [
            ("home/config.toml", "a"),
            ("home/diary.txt", "mine"),
            ("home/state/plans/r/journal.db", "bb"),
            ("home/state/.removed-transcripts/x", "c"),
            ("home/cache/hooks/x", "d"),
            ("elsewhere/SYMPOSIUM.toml", "mine"),
        ] {
            agents_testkit::scratch::write(&root.join(path), text);
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("elsewhere"), home.join("plugins")).unwrap();
        assert_eq!(not_ours(&dirs), [home.join("diary.txt")]);
        let own = found(&dirs);
        assert_eq!(own.iter().map(|it| it.bytes).sum::<u64>(), 5);
        assert!(remove(&own, Vec::new(), &dirs).is_empty());
        assert_eq!(names(&home), [home.join("diary.txt")]);
        assert!(root.join("elsewhere/SYMPOSIUM.toml").exists());
        assert!(found(&dirs).is_empty());
    }
}
