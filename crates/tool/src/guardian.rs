//! Protected files that a program changed are put back.
//!
//! The kernel's sandbox grants whole trees: whoever may write to a workspace may write to its `.git/hooks`. While a program runs
//! inside of the sandbox that does no harm, because whatever it makes others run there is in the sandbox, too. What matters is what
//! it leaves behind. So the few protected files that are run without anybody's doing are remembered before, and put back after.

use std::{
    collections::BTreeMap,
    fs::{Metadata, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::confine::{Area, RootAccess};

/// Files and directories from which others run something on their own. Objects and references of git are not among them: a commit is work.
const WATCHED: &[&str] = &[
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/info/attributes",
    ".gitmodules",
    ".cargo/config",
    ".cargo/config.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".envrc",
    ".vscode",
    ".zed",
    ".husky",
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".agents",
    ".opencode",
    ".github/workflows",
];
/// More than anybody has in one of these places. If there are more, nobody can tell which of them are new.
const MAX_FILES: usize = 2_000;
/// The largest that is remembered.
const MAX_FILE: u64 = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    File(Vec<u8>, u32),
    Link(Utf8PathBuf),
    /// Too large or of another kind: it can be told that it changed, no more.
    Other(u64),
}

/// What the protected files were.
#[derive(Debug)]
pub(crate) struct Guardian(Vec<Watched>);

/// One of the protected places, as it was.
#[derive(Debug)]
struct Watched {
    path: Utf8PathBuf,
    /// The directories on the way to it, from the root on, and where those lead that are links.
    way: Vec<(Utf8PathBuf, Option<Utf8PathBuf>)>,
    files: BTreeMap<Utf8PathBuf, Thing>,
    seen: Seen,
}

/// How many of the files of a place are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    All,
    Some,
}

/// A protected file that was changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: Utf8PathBuf,
    pub(crate) now: Now,
}

/// What a protected file is after it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    /// What it was before.
    AsBefore,
    /// What the program left.
    Changed,
}

impl Guardian {
    /// Remembers the protected files of every root that may be changed.
    pub(crate) fn remember(area: &Area) -> Self {
        let writable = area.roots().filter(|(_, access)| *access == RootAccess::Write);
        let places = writable.flat_map(|(root, _)| WATCHED.iter().map(move |name| (root, name)));
        Self(places.map(|(root, name)| Watched::remember(root, name)).collect())
    }

    /// Puts back what changed, and tells what that was. Nothing that the program started is running any more, so nobody moves
    /// things under our hands.
    pub(crate) fn restore(self) -> Vec<Changed> {
        self.0.iter().flat_map(Watched::restore).collect()
    }
}

impl Watched {
    fn remember(root: &Utf8Path, name: &str) -> Self {
        let path = root.join(name);
        let way = path.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
        let mut way: Vec<_> = way.map(|dir| (dir.to_owned(), dir.read_link_utf8().ok())).collect();
        way.reverse();
        let mut all = files_in(path.clone(), Directories::AsTheyAre);
        let files = all.by_ref().take(MAX_FILES);
        let files = files.filter_map(|path| thing_at(&path).map(|thing| (path, thing))).collect();
        let seen = if all.next().is_none() { Seen::All } else { Seen::Some };
        Self { path, way, files, seen }
    }

    fn restore(&self) -> Vec<Changed> {
        self.clear_way();
        let mut changed = Vec::new();
        let mut tell = |path: &Utf8Path, is_as_before: bool| {
            let now = if is_as_before { Now::AsBefore } else { Now::Changed };
            changed.push(Changed { path: path.to_owned(), now });
        };
        let found = files_in(self.path.clone(), Directories::Opened);
        for path in found.filter(|path| self.is_new(path)) {
            tell(&path, fs_err::remove_file(&path).is_ok());
        }
        for (path, before) in &self.files {
            if thing_at(path).as_ref() != Some(before) {
                put_back(path, before);
                tell(path, thing_at(path).as_ref() == Some(before));
            }
        }
        changed
    }

    /// Whether it was not there before, or was a directory.
    fn is_new(&self, path: &Utf8Path) -> bool {
        let was_directory = || self.files.keys().any(|it| it != path && it.starts_with(path));
        !self.files.contains_key(path) && (self.seen == Seen::All || was_directory())
    }

    /// A directory that became a link would lead files elsewhere, and in one that became read-only nothing can be put back.
    fn clear_way(&self) {
        for (dir, link) in &self.way {
            let now = dir.read_link_utf8().ok();
            if now != *link {
                let _ = fs_err::remove_file(dir);
                let _ = link.as_ref().map(|to| fs_err::os::unix::fs::symlink(to, dir));
            }
            if let Ok(data) = fs_err::symlink_metadata(dir) {
                open_up(dir, &data);
            }
        }
    }
}

fn put_back(path: &Utf8Path, thing: &Thing) {
    if matches!(thing, Thing::Other(_)) {
        return;
    }
    if let Ok(data) = fs_err::symlink_metadata(path) {
        let _ =
            if data.is_dir() { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
    }
    match thing {
        Thing::File(bytes, mode) => {
            let _ = agents_system::atomic::write(path, bytes);
            let _ = fs_err::set_permissions(path, Permissions::from_mode(*mode));
        }
        Thing::Link(target) => {
            let _ = path.parent().map(fs_err::create_dir_all);
            let _ = fs_err::os::unix::fs::symlink(target, path);
        }
        Thing::Other(_) => {}
    }
}

/// What becomes of directories that cannot be read or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directories {
    AsTheyAre,
    Opened,
}

/// Whatever is there and no directory: the path itself, or everything below it.
fn files_in(path: Utf8PathBuf, directories: Directories) -> impl Iterator<Item = Utf8PathBuf> {
    let mut waiting = vec![path];
    std::iter::from_fn(move || {
        while let Some(path) = waiting.pop() {
            let Ok(data) = fs_err::symlink_metadata(&path) else { continue };
            if !data.is_dir() {
                return Some(path);
            }
            if directories == Directories::Opened {
                open_up(&path, &data);
            }
            let entries = path.read_dir_utf8().into_iter().flatten().flatten();
            waiting.extend(entries.map(camino::Utf8DirEntry::into_path));
        }
        None
    })
}

/// Lets us read and change a directory.
fn open_up(dir: &Utf8Path, data: &Metadata) {
    let mode = data.permissions().mode();
    if data.is_dir() && mode & 0o700 != 0o700 {
        let _ = fs_err::set_permissions(dir, Permissions::from_mode(mode | 0o700));
    }
}

fn thing_at(path: &Utf8Path) -> Option<Thing> {
    let data = fs_err::symlink_metadata(path).ok().filter(|it| !it.is_dir())?;
    let other = Thing::Other(data.len());
    Some(if data.is_symlink() {
        path.read_link_utf8().map_or(other, Thing::Link)
    } else if data.is_file() && data.len() <= MAX_FILE {
        let mode = data.permissions().mode() & 0o7777;
        fs_err::read(path).map_or(other, |it| Thing::File(it, mode))
    } else {
        other
    })
}

#[cfg(test)]
mod tests;
