//! One process at a time.

use std::{
    fs::{File, TryLockError},
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    explain::{Code, ErrorKind, Explain},
    process::interrupted,
    progress::Progress,
};

/// An exclusive lock that other processes respect, held until dropped. The operating system releases it
/// when the process dies, so there is never a stale one.
#[derive(Debug)]
pub struct Lock {
    file: Arc<Locked>,
}

/// A file that is locked as long as this is there.
#[derive(Debug)]
pub(crate) struct Locked(File);

impl Locked {
    /// Another handle of the same opened file.
    pub(crate) fn try_clone(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing it is not enough: a child that another thread is just starting has all of our files until it becomes another program. What
        // cannot be unlocked is unlocked when that is so.
        let _ = self.0.unlock();
    }
}

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The lock file cannot be made or locked.
    #[error("cannot lock `{path}`")]
    Io {
        /// The lock file.
        path: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else held it for too long.
    #[error("another process has held `{path}` for {} minutes", waited.as_secs() / 60)]
    TimedOut {
        /// The lock file.
        path: Utf8PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Explain for LockError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Interrupted => ErrorKind::Cancelled,
            Self::Io { .. } | Self::TimedOut { .. } => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Io { .. } => Some(Code::NotWritable),
            Self::TimedOut { .. } => Some(Code::Busy),
            Self::Interrupted => None,
        }
    }
}

impl Lock {
    /// Waits for the lock, saying so on a terminal; gives up after `deadline`.
    pub fn acquire(
        path: &Utf8Path,
        deadline: Duration,
        progress: &Progress,
    ) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).map_err(failed)?;
        }
        let file = File::options().create(true).append(true).open(path).map_err(failed)?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file: Arc::new(Locked(file)) }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) => {}
            }
            if interrupted() {
                return Err(LockError::Interrupted);
            }
            if since.elapsed() > deadline {
                return Err(LockError::TimedOut { path: path.to_owned(), waited: since.elapsed() });
            }
            progress.tick("waiting for another cargo agents process");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The opened file: whoever keeps it open keeps the lock.
    pub(crate) fn shared(&self) -> Arc<Locked> {
        Arc::clone(&self.file)
    }

    /// The lock together with others who have it in this way, if nobody has it for themselves now.
    pub fn try_join(path: &Utf8Path) -> io::Result<Option<Self>> {
        let file = File::options().create(true).append(true).open(path)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Self { file: Arc::new(Locked(file)) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The lock if nobody holds it now.
    pub fn try_acquire(path: &Utf8Path) -> io::Result<Option<Self>> {
        let file = File::options().create(true).append(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file: Arc::new(Locked(file)) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_and_the_drop_releases() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().join("l")).unwrap();
        let held = Lock::acquire(&path, Duration::ZERO, &Progress::silent()).unwrap();
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        let refused = Lock::acquire(&path, Duration::ZERO, &Progress::silent());
        assert!(matches!(refused, Err(LockError::TimedOut { .. })));
        drop(held);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
    }

    /// As a child has it that is just being started.
    #[test]
    fn whoever_still_has_the_file_open_does_not_have_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().join("l")).unwrap();
        let held = Lock::try_acquire(&path).unwrap().unwrap();
        let inherited = held.file.try_clone().unwrap();
        drop(held);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
        drop(inherited);
    }

    #[test]
    fn many_can_have_it_together_and_then_nobody_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().join("l")).unwrap();
        let both =
            [Lock::try_join(&path).unwrap().unwrap(), Lock::try_join(&path).unwrap().unwrap()];
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        drop(both);
        let alone = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(Lock::try_join(&path).unwrap().is_none());
        drop(alone);
    }
}
