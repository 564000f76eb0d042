//! Where the running program is, also after somebody has put a newer one into its place.

use std::{io, path::PathBuf};

/// What Linux puts behind the path of a program that is no longer there.
#[cfg(target_os = "linux")]
const GONE: &str = " (deleted)";

/// The program that is running, to be started again. If it was replaced meanwhile, as an update does, this is the one that took its place:
/// whoever runs for days must still be able to start something then.
///
/// # Errors
/// The system does not say where it is.
pub fn this_program() -> io::Result<PathBuf> {
    Ok(in_its_place(std::env::current_exe()?))
}

/// A path as the system tells it, or that of whatever has replaced it.
fn in_its_place(told: PathBuf) -> PathBuf {
    #[cfg(target_os = "linux")]
    if let Some(path) = told.to_str().and_then(|it| it.strip_suffix(GONE))
        && !told.exists()
        && std::path::Path::new(path).exists()
    {
        return path.into();
    }
    told
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_is_the_one_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (program, told) = (dir.path().join("program"), dir.path().join("program (deleted)"));
        assert_eq!(in_its_place(told.clone()), told, "nothing is in its place");
        fs_err::write(&program, "").unwrap();
        assert_eq!(in_its_place(told.clone()), program);
        assert_eq!(in_its_place(program.clone()), program);
        fs_err::write(&told, "").unwrap();
        assert_eq!(in_its_place(told.clone()), told, "it is really called so");
    }

    /// What Linux says of a program that runs and is replaced, for which a shell stands that looks at itself.
    #[test]
    fn linux_says_so_of_a_program_that_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let shell = dir.path().join("shell");
        fs_err::copy("/bin/sh", &shell).unwrap();
        let script = "rm \"$0\"; readlink /proc/$$/exe";
        let call = super::super::Call::new(&shell).args(["-c", script]).arg(&shell);
        let said = call.capture().unwrap().stdout_text();
        assert_eq!(
            said.trim_end(),
            format!("{}{GONE}", shell.canonicalize().unwrap_or(shell).display())
        );
    }
}
