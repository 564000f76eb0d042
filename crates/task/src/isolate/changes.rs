//! What was done in a worktree, as commits and as a patch.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::{
    IsolateError, State, Worktree,
    git::{Git, GitError, parts},
    snapshot::{Camera, Hidden, Snapshot, copy, links_of},
    utf8,
};

/// More commits than anybody reads.
const MAX_COMMITS: &str = "--max-count=1000";
/// More branches of one worktree than anybody has.
const MAX_BRANCHES: usize = 20;

/// What was done in a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changes {
    /// The commit that it began from.
    pub base: String,
    /// The commit that holds everything; the base if nothing was done.
    pub head: String,
    /// The branch that leads to it.
    pub branch: String,
    /// The difference between both, for `git apply`.
    pub patch: Utf8PathBuf,
    /// The files that differ.
    pub files: Vec<FileChange>,
    /// The commits on the way, oldest first, the last one ours if something was not committed.
    pub commits: Vec<Commit>,
    /// Branches that hold what the agent had left behind elsewhere, such as the commits before a rebase that was not finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Directories that no commit holds, because they are repositories of their own. The worktree is not removed while they
    /// are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What is odd about it, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct FileChange {
    /// As git says it: `A`dded, `M`odified, `D`eleted, `R`enamed, changed in `T`ype.
    pub status: char,
    /// Its path in the repository, the new one if it was renamed.
    pub path: String,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

impl Changes {
    /// Whether nothing was done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base == self.head
    }

    /// Files among them that other programs run or obey, each with what it is: whoever applies them should look at those.
    pub fn protected(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let reason =
            |path: &str| agents_tool::confine::protected::reason(camino::Utf8Path::new(path));
        self.files.iter().filter_map(move |it| Some((it.path.as_str(), reason(&it.path)?)))
    }
}

/// What a worktree holds at this moment.
pub(super) struct Now {
    /// The commit that is checked out.
    head: String,
    snapshot: Snapshot,
    notes: Vec<String>,
}

impl Worktree {
    /// Makes commits and a patch of everything that was done, whatever state the agent left the worktree in. Can be called
    /// again.
    ///
    /// # Errors
    /// It could not all be kept; the worktree stays.
    pub fn collect(&mut self) -> Result<Changes, IsolateError> {
        let base = self.base()?.to_owned();
        let git = self.git()?;
        let Now { head: checked_out, snapshot, mut notes } = self.look(&git)?;
        let head = self.committed(&git, &checked_out, &snapshot.tree)?;
        let mut also = self.record.changes.as_ref().map_or(Vec::new(), |it| it.also.clone());
        let tip = git.commit(&format!("refs/heads/{}", self.record.branch));
        if let Some(tip) = &tip
            && !git.is_within(tip, &head)?
        {
            also.push(self.spare(&git, tip)?);
        }
        for (what, commit) in self.half_done(&git) {
            notes.push(format!("{what} was not finished"));
            if !git.is_within(&commit, &head)? && !is_held(&git, &commit)? {
                also.push(self.spare(&git, &commit)?);
            }
        }
        if !git.is_within(&base, &head)? {
            notes.push("what was done does not stand on the commit that it began from".to_owned());
        }
        also.sort();
        also.dedup();
        if head != base {
            self.point(&git, &head, tip.as_deref())?;
        }
        let changes = Changes {
            patch: self.write_patch(&git, &base, &head)?,
            files: files(&git, &base, &head)?,
            commits: commits(&git, &base, &head)?,
            branch: self.record.branch.clone(),
            left_out: [snapshot.repositories, snapshot.submodules].concat(),
            base,
            head,
            also,
            notes,
        };
        let known = self.record.changes.as_ref().is_some_and(|it| it.head == changes.head);
        if !(known && self.record.state == State::Applied) {
            self.record.state = State::Collected;
        }
        self.record.changes = Some(changes.clone());
        self.shelf.write(&mut self.record)?;
        Ok(changes)
    }

    /// Git on the files of the worktree, with the configuration of the repository that it was made from: an agent may have
    /// put anything in the place of its `.git`.
    pub(super) fn git(&self) -> Result<Git, GitError> {
        let root = self.root();
        // Without its directory, what git keeps of it may still be there.
        let at = if root.is_dir() { root } else { self.shelf.home().to_owned() };
        self.record.repository.shared_git(&at)
    }

    pub(super) fn look(&self, git: &Git) -> Result<Now, IsolateError> {
        let base = self.base()?;
        let mut notes = Vec::new();
        let own = format!("worktrees/{}/HEAD", self.record.slug);
        let branch = format!("refs/heads/{}", self.record.branch);
        let head = git.commit(&own).or_else(|| {
            notes.push("no commit was checked out any more".to_owned());
            git.commit(&branch)
        });
        let head = head.unwrap_or_else(|| base.to_owned());
        if !self.root().is_dir() {
            notes.push("its directory is gone".to_owned());
            let (repositories, submodules) = (Vec::new(), Vec::new());
            let snapshot = Snapshot { tree: git.tree_of(&head)?, repositories, submodules };
            return Ok(Now { head, snapshot, notes });
        }
        // What the agent's own index says is tracked counts, if git can read it.
        let index = self.git_dir().join("index");
        let first = if index.is_file() { self.shoot(git, &index, &head).ok() } else { None };
        let snapshot = match first {
            Some(snapshot) => snapshot,
            None => {
                let scratch = self.shelf.scratch()?;
                let index = utf8(&scratch)?.join("made");
                copy(&self.shelf.index(&self.record.slug), &index)?;
                git.clone()
                    .with_index(&index)
                    .run(Some(&self.lock), ["read-tree", "--reset", &head])?;
                self.shoot(git, &index, &head)?
            }
        };
        Ok(Now { head, snapshot, notes })
    }

    fn shoot(
        &self,
        git: &Git,
        index: &camino::Utf8Path,
        head: &str,
    ) -> Result<Snapshot, IsolateError> {
        let scratch = self.shelf.scratch()?;
        let camera = Camera {
            git,
            root: &self.root(),
            scratch: utf8(&scratch)?,
            lock: Some(&self.lock),
            largest: self.settings.largest,
            hidden: Hidden::Count,
        };
        Ok(camera.shoot(index, Some(links_of(git, head)?))?.0)
    }

    /// A commit that holds the tree: the one that is checked out, the one that we made of it before, or a new one.
    fn committed(&self, git: &Git, head: &str, tree: &str) -> Result<String, GitError> {
        if git.tree_of(head)? == tree {
            return Ok(head.to_owned());
        }
        if let Some(before) = &self.record.changes
            && git.commit(&format!("{}^", before.head)).as_deref() == Some(head)
            && git.tree_of(&before.head)? == tree
        {
            return Ok(before.head.clone());
        }
        let message = format!("What `{}` did and did not commit", self.record.slug);
        git.commit_tree(Some(&self.lock), tree, head, &message)
    }

    /// What git was in the middle of, with the commits that only that leads to.
    fn half_done(&self, git: &Git) -> Vec<(&'static str, String)> {
        let dir = self.git_dir();
        let rebase =
            |name: &str| Some(fs_err::read_to_string(dir.join(name)).ok()?.trim().to_owned());
        let own = |name: &str| Some(format!("worktrees/{}/{name}", self.record.slug));
        let candidates = [
            ("a merge", own("MERGE_HEAD")),
            ("a cherry-pick", own("CHERRY_PICK_HEAD")),
            ("a revert", own("REVERT_HEAD")),
            ("a rebase", rebase("rebase-merge/orig-head")),
            ("a rebase", rebase("rebase-apply/orig-head")),
        ];
        let found =
            candidates.into_iter().filter_map(|(what, name)| Some((what, git.commit(&name?)?)));
        found.collect()
    }

    /// A branch of its own for a commit that would be lost otherwise.
    fn spare(&self, git: &Git, commit: &str) -> Result<String, GitError> {
        let mut last = None;
        for number in 1..=MAX_BRANCHES {
            let branch = format!("{}-left-{number}", self.record.branch);
            let reference = format!("refs/heads/{branch}");
            if git.commit(&reference).as_deref() == Some(commit) {
                return Ok(branch);
            }
            // No old value: only a branch that is not there is made.
            match git.run(Some(&self.lock), ["update-ref", &reference, commit, ""]) {
                Ok(_) => return Ok(branch),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(GitError::Failed { what: "update-ref".to_owned(), said: String::new() }))
    }

    /// Makes the branch lead to a commit. If that is not possible, because a crash left it locked or somebody made one that is in
    /// the way, another name is used.
    fn point(&mut self, git: &Git, head: &str, tip: Option<&str>) -> Result<(), GitError> {
        if tip == Some(head) {
            return Ok(());
        }
        let reference = format!("refs/heads/{}", self.record.branch);
        if git.run(Some(&self.lock), ["update-ref", &reference, head, tip.unwrap_or("")]).is_ok() {
            return Ok(());
        }
        self.record.branch = self.spare(git, head)?;
        Ok(())
    }

    fn write_patch(&self, git: &Git, base: &str, head: &str) -> Result<Utf8PathBuf, IsolateError> {
        let patch = self.shelf.patch(&self.record.slug);
        let scratch = self.shelf.scratch()?;
        let written = utf8(&scratch)?.join("patch");
        let output = format!("--output={written}");
        let how =
            ["diff-tree", "-r", "-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv"];
        git.run(Some(&self.lock), how.into_iter().chain([output.as_str(), base, head]))?;
        fs_err::rename(&written, &patch)?;
        Ok(patch)
    }
}

impl Now {
    /// What a commit does not hold of it.
    pub(super) fn beyond(&self, git: &Git, commit: &str) -> Result<Option<String>, GitError> {
        let Snapshot { repositories, submodules, .. } = &self.snapshot;
        if let Some(dir) = repositories.iter().chain(submodules).next() {
            return Ok(Some(format!("`{dir}` is a repository of its own, which no commit holds")));
        }
        if git.tree_of(commit)? != self.snapshot.tree {
            return Ok(Some("files have changed since they were collected".to_owned()));
        }
        if !git.is_within(&self.head, commit)? {
            return Ok(Some("commits have been made since they were collected".to_owned()));
        }
        Ok(None)
    }
}

/// Whether some branch or tag leads to a commit.
fn is_held(git: &Git, commit: &str) -> Result<bool, GitError> {
    Ok(!git.line(None, ["for-each-ref", "--count=1", "--contains", commit])?.is_empty())
}

pub(super) fn files(git: &Git, base: &str, head: &str) -> Result<Vec<FileChange>, GitError> {
    let listed = git.run(None, ["diff-tree", "-r", "-z", "-M", "--name-status", base, head])?;
    Ok(parse_files(&listed))
}

/// What `diff-tree -z --name-status` printed.
pub(super) fn parse_files(listed: &[u8]) -> Vec<FileChange> {
    let mut listed = parts(listed).map(|it| String::from_utf8_lossy(it).into_owned());
    let mut files = Vec::new();
    while let Some(status) = listed.next() {
        let status = status.chars().next().unwrap_or('M');
        // The old name comes first.
        let old = if matches!(status, 'R' | 'C') { listed.next() } else { None };
        let Some(path) = listed.next().or(old) else { break };
        files.push(FileChange { status, path });
    }
    files
}

fn commits(git: &Git, base: &str, head: &str) -> Result<Vec<Commit>, GitError> {
    let range = format!("{base}..{head}");
    let how =
        ["rev-list", "--reverse", MAX_COMMITS, "--no-commit-header", "--format=%H %s", &range];
    Ok(parse_commits(&git.line(None, how)?))
}

/// What `rev-list --format='%H %s'` printed.
pub(super) fn parse_commits(listed: &str) -> Vec<Commit> {
    let split = |line: &str| {
        let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
        Commit { id: id.to_owned(), subject: subject.to_owned() }
    };
    listed.lines().map(split).collect()
}
