//! Everything that is on the disk, to compare with what was there before.

use std::io;

use agents_probe::left::{Disk, Files};
use camino::Utf8PathBuf;

/// Every file below some directories.
pub type Tree = Files;

/// What is below these directories now. One that is not there has nothing in it.
///
/// # Errors
/// Something cannot be read.
pub fn tree(roots: &[Utf8PathBuf]) -> io::Result<Tree> {
    Ok(Disk::look(roots, &[])?.files)
}

/// The first line of what the user wrote that does not stand any more, in its order.
#[must_use]
pub fn lost_line(text: &str, now: &str) -> Option<String> {
    // A comma may have to follow what was last, and a bracket may have to move down.
    let bare = |line: &str| line.replace([',', '}'], "").trim_end().to_owned();
    let mut rest = now.lines().map(bare);
    text.lines().map(bare).find(|line| !rest.any(|it| it == *line))
}
