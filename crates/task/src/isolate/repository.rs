//! The repository that the user stands in, and whether tasks can have worktrees of it.

use agents_system::finding::Finding;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::git::{Git, GitError, Programs, parts};

/// The oldest git that can merge without touching files (`merge-tree --merge-base`).
const OLDEST: (u32, u32) = (2, 40);

/// A working tree of a repository, with where in it somebody stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Repository {
    /// The top of the working tree.
    pub root: Utf8PathBuf,
    /// The directory below it that somebody stands in; empty at the top.
    pub within: Utf8PathBuf,
    /// What git keeps for this working tree: its `HEAD`, its index.
    pub git_dir: Utf8PathBuf,
    /// What git keeps for all working trees of the repository.
    pub common_dir: Utf8PathBuf,
}

/// Why no task can have a worktree here.
#[derive(Debug, thiserror::Error)]
pub enum NotIsolated {
    /// There is no git.
    #[error("there is no program `git`")]
    NoGit,
    /// It is too old.
    #[error("git {found} is too old: worktrees need {}.{} or newer", OLDEST.0, OLDEST.1)]
    OldGit {
        /// Its version.
        found: String,
    },
    /// No repository.
    #[error("`{0}` is not in a git repository")]
    NoRepository(Utf8PathBuf),
    /// A repository without files.
    #[error("`{0}` is in a bare repository, which has no files to work on")]
    Bare(Utf8PathBuf),
    /// Inside of `.git`.
    #[error("`{0}` is inside of git's own directory")]
    InsideGitDir(Utf8PathBuf),
    /// Nothing to begin from.
    #[error("the repository `{0}` has no commit yet")]
    NoCommit(Utf8PathBuf),
    /// A submodule: its worktree would not know what it is a part of.
    #[error("`{module}` is a submodule of `{parent}`")]
    Submodule {
        /// Its top.
        module: Utf8PathBuf,
        /// The repository that it is a part of.
        parent: Utf8PathBuf,
    },
    /// Worktrees would be inside of what they are made of.
    #[error("worktrees are kept in `{home}`, which is inside of the repository `{root}`")]
    HomeInside {
        /// Where worktrees are kept.
        home: Utf8PathBuf,
        /// The top of the repository.
        root: Utf8PathBuf,
    },
    /// Git says no.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Repository {
    /// Looks where `cwd` is.
    pub(super) fn find(cwd: &Utf8Path, home: &Utf8Path) -> Result<Self, NotIsolated> {
        version_is_enough()?;
        let at = cwd.canonicalize_utf8().unwrap_or_else(|_| cwd.to_owned());
        let git = Git::anywhere().on(&at);
        // The directory is only where git looks from, not what it works on.
        let ask = |what: &[&str]| git.find(what);
        let inside = ask(&["rev-parse", "--is-inside-work-tree", "--is-bare-repository"]);
        let inside = match inside {
            Ok(text) => text,
            Err(GitError::Failed { said, .. }) if said.contains("not a git repository") => {
                return Err(NotIsolated::NoRepository(at));
            }
            Err(error) => return Err(error.into()),
        };
        match inside.lines().collect::<Vec<_>>()[..] {
            ["true", _] => {}
            [_, "true"] => return Err(NotIsolated::Bare(at)),
            _ => return Err(NotIsolated::InsideGitDir(at)),
        }
        let one = |option: &str| ask(&["rev-parse", "--path-format=absolute", option]);
        let root = Utf8PathBuf::from(one("--show-toplevel")?);
        let parent = one("--show-superproject-working-tree")?;
        if !parent.is_empty() {
            return Err(NotIsolated::Submodule { module: root, parent: parent.into() });
        }
        let repository = Self {
            within: at.strip_prefix(&root).map(Utf8Path::to_owned).unwrap_or_default(),
            git_dir: one("--absolute-git-dir")?.into(),
            common_dir: one("--git-common-dir")?.into(),
            root,
        };
        if repository.git().commit("HEAD").is_none() {
            return Err(NotIsolated::NoCommit(repository.root));
        }
        let home = real(home);
        if home.starts_with(&repository.root) {
            return Err(NotIsolated::HomeInside { home, root: repository.root });
        }
        Ok(repository)
    }

    /// Git on this working tree, with the programs of its configuration running.
    fn git(&self) -> Git {
        Git::of(&self.git_dir).on(&self.root)
    }

    /// Git on this working tree, as we use it.
    pub(super) fn quiet_git(&self) -> Result<(Git, Programs), GitError> {
        let git = self.git();
        let programs = Programs::load(&git)?;
        Ok((git.without_programs(&programs), programs))
    }

    /// Git on what all working trees share. What an agent wrote into its own worktree does not change where this is.
    pub(super) fn shared_git(&self, tree: &Utf8Path) -> Result<Git, GitError> {
        let git = Git::of(&self.common_dir).on(tree);
        let programs = Programs::load(&git)?;
        Ok(git.without_programs(&programs))
    }

    /// What will be different in a worktree, because it is elsewhere and because no programs of the configuration run.
    pub(super) fn surprises(
        &self,
        git: &Git,
        programs: &Programs,
    ) -> Result<Vec<Finding>, GitError> {
        let mut findings = Vec::new();
        for filter in programs.filters() {
            let files =
                git.run(None, ["ls-files", "-z", "--", &format!(":(attr:filter={filter})")])?;
            let count = parts(&files).count();
            if count > 0 {
                let message = format!(
                    "{count} files go through the filter `{filter}`, which does not run for worktrees: there they are as git stores them"
                );
                findings.push(Finding::warning(message));
            }
        }
        let stored = git.run(None, ["ls-files", "-s", "-z"])?;
        let modules = parts(&stored).filter(|it| it.starts_with(b"160000 ")).count();
        if modules > 0 {
            let message =
                format!("the {modules} submodules of the repository are empty in worktrees");
            let hint = "an agent that needs one can run `git submodule update --init`";
            findings.push(Finding::warning(message).hint(hint));
        }
        findings.extend(self.outside(git)?);
        if self.git_dir.join("MERGE_HEAD").exists() {
            let message = "a merge is not finished here: a worktree has the files as they are, with their conflicts";
            findings.push(Finding::warning(message));
        }
        Ok(findings)
    }

    /// What cargo reads here and would not find from elsewhere.
    fn outside(&self, git: &Git) -> Result<Vec<Finding>, GitError> {
        let mut findings = Vec::new();
        for above in self.root.ancestors().skip(1) {
            let of_user =
                agents_system::dirs::cargo_home().is_ok_and(|it| it == above.join(".cargo"));
            for name in
                [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"]
            {
                let file = above.join(name);
                if file.is_file() && !(of_user && name.starts_with(".cargo")) {
                    let message = format!(
                        "`{file}` is above the repository, so it does not apply to worktrees"
                    );
                    findings.push(Finding::warning(message));
                }
            }
        }
        let manifests = git.run(None, ["ls-files", "-z", "--", "Cargo.toml", "**/Cargo.toml"])?;
        for name in parts(&manifests).filter_map(|it| std::str::from_utf8(it).ok()) {
            let Ok(text) = fs_err::read_to_string(self.root.join(name)) else { continue };
            for path in outside_paths(&text, Utf8Path::new(name)) {
                let message = format!(
                    "`{name}` depends on `{path}`, which is outside of the repository: cargo does not find it from a worktree"
                );
                findings.push(Finding::warning(message));
            }
        }
        Ok(findings)
    }
}

/// Relative paths of dependencies that lead out of the repository, as they are written.
fn outside_paths(manifest: &str, at: &Utf8Path) -> Vec<String> {
    let deep = at.components().count().saturating_sub(1);
    let leaves = |path: &str| {
        let mut depth = deep;
        for part in Utf8Path::new(path).components() {
            match part {
                camino::Utf8Component::ParentDir if depth == 0 => return true,
                camino::Utf8Component::ParentDir => depth -= 1,
                camino::Utf8Component::Normal(_) => depth += 1,
                _ => {}
            }
        }
        false
    };
    let Ok(table) = manifest.parse::<toml::Table>() else { return Vec::new() };
    let mut found = Vec::new();
    let mut waiting: Vec<&toml::Table> = vec![&table];
    while let Some(table) = waiting.pop() {
        for (key, value) in table {
            match value {
                toml::Value::Table(table) => waiting.push(table),
                toml::Value::String(path)
                    if key == "path" && Utf8Path::new(path).is_relative() && leaves(path) =>
                {
                    found.push(path.clone());
                }
                _ => {}
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Without links, as far as it exists.
pub(super) fn real(path: &Utf8Path) -> Utf8PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize_utf8(), path.strip_prefix(above)) {
            return if rest.as_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

fn version_is_enough() -> Result<(), NotIsolated> {
    let said = match Git::anywhere().line(None, ["--version"]) {
        Ok(said) => said,
        Err(GitError::Process(agents_system::process::ProcessError::NotFound { .. })) => {
            return Err(NotIsolated::NoGit);
        }
        Err(error) => return Err(error.into()),
    };
    let version = said.trim_start_matches("git version ").split(' ').next().unwrap_or_default();
    if is_enough(version) { Ok(()) } else { Err(NotIsolated::OldGit { found: version.to_owned() }) }
}

fn is_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|it| it.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_they_are_printed() {
        for enough in ["2.40.0", "2.47.3", "3.0", "2.45.1.windows.1", "2.50.1.rc0"] {
            assert!(is_enough(enough), "{enough}");
        }
        for old in ["2.39.5", "1.9", "", "x"] {
            assert!(!is_enough(old), "{old}");
        }
    }

    #[test]
    fn paths_that_lead_out_of_the_repository() {
        let manifest = "[dependencies]\na = { path = \"../a\" }\nb = { path = \"../../b\" }\nc = { path = \"x/../../../c\" }\nd = { path = \"/d\" }\n[target.'cfg(unix)'.dependencies.e]\npath = \"../../../e\"\n[lib]\npath = \"src/lib.rs\"\n";
        assert_eq!(outside_paths(manifest, Utf8Path::new("crates/x/Cargo.toml")), ["../../../e"]);
        assert_eq!(
            outside_paths(manifest, Utf8Path::new("x/Cargo.toml")),
            ["../../../e", "../../b", "x/../../../c"]
        );
    }
}
