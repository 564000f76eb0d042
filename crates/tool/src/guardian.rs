//! Protected files that a program changed are put back.
//!
//! The kernel's sandbox grants whole trees: whoever may write to a workspace may write to its `.git/hooks`. While a program runs
//! inside of the sandbox that does no harm, because whatever it makes others run there is in the sandbox, too. What matters is what
//! it leaves behind. So the few protected files that are run without anybody's doing are remembered before, and put back after.

use std::collections::BTreeMap;

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
/// More than anybody has there.
const MAX_FILES: usize = 2_000;
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
pub(crate) struct Guardian {
    roots: Vec<Utf8PathBuf>,
    before: BTreeMap<Utf8PathBuf, Thing>,
}

impl Guardian {
    /// Remembers the protected files of every root that may be changed.
    pub(crate) fn remember(area: &Area) -> Self {
        let writable = area.roots().filter(|(_, access)| *access == RootAccess::Write);
        let roots: Vec<Utf8PathBuf> = writable.map(|(path, _)| path.to_owned()).collect();
        let before = look(&roots);
        Self { roots, before }
    }

    /// Puts back what changed, and tells what that was.
    pub(crate) fn restore(self) -> Vec<Utf8PathBuf> {
        let after = look(&self.roots);
        let mut changed = Vec::new();
        for path in after.keys().filter(|path| !self.before.contains_key(*path)) {
            let _ = fs_err::remove_file(path);
            changed.push(path.clone());
        }
        for (path, thing) in &self.before {
            if after.get(path) != Some(thing) {
                put_back(path, thing);
                changed.push(path.clone());
            }
        }
        changed
    }
}

/// Nothing that the program started is running any more, so nobody moves things under our hands.
fn put_back(path: &Utf8Path, thing: &Thing) {
    use std::os::unix::fs::PermissionsExt as _;
    if let Ok(data) = fs_err::symlink_metadata(path) {
        let _ =
            if data.is_dir() { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
    }
    for parent in path.ancestors().skip(1) {
        // A directory that became a link would lead the file elsewhere.
        if fs_err::symlink_metadata(parent).is_ok_and(|it| it.is_symlink()) {
            let _ = fs_err::remove_file(parent);
        }
    }
    match thing {
        Thing::File(bytes, mode) => {
            let _ = agents_system::atomic::write(path, bytes);
            let _ = fs_err::set_permissions(path, std::fs::Permissions::from_mode(*mode));
        }
        Thing::Link(target) => {
            let _ = path.parent().map(fs_err::create_dir_all);
            let _ = fs_err::os::unix::fs::symlink(target, path);
        }
        Thing::Other(_) => {}
    }
}

fn look(roots: &[Utf8PathBuf]) -> BTreeMap<Utf8PathBuf, Thing> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<Utf8PathBuf> =
        roots.iter().flat_map(|root| WATCHED.iter().map(move |name| root.join(name))).collect();
    while let Some(path) = waiting.pop() {
        if found.len() >= MAX_FILES {
            break;
        }
        let Ok(data) = fs_err::symlink_metadata(&path) else { continue };
        if data.is_dir() {
            let entries = path.read_dir_utf8().into_iter().flatten().flatten();
            waiting.extend(entries.map(camino::Utf8DirEntry::into_path));
            continue;
        }
        let thing = if data.is_symlink() {
            path.read_link_utf8().map_or(Thing::Other(0), Thing::Link)
        } else if data.is_file() && data.len() <= MAX_FILE {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = data.permissions().mode() & 0o7777;
            fs_err::read(&path).map_or(Thing::Other(data.len()), |it| Thing::File(it, mode))
        } else {
            Thing::Other(data.len())
        };
        found.insert(path, thing);
    }
    found
}
