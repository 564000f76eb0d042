//! Reading the file of a definition: regular files of a bounded size, inside the directory that they were found in.

use std::io::{self, Read as _};

use agents_system::finding::{Finding, Place};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    definition::{AgentDefinition, Dialect, Source},
    parse::{Strictness, parse_bytes},
};

/// No definition comes near it.
pub const MAX_FILE: u64 = 256 * 1024;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read `{file}`")]
    Io {
        /// The file.
        file: Utf8PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a directory, a pipe, a device, ...
    #[error("`{file}` is not a regular file")]
    NotAFile {
        /// What it is not.
        file: Utf8PathBuf,
    },
    /// It is longer than [`MAX_FILE`].
    #[error("`{file}` has {size} bytes and exceeds {MAX_FILE}")]
    TooLarge {
        /// The file.
        file: Utf8PathBuf,
        /// Its size.
        size: u64,
    },
    /// A symbolic link leads out of the directory.
    #[error("`{file}` leads to `{target}`, outside of the allowed directory boundary `{within}`")]
    Outside {
        /// The file.
        file: Utf8PathBuf,
        /// Where it leads.
        target: Utf8PathBuf,
        /// Where it must stay.
        within: Utf8PathBuf,
    },
}

/// Where a file may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary<'b> {
    /// Anywhere: somebody named it.
    Anywhere,
    /// Below this directory, links followed. A link inside of it is fine.
    Within(&'b Utf8Path),
}

/// The bytes of a file. Its kind and length are looked at before anything is read.
pub fn read(file: &Utf8Path, boundary: Boundary<'_>) -> Result<Vec<u8>, LoadError> {
    let refused = |source| LoadError::Io { file: file.to_owned(), source };
    if let Boundary::Within(dir) = boundary {
        let (target, within) = (file.canonicalize_utf8(), dir.canonicalize_utf8());
        let (target, within) = (target.map_err(refused)?, within.map_err(refused)?);
        if !target.starts_with(&within) {
            return Err(LoadError::Outside { file: file.to_owned(), target, within });
        }
    }
    let metadata = file.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err(LoadError::NotAFile { file: file.to_owned() });
    }
    let too_large = |size| LoadError::TooLarge { file: file.to_owned(), size };
    if metadata.len() > MAX_FILE {
        return Err(too_large(metadata.len()));
    }
    let opened = fs_err::File::open(file).map_err(refused)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    opened.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(refused)?;
    // It may have grown meanwhile.
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Reads a definition from its file.
#[must_use]
pub fn load(
    file: &Utf8Path,
    boundary: Boundary<'_>,
    dialect: Dialect,
    source: Source,
    strictness: Strictness,
) -> (Option<AgentDefinition>, Vec<Finding>) {
    match read(file, boundary) {
        Ok(bytes) => parse_bytes(file, &bytes, dialect, source, strictness),
        Err(error) => {
            let message = match &error {
                LoadError::Io { source, .. } => format!("{error}: {source}"),
                _ => error.to_string(),
            };
            (None, vec![Finding::error(message).at(Place::file(file))])
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests")]
mod tests {
    use agents_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn exactly_the_largest_size_is_fine() {
        let scratch = Scratch::new();
        let file = scratch.path("a.md");
        for (size, fine) in [(MAX_FILE, true), (MAX_FILE + 1, false)] {
            fs_err::write(&file, vec![b'x'; usize::try_from(size).unwrap()]).unwrap();
            assert_eq!(read(&file, Boundary::Anywhere).is_ok(), fine, "{size}");
        }
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let scratch = Scratch::new();
        fs_err::create_dir_all(scratch.path("dir.md")).unwrap();
        let read = |path: &str| read(&scratch.path(path), Boundary::Anywhere);
        assert!(matches!(read("dir.md"), Err(LoadError::NotAFile { .. })));
        assert!(matches!(read("missing.md"), Err(LoadError::Io { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_inside_unless_somebody_named_the_file() {
        use std::os::unix::fs::symlink;
        let scratch = Scratch::new();
        scratch.write("agents/real.md", "x");
        scratch.write("outside.md", "y");
        symlink(scratch.path("agents/real.md"), scratch.path("agents/inside.md")).unwrap();
        symlink(scratch.path("outside.md"), scratch.path("agents/out.md")).unwrap();
        let dir = scratch.path("agents");
        let within = |name: &str| read(&dir.join(name), Boundary::Within(&dir));
        assert_eq!(within("inside.md").unwrap(), b"x");
        let error = within("out.md").unwrap_err();
        assert!(error.to_string().contains("outside of the allowed directory boundary"), "{error}");
        assert_eq!(read(&dir.join("out.md"), Boundary::Anywhere).unwrap(), b"y");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_without_waiting_for_it() {
        let scratch = Scratch::new();
        let pipe = scratch.path("pipe.md");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(matches!(read(&pipe, Boundary::Anywhere), Err(LoadError::NotAFile { .. })));
    }
}
