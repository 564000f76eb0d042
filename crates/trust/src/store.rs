//! The accepted contents of skills and plugins, in our cache, by hash: what is pinned can be restored, and what changed can be shown.
//!
//! ```text
//! <cache>/contents/<hash>    the files of one skill, or what a plugin says and runs
//! ```
//!
//! Whatever is there is believed only if it has the hash that it is named for.

use std::{collections::BTreeSet, io, time::SystemTime};

use agents_plugin::skills::{Mode, SkillTree, TreeEntry, TreeKind};
use agents_system::{atomic, regular};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::lock::Hash;

/// The contents in a cache.
#[derive(Debug, Clone)]
pub struct Store {
    dir: Utf8PathBuf,
}

/// What was looked for in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// It is there.
    Tree(SkillTree),
    /// It is not.
    Missing,
    /// Something else is there under its name.
    Tampered(Utf8PathBuf),
}

/// A file of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Of the content.
    pub hash: Hash,
    /// Where it is.
    pub path: Utf8PathBuf,
    /// In bytes.
    pub size: u64,
}

#[derive(Serialize, Deserialize)]
enum File {
    Dir(String),
    Plain(String, Vec<u8>),
    Executable(String, Vec<u8>),
}

impl Store {
    /// That of `cache`, which is `Dirs::cache`.
    #[must_use]
    pub fn new(cache: &Utf8Path) -> Self {
        Self { dir: cache.join("contents") }
    }

    /// Whether something is there under that name; a look at the directory, nothing is read.
    #[must_use]
    pub fn has(&self, hash: &Hash) -> bool {
        self.file(hash).symlink_metadata().is_ok()
    }

    /// The content with that hash.
    #[must_use]
    pub fn get(&self, hash: &Hash) -> Stored {
        let file = self.file(hash);
        let Ok(Some(bytes)) = regular::read_at_most(&file, u64::MAX) else {
            return Stored::Missing;
        };
        let tree = postcard::from_bytes::<Vec<File>>(&bytes).ok().map(into_tree);
        match tree.filter(|tree| Hash::new(&tree.digest()) == *hash) {
            Some(tree) => Stored::Tree(tree),
            None => Stored::Tampered(file),
        }
    }

    /// Keeps a content.
    pub fn put(&self, tree: &SkillTree) -> io::Result<Hash> {
        let hash = Hash::new(&tree.digest());
        let files: Vec<File> = tree.entries.iter().map(from_entry).collect();
        let bytes = postcard::to_allocvec(&files).map_err(io::Error::other)?;
        atomic::write(&self.file(&hash), &bytes)?;
        Ok(hash)
    }

    /// What was stored before `since` and is not among the `needed`, by hash.
    #[must_use]
    pub fn unneeded(&self, needed: &BTreeSet<Hash>, since: SystemTime) -> Vec<Kept> {
        let files = self.dir.read_dir_utf8().into_iter().flatten().flatten();
        let unneeded = files.filter_map(|file| {
            let hash = Hash::parse(file.file_name()).filter(|hash| !needed.contains(hash))?;
            let data = file.metadata().ok()?;
            let is_old = data.modified().is_ok_and(|stored| stored < since);
            is_old.then(|| Kept { hash, path: file.path().to_owned(), size: data.len() })
        });
        let mut unneeded: Vec<Kept> = unneeded.collect();
        unneeded.sort_by(|one, other| one.hash.cmp(&other.hash));
        unneeded
    }

    fn file(&self, hash: &Hash) -> Utf8PathBuf {
        self.dir.join(hash.digits())
    }
}

fn from_entry(entry: &TreeEntry) -> File {
    let path = entry.path.to_string();
    match &entry.kind {
        TreeKind::Dir => File::Dir(path),
        TreeKind::File { mode: Mode::Plain, bytes } => File::Plain(path, bytes.clone()),
        TreeKind::File { mode: Mode::Executable, bytes } => File::Executable(path, bytes.clone()),
    }
}

fn into_tree(files: Vec<File>) -> SkillTree {
    let entry = |file| match file {
        File::Dir(path) => TreeEntry { path: path.into(), kind: TreeKind::Dir },
        File::Plain(path, bytes) => {
            TreeEntry { path: path.into(), kind: TreeKind::File { mode: Mode::Plain, bytes } }
        }
        File::Executable(path, bytes) => {
            TreeEntry { path: path.into(), kind: TreeKind::File { mode: Mode::Executable, bytes } }
        }
    };
    SkillTree { entries: files.into_iter().map(entry).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_had_and_what_was_tampered_with_is_noticed() {
        let scratch = tempfile::tempdir().unwrap();
        let store = Store::new(Utf8Path::from_path(scratch.path()).unwrap());
        let file = |path: &str, mode, text: &str| TreeEntry {
            path: path.into(),
            kind: TreeKind::File { mode, bytes: text.into() },
        };
        let tree = SkillTree {
            entries: vec![
                file("SKILL.md", Mode::Plain, "text"),
                TreeEntry { path: "bin".into(), kind: TreeKind::Dir },
                file("bin/run", Mode::Executable, "true"),
            ],
        };
        let hash = store.put(&tree).unwrap();
        assert!(store.has(&hash));
        assert_eq!(store.get(&hash), Stored::Tree(tree));
        let path = store.file(&hash);
        let good = fs_err::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs_err::write(&path, &bad).unwrap();
            assert_eq!(store.get(&hash), Stored::Tampered(path.clone()), "byte {at}");
        }
        fs_err::remove_file(&path).unwrap();
        assert_eq!(store.get(&hash), Stored::Missing);
    }

    #[test]
    fn what_nobody_needs_is_listed_once_it_is_old() {
        let scratch = tempfile::tempdir().unwrap();
        let store = Store::new(Utf8Path::from_path(scratch.path()).unwrap());
        let put = |text: &str| {
            let kind = TreeKind::File { mode: Mode::Plain, bytes: text.into() };
            let entries = vec![TreeEntry { path: "SKILL.md".into(), kind }];
            store.put(&SkillTree { entries }).unwrap()
        };
        let (needed, other) = (put("one"), put("two"));
        fs_err::write(store.dir.join("notes"), "").unwrap();
        let needed = BTreeSet::from([needed]);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let hashes = |since| -> Vec<Hash> {
            store.unneeded(&needed, since).into_iter().map(|it| it.hash).collect()
        };
        assert_eq!(hashes(later), [other]);
        assert_eq!(hashes(SystemTime::UNIX_EPOCH), []);
    }
}
