//! The file `agents.lock`: read as a whole, written as a whole, by one process at a time, and only if something changed.

use std::{io, time::Duration};

use agents_system::{
    cache::name_hash,
    explain::Explain as _,
    foreign::{ForeignFile, remove_unfinished},
    lock::{Lock as Pen, LockError},
    progress::Progress,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::lock::{LOCK_FILE, Lock, LockFileError};

/// How long another process may take before we give up.
const PATIENCE: Duration = Duration::from_secs(120);

/// The lock file of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFile {
    path: Utf8PathBuf,
}

/// Whether something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// It was.
    Written,
    /// It was already there.
    Unchanged,
}

impl LockFile {
    /// That of the workspace at `root`.
    #[must_use]
    pub fn beside(root: &Utf8Path) -> Self {
        Self { path: root.join(LOCK_FILE) }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The right to write it, until dropped. Whoever changes it reads it after that. What a killed writer left beside it is gone: it would
    /// stay in the workspace, and be committed.
    pub fn pen(&self, state: &Utf8Path, progress: &Progress) -> Result<Pen, LockError> {
        let name = format!("{}.lock", name_hash(self.path.as_str()));
        let pen = Pen::acquire(&state.join("agreements").join(name), PATIENCE, progress)?;
        remove_unfinished(&self.path);
        Ok(pen)
    }

    /// What it says; `None` if there is none.
    pub fn load(&self) -> Result<Option<Lock>, LockFileError> {
        match fs_err::read_to_string(&self.path) {
            Ok(text) => Lock::parse(&self.path, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Makes it say this. Where nothing is agreed to there is no file.
    pub fn save(&self, lock: &Lock) -> Result<Saved, LockFileError> {
        let file = ForeignFile::load(&self.path).map_err(|error| self.foreign(&error))?;
        let text = lock.render();
        let is_there = match file.text() {
            // Where git turns line endings, that is no difference.
            Some(now) => now.replace("\r\n", "\n") == text,
            None => lock.entries().is_empty(),
        };
        if is_there {
            return Ok(Saved::Unchanged);
        }
        let written = if lock.entries().is_empty() { file.remove() } else { file.replace(&text) };
        written.map_err(|error| self.foreign(&error))?;
        Ok(Saved::Written)
    }

    fn foreign(&self, error: &agents_system::foreign::ForeignError) -> LockFileError {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        self.failed(io::Error::other(format!("{error}{hint}")))
    }

    fn failed(&self, source: io::Error) -> LockFileError {
        LockFileError::Io { file: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use agents_system::explain::Code;

    use super::*;
    use crate::lock::{Entry, Kind, Source};

    #[test]
    fn what_a_killed_writer_left_is_gone_before_the_next_one_writes() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(scratch.path()).unwrap();
        for name in [".agents.lock.agents-sL5AIb", ".agents.lock.agents-mine", "agents.lock"] {
            fs_err::write(root.join(name), "").unwrap();
        }
        let file = LockFile::beside(root);
        let _pen = file.pen(&root.join("state"), &Progress::silent()).unwrap();
        let mut left: Vec<String> =
            root.read_dir_utf8().unwrap().map(|it| it.unwrap().file_name().to_owned()).collect();
        left.sort();
        assert_eq!(left, [".agents.lock.agents-mine", "agents.lock", "state"]);
    }

    #[test]
    fn what_was_agreed_to_is_read_again_and_written_only_if_it_is_another() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(scratch.path()).unwrap();
        let file = LockFile::beside(root);
        assert_eq!(file.load().unwrap(), None);
        let nothing = Lock::default();
        assert_eq!(file.save(&nothing).unwrap(), Saved::Unchanged);
        let lock = Lock::new([Entry {
            kind: Kind::Skill,
            name: "usage".to_owned(),
            source: Source::Workspace { path: "skills/usage".into() },
            hash: None,
        }]);
        assert_eq!(file.save(&lock).unwrap(), Saved::Written);
        assert_eq!(file.load().unwrap().as_ref(), Some(&lock));
        assert_eq!(file.save(&lock).unwrap(), Saved::Unchanged);
        // As git hands it out on Windows.
        fs_err::write(file.path(), lock.render().replace('\n', "\r\n")).unwrap();
        assert_eq!(file.save(&lock).unwrap(), Saved::Unchanged);
        assert_eq!(file.save(&nothing).unwrap(), Saved::Written);
        assert!(!file.path().exists());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_one_that_is_not_there() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(scratch.path()).unwrap();
        fs_err::create_dir(root.join(LOCK_FILE)).unwrap();
        let error = LockFile::beside(root).load().unwrap_err();
        assert!(matches!(error, LockFileError::Io { .. }), "{error}");
        assert_eq!(error.code(), Some(Code::LockFileBroken));
    }
}
