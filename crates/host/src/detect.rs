//! Whether a host is installed here.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{host::Host, path::Roots};

/// What gave a host away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// This program can be found.
    Program(String),
    /// This file or directory exists.
    Path(Utf8PathBuf),
}

impl Host {
    /// Whether the host is installed: one of its programs is found, or it has left files in the user's
    /// home. Looks at the disk; see [`Host::sign`] for a version that only asks its caller.
    #[must_use]
    pub fn is_installed(&self, roots: &Roots<'_>, find_program: impl Fn(&str) -> bool) -> bool {
        self.sign(roots, find_program, Utf8Path::exists).is_some()
    }

    /// The first sign that the host is installed.
    #[must_use]
    pub fn sign(
        &self,
        roots: &Roots<'_>,
        find_program: impl Fn(&str) -> bool,
        exists: impl Fn(&Utf8Path) -> bool,
    ) -> Option<Sign> {
        if let Some(program) = self.detect.programs.iter().find(|program| find_program(program)) {
            return Some(Sign::Program(program.clone()));
        }
        let home = self.home_dir(roots);
        let paths = self.detect.paths.iter().filter_map(|path| path.resolve(roots, &home));
        paths.into_iter().find(|path| exists(path)).map(Sign::Path)
    }
}

#[cfg(test)]
mod tests;
