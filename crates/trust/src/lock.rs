//! `agents.lock`: every plugin, skill, agent and installation that applies in a workspace, exactly as it was agreed to.
//!
//! The file stands beside `Cargo.lock` and is committed like it. Everything here is text in, value out: reading and writing it is
//! [`crate::agreement`]'s.

mod read;

use std::{fmt, fmt::Write as _};

use agents_system::{
    cache::hex,
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
    foreign::ForeignError,
};
use camino::Utf8PathBuf;

/// The name of the file.
pub const LOCK_FILE: &str = "agents.lock";

/// The layout that this version writes, and the only one that it reads.
const VERSION: i64 = 1;

const HEADER: &str = "\
# Written by `cargo agents sync`, and meant to be committed. It says what the coding agents of this workspace are
# given, and exactly which content was agreed to. `cargo agents update` shows and accepts what changed.
";

/// What was agreed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// Sorted, each once.
    entries: Vec<Entry>,
}

/// One thing that was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Where exactly it comes from.
    pub source: Source,
    /// Of its content. There is none for what the workspace itself holds, which its own version control pins, and for
    /// programs that cargo builds, which differ from machine to machine.
    pub hash: Option<Hash>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// All of a git repository that something comes from, by the name of its registry or by its address.
    Tree,
    /// A plugin: its manifest and the files that it runs.
    Plugin,
    /// A skill.
    Skill,
    /// The definition of an agent.
    Agent,
    /// A program that was installed for a plugin, named `<plugin>/<installation>`.
    Installation,
}

/// Where something comes from, down to the version or the commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The workspace itself.
    Workspace {
        /// Relative to its root.
        path: Utf8PathBuf,
    },
    /// A crate.
    Crate {
        /// Its name.
        name: String,
        /// Its exact version.
        version: String,
        /// Where cargo has it from.
        from: CrateFrom,
    },
    /// A registry of plugins that the user configured.
    Registry {
        /// Its name.
        name: String,
        /// Where it is.
        from: RegistryFrom,
        /// The place in it.
        path: Utf8PathBuf,
    },
    /// A git repository that a plugin names.
    Git {
        /// Its address, without a password.
        url: String,
        /// The commit.
        commit: String,
        /// The place in it.
        path: Utf8PathBuf,
    },
}

/// Where cargo has a crate from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrateFrom {
    /// The public registry.
    CratesIo,
    /// Another registry, by its address.
    Index(String),
    /// A git repository.
    Git {
        /// Its address, without a password.
        url: String,
        /// The commit.
        commit: String,
    },
    /// A directory, relative to the root of the workspace; `None` for one outside of it.
    Path(Option<Utf8PathBuf>),
}

/// Where a registry of plugins is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegistryFrom {
    /// A git repository.
    Git {
        /// Its address, without a password.
        url: String,
        /// The commit.
        commit: String,
    },
    /// A directory, relative to the root of the workspace; `None` for one outside of it.
    Path(Option<Utf8PathBuf>),
}

/// The hash of a content: 128 bits of BLAKE3, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(String);

const ALGORITHM: &str = "blake3-128:";
const DIGITS: usize = 32;

/// Why a lock file cannot be used. It is never taken for empty: that would agree to everything.
#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    /// Two branches changed the same part of it, and contradict each other.
    #[error("`{file}` has a merge conflict in line {line}")]
    Conflict {
        /// The file.
        file: Utf8PathBuf,
        /// The first marker.
        line: usize,
    },
    /// A later version wrote it.
    #[error("`{file}` was written by a later version (layout {found}, known: {VERSION})")]
    Newer {
        /// The file.
        file: Utf8PathBuf,
        /// Its layout.
        found: i64,
    },
    /// It is not what we write.
    #[error("`{file}` is not a valid lock file")]
    Invalid {
        /// The file.
        file: Utf8PathBuf,
        /// What is wrong with it.
        findings: Vec<Finding>,
    },
    /// It is no file that we would write, or the system does not let us.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
}

impl Explain for LockFileError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Foreign(error) => error.kind(),
            Self::Conflict { .. } | Self::Newer { .. } | Self::Invalid { .. } => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Newer { .. } => Code::LaterVersion,
            Self::Conflict { .. } | Self::Invalid { .. } | Self::Foreign(_) => Code::LockFileBroken,
        })
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Conflict { .. } | Self::Invalid { .. } => Some(
                "take one of the two sides, or delete the file, and run `cargo agents sync`"
                    .to_owned(),
            ),
            Self::Newer { .. } => Some("use that version of cargo agents".to_owned()),
            Self::Foreign(error) => error.hint(),
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Invalid { findings, .. } => findings,
            _ => &[],
        }
    }
}

impl Lock {
    /// Of these entries, in any order.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut entries: Vec<Entry> = entries.into_iter().collect();
        entries.sort();
        entries.dedup();
        Self { entries }
    }

    /// Sorted, each once.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The text of the file: the same for the same entries, one group of lines for each, so that branches that add different ones
    /// can be merged.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!("{HEADER}version = {VERSION}\n");
        for entry in &self.entries {
            let _ = write!(text, "\n[[{}]]\n", entry.kind.word());
            for (key, value) in entry.fields() {
                let _ = writeln!(text, "{key} = {}", quoted(&value));
            }
        }
        text
    }
}

impl Entry {
    /// Its keys in the file, in order.
    pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("name", self.name.clone())];
        let commit_of = |commit: &Option<&String>| commit.map(|it| ("commit", it.clone()));
        match &self.source {
            Source::Workspace { path } => fields.push(("path", path.to_string())),
            Source::Crate { name, version, from } => {
                fields.extend([("crate", name.clone()), ("version", version.clone())]);
                fields.push(("from", from.to_string()));
                fields.extend(commit_of(&match from {
                    CrateFrom::Git { commit, .. } => Some(commit),
                    _ => None,
                }));
            }
            Source::Registry { name, from, path } => {
                fields.extend([("registry", name.clone()), ("from", from.to_string())]);
                fields.extend(commit_of(&match from {
                    RegistryFrom::Git { commit, .. } => Some(commit),
                    RegistryFrom::Path(_) => None,
                }));
                fields.push(("path", path.to_string()));
            }
            Source::Git { url, commit, path } => {
                fields.extend([("git", url.clone()), ("commit", commit.clone())]);
                fields.push(("path", path.to_string()));
            }
        }
        fields.extend(self.hash.as_ref().map(|hash| ("hash", hash.to_string())));
        fields
    }
}

/// A basic string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

impl Kind {
    /// All of them, in the order of the file.
    pub const ALL: [Self; 5] =
        [Self::Tree, Self::Plugin, Self::Skill, Self::Agent, Self::Installation];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Plugin => "plugin",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Installation => "installation",
        }
    }
}

impl Source {
    /// Whether it is the same place, in whatever version.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Workspace { path: one }, Self::Workspace { path: other }) => one == other,
            (Self::Crate { name: one, .. }, Self::Crate { name: other, .. }) => one == other,
            (
                Self::Registry { name: one, path, .. },
                Self::Registry { name: other, path: theirs, .. },
            ) => one == other && path == theirs,
            (Self::Git { url: one, path, .. }, Self::Git { url: other, path: theirs, .. }) => {
                one == other && path == theirs
            }
            _ => false,
        }
    }

    /// Whether the version or the commit says exactly what the content is. A directory can change at any time.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Workspace { .. } => false,
            Self::Crate { from, .. } => !matches!(from, CrateFrom::Path(_)),
            Self::Registry { from, .. } => matches!(from, RegistryFrom::Git { .. }),
            Self::Git { .. } => true,
        }
    }

    /// The version, or the first digits of the commit.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let short = |commit: &String| commit.get(..12).unwrap_or(commit).to_owned();
        match self {
            Self::Crate { version, .. } => Some(version.clone()),
            Self::Registry { from: RegistryFrom::Git { commit, .. }, .. }
            | Self::Git { commit, .. } => Some(short(commit)),
            Self::Workspace { .. } | Self::Registry { .. } => None,
        }
    }
}

impl Hash {
    /// Of a content with this digest.
    #[must_use]
    pub fn new(digest: &agents_system::cache::Digest) -> Self {
        Self(hex(digest))
    }

    /// As it is written in the file, or only its digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(ALGORITHM).unwrap_or(text);
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        (digits.len() == DIGITS && digits.bytes().all(is_digit)).then(|| Self(digits.to_owned()))
    }

    /// Its hexadecimal digits.
    #[must_use]
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}{}", self.0)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` from {}", self.kind.word(), self.name, self.source)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace { path } => write!(f, "`{path}` of this workspace"),
            Self::Crate { name, version, from: CrateFrom::Git { commit, .. } } => {
                write!(f, "{name} {version} at {}", commit.get(..12).unwrap_or(commit))
            }
            Self::Crate { name, version, .. } => write!(f, "{name} {version}"),
            Self::Registry { name, .. } => match self.version() {
                Some(commit) => write!(f, "registry `{name}` at {commit}"),
                None => write!(f, "registry `{name}`"),
            },
            Self::Git { url, commit, .. } => {
                write!(f, "{url} at {}", commit.get(..12).unwrap_or(commit))
            }
        }
    }
}

impl fmt::Display for CrateFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CratesIo => f.write_str("crates.io"),
            Self::Index(url) => write!(f, "index {url}"),
            Self::Git { url, .. } => write!(f, "git {url}"),
            Self::Path(path) => write_path(f, path.as_ref()),
        }
    }
}

impl fmt::Display for RegistryFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git { url, .. } => write!(f, "git {url}"),
            Self::Path(path) => write_path(f, path.as_ref()),
        }
    }
}

fn write_path(f: &mut fmt::Formatter<'_>, path: Option<&Utf8PathBuf>) -> fmt::Result {
    match path {
        Some(path) => write!(f, "path {path}"),
        None => f.write_str("path"),
    }
}

#[cfg(test)]
mod tests;
