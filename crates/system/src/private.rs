//! What nobody else on this machine may read.

use std::io;

use camino::Utf8Path;

/// Makes a directory that only its owner may enter, or takes the others' rights away from one that is there.
///
/// # Errors
/// It cannot be made, or is not ours.
pub fn make_dir(dir: &Utf8Path) -> io::Result<()> {
    fs_err::create_dir_all(dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs_err::metadata(dir)?.permissions().mode();
        // What its owner may not do there is the owner's business.
        if mode & 0o077 != 0 {
            fs_err::set_permissions(dir, std::fs::Permissions::from_mode(mode & 0o700))?;
        }
    }
    Ok(())
}
