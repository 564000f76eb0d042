//! How git is run: by its own program, with nothing of our environment that could lead it elsewhere, and without the programs
//! that the configuration of a repository names.
//!
//! Hooks, the file system monitor, filters (`filter.*.clean`, `smudge`, `process`) and merge drivers never run here. What
//! git does by itself does: line endings, encodings, `ident`. Nothing of what we ask needs the network.

use std::{ffi::OsString, time::Duration};

use agents_system::{
    env,
    lock::Lock,
    process::{Call, Captured, ProcessError},
};
use camino::{Utf8Path, Utf8PathBuf};

/// How long one call may take: hashing a large tree on a slow disk is the longest.
const DEADLINE: Duration = Duration::from_secs(15 * 60);

/// Variables that git gets from us, and no others.
const HANDED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "LD_LIBRARY_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
];

/// Those that it gets besides when it speaks to another machine: who the user is there, and the way to it.
const HANDED_OUT: &[&str] = &[
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "https_proxy",
    "http_proxy",
    "no_proxy",
];

/// Who our own commits are by.
const IDENTITY: [(&str, &str); 2] = [("NAME", "cargo agents"), ("EMAIL", "cargo-agents@localhost")];

/// What the configuration of a repository may not say.
const OVERRIDES: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    // A warning, not a refusal: the file must be kept either way.
    ("core.safecrlf", "false"),
    ("core.quotePath", "false"),
    // A new file goes where it was made, even if its neighbours moved.
    ("merge.directoryRenames", "false"),
    // Whatever was done to a file counts, however little of it shows.
    ("core.checkStat", "default"),
    ("core.trustctime", "true"),
    ("core.ignoreStat", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("submodule.recurse", "false"),
    ("advice.addEmbeddedRepo", "false"),
    ("protocol.allow", "never"),
];

/// Why git did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It did not run to its end.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It said no.
    #[error("`git {what}` failed: {said}")]
    Failed {
        /// The command.
        what: String,
        /// The last that it said.
        said: String,
    },
}

/// A repository as git is told about it, always by name and never by looking for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Git {
    dir: Option<Utf8PathBuf>,
    tree: Option<Utf8PathBuf>,
    index: Option<Utf8PathBuf>,
    config: Vec<(String, String)>,
    reach: Reach,
    date: Option<&'static str>,
}

/// Whom git may speak to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reach {
    #[default]
    Nobody,
    Remotes,
}

impl Git {
    /// In a directory of which nothing is known yet.
    pub(super) fn anywhere() -> Self {
        Self::default()
    }

    /// With this repository.
    pub(super) fn of(dir: &Utf8Path) -> Self {
        Self { dir: Some(dir.to_owned()), ..Self::default() }
    }

    /// With these files.
    pub(super) fn on(mut self, tree: &Utf8Path) -> Self {
        self.tree = Some(tree.to_owned());
        self
    }

    /// With an index of our own.
    pub(super) fn with_index(mut self, index: &Utf8Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    /// With settings that turn off programs.
    pub(super) fn without_programs(mut self, programs: &Programs) -> Self {
        self.config = programs.off();
        self
    }

    /// Speaking to the remote that it is told about, as the user's own git would.
    pub(super) fn outward(mut self) -> Self {
        self.reach = Reach::Remotes;
        self
    }

    /// Making commits that are the same whoever makes them, and whenever.
    pub(super) fn timeless(mut self) -> Self {
        self.date = Some("@0 +0000");
        self
    }

    fn call(&self, args: &[OsString], lock: Option<&Lock>) -> Call {
        let mut call = Call::new("git").in_empty_env().deadline(DEADLINE);
        let outside = if self.reach == Reach::Remotes { HANDED_OUT } else { &[] };
        for name in HANDED_ON.iter().chain(outside) {
            if let Some(value) = env::handed_on(name) {
                call = call.env(*name, value);
            }
        }
        call = call
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_ADVICE", "0");
        for role in ["AUTHOR", "COMMITTER"] {
            if let Some(date) = self.date {
                call = call.env(format!("GIT_{role}_DATE"), date);
            }
            for (what, value) in IDENTITY {
                call = call.env(format!("GIT_{role}_{what}"), value);
            }
        }
        let may = |key: &str| self.reach == Reach::Nobody || key != "protocol.allow";
        let fixed = OVERRIDES.iter().copied().filter(|(key, _)| may(key));
        let own = self.config.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let mut count = 0;
        for (key, value) in fixed.chain(own) {
            call = call
                .env(format!("GIT_CONFIG_KEY_{count}"), key)
                .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        call = call.env("GIT_CONFIG_COUNT", count.to_string());
        let places = [
            ("GIT_DIR", &self.dir),
            ("GIT_WORK_TREE", &self.tree),
            ("GIT_INDEX_FILE", &self.index),
        ];
        for (name, place) in places {
            if let Some(place) = place {
                call = call.env(name, place.as_str());
            }
        }
        // Without files of its own it must not take those of the directory that we stand in.
        if let Some(at) = self.tree.as_ref().or(self.dir.as_ref()) {
            call = call.cwd(at.clone());
        }
        // Ctrl-C ends a task; what it did is collected then.
        call = call.even_if_interrupted();
        if let Some(lock) = lock {
            call = call.holding(lock);
        }
        call.args(args.iter().cloned())
    }

    /// Runs it, whatever it answers.
    pub(super) fn ask<S: Into<OsString>>(
        &self,
        lock: Option<&Lock>,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Captured, GitError> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        Ok(self.call(&args, lock).capture()?)
    }

    /// Runs it and takes what it prints, or its failure.
    pub(super) fn run<S: Into<OsString>>(
        &self,
        lock: Option<&Lock>,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let what = args.first().map_or(String::new(), |it| it.to_string_lossy().into_owned());
        let done = self.call(&args, lock).capture()?;
        if done.status.success() { Ok(done.stdout) } else { Err(failed(what, &done)) }
    }

    /// The same as a line of text.
    pub(super) fn line<S: Into<OsString>>(
        &self,
        lock: Option<&Lock>,
        args: impl IntoIterator<Item = S>,
    ) -> Result<String, GitError> {
        let printed = self.run(lock, args)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// Asks where a repository is: from the directory of the files, which are not said to be what git works on.
    pub(super) fn find(&self, args: &[&str]) -> Result<String, GitError> {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let done = self.call(&args, None).without_env("GIT_WORK_TREE").capture()?;
        if !done.status.success() {
            return Err(failed("rev-parse".to_owned(), &done));
        }
        Ok(done.stdout_text().trim_end_matches('\n').to_owned())
    }

    /// The commit that something names, if it names one.
    pub(super) fn commit(&self, name: &str) -> Option<String> {
        self.line(None, ["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]).ok()
    }

    /// The tree of a commit.
    pub(super) fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.line(None, ["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
    }

    /// Whether one commit is part of the history of another.
    pub(super) fn is_within(&self, one: &str, other: &str) -> Result<bool, GitError> {
        let done = self.ask(None, ["merge-base", "--is-ancestor", one, other])?;
        match done.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed("merge-base".to_owned(), &done)),
        }
    }

    /// Makes a commit of our own that nothing comes before.
    pub(super) fn first_commit(&self, tree: &str, message: &str) -> Result<String, GitError> {
        self.line(None, ["commit-tree", "--no-gpg-sign", tree, "-m", message])
    }

    /// Makes a commit of our own.
    pub(super) fn commit_tree(
        &self,
        lock: Option<&Lock>,
        tree: &str,
        parent: &str,
        message: &str,
    ) -> Result<String, GitError> {
        self.line(lock, ["commit-tree", "--no-gpg-sign", tree, "-p", parent, "-m", message])
    }
}

pub(super) fn failed(what: String, done: &Captured) -> GitError {
    let said = done.said();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    GitError::Failed { what, said: last.join("; ") }
}

/// What is printed with `-z`, part by part.
pub(super) fn parts(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|it| *it == 0).filter(|it| !it.is_empty())
}

/// Programs that the configuration names for the content of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Programs {
    filters: Vec<String>,
    merges: Vec<String>,
}

impl Programs {
    pub(super) fn load(git: &Git) -> Result<Self, GitError> {
        let pattern = "^(filter\\..*\\.(clean|smudge|process|required)|merge\\..*\\.driver)$";
        let done = git.ask(None, ["config", "--null", "--name-only", "--get-regexp", pattern])?;
        // 1: there is none.
        if !matches!(done.status.code(), Some(0 | 1)) {
            return Err(failed("config".to_owned(), &done));
        }
        let mut programs = Self::default();
        for key in parts(&done.stdout) {
            let key = String::from_utf8_lossy(key);
            let name = |kind: &str| Some(key.strip_prefix(kind)?.rsplit_once('.')?.0.to_owned());
            programs.filters.extend(name("filter."));
            programs.merges.extend(name("merge."));
        }
        for names in [&mut programs.filters, &mut programs.merges] {
            names.sort();
            names.dedup();
        }
        Ok(programs)
    }

    pub(super) fn filters(&self) -> &[String] {
        &self.filters
    }

    fn off(&self) -> Vec<(String, String)> {
        let filters = self.filters.iter().flat_map(|name| {
            [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
                .map(|(key, value)| (format!("filter.{name}.{key}"), value.to_owned()))
        });
        // One that fails is a conflict; none at all would be an error.
        let merges = self.merges.iter().map(|it| (format!("merge.{it}.driver"), "false".into()));
        filters.chain(merges).collect()
    }
}
