//! The file `agents.lock`: read as a whole, written as a whole, by one process at a time, and only if something changed.

use std::time::Duration;

use agents_system::{
    cache::name_hash,
    foreign::{ForeignFile, remove_unfinished},
    lock::{Lock as Pen, LockError},
    progress::Progress,
    regular,
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
        let text = regular::read_text(&self.path)?;
        text.map(|text| Lock::parse(&self.path, &text)).transpose()
    }

    /// Makes it say this. Where nothing is agreed to there is no file.
    pub fn save(&self, lock: &Lock) -> Result<Saved, LockFileError> {
        let file = ForeignFile::load(&self.path)?;
        let text = lock.render();
        let is_there = match file.text() {
            // Where git turns line endings, that is no difference.
            Some(now) => now.replace("\r\n", "\n") == text,
            None => lock.entries().is_empty(),
        };
        if is_there {
            return Ok(Saved::Unchanged);
        }
        if lock.entries().is_empty() { file.remove() } else { file.replace(&text) }?;
        Ok(Saved::Written)
    }
}

#[cfg(test)]
mod tests {
    use agents_system::explain::{Code, ErrorKind, Explain as _};

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
        let file = LockFile::beside(root);
        let refused = || {
            let error = file.load().unwrap_err();
            assert!(matches!(error, LockFileError::Foreign(_)), "{error}");
            assert_eq!(error.code(), Some(Code::LockFileBroken));
            // Like one that holds no lock file.
            assert_eq!(error.kind(), ErrorKind::Usage);
            error.to_string()
        };
        fs_err::write(file.path(), b"\xff").unwrap();
        assert!(refused().ends_with("is not valid UTF-8 (byte 0)"));
        fs_err::remove_file(file.path()).unwrap();
        fs_err::create_dir(file.path()).unwrap();
        assert!(refused().ends_with("is a directory, not a file"));
        fs_err::remove_dir(file.path()).unwrap();
        let made = agents_system::process::Call::new("mkfifo").arg(file.path().as_str()).status();
        assert!(made.unwrap().success());
        assert!(refused().ends_with("is a pipe, socket or device, not a file"));
    }
}
