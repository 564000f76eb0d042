//! Everything that is on the disk, to compare with what was there before.

use std::{collections::BTreeMap, io};

use camino::Utf8PathBuf;

/// Every file below some directories, with its bytes; of a link, where it leads.
pub type Tree = BTreeMap<Utf8PathBuf, Vec<u8>>;

/// What is below these directories now. One that is not there has nothing in it.
///
/// # Errors
/// Something cannot be read.
pub fn tree(roots: &[Utf8PathBuf]) -> io::Result<Tree> {
    tree_without(roots, &[])
}

/// The same without these directories.
///
/// # Errors
/// Something cannot be read.
pub fn tree_without(roots: &[Utf8PathBuf], without: &[Utf8PathBuf]) -> io::Result<Tree> {
    let mut found = Tree::new();
    let mut waiting: Vec<Utf8PathBuf> = roots.iter().filter(|it| it.exists()).cloned().collect();
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir_utf8()? {
            let entry = entry?;
            let (path, kind) = (entry.path().to_owned(), entry.file_type()?);
            if kind.is_dir() && !without.contains(&path) {
                waiting.push(path);
            } else if kind.is_symlink() {
                let target = path.read_link_utf8()?;
                found.insert(path, format!("-> {target}").into_bytes());
            } else if kind.is_file() {
                let bytes = fs_err::read(&path)?;
                found.insert(path, bytes);
            }
        }
    }
    Ok(found)
}

/// The first line of what the user wrote that does not stand any more, in its order.
#[must_use]
pub fn lost_line(text: &str, now: &str) -> Option<String> {
    // A comma may have to follow what was last, and a bracket may have to move down.
    let bare = |line: &str| line.replace([',', '}'], "").trim_end().to_owned();
    let mut rest = now.lines().map(bare);
    text.lines().map(bare).find(|line| !rest.any(|it| it == *line))
}
