//! A second view of a workspace in which cargo may write.
//!
//! Cargo writes `Cargo.lock` beside the root manifest when it resolves, and has no stable option not to.
//! So it is shown a directory tree of our own in which everything is a link to the real thing,
//! except the lock file. Links stand at every level from the top of the file system down to the root,
//! because cargo reads `..` by spelling: path dependencies above the root must be found as well.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{error::CargoError, locate, lockfile::LOCK, manifest::MANIFEST, metadata::Metadata};

/// A mirrored workspace, gone when dropped.
#[derive(Debug)]
pub(crate) struct Mirror {
    base: Utf8PathBuf,
    top: Utf8PathBuf,
    root: Utf8PathBuf,
    _dir: tempfile::TempDir,
}

impl Mirror {
    /// Mirrors the workspace at `root`, with `lock` as its lock file.
    pub(crate) fn new(
        root: &Utf8Path,
        lock: Option<&str>,
        cargo_home: Option<&Utf8Path>,
    ) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("cargo-agents-").tempdir()?;
        let base = Utf8PathBuf::from_path_buf(dir.path().canonicalize()?);
        let base = base.map_err(|path| io::Error::other(format!("{path:?} is not UTF-8")))?;
        // In a directory of that name cargo stops looking for a workspace root further up.
        let base = base.join("target/package");
        let top = locate::above(root, cargo_home).last().unwrap_or(root).to_owned();
        let mirror = Self { base, top, root: root.to_owned(), _dir: dir };
        mirror.link_levels()?;
        if let Some(lock) = lock {
            fs_err::write(mirror.lock(), lock)?;
        }
        Ok(mirror)
    }

    /// Where the lock file is.
    pub(crate) fn lock(&self) -> Utf8PathBuf {
        self.view(&self.root).join(LOCK)
    }

    /// The manifest in `dir`, as cargo shall see it.
    pub(crate) fn manifest(&self, dir: &Utf8Path) -> Utf8PathBuf {
        self.view(dir).join(MANIFEST)
    }

    /// What cargo said in the mirror, with real paths.
    pub(crate) fn undo(&self, said: Result<Metadata, CargoError>) -> Result<Metadata, CargoError> {
        self.undo_error(said).map(|found| found.map_paths(|path| self.real(path)))
    }

    /// Nobody should read paths of a mirror that is gone.
    pub(crate) fn undo_error<T>(&self, said: Result<T, CargoError>) -> Result<T, CargoError> {
        said.map_err(|error| match error {
            CargoError::Failed { about, said, reason } => {
                let top = self.top.as_str().trim_end_matches('/');
                let said = said.replace(self.base.as_str(), top);
                CargoError::Failed { about, said, reason }
            }
            other => other,
        })
    }

    fn real(&self, path: &Utf8Path) -> Utf8PathBuf {
        match path.strip_prefix(&self.base) {
            Ok(relative) => self.top.join(relative),
            Err(_) => path.to_owned(),
        }
    }

    fn view(&self, path: &Utf8Path) -> Utf8PathBuf {
        match path.strip_prefix(&self.top) {
            Ok(relative) => self.base.join(relative),
            Err(_) => path.to_owned(),
        }
    }

    fn link_levels(&self) -> io::Result<()> {
        let mut below: Option<&Utf8Path> = None;
        for level in self.root.ancestors() {
            let view = self.view(level);
            fs_err::create_dir_all(&view)?;
            self.link_entries(level, &view, below)?;
            below = Some(level);
            if level == self.top {
                break;
            }
        }
        Ok(())
    }

    fn link_entries(
        &self,
        level: &Utf8Path,
        view: &Utf8Path,
        below: Option<&Utf8Path>,
    ) -> io::Result<()> {
        let entries = match fs_err::read_dir(level) {
            Ok(entries) => entries,
            // A directory that we may pass but not list has nothing for cargo either.
            Err(_) if below.is_some() => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let is_mirrored = below.is_some_and(|below| below.file_name() == Some(&*name));
            let is_ours = below.is_none() && (name == LOCK || name == "target");
            if !is_mirrored && !is_ours {
                link(&level.join(&name), &view.join(&name))?;
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn link(to: &Utf8Path, at: &Utf8Path) -> io::Result<()> {
    fs_err::os::unix::fs::symlink(to, at)
}

#[cfg(windows)]
fn link(to: &Utf8Path, at: &Utf8Path) -> io::Result<()> {
    if to.is_dir() {
        fs_err::os::windows::fs::symlink_dir(to, at)
    } else {
        fs_err::os::windows::fs::symlink_file(to, at)
    }
}
