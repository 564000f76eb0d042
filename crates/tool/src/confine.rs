//! Files, and nothing outside of the roots.
//!
//! A path is resolved twice. First by us, link by link, which says *which* file is meant, as a path below a root without any link
//! in it: that is what rules are compared with. Then by the kernel, from the opened root downwards, with links forbidden
//! (`openat2` with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`, or one directory at a time with `O_NOFOLLOW` where there is no
//! such call). Whoever changes the tree in between gets an error, not another file. Writes go to a new file beside the old one, in
//! the directory that was opened, and take its name in one step.
//!
//! A hard link to a file elsewhere on the same file system cannot be told from the file itself when it is read; a write replaces
//! the name and leaves the other file alone.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    sync::Arc,
};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};

use crate::rights::PathCondition;

pub(crate) mod glob;
pub mod protected;

/// More links than any tree has in one path.
const MAX_LINKS: usize = 40;

/// A directory that tools may work in.
#[derive(Debug)]
struct Root {
    /// Without links.
    path: Utf8PathBuf,
    dir: OwnedFd,
    access: RootAccess,
}

/// What tools may do in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootAccess {
    /// Look and change.
    Write,
    /// Look.
    Read,
}

/// The directories that one agent works in, and where it stands.
#[derive(Debug, Clone)]
pub struct Area {
    roots: Arc<[Root]>,
    /// Relative paths start here: a directory of the first root.
    cwd: Utf8PathBuf,
    opening: Opening,
    rules: Arc<[PathCondition]>,
    /// Protected files that somebody agreed to have changed.
    unprotected: Arc<[Place]>,
}

/// How paths are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "tests take the second way where the first one works")
)]
enum Opening {
    /// By the kernel in one call where it can.
    Best,
    /// One directory at a time.
    Steps,
}

/// A file or directory below a root, or where one could be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    root: usize,
    relative: Utf8PathBuf,
}

impl Place {
    /// The path below its root; empty for the root itself. There is no link in it, unless somebody put one there since.
    #[must_use]
    pub fn relative(&self) -> &Utf8Path {
        &self.relative
    }
}

/// Why a file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// It is somewhere else.
    #[error("`{path}` is outside of {}", roots.join(", "))]
    Outside {
        /// As it was asked for.
        path: String,
        /// Where files may be.
        roots: Vec<String>,
    },
    /// Its name is not one.
    #[error("`{path}` is not a path")]
    NoPath {
        /// As it was asked for.
        path: String,
    },
    /// A rule for the tool does not cover it.
    #[error("the rules of this tool do not cover `{path}`")]
    Rule {
        /// From its root.
        path: Utf8PathBuf,
    },
    /// Others run or trust it, and nobody agreed.
    #[error("`{path}` is protected: {why}")]
    Protected {
        /// From its root.
        path: Utf8PathBuf,
        /// What it is.
        why: &'static str,
    },
    /// The root may only be read.
    #[error("`{path}` is in a directory that may only be read")]
    ReadOnly {
        /// From its root.
        path: Utf8PathBuf,
    },
    /// Something on the way became a link while we looked.
    #[error("`{path}` changed while it was opened")]
    Raced {
        /// From its root.
        path: Utf8PathBuf,
    },
    /// It is no file.
    #[error("`{path}` is not a file")]
    NotAFile {
        /// From its root.
        path: Utf8PathBuf,
    },
    /// The system says no.
    #[error("cannot open `{path}`")]
    Io {
        /// From its root.
        path: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Area {
    /// Tools may work in these directories, which must exist; relative paths start at the first one.
    pub fn new<P: AsRef<Utf8Path>>(
        roots: impl IntoIterator<Item = (P, RootAccess)>,
    ) -> Result<Self, ConfineError> {
        let open = |(path, access): (P, RootAccess)| {
            let path = path.as_ref();
            let failed = |source| ConfineError::Io { path: path.to_owned(), source };
            let real = path.canonicalize_utf8().map_err(failed)?;
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
            let dir = rustix::fs::openat(CWD, real.as_str(), flags, Mode::empty())
                .map_err(|errno| failed(errno.into()))?;
            Ok(Root { path: real, dir, access })
        };
        let roots: Arc<[Root]> = roots.into_iter().map(open).collect::<Result<Vec<_>, _>>()?.into();
        let cwd = roots.first().map(|root| root.path.clone()).unwrap_or_default();
        Ok(Self {
            roots,
            cwd,
            opening: Opening::Best,
            rules: Arc::from([]),
            unprotected: Arc::from([]),
        })
    }

    /// One directory that may be changed.
    pub fn workspace(root: &Utf8Path) -> Result<Self, ConfineError> {
        Self::new([(root, RootAccess::Write)])
    }

    /// The same, standing in `dir`, which must be inside.
    pub fn at(&self, dir: &str) -> Result<Self, ConfineError> {
        let place = self.locate(dir)?;
        let path = self.absolute(&place);
        if !path.is_dir() {
            let source = io::ErrorKind::NotADirectory.into();
            return Err(ConfineError::Io { path: place.relative, source });
        }
        Ok(Self { cwd: path, ..self.clone() })
    }

    /// The same under the rules of one tool.
    pub(crate) fn under(&self, rules: Vec<PathCondition>, unprotected: Vec<Place>) -> Self {
        Self { rules: rules.into(), unprotected: unprotected.into(), ..self.clone() }
    }

    /// Where relative paths start.
    #[must_use]
    pub fn cwd(&self) -> &Utf8Path {
        &self.cwd
    }

    /// The directories, and what may be done in them.
    pub fn roots(&self) -> impl Iterator<Item = (&Utf8Path, RootAccess)> {
        self.roots.iter().map(|root| (root.path.as_path(), root.access))
    }

    /// The whole path of a place.
    #[must_use]
    pub fn absolute(&self, place: &Place) -> Utf8PathBuf {
        match self.roots.get(place.root) {
            Some(root) if place.relative.as_str().is_empty() => root.path.clone(),
            Some(root) => root.path.join(&place.relative),
            None => place.relative.clone(),
        }
    }

    /// The path of a place as tools show it: from the first root, or whole.
    #[must_use]
    pub fn shown(&self, place: &Place) -> Utf8PathBuf {
        match (place.root, place.relative.as_str()) {
            (0, "") => ".".into(),
            (0, _) => place.relative.clone(),
            _ => self.absolute(place),
        }
    }

    /// Which place a path means, after all links. Nothing need be there.
    pub fn locate(&self, path: &str) -> Result<Place, ConfineError> {
        if path.is_empty() || path.contains('\0') || path.len() > 4096 {
            return Err(ConfineError::NoPath { path: path.chars().take(80).collect() });
        }
        let outside = || ConfineError::Outside {
            path: path.to_owned(),
            roots: self.roots.iter().map(|it| format!("`{}`", it.path)).collect(),
        };
        let whole = self.cwd.join(path);
        let mut deepest = None;
        for (index, root) in self.roots.iter().enumerate() {
            if let Ok(rest) = whole.strip_prefix(&root.path) {
                let is_deeper =
                    |other: usize| root.path.as_str().len() > self.roots[other].path.as_str().len();
                if deepest.is_none_or(|(other, _)| is_deeper(other)) {
                    deepest = Some((index, rest));
                }
            }
        }
        let (root, rest) = deepest.ok_or_else(outside)?;
        let relative = self.resolve(root, rest)?.ok_or_else(outside)?;
        Ok(Place { root, relative })
    }

    /// The same place by its path below a root, for what a walk found.
    pub(crate) fn below(&self, place: &Place, relative: &Utf8Path) -> Place {
        Place { root: place.root, relative: place.relative.join(relative) }
    }

    /// Follows every link; `None` if one leads out of the root.
    fn resolve(&self, root: usize, rest: &Utf8Path) -> Result<Option<Utf8PathBuf>, ConfineError> {
        let root = &self.roots[root];
        let mut waiting: Vec<String> =
            rest.components().rev().map(|it| it.as_str().to_owned()).collect();
        let mut done = Utf8PathBuf::new();
        let mut links = 0;
        while let Some(step) = waiting.pop() {
            match step.as_str() {
                "." => continue,
                ".." => {
                    if !done.pop() {
                        return Ok(None);
                    }
                    continue;
                }
                _ => {}
            }
            let next = done.join(&step);
            let target = match rustix::fs::readlinkat(&root.dir, next.as_str(), Vec::new()) {
                Ok(target) => target,
                // No link, or nothing there: nothing that could lead away.
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => {
                    done = next;
                    continue;
                }
                Err(errno) => {
                    return Err(ConfineError::Io { path: next, source: errno.into() });
                }
            };
            links += 1;
            let Some(target) = target.to_str().ok().filter(|_| links <= MAX_LINKS) else {
                return Err(ConfineError::Io { path: next, source: Errno::LOOP.into() });
            };
            let target = Utf8Path::new(target);
            let target = if target.is_absolute() {
                let Ok(inside) = target.strip_prefix(&root.path) else { return Ok(None) };
                done = Utf8PathBuf::new();
                inside
            } else {
                target
            };
            let steps = target.components().rev();
            waiting.extend(steps.map(|it: Utf8Component<'_>| it.as_str().to_owned()));
        }
        Ok(Some(done))
    }

    /// Whether the rules of the tool cover a place.
    #[must_use]
    pub fn admits(&self, place: &Place) -> bool {
        self.rules.iter().all(|rule| match rule {
            PathCondition::Only(patterns) => patterns.iter().any(|it| it.matches(&place.relative)),
            PathCondition::Without(pattern) => !pattern.matches(&place.relative),
        })
    }

    fn admitted(&self, place: &Place) -> Result<&Root, ConfineError> {
        let path = || place.relative.clone();
        if !self.admits(place) {
            return Err(ConfineError::Rule { path: path() });
        }
        self.roots.get(place.root).ok_or_else(|| ConfineError::NoPath { path: path().into() })
    }

    /// Opens a file to read it. Only plain files: no device, no pipe.
    pub fn open(&self, place: &Place) -> Result<File, ConfineError> {
        let root = self.admitted(place)?;
        // Opening a pipe must not wait for somebody to write.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.open_at(root, &place.relative, flags)?);
        let kind = file.metadata().map_err(|source| self.failed(place, source))?;
        if kind.is_file() {
            Ok(file)
        } else {
            Err(ConfineError::NotAFile { path: place.relative.clone() })
        }
    }

    /// Whether something is there, and what, without following a link.
    pub fn kind(&self, place: &Place) -> Result<FileType, ConfineError> {
        let root = self.admitted(place)?;
        let fd = self.open_at(root, &place.relative, OFlags::PATH)?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| self.failed(place, errno.into()))?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// Opens a directory that is there, without a link on the way: its path cannot be made to lead away afterwards.
    pub(crate) fn open_directory(&self, place: &Place) -> Result<OwnedFd, ConfineError> {
        let root = self.roots.get(place.root);
        let root = root.ok_or_else(|| ConfineError::NoPath { path: place.relative.to_string() })?;
        self.open_at(root, &place.relative, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read(&self, place: &Place, limit: u64) -> Result<Vec<u8>, ConfineError> {
        let file = self.open(place)?;
        let mut bytes = Vec::new();
        let failed = |source| self.failed(place, source);
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit {
            return Err(failed(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it is larger than {limit} bytes"),
            )));
        }
        Ok(bytes)
    }

    /// Puts a file in the place, with its directories: the whole of it or nothing. An existing one keeps its mode.
    pub fn write(&self, place: &Place, bytes: &[u8]) -> Result<(), ConfineError> {
        let root = self.admitted(place)?;
        let path = || place.relative.clone();
        if root.access == RootAccess::Read {
            return Err(ConfineError::ReadOnly { path: path() });
        }
        if let Some(why) = protected::reason(&place.relative)
            && !self.unprotected.contains(place)
        {
            return Err(ConfineError::Protected { path: path(), why });
        }
        let failed = |errno: Errno| self.failed(place, errno.into());
        let Some(name) = place.relative.file_name() else {
            return Err(ConfineError::NotAFile { path: path() });
        };
        let parent = place.relative.parent().unwrap_or(Utf8Path::new(""));
        let dir = self.make_directories(root, parent)?;
        let mode = match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Some(Mode::from_raw_mode(stat.st_mode & 0o777))
            }
            // A link appeared where there was none.
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                return Err(ConfineError::Raced { path: path() });
            }
            Ok(_) => return Err(ConfineError::NotAFile { path: path() }),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(failed(errno)),
        };
        let (temporary, fd) = fresh(&dir).map_err(failed)?;
        let mut file = File::from(fd);
        let written = file.write_all(bytes).map_err(|it| self.failed(place, it)).and_then(|()| {
            if let Some(mode) = mode {
                rustix::fs::fchmod(&file, mode).map_err(failed)?;
            }
            rustix::fs::renameat(&dir, &temporary, &dir, name).map_err(failed)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&dir, &temporary, AtFlags::empty());
        }
        written
    }

    fn make_directories(&self, root: &Root, path: &Utf8Path) -> Result<OwnedFd, ConfineError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        match self.open_at(root, path, flags) {
            Err(ConfineError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::make_steps(root, path)
            }
            opened => opened,
        }
    }

    /// Makes what is missing of a path. What is there may have become a link since we looked.
    fn make_steps(root: &Root, path: &Utf8Path) -> Result<OwnedFd, ConfineError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed =
            |errno: Errno| ConfineError::Io { path: path.to_owned(), source: errno.into() };
        let mut dir = root
            .dir
            .try_clone()
            .map_err(|source| ConfineError::Io { path: path.to_owned(), source })?;
        for step in path.components() {
            match rustix::fs::mkdirat(&dir, step.as_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            dir = rustix::fs::openat(&dir, step.as_str(), flags, Mode::empty())
                .map_err(|errno| raced(path, errno))?;
        }
        Ok(dir)
    }

    /// Opens a path without a link in it.
    fn open_at(
        &self,
        root: &Root,
        path: &Utf8Path,
        flags: OFlags,
    ) -> Result<OwnedFd, ConfineError> {
        let opened = self.open_path(root, path, flags)?;
        // With `O_PATH`, a link at the end is opened instead of refused.
        let stat = rustix::fs::fstat(&opened).map_err(|errno| raced(path, errno))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(ConfineError::Raced { path: path.to_owned() });
        }
        Ok(opened)
    }

    fn open_path(
        &self,
        root: &Root,
        path: &Utf8Path,
        flags: OFlags,
    ) -> Result<OwnedFd, ConfineError> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let whole = if path.as_str().is_empty() { Utf8Path::new(".") } else { path };
        #[cfg(target_os = "linux")]
        if self.opening == Opening::Best {
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let opened =
                rustix::fs::openat2(&root.dir, whole.as_str(), flags, Mode::empty(), resolve);
            match opened {
                // An old kernel, or a filter that does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => {}
                opened => return opened.map_err(|errno| raced(path, errno)),
            }
        }
        let mut dir = root
            .dir
            .try_clone()
            .map_err(|source| ConfineError::Io { path: path.to_owned(), source })?;
        let mut steps = whole.components().peekable();
        while let Some(step) = steps.next() {
            if step == Utf8Component::ParentDir {
                return Err(ConfineError::NoPath { path: path.to_string() });
            }
            let last = steps.peek().is_none();
            let between = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let flags = if last { flags } else { between };
            dir = rustix::fs::openat(&dir, step.as_str(), flags, Mode::empty())
                .map_err(|errno| raced(path, errno))?;
        }
        Ok(dir)
    }

    fn failed(&self, place: &Place, source: io::Error) -> ConfineError {
        ConfineError::Io { path: self.shown(place), source }
    }
}

/// There was no link when we resolved the path.
fn raced(path: &Utf8Path, errno: Errno) -> ConfineError {
    match errno {
        Errno::LOOP | Errno::XDEV | Errno::AGAIN => ConfineError::Raced { path: path.to_owned() },
        errno => ConfineError::Io { path: path.to_owned(), source: errno.into() },
    }
}

/// A new file in a directory, with a name that nobody has.
fn fresh(dir: &OwnedFd) -> Result<(String, OwnedFd), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..16 {
        let name = format!(".writing-{:016x}", crate::random());
        match rustix::fs::openat(dir, &name, flags, Mode::from_raw_mode(0o666)) {
            Err(Errno::EXIST) => {}
            opened => return opened.map(|fd| (name, fd)),
        }
    }
    Err(Errno::EXIST)
}

#[cfg(test)]
mod tests;
