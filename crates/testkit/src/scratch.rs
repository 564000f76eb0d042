//! A directory that is gone when the test ends.

use std::process::{Command, Output};

use camino::{Utf8Path, Utf8PathBuf};

/// A scratch directory with short ways to fill it.
#[derive(Debug)]
pub struct Scratch {
    root: Utf8PathBuf,
    _dir: tempfile::TempDir,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// A new, empty one. Its path is canonical, so that it compares equal to what programs report.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("agents-test-").tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap();
        Self { root, _dir: dir }
    }

    /// The same in memory where the system has a place for that, for tests that write tens of thousands of files.
    #[must_use]
    pub fn in_memory() -> Self {
        let mut builder = tempfile::Builder::new();
        let in_memory = builder.prefix("agents-test-").tempdir_in("/dev/shm");
        let Ok(dir) = in_memory else { return Self::new() };
        let root = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap();
        Self { root, _dir: dir }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// A path inside it.
    #[must_use]
    pub fn path(&self, relative: impl AsRef<str>) -> Utf8PathBuf {
        self.root.join(relative.as_ref())
    }

    /// Writes a file, with its directories.
    pub fn write(&self, relative: impl AsRef<str>, text: impl AsRef<[u8]>) -> Utf8PathBuf {
        write(&self.path(relative), text)
    }

    /// Writes an executable shell script.
    #[cfg(unix)]
    pub fn script(&self, relative: impl AsRef<str>, body: &str) -> Utf8PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.write(relative, format!("#!/bin/sh\n{body}\n"));
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

/// Writes a file, with its directories.
pub fn write(path: &Utf8Path, text: impl AsRef<[u8]>) -> Utf8PathBuf {
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, text).unwrap();
    path.to_owned()
}

/// Runs a program and fails the test, with everything it said, unless it succeeds.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    output
}
