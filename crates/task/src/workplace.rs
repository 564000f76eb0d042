//! Where a task works: with everybody else, or in a worktree of its own, and what becomes of what it did there.

use agents_tool::{Area, Confinement};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::isolate::{Applied, Carry, Changes, FileChange, Repository, Worktree, Worktrees};

/// How tasks get a worktree of their own.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// Where worktrees are made.
    pub worktrees: Worktrees,
    /// Of which repository.
    pub repository: Repository,
    /// What they begin with.
    pub carry: Carry,
    /// What becomes of what was done in them.
    pub settle: Settle,
}

/// What becomes of what was done in a worktree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Settle {
    /// It is merged into the files that the worktree was made from, if the task completed and nothing is in the way.
    #[default]
    Apply,
    /// It stays on its branch.
    Branch,
}

/// Where a task works, for itself and for those that it starts.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) area: Area,
    /// For the programs that run there.
    pub(crate) variables: Vec<(String, String)>,
    /// What they may read and change besides.
    pub(crate) read: Vec<Utf8PathBuf>,
    pub(crate) write: Vec<Utf8PathBuf>,
    /// The worktree, as a repository that others can have worktrees of.
    pub(crate) repository: Option<Repository>,
}

impl Site {
    /// In this area, with nothing special about it.
    pub(crate) fn shared(area: Area) -> Self {
        let (variables, read, write) = Default::default();
        Self { area, variables, read, write, repository: None }
    }

    /// In this worktree.
    pub(crate) fn of(worktree: &Worktree) -> Result<Self, agents_tool::confine::ConfineError> {
        let root = worktree.root();
        let area = Area::workspace(&root)?;
        let cwd = worktree.cwd();
        let within = cwd.strip_prefix(&root).map(Utf8Path::as_str).unwrap_or_default();
        let area = if within.is_empty() { area } else { area.at(within)? };
        Ok(Self {
            area,
            variables: worktree.variables(),
            read: worktree.git_dirs().to_vec(),
            write: worktree.build_dir().map(ToOwned::to_owned).into_iter().collect(),
            repository: Some(worktree.repository()),
        })
    }

    /// A confinement that lets programs use what they need here.
    pub(crate) fn confine(&self, confinement: Confinement) -> Confinement {
        match confinement {
            Confinement::None => Confinement::None,
            Confinement::Sandbox(mut sandbox) => {
                sandbox.read.extend(self.read.iter().cloned());
                sandbox.write.extend(self.write.iter().cloned());
                Confinement::Sandbox(sandbox)
            }
        }
    }
}

/// A worktree that a task works in.
#[derive(Debug)]
pub struct Workplace {
    /// The worktree.
    pub worktree: Worktree,
    /// What becomes of what was done in it.
    pub settle: Settle,
}

/// What became of what was done in a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Settled {
    /// The files that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// The difference, for `git apply`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub patch: Option<Utf8PathBuf>,
    /// Where it is now.
    #[serde(flatten)]
    pub state: Delivery,
    /// What is odd about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Where changes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "changes")]
pub enum Delivery {
    /// There are none, or they are there already.
    None,
    /// In the files that the worktree was made from, uncommitted.
    Applied,
    /// On a branch.
    OnBranch {
        /// Which.
        branch: String,
        /// Why not in the files.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The command that merges them.
        command: String,
    },
    /// In the worktree, which stays.
    InWorktree {
        /// Where it is.
        #[cfg_attr(test, schemars(with = "String"))]
        path: Utf8PathBuf,
        /// Why nothing else could be done.
        why: String,
    },
}

impl Workplace {
    /// Keeps what was done, and removes the worktree if all of it is held elsewhere. It blocks.
    #[must_use]
    pub fn close(mut self, completed: bool) -> Settled {
        let path = self.worktree.root();
        let stays = |why: String| Settled {
            files: Vec::new(),
            patch: None,
            state: Delivery::InWorktree { path: path.clone(), why },
            notes: Vec::new(),
        };
        let changes = match self.worktree.collect() {
            Ok(changes) => changes,
            Err(error) => return stays(agents_system::explain::with_causes(&error)),
        };
        let state = self.deliver(&changes, completed);
        let Changes { files, patch, mut notes, left_out, .. } = changes;
        notes.extend(left_out.iter().map(|it| format!("`{it}` is a repository of its own")));
        if let Err(error) = self.worktree.remove() {
            let why = agents_system::explain::with_causes(&error);
            notes.push(format!("the worktree `{path}` stays: {why}"));
        }
        let patch = (!files.is_empty()).then_some(patch);
        Settled { files, patch, state, notes }
    }

    fn deliver(&mut self, changes: &Changes, completed: bool) -> Delivery {
        let branch = changes.branch.clone();
        let on_branch = |why: Option<String>| Delivery::OnBranch {
            command: format!("git merge {branch}"),
            branch: branch.clone(),
            why,
        };
        if changes.is_empty() {
            return Delivery::None;
        }
        if self.settle == Settle::Branch {
            return on_branch(None);
        }
        if !completed {
            return on_branch(Some("the task did not complete".to_owned()));
        }
        let trusted: Vec<&str> = changes.protected().map(|(path, _)| path).collect();
        if !trusted.is_empty() {
            let what = trusted.join(", ");
            return on_branch(Some(format!("look at {what} first, which others run or trust")));
        }
        match self.worktree.apply() {
            Ok(Applied::Clean { .. }) => Delivery::Applied,
            Ok(Applied::NothingToDo) => Delivery::None,
            Ok(Applied::Conflicts { files, branch, command }) => {
                let why = Some(format!("{} changed meanwhile, too", files.join(", ")));
                Delivery::OnBranch { branch, why, command }
            }
            Ok(Applied::Kept { why, branch, command }) => {
                Delivery::OnBranch { branch, why: Some(why), command }
            }
            Err(error) => on_branch(Some(agents_system::explain::with_causes(&error))),
        }
    }
}

impl Settled {
    /// In a line; `None` if there is nothing to say.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        let count = self.files.len();
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        Some(match &self.state {
            Delivery::None if self.notes.is_empty() => return None,
            Delivery::None => self.notes.join("; "),
            Delivery::Applied => format!("{files} changed"),
            Delivery::OnBranch { branch, why, command } => {
                let why = why.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
                format!("{files} changed, on branch `{branch}`{why}: `{command}`")
            }
            Delivery::InWorktree { path, why } => {
                format!("what it changed is still in `{path}`: {why}")
            }
        })
    }
}
