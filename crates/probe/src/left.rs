//! What is left of us on the disk once everything was taken back.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use agents_host::{Host, Overrides, Roots, Scope};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    sample::{AGENT, SKILL, TOKEN},
    seen::Seen,
};

/// Files with their bytes; of a link, where it leads.
pub type Files = BTreeMap<Utf8PathBuf, Vec<u8>>;

/// What stands in an entry or a hook of ours, however it is registered.
const OURS: [&str; 4] = ["cargo-agents", TOKEN, SKILL, AGENT];

/// Goose notes in its configuration, by path, which plugins it has met, and keeps that when they are gone. This is its own.
const NOTED: &str = ".agents/plugins/cargo-agents:";

/// Everything below some directories at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// The files.
    pub files: Files,
    /// The directories, also those with nothing in them.
    pub dirs: BTreeSet<Utf8PathBuf>,
}

impl Disk {
    /// What is below these directories now. One that is not there has nothing in it.
    ///
    /// `without` are directories that do not count, and neither do those that are there to hold them.
    ///
    /// # Errors
    /// Something cannot be read.
    pub fn look(roots: &[Utf8PathBuf], without: &[Utf8PathBuf]) -> io::Result<Self> {
        let mut found = Self::default();
        let mut waiting: Vec<Utf8PathBuf> =
            roots.iter().filter(|it| it.exists()).cloned().collect();
        while let Some(dir) = waiting.pop() {
            for entry in dir.read_dir_utf8()? {
                let entry = entry?;
                let (path, kind) = (entry.path().to_owned(), entry.file_type()?);
                if kind.is_dir() {
                    if !without.contains(&path) {
                        waiting.push(path.clone());
                        found.dirs.insert(path);
                    }
                } else if kind.is_symlink() {
                    let target = path.read_link_utf8()?;
                    found.files.insert(path, format!("-> {target}").into_bytes());
                } else if kind.is_file() {
                    let bytes = fs_err::read(&path)?;
                    found.files.insert(path, bytes);
                }
            }
        }
        found.dirs.retain(|dir| !without.iter().any(|it| it.starts_with(dir)));
        Ok(found)
    }

    /// The same for one user with one workspace, without what is our own.
    ///
    /// # Errors
    /// Something cannot be read.
    pub fn of_user(home: &Utf8Path, workspace: &Utf8Path) -> io::Result<Self> {
        let ours = [".config/cargo-agents", ".cache/cargo-agents", ".local/state/cargo-agents"];
        Self::look(&[home.to_owned(), workspace.to_owned()], &ours.map(|dir| home.join(dir)))
    }

    /// What is strictly below a directory.
    fn below<'a>(&'a self, dir: &'a Utf8Path) -> impl Iterator<Item = &'a Utf8PathBuf> {
        let all = self.files.keys().chain(&self.dirs);
        all.filter(move |it| it.as_path() != dir && it.starts_with(dir))
    }
}

/// Where any host would load what we leave there: the whole workspace, and of the home what the descriptions of hosts name, with the user's
/// changes to them (the text of `hosts.toml`). What clients keep elsewhere, their sessions and logs, is their own history and may say what
/// it likes.
#[must_use]
pub fn loaded_from(
    overrides: Option<&str>,
    home: &Utf8Path,
    workspace: &Utf8Path,
) -> Vec<Utf8PathBuf> {
    let overrides = overrides.map(|text| Overrides { file: "hosts.toml".into(), text });
    let (hosts, _) = agents_host::hosts(overrides);
    let roots = Roots { home, workspace: None, env: &|_| None };
    let of_host = |host: &Host| {
        let it = host.paths(Scope::User, &roots);
        let files = [it.hook_file, it.hook_file_fallback, it.hook_hint, it.mcp_file, it.agents_dir];
        let more = [it.skills_read, it.agents_read, it.hook_files_read, it.mcp_files_read];
        let more = more.into_iter().flatten().chain(it.mcp_file_instead);
        files.into_iter().flatten().chain(it.instructions_file).chain(more).collect::<Vec<_>>()
    };
    let all: BTreeSet<Utf8PathBuf> = hosts.iter().flat_map(of_host).collect();
    all.into_iter().chain([workspace.to_owned()]).collect()
}

/// The same disk at four times.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    /// Where all of it is. What clients note about themselves has paths in it, and paths are no traces.
    pub root: &'a Utf8Path,
    /// Where hosts load things from: [`loaded_from`].
    pub loaded: &'a [Utf8PathBuf],
    /// Before we came.
    pub before: &'a Disk,
    /// After `sync`.
    pub synced: &'a Disk,
    /// After a session of the client.
    pub used: &'a Disk,
    /// After `uninstall`.
    pub after: &'a Disk,
}

impl Times<'_> {
    /// Whether what we touched is as it was before.
    #[must_use]
    pub fn clean(&self) -> Seen {
        if let Some(path) = self.file() {
            let bytes = self.after.files.get(path).map(Vec::as_slice).unwrap_or_default();
            let text = String::from_utf8_lossy(bytes);
            return Seen::No(format!("`{path}` is not as before:\n{text}"));
        }
        if let Some(path) = self.later() {
            let bytes = self.after.files.get(path).map(Vec::as_slice).unwrap_or_default();
            let text = String::from_utf8_lossy(bytes);
            return Seen::No(format!("`{path}` came after `sync`, and is ours:\n{text}"));
        }
        let dir = self.dir();
        Seen::from(dir.is_none(), || {
            format!("the directory `{}` is left", dir.map_or("", |it| it.as_str()))
        })
    }

    /// A file that `sync` touched, and that is not as it was.
    ///
    /// Where a client wrote to the same file in the meantime, that file is its configuration all the same: its own change may be left, and
    /// nothing that names us.
    fn file(&self) -> Option<&Utf8PathBuf> {
        let Self { before, synced, used, after, .. } = self;
        let mut touched = synced.files.iter().filter(|(path, bytes)| {
            // What was agreed to is the workspace's, like `Cargo.lock`, and stays.
            before.files.get(*path) != Some(*bytes) && path.file_name() != Some("agents.lock")
        });
        let left = touched.find(|(path, bytes)| {
            let (was, is) = (before.files.get(*path), after.files.get(*path));
            let by_client = used.files.get(*path) != Some(*bytes);
            was != is && (!by_client || is.is_none_or(|it| self.names_us(was, it)))
        });
        left.map(|(path, _)| path)
    }

    /// Something that `sync` did not touch and that names us where hosts load things from: our hooks, our server or a sync of their own
    /// wrote it while the client worked.
    fn later(&self) -> Option<&Utf8PathBuf> {
        let Self { before, synced, after, .. } = self;
        let is_loaded = |path: &Utf8Path| self.loaded.iter().any(|it| path.starts_with(it));
        // What was agreed to is the workspace's, like `Cargo.lock`, and stays.
        let counts = |path: &Utf8Path| is_loaded(path) && path.file_name() != Some("agents.lock");
        let file = after.files.iter().find(|(path, is)| {
            let was = before.files.get(*path);
            let changed = was != Some(*is) && synced.files.get(*path) == was;
            let text = [path.as_str().as_bytes(), is].concat();
            changed && counts(path) && self.names_us(was, if was.is_none() { &text } else { is })
        });
        let dir = after.dirs.iter().find(|path| {
            let new = !before.dirs.contains(*path) && !synced.dirs.contains(*path);
            new && counts(path) && self.names_us(None, path.as_str().as_bytes())
        });
        file.map(|it| it.0).or(dir)
    }

    /// Whether it names us more often than it did: a user may have allowed our server before it came.
    fn names_us(&self, was: Option<&Vec<u8>>, is: &[u8]) -> bool {
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(self.root.as_str(), "").replace(NOTED, "")
        };
        let (was, is) = (text(was.map(Vec::as_slice).unwrap_or_default()), text(is));
        OURS.iter().any(|it| is.matches(it).count() > was.matches(it).count())
    }

    /// A directory that `sync` made and that nobody else has put anything into. Files that are left in it have been looked at.
    fn dir(&self) -> Option<&Utf8PathBuf> {
        let Self { before, synced, after, .. } = self;
        let mut made =
            synced.dirs.iter().filter(|it| !before.dirs.contains(*it) && after.dirs.contains(*it));
        made.find(|dir| after.below(dir).all(|it| synced.dirs.contains(it)))
    }
}

#[cfg(test)]
mod tests;
