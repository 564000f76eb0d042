//! Reading a file as a whole, and nothing that is no file.
//!
//! A path that we read may hold anything: a pipe that nobody writes to, a device that never ends. Whoever reads a file of ours, or one that somebody
//! ships to us, does it here: what is no regular file, and what is far larger than such a file can be, is an error instead of a wait.

use std::{
    fs::Metadata,
    io::{self, Read as _},
};

use camino::Utf8Path;

use crate::foreign::ForeignError;

/// No settings file, lock file or manifest comes near it; what does is not one.
pub const MAX_FILE: u64 = 32 * 1024 * 1024;

/// The text of a file of at most [`MAX_FILE`] bytes; `None` if there is none.
pub fn read_text(path: &Utf8Path) -> Result<Option<String>, ForeignError> {
    read_at_most(path, MAX_FILE)?.map(|bytes| text(path, bytes)).transpose()
}

/// The bytes of a file of at most `max` bytes; `None` if there is none.
pub fn read_at_most(path: &Utf8Path, max: u64) -> Result<Option<Vec<u8>>, ForeignError> {
    Ok(look(path, path, max)?.map(|(_, bytes)| bytes))
}

/// The same for the file at `real`, which people know as `path`, and what the system says about it.
pub(crate) fn look(
    path: &Utf8Path,
    real: &Utf8Path,
    max: u64,
) -> Result<Option<(Metadata, Vec<u8>)>, ForeignError> {
    let refused = || ForeignError::io("read", path);
    // Before it is opened: opening a device may already do something, and a socket cannot be opened at all.
    match fs_err::metadata(real) {
        Ok(metadata) => check_kind(path, &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused()(error)),
    }
    let file = match open(real) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused()(error)),
    };
    let metadata = file.metadata().map_err(refused())?;
    // Again: something else may have taken its place meanwhile.
    check_kind(path, &metadata)?;
    let too_large = || ForeignError::TooLarge { path: path.to_owned(), max };
    if metadata.len() > max {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(refused())?;
    // It may have grown while it was read.
    if bytes.len() as u64 > max {
        return Err(too_large());
    }
    Ok(Some((metadata, bytes)))
}

/// Bytes of the file at `path` as text.
pub(crate) fn text(path: &Utf8Path, bytes: Vec<u8>) -> Result<String, ForeignError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        ForeignError::NotUtf8 { path: path.to_owned(), offset }
    })
}

fn check_kind(path: &Utf8Path, metadata: &Metadata) -> Result<(), ForeignError> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() { "a directory" } else { "a pipe, socket or device" };
    Err(ForeignError::NotAFile { path: path.to_owned(), what })
}

/// Without waiting for the other end of a pipe, and without taking a terminal for ours; neither means anything for a regular file.
#[cfg(unix)]
fn open(path: &Utf8Path) -> io::Result<fs_err::File> {
    use fs_err::os::unix::fs::OpenOptionsExt as _;
    use rustix::fs::OFlags;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    fs_err::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Utf8Path) -> io::Result<fs_err::File> {
    fs_err::File::open(path)
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;
    use crate::{
        explain::{Code, Explain as _},
        process::Call,
    };

    fn scratch() -> (tempfile::TempDir, Utf8PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap();
        (dir, path)
    }

    #[test]
    fn a_file_is_read_as_a_whole_and_a_missing_one_is_none() {
        let (_dir, root) = scratch();
        let file = root.join("a");
        assert_eq!(read_text(&file).unwrap(), None);
        fs_err::write(&file, "12345").unwrap();
        assert_eq!(read_text(&file).unwrap().as_deref(), Some("12345"));
        assert_eq!(read_at_most(&file, 5).unwrap().as_deref(), Some(&b"12345"[..]));
        let error = read_at_most(&file, 4).unwrap_err();
        assert_eq!(error.to_string(), format!("`{file}` is larger than 4 bytes"));
        assert!(matches!(read_text(&file.join("b")), Err(ForeignError::Io { .. })));
        fs_err::write(&file, b"ab\xe9c").unwrap();
        assert!(matches!(read_text(&file), Err(ForeignError::NotUtf8 { offset: 2, .. })));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_refused_and_never_waited_for() {
        let (_dir, root) = scratch();
        let (pipe, endless, socket) = (root.join("pipe"), root.join("endless"), root.join("s"));
        assert!(Call::new("mkfifo").arg(pipe.as_str()).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [&pipe, &endless, &socket] {
            let error = read_text(path).unwrap_err();
            let said = format!("`{path}` is a pipe, socket or device, not a file");
            assert_eq!((error.to_string(), error.code()), (said, Some(Code::NotAFile)));
        }
        let error = read_text(&root).unwrap_err();
        assert_eq!(error.to_string(), format!("`{root}` is a directory, not a file"));
    }

    /// Where a pipe takes the place of a file between the look at it and the opening.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_opened_without_waiting_for_its_other_end() {
        let (_dir, root) = scratch();
        let pipe = root.join("pipe");
        assert!(Call::new("mkfifo").arg(pipe.as_str()).status().unwrap().success());
        let metadata = open(&pipe).unwrap().metadata().unwrap();
        assert!(check_kind(&pipe, &metadata).is_err());
    }
}
