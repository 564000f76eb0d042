//! Reading a directory without ever leaving the tree it belongs to.
//!
//! Skills come from other people. A link in them may lead anywhere: to a file beside it, which is fine, to
//! `~/.ssh`, which is not, nowhere, or back to where it stands. What is not followed is reported.

use std::io;

use agents_system::{
    finding::{Finding, Place},
    memory::Watch,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::scan::unreadable;

/// The marker of cache directories, such as cargo's `target`.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// A manifest or a `SKILL.md` that is larger is not one.
const MAX_TEXT: u64 = 1024 * 1024;

/// A tree that nothing leads out of: a crate's directory, a checkout, a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Within {
    root: Utf8PathBuf,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// How it is called there.
    pub(crate) name: String,
    /// Where it really is.
    pub(crate) real: Utf8PathBuf,
    /// What it is.
    pub(crate) kind: EntryKind,
}

/// What an entry is, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Dir,
    File,
}

/// Why a path cannot be entered.
#[derive(Debug)]
pub(crate) enum Closed {
    /// There is nothing.
    Missing,
    /// It is not in the tree.
    Outside,
    /// The system says no.
    Unreadable(io::Error),
}

impl Within {
    /// The tree below `root`, which must exist.
    pub(crate) fn new(root: &Utf8Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize_utf8()? })
    }

    /// The tree below a directory that is known by its real path.
    pub(crate) fn at(real: Utf8PathBuf) -> Self {
        Self { root: real }
    }

    /// Where it really is.
    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Where a path in the tree really is.
    pub(crate) fn enter(&self, path: &Utf8Path) -> Result<Utf8PathBuf, Closed> {
        match path.canonicalize_utf8() {
            Ok(real) if real.starts_with(&self.root) => Ok(real),
            Ok(_) => Err(Closed::Outside),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Closed::Missing),
            Err(error) => Err(Closed::Unreadable(error)),
        }
    }

    /// What is in `dir`, which is its real path, by name. Version control, build output and installed packages are
    /// never part of a skill and are left out; what else is left out is among the findings.
    pub(crate) fn list(
        &self,
        dir: &Utf8Path,
        findings: &mut Vec<Finding>,
        watch: &mut Watch,
    ) -> Result<Vec<Entry>, Box<Finding>> {
        watch.look(dir);
        let mut listed = std::fs::read_dir(dir)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(|error| {
            watch.give_up();
            Box::new(unreadable(dir, &error))
        })?;
        listed.sort_by_key(std::fs::DirEntry::file_name);
        let mut entries = Vec::new();
        for entry in listed {
            match self.look(dir, &entry, watch) {
                Ok(entry) => entries.extend(entry),
                Err(finding) => findings.push(*finding),
            }
        }
        Ok(entries)
    }

    /// The text of a file in the tree; `None` if there is none.
    pub(crate) fn read(&self, path: &Utf8Path) -> Result<Option<String>, Box<Finding>> {
        let cannot = |error: io::Error| Box::new(unreadable(path, &error));
        let real = match self.enter(path) {
            Ok(real) => real,
            Err(Closed::Missing) => return Ok(None),
            Err(Closed::Outside) => {
                return Err(Box::new(leads_out(&self.root).at(Place::file(path))));
            }
            Err(Closed::Unreadable(error)) => return Err(cannot(error)),
        };
        read_text(&real, path).map(Some)
    }

    fn look(
        &self,
        dir: &Utf8Path,
        entry: &std::fs::DirEntry,
        watch: &mut Watch,
    ) -> Result<Option<Entry>, Box<Finding>> {
        let at = |finding: Finding, path: &Utf8Path| Box::new(finding.at(Place::file(path)));
        let name = entry.file_name().into_string().map_err(|name| {
            let message = format!("the file name `{}` is not valid UTF-8", name.to_string_lossy());
            at(Finding::warning(message), dir)
        })?;
        if matches!(name.as_str(), ".git" | "node_modules") {
            return Ok(None);
        }
        let path = dir.join(&name);
        let mut kind = entry.file_type().map_err(|error| Box::new(unreadable(&path, &error)))?;
        let mut real = path.clone();
        if kind.is_symlink() {
            watch.give_up();
            real = self.follow(dir, &path).map_err(|finding| at(*finding, &path))?;
            let data = fs_err::metadata(&real);
            kind = data.map_err(|error| Box::new(unreadable(&path, &error)))?.file_type();
        }
        let kind = if kind.is_dir() {
            EntryKind::Dir
        } else if kind.is_file() {
            EntryKind::File
        } else {
            let message = "it is neither a file nor a directory and is left out";
            return Err(at(Finding::warning(message), &path));
        };
        if kind == EntryKind::Dir {
            watch.look(&real);
            let tag = real.join(CACHE_TAG);
            if let Ok(data) = tag.symlink_metadata() {
                watch.look(&tag);
                if data.is_file() || tag.is_file() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(Entry { name, real, kind }))
    }

    /// Where a link in `dir` leads, if it may be followed.
    fn follow(&self, dir: &Utf8Path, link: &Utf8Path) -> Result<Utf8PathBuf, Box<Finding>> {
        match self.enter(link) {
            // A directory cannot contain itself.
            Ok(real) if dir.starts_with(&real) => Err(Box::new(leads_back())),
            Ok(real) => Ok(real),
            Err(Closed::Missing) => {
                let finding = Finding::warning("the link leads nowhere and is left out");
                Err(Box::new(finding.hint("remove it, or put the file where it leads")))
            }
            Err(Closed::Outside) => Err(Box::new(leads_out(&self.root))),
            // A link that leads to itself is one as well.
            Err(Closed::Unreadable(error)) => Err(Box::new(Finding::warning(format!(
                "the link cannot be followed and is left out: {error}"
            )))),
        }
    }
}

/// The text of a file that is known by its real path, and as `path` to people.
pub(super) fn read_text(real: &Utf8Path, path: &Utf8Path) -> Result<String, Box<Finding>> {
    let failed = |message: &str| Box::new(Finding::error(message).at(Place::file(path)));
    let cannot = |error: io::Error| Box::new(unreadable(path, &error));
    let data = fs_err::metadata(real).map_err(cannot)?;
    if !data.is_file() {
        return Err(failed("it is not a file"));
    }
    if data.len() > MAX_TEXT {
        return Err(failed("it is larger than a megabyte"));
    }
    let bytes = fs_err::read(real).map_err(cannot)?;
    String::from_utf8(bytes).map_err(|_| failed("it is not valid UTF-8"))
}

/// For a link that leads back to a directory that it stands in.
pub(super) fn leads_back() -> Finding {
    Finding::warning("the link leads back to a directory that it stands in and is left out")
        .hint("remove it")
}

fn leads_out(root: &Utf8Path) -> Finding {
    Finding::warning(format!("the link leads out of `{root}` and is left out"))
        .hint("put a copy of what it leads to in its place")
}
