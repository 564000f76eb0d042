//! Writing a file so that nobody ever sees half of it.

use std::io::{self, Write as _};

use camino::Utf8Path;

/// Replaces `path` by `bytes`: readers see the old content or the new one, never a mixture and never
/// a missing file. Missing parent directories are created.
pub fn write(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_str().is_empty());
    let parent = parent.unwrap_or(Utf8Path::new("."));
    fs_err::create_dir_all(parent)?;
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| {
        io::Error::new(error.error.kind(), format!("cannot replace `{path}`: {}", error.error))
    })?;
    Ok(())
}
