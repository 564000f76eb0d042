//! Whether something can be written, without writing it.
//!
//! The answer is that of the system, not of the mode bits alone: the superuser may write what nobody may, and inside a
//! sandbox or on a read-only file system nobody may write what everybody could. Nothing that anybody could see is made.

use camino::{Utf8Path, Utf8PathBuf};

/// Why something cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The directory or file that is in the way.
    pub at: Utf8PathBuf,
    /// Who says no.
    pub by: DeniedBy,
}

/// Who says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeniedBy {
    /// The mode of the directory or of the file.
    Mode,
    /// Something around us, although the mode would allow it: a read-only file system, or a sandbox.
    Surroundings,
}

/// Whether files can be made in a directory; if it does not exist, whether it can be made.
pub fn can_fill(dir: &Utf8Path) -> Result<(), Denied> {
    let Some(there) = dir.ancestors().find(|dir| dir.is_dir()) else { return Ok(()) };
    match denied(there) {
        None => Ok(()),
        Some(by) => Err(Denied { at: there.to_owned(), by }),
    }
}

/// Whether a file can be made or replaced, as [`crate::foreign`] does it.
pub fn can_replace(file: &Utf8Path) -> Result<(), Denied> {
    let real = file.canonicalize_utf8().unwrap_or_else(|_| file.to_owned());
    if real.metadata().is_ok_and(|data| data.is_file() && data.permissions().readonly()) {
        return Err(Denied { at: real, by: DeniedBy::Mode });
    }
    real.parent().map_or(Ok(()), can_fill)
}

#[cfg(unix)]
fn denied(dir: &Utf8Path) -> Option<DeniedBy> {
    use rustix::{
        fs::{Access, access},
        io::Errno,
    };
    match access(dir.as_str(), Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => denied_by_sandbox(dir),
        Err(Errno::ROFS) => Some(DeniedBy::Surroundings),
        Err(_) => Some(DeniedBy::Mode),
    }
}

/// What `access` does not know about: rules that only count when something is really opened. An unnamed file is seen by
/// nobody, and gone when it is closed.
#[cfg(target_os = "linux")]
fn denied_by_sandbox(dir: &Utf8Path) -> Option<DeniedBy> {
    use rustix::{
        fs::{Mode, OFlags, open},
        io::Errno,
    };
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(dir.as_str(), flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Some(DeniedBy::Surroundings),
        // Many file systems have no unnamed files, which says nothing.
        Ok(_) | Err(_) => None,
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn denied_by_sandbox(_: &Utf8Path) -> Option<DeniedBy> {
    None
}

#[cfg(not(unix))]
fn denied(dir: &Utf8Path) -> Option<DeniedBy> {
    dir.metadata().ok().filter(|data| data.permissions().readonly()).map(|_| DeniedBy::Mode)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_leaves_no_trace_of_the_question() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(scratch.path().to_owned()).unwrap();
        let before = root.metadata().unwrap().modified().unwrap();
        assert_eq!(can_fill(&root), Ok(()));
        assert_eq!(can_fill(&root.join("not/there/yet")), Ok(()));
        assert_eq!(can_replace(&root.join("file")), Ok(()));
        assert_eq!(root.metadata().unwrap().modified().unwrap(), before);
        assert_eq!(fs_err::read_dir(&root).unwrap().count(), 0);
    }

    #[test]
    fn a_file_without_the_right_to_write_is_not_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        let file = Utf8PathBuf::from_path_buf(scratch.path().join("file")).unwrap();
        fs_err::write(&file, "").unwrap();
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        let real = file.canonicalize_utf8().unwrap();
        assert_eq!(can_replace(&file), Err(Denied { at: real, by: DeniedBy::Mode }));
    }
}
