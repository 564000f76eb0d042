//! Where results that are too long for a model are kept, to be read back in parts.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};

/// The name of something that is kept: `artifact:` and letters, digits and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// What stands before each of them, so that `read` can tell them from files.
    pub const PREFIX: &'static str = "artifact:";

    /// From what a model wrote; `None` for what is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.trim().strip_prefix(Self::PREFIX)?;
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let is_name = (1..=64).contains(&name.len()) && name.bytes().all(fine);
        is_name.then(|| Self(name.to_owned()))
    }

    /// Without the prefix.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// A store of them. One for a whole tree of agents, so that a parent can read what its child was shown.
pub trait Artifacts: Send + Sync {
    /// Keeps a text under a new name.
    fn keep(&self, text: &str) -> std::io::Result<ArtifactId>;

    /// Gives it back.
    fn read(&self, id: &ArtifactId) -> std::io::Result<String>;
}

/// A directory of files; outside of the workspace, so that no tool but `read` by their names gets at them.
#[derive(Debug, Clone)]
pub struct ArtifactDir {
    dir: Utf8PathBuf,
}

impl ArtifactDir {
    /// In this directory, which is made when something is kept.
    #[must_use]
    pub fn new(dir: &Utf8Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    fn path(&self, id: &ArtifactId) -> Utf8PathBuf {
        self.dir.join(format!("{}.txt", id.0))
    }
}

impl Artifacts for ArtifactDir {
    fn keep(&self, text: &str) -> std::io::Result<ArtifactId> {
        let id = ArtifactId(format!("{:016x}", crate::random()));
        agents_system::atomic::write(&self.path(&id), text.as_bytes())?;
        Ok(id)
    }

    fn read(&self, id: &ArtifactId) -> std::io::Result<String> {
        fs_err::read_to_string(self.path(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_given_back_and_no_other_file_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = ArtifactDir::new(Utf8Path::from_path(dir.path()).unwrap());
        let id = store.keep("long").unwrap();
        assert_eq!(store.read(&ArtifactId::parse(&id.to_string()).unwrap()).unwrap(), "long");
        for text in ["artifact:../x", "artifact:", "x", "artifact:a/b", "artifact:a.b"] {
            assert_eq!(ArtifactId::parse(text), None, "{text}");
        }
    }
}
