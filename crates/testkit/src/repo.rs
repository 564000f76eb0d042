//! Git repositories to clone by `file://`.

use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};

use crate::scratch::{run, write};

/// A git repository whose commits have a fixed author and date, so that equal content has equal commits.
#[derive(Debug, Clone)]
pub struct Repo {
    dir: Utf8PathBuf,
}

impl Repo {
    /// A new repository at `dir`, with branch `main` and no commit.
    #[must_use]
    pub fn init(dir: impl Into<Utf8PathBuf>) -> Self {
        let repo = Self { dir: dir.into() };
        fs_err::create_dir_all(&repo.dir).unwrap();
        repo.git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        repo
    }

    /// The working tree.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// The address to clone it from.
    #[must_use]
    pub fn url(&self) -> String {
        format!("file://{}", self.dir)
    }

    /// Writes a file of the working tree.
    pub fn write(&self, relative: impl AsRef<str>, text: impl AsRef<[u8]>) -> &Self {
        write(&self.dir.join(relative.as_ref()), text);
        self
    }

    /// Commits everything in the working tree and returns the commit.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    /// Creates a branch here and switches to it.
    pub fn branch(&self, name: &str) -> &Self {
        self.git(&["switch", "--quiet", "--create", name]);
        self
    }

    /// Switches to a branch.
    pub fn switch(&self, name: &str) -> &Self {
        self.git(&["switch", "--quiet", name]);
        self
    }

    /// Creates an annotated tag here.
    pub fn tag(&self, name: &str) -> &Self {
        self.git(&["tag", "--annotate", "--message", name, name]);
        self
    }

    /// The commit that is checked out.
    #[must_use]
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the working tree and returns what it prints.
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(&self.dir).args([
            "-c",
            "commit.gpgsign=false",
            "-c",
            "tag.gpgsign=false",
        ]);
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Test")
                .env(format!("GIT_{role}_EMAIL"), "test@example.com")
                .env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
        }
        // The configuration and the repository of whoever runs the tests are not part of them.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(inherited);
        }
        let output = run(command.args(args));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}
