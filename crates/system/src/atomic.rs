//! Writing files and directories so that nobody ever sees half of one.

use std::io::{self, Write as _};

use camino::Utf8Path;

/// What the names of files begin with that are not in their place yet. One that stays is of a program that was killed.
pub const UNFINISHED: &str = ".writing-";

/// Replaces `path` by `bytes`: readers see the old content or the new one, never a mixture and never
/// a missing file. Missing parent directories are created.
pub fn write(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_str().is_empty());
    let parent = parent.unwrap_or(Utf8Path::new("."));
    fs_err::create_dir_all(parent)?;
    let mut file = tempfile::Builder::new().prefix(&unfinished_prefix(path)).tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| {
        io::Error::new(error.error.kind(), format!("cannot replace `{path}`: {}", error.error))
    })?;
    Ok(())
}

/// How the name of a file begins that will take the place of `path`. However long that name is, this one is not too long.
fn unfinished_prefix(path: &Utf8Path) -> String {
    let name = path.file_name().unwrap_or_default();
    format!("{UNFINISHED}{}.", &name[..name.floor_char_boundary(100)])
}

/// Removes what killed writers left in a directory. Nobody may be writing there meanwhile.
pub fn remove_unfinished(dir: &Utf8Path) {
    remove_beginning_with(UNFINISHED, dir);
}

/// Removes what killed writers of one file left beside it. Nobody may be writing that one meanwhile.
pub fn remove_unfinished_of(file: &Utf8Path) {
    remove_beginning_with(&unfinished_prefix(file), file.parent().unwrap_or(Utf8Path::new("")));
}

fn remove_beginning_with(prefix: &str, dir: &Utf8Path) {
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().starts_with(prefix)) {
        // It does no harm if it cannot be removed.
        let _ = fs_err::remove_file(entry.path());
    }
}

/// Puts the directory `new` in the place of `target` and removes what was there. Both must be on one file system. Where
/// the platform can exchange two names in one step, there is no moment without a directory.
pub fn replace_directory(new: &Utf8Path, target: &Utf8Path) -> io::Result<()> {
    if target.symlink_metadata().is_err() {
        return fs_err::rename(new, target);
    }
    exchange(new, target)?;
    fs_err::remove_dir_all(new)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(one: &Utf8Path, other: &Utf8Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let exchanged = renameat_with(CWD, one.as_str(), CWD, other.as_str(), RenameFlags::EXCHANGE);
    match exchanged {
        // Some file systems do not know how.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            swap(one, other)
        }
        done => done.map_err(io::Error::from),
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(one: &Utf8Path, other: &Utf8Path) -> io::Result<()> {
    swap(one, other)
}

/// The second best: for a moment `other` does not exist.
fn swap(one: &Utf8Path, other: &Utf8Path) -> io::Result<()> {
    let aside = one.with_extension("aside");
    fs_err::rename(other, &aside)?;
    fs_err::rename(one, other)?;
    fs_err::rename(&aside, one)
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;

    #[test]
    fn what_killed_writers_left_goes_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(scratch.path()).unwrap();
        let own = format!("{}J8WWBs", unfinished_prefix(&root.join("kept")));
        for name in [own.as_str(), ".writing-other.J8WWBs", "writing-list", "kept"] {
            fs_err::write(root.join(name), "").unwrap();
        }
        remove_unfinished_of(&root.join("kept"));
        assert!(!root.join(&own).exists() && root.join(".writing-other.J8WWBs").exists());
        remove_unfinished(root);
        remove_unfinished(&root.join("nowhere"));
        let left = root.read_dir_utf8().unwrap().map(|it| it.unwrap().file_name().to_owned());
        assert_eq!(
            left.collect::<std::collections::BTreeSet<_>>(),
            ["kept", "writing-list"].map(str::to_owned).into()
        );
    }

    #[test]
    fn a_directory_takes_the_place_of_another_and_nothing_is_left() {
        let scratch = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(scratch.path().to_owned()).unwrap();
        let directory = |name: &str, content: &str| {
            let dir = root.join(name);
            fs_err::create_dir_all(&dir).unwrap();
            fs_err::write(dir.join("file"), content).unwrap();
            dir
        };
        let target = root.join("target");
        for (how, content) in [("rename", "one"), ("exchange", "two")] {
            replace_directory(&directory("new", content), &target).unwrap();
            assert_eq!(fs_err::read_to_string(target.join("file")).unwrap(), content, "{how}");
        }
        let (one, other) = (directory("one", "1"), directory("other", "2"));
        swap(&one, &other).unwrap();
        assert_eq!(fs_err::read_to_string(other.join("file")).unwrap(), "1");
        assert_eq!(fs_err::read_dir(&root).unwrap().count(), 3);
    }
}
