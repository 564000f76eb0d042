//! What a working tree holds at this moment, as a tree of git. Neither the files nor the index of the working tree change.

use std::{ffi::OsString, io};

use agents_system::lock::Lock;
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    IsolateError,
    git::{Git, GitError, parts},
};

/// What a working tree holds.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Everything that is tracked, or neither tracked nor ignored.
    pub(super) tree: String,
    /// Directories with a repository of their own: nothing of them is in the tree.
    pub(super) repositories: Vec<String>,
    /// Submodules that have files: the tree only has their commits.
    pub(super) submodules: Vec<String>,
}

/// Another repository's commit in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) commit: String,
    pub(super) path: Vec<u8>,
}

/// How to make one.
pub(super) struct Camera<'a> {
    pub(super) git: &'a Git,
    pub(super) root: &'a Utf8Path,
    /// A directory of its own.
    pub(super) scratch: &'a Utf8Path,
    pub(super) lock: Option<&'a Lock>,
    /// How many bytes may be new.
    pub(super) largest: u64,
    pub(super) hidden: Hidden,
}

/// Changes that git was told not to see (`--assume-unchanged`, `--skip-worktree`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// They are nobody's business.
    StayHidden,
    /// They count like all others, because they would be lost.
    Count,
}

/// How many paths one call gets.
const PATHS: usize = 500;

impl Camera<'_> {
    /// What the files are now. `index` says what is tracked and what did not change; a copy of it is used. Submodules stay what
    /// `links` says, or what they are in the index.
    pub(super) fn shoot(
        &self,
        index: &Utf8Path,
        links: Option<Vec<Link>>,
    ) -> Result<(Snapshot, Git), IsolateError> {
        let own = self.scratch.join("index");
        copy(index, &own).map_err(IsolateError::Io)?;
        let git = self.git.clone().with_index(&own);
        if self.hidden == Hidden::Count {
            self.uncover(&git)?;
        }
        let tracked = git.run(self.lock, ["ls-files", "-s", "-z"])?;
        let stored = parse_links(&tracked);
        let links = links.unwrap_or_else(|| stored.clone());
        // Git looks into submodules, with whatever configuration they have: they take no part.
        for link in &stored {
            git.run(
                self.lock,
                [&b"update-index"[..], b"--force-remove", b"--", &link.path].map(os),
            )?;
        }
        let new = ["ls-files", "-z", "--others", "--modified", "--exclude-standard"];
        let new = git.run(self.lock, new)?;
        let (mut repositories, mut submodules) = (Vec::new(), Vec::new());
        let mut size = 0;
        for path in parts(&new) {
            let below = links.iter().find(|it| is_below(path, &it.path)).map(|it| it.path.clone());
            match (below, path.strip_suffix(b"/")) {
                (Some(link), _) => submodules.push(link),
                (None, Some(repository)) => repositories.push(repository.to_owned()),
                (None, None) => {
                    let file = self.root.as_std_path().join(os(path));
                    size += fs_err::symlink_metadata(file).map_or(0, |it| it.len());
                }
            }
        }
        if size > self.largest {
            return Err(IsolateError::TooLarge { size, largest: self.largest });
        }
        submodules.dedup();
        let mut pathspec = b".\0".to_vec();
        for path in repositories.iter().chain(links.iter().map(|it| &it.path)) {
            pathspec.extend_from_slice(b":(exclude,literal)");
            pathspec.extend_from_slice(path);
            pathspec.push(0);
        }
        let list = self.scratch.join("pathspec");
        fs_err::write(&list, pathspec).map_err(IsolateError::Io)?;
        let from = format!("--pathspec-from-file={list}");
        git.run(self.lock, ["add", "--all", "--sparse", from.as_str(), "--pathspec-file-nul"])?;
        for link in links {
            // One that is gone was removed.
            if fs_err::symlink_metadata(self.root.as_std_path().join(os(&link.path))).is_err() {
                continue;
            }
            let mut info = format!("160000,{},", link.commit).into_bytes();
            info.extend_from_slice(&link.path);
            git.run(self.lock, [&b"update-index"[..], b"--add", b"--cacheinfo", &info].map(os))?;
        }
        let tree = git.line(self.lock, ["write-tree"])?;
        let named = |paths: Vec<Vec<u8>>| {
            paths.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect()
        };
        let (repositories, submodules) = (named(repositories), named(submodules));
        Ok((Snapshot { tree, repositories, submodules }, git))
    }
}

impl Camera<'_> {
    /// What the index says, with these paths as they are on disk, ignored or not. What else the user has is not looked at.
    pub(super) fn touch(
        &self,
        index: &Utf8Path,
        paths: &[Vec<u8>],
    ) -> Result<(String, Git), IsolateError> {
        let own = self.scratch.join("index");
        copy(index, &own).map_err(IsolateError::Io)?;
        let git = self.git.clone().with_index(&own);
        self.uncover(&git)?;
        let tracked = git.run(self.lock, ["ls-files", "-s", "-z"])?;
        let links: Vec<Vec<u8>> = parse_links(&tracked).into_iter().map(|it| it.path).collect();
        let paths = paths.iter().filter(|it| !links.contains(it));
        let (present, missing): (Vec<_>, Vec<_>) = paths.partition(|it| is_file(self.root, it));
        for (option, paths) in [("--force-remove", missing), ("--add", present)] {
            for paths in paths.chunks(PATHS) {
                let how = ["update-index", "--replace", option, "--"].map(OsString::from);
                git.run(self.lock, how.into_iter().chain(paths.iter().map(|it| os(it))))?;
            }
        }
        let tree = git.line(self.lock, ["write-tree"])?;
        Ok((tree, git))
    }

    /// Makes git look at files that it was told not to look at. Those that a sparse checkout leaves out are not there to be looked at.
    fn uncover(&self, git: &Git) -> Result<(), GitError> {
        let listed = git.run(self.lock, ["ls-files", "-v", "-z"])?;
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for line in parts(&listed) {
            let (Some(tag), Some(path)) = (line.first(), line.get(2..)) else { continue };
            if tag.is_ascii_lowercase() {
                assumed.push(os(path));
            }
            let is_there =
                || fs_err::symlink_metadata(self.root.as_std_path().join(os(path))).is_ok();
            if tag.eq_ignore_ascii_case(&b'S') && is_there() {
                skipped.push(os(path));
            }
        }
        for (option, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)]
        {
            for paths in paths.chunks(PATHS) {
                let how = ["update-index", option, "--"].map(OsString::from);
                git.run(self.lock, how.into_iter().chain(paths.iter().cloned()))?;
            }
        }
        Ok(())
    }
}

/// Whether there is a file or a link, and not one that is only reached through a link.
fn is_file(root: &Utf8Path, path: &[u8]) -> bool {
    let kind = |path: &[u8]| fs_err::symlink_metadata(root.as_std_path().join(os(path)));
    let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    above.into_iter().all(|end| kind(&path[..end]).is_ok_and(|it| it.is_dir()))
        && kind(path).is_ok_and(|it| it.is_file() || it.is_symlink())
}

/// The submodules in a commit.
pub(super) fn links_of(git: &Git, commit: &str) -> Result<Vec<Link>, GitError> {
    let listed = git.run(None, ["ls-tree", "-r", "-z", "--full-tree", commit])?;
    Ok(parse_links(&listed))
}

/// The submodules in what `ls-files -s -z` or `ls-tree -r -z` printed.
pub(super) fn parse_links(listed: &[u8]) -> Vec<Link> {
    parts(listed).filter_map(link).collect()
}

/// `160000 <commit> <stage>\t<path>` of an index, `160000 commit <commit>\t<path>` of a tree.
fn link(line: &[u8]) -> Option<Link> {
    let rest = line.strip_prefix(b"160000 ")?;
    let rest = rest.strip_prefix(b"commit ").unwrap_or(rest);
    let tab = rest.iter().position(|it| *it == b'\t')?;
    let commit = std::str::from_utf8(&rest[..tab]).ok()?.split(' ').next()?;
    let path = rest[tab + 1..].to_owned();
    let is_commit = !commit.is_empty() && commit.bytes().all(|it| it.is_ascii_hexdigit());
    (is_commit && !path.is_empty()).then(|| Link { commit: commit.to_owned(), path })
}

fn is_below(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with(b"/"))
}

#[cfg(unix)]
pub(super) fn os(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
pub(super) fn os(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Copies an index. Git compares its time with those of the files to tell whether it may trust what it says about them, so
/// the copy must not look newer. None at all is an empty one.
pub(super) fn copy(from: &Utf8Path, to: &Utf8PathBuf) -> io::Result<()> {
    match fs_err::metadata(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(data) => {
            fs_err::copy(from, to)?;
            fs_err::OpenOptions::new()
                .write(true)
                .open(to)?
                .into_file()
                .set_modified(data.modified()?)
        }
    }
}
