//! What is remembered of a worktree, so that it is found again whatever happens to whoever made it.
//!
//! A record is written before the first thing that it speaks of is made, and changed before the next step begins. Beside it is a
//! lock that its owner, and every git that its owner starts, holds as long as it lives: what nobody holds, nobody works on.

use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agents_system::{
    atomic,
    lock::{Lock, LockError},
    progress::Progress,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::{Changes, Repository};
use crate::id::TaskId;

/// How long others may be adding or removing worktrees of the same repository.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is remembered of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record {
    /// The task that it was made for.
    pub task: TaskId,
    /// What it is called, here and in git: the name of the task and a part of its id.
    pub slug: String,
    /// Who made it.
    pub owner: Owner,
    /// When this was last written, in seconds since 1970.
    pub changed: u64,
    /// What it is a worktree of, and where the user stood.
    pub repository: Repository,
    /// The commit that it began from. `None` as long as it is not known.
    pub base: Option<String>,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// How far it is.
    pub state: State,
    /// What was done in it, when it was last collected.
    pub changes: Option<Changes>,
}

/// How far a worktree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is being made: nobody has worked in it yet.
    Making,
    /// Somebody may work in it.
    Ready,
    /// What was done in it is held by its branch and its patch, too.
    Collected,
    /// That is in the user's working tree as well.
    Applied,
    /// Its files are being removed; what was done is held elsewhere.
    Removing(Fate),
    /// It is gone; the patch is still here.
    Removed,
}

/// What becomes of a branch when its worktree goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It is what holds the work.
    Stays,
    /// Nothing was done, or it has been applied.
    Goes,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Owner {
    /// Its id.
    pub pid: u32,
    /// When it began, in ticks since the machine did; 0 where that is not known. Ids are used again.
    pub started: u64,
}

impl Owner {
    /// This process.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Self { pid, started: started(pid).unwrap_or(0) }
    }
}

/// The 22nd field of `stat`; the name in parentheses, the second one, may hold anything.
fn started(pid: u32) -> Option<u64> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Where worktrees and their records are kept.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    home: Utf8PathBuf,
}

impl Shelf {
    pub(super) fn new(home: Utf8PathBuf) -> Self {
        Self { home }
    }

    pub(super) fn home(&self) -> &Utf8Path {
        &self.home
    }

    /// What is in here may come from a directory that nobody else may read.
    pub(super) fn close(&self) -> io::Result<()> {
        fs_err::create_dir_all(&self.home)?;
        #[cfg(unix)]
        fs_err::set_permissions(&self.home, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(())
    }

    pub(super) fn trees(&self) -> Utf8PathBuf {
        self.home.join("trees")
    }

    pub(super) fn tree(&self, slug: &str) -> Utf8PathBuf {
        self.trees().join(slug)
    }

    fn beside(&self, slug: &str, ending: &str) -> Utf8PathBuf {
        self.home.join("records").join(format!("{slug}.{ending}"))
    }

    pub(super) fn patch(&self, slug: &str) -> Utf8PathBuf {
        self.beside(slug, "patch")
    }

    /// The index of the worktree as it was made.
    pub(super) fn index(&self, slug: &str) -> Utf8PathBuf {
        self.beside(slug, "index")
    }

    /// Held by whoever changes the working tree of a repository.
    pub(super) fn apply_lock(&self, repository: &Repository) -> Utf8PathBuf {
        let name = agents_system::cache::name_hash(repository.root.as_str());
        self.home.join("locks").join(format!("{name}.lock"))
    }

    /// Held by whoever adds or removes a worktree: git itself stumbles over one that another process is just adding.
    pub(super) fn worktrees_lock(&self, repository: &Repository) -> Result<Lock, LockError> {
        self.worktrees_lock_at(&repository.common_dir)
    }

    /// The same for what all worktrees of a repository have in common, as git names it.
    pub(super) fn worktrees_lock_at(&self, common_dir: &Utf8Path) -> Result<Lock, LockError> {
        let name = agents_system::cache::name_hash(common_dir.as_str());
        let file = self.home.join("locks").join(format!("{name}.worktrees.lock"));
        Lock::acquire(&file, PATIENCE, &Progress::silent())
    }

    /// A directory for what is not needed after this call.
    pub(super) fn scratch(&self) -> io::Result<tempfile::TempDir> {
        let dir = self.home.join("scratch");
        fs_err::create_dir_all(&dir)?;
        tempfile::Builder::new().prefix("git-").tempdir_in(dir)
    }

    /// The lock of a worktree, if nobody has it.
    pub(super) fn lock(&self, slug: &str) -> io::Result<Option<Lock>> {
        let path = self.beside(slug, "lock");
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        Lock::try_acquire(&path)
    }

    /// The same for one that nobody should have.
    pub(super) fn lock_of_nobody(&self, slug: &str) -> io::Result<Option<Lock>> {
        lock_of_nobody(&self.beside(slug, "lock"))
    }

    pub(super) fn write(&self, record: &mut Record) -> io::Result<()> {
        record.changed = now();
        let mut bytes = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
        bytes.push(b'\n');
        atomic::write(&self.beside(&record.slug, "json"), &bytes)
    }

    pub(super) fn read(&self, slug: &str) -> io::Result<Record> {
        let bytes = fs_err::read(self.beside(slug, "json"))?;
        let record: Record = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        // What is removed by it would be somebody else's.
        if record.slug != slug {
            return Err(io::Error::other(format!("it is the record of `{}`", record.slug)));
        }
        Ok(record)
    }

    /// Forgets a worktree that is gone. The lock goes last: nobody may take it for that of another one meanwhile, and names are
    /// never used again.
    pub(super) fn forget(&self, slug: &str) -> io::Result<()> {
        for ending in ["index", "patch", "json", "lock"] {
            match fs_err::remove_file(self.beside(slug, ending)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// All worktrees that are remembered.
    pub(super) fn slugs(&self) -> Vec<String> {
        let names = names(&self.home.join("records"));
        names.iter().filter_map(|it| it.strip_suffix(".json")).map(str::to_owned).collect()
    }
}

/// A lock that nobody should have. Every process that this one starts has all its files for a moment, locks included, before
/// it becomes what it is.
pub(super) fn lock_of_nobody(path: &Utf8Path) -> io::Result<Option<Lock>> {
    for _ in 0..3 {
        if let Some(lock) = Lock::try_acquire(path)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Lock::try_acquire(path)
}

/// The names in a directory, in order; nothing if there is none.
pub(super) fn names(dir: &Utf8Path) -> Vec<String> {
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|it| it.file_name().to_owned()).collect();
    names.sort();
    names
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// What a worktree is called: a name that git, file systems and people can read, and something that no other one has.
pub(super) fn slug(name: &str, task: TaskId) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().take(24).map(fine).collect();
    let words: Vec<&str> = name.split('-').filter(|it| !it.is_empty()).collect();
    let name = if words.is_empty() { "task".to_owned() } else { words.join("-") };
    // The beginning of an id is the time; the end is by chance.
    let id = task.to_string();
    let by_chance = id.rsplit('-').next().unwrap_or_default();
    format!("{name}-{by_chance}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_branch_and_a_file_name() {
        let task = TaskId::parse("0192f0c1-2345-7abc-8def-0123456789ab").unwrap();
        for (name, expected) in [
            ("explore", "explore-0123456789ab"),
            ("Fix: `a/b`.lock", "fix-a-b-lock-0123456789ab"),
            ("../..", "task-0123456789ab"),
            ("überprüfe", "berpr-fe-0123456789ab"),
            ("", "task-0123456789ab"),
        ] {
            assert_eq!(slug(name, task), expected);
        }
    }

    /// As version 0.1.0 writes it, with everything and with nothing. Whoever changes the form of records adds another text, and takes none
    /// away: a worktree that was left behind before an update holds somebody's work.
    const KEPT: [&str; 2] = [
        r#"{
  "task": "0192f0c1-2345-7abc-8def-0123456789ab",
  "slug": "fix-0123456789ab",
  "owner": { "pid": 4711, "started": 123456 },
  "changed": 1779000000,
  "repository": { "root": "/ws", "within": "app", "git-dir": "/ws/.git", "common-dir": "/ws/.git" },
  "base": "8c8f1c7",
  "branch": "agents/fix-0123456789ab",
  "state": { "removing": "stays" },
  "changes": {
    "base": "8c8f1c7",
    "head": "99aa00b",
    "branch": "agents/fix-0123456789ab",
    "patch": "/state/worktrees/records/fix-0123456789ab.patch",
    "files": [{ "status": "A", "path": "new.txt" }],
    "commits": [{ "id": "99aa00b", "subject": "what was not committed" }],
    "also": ["agents/fix-0123456789ab-2"],
    "left-out": ["vendor/other"],
    "notes": ["its directory is gone"]
  }
}"#,
        r#"{
  "task": "0192f0c1-2345-7abc-8def-0123456789ab",
  "slug": "fix-0123456789ab",
  "owner": { "pid": 4711, "started": 0 },
  "changed": 1779000000,
  "repository": { "root": "/ws", "within": "", "git-dir": "/ws/.git", "common-dir": "/ws/.git" },
  "base": null,
  "branch": "agents/fix-0123456789ab",
  "state": "making",
  "changes": null
}"#,
    ];

    #[test]
    fn a_record_is_read_in_every_form_that_it_ever_had() {
        let records = KEPT.map(|it| serde_json::from_str::<Record>(it).unwrap());
        assert_eq!(records[0].state, State::Removing(Fate::Stays));
        let changes = records[0].changes.as_ref().unwrap();
        assert_eq!((changes.also.len(), changes.left_out.len(), changes.notes.len()), (1, 1, 1));
        assert!(records[1].base.is_none() && records[1].changes.is_none());
        // These are of today's form: what is read is written again.
        for (text, record) in KEPT.iter().zip(&records) {
            let same: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(record).unwrap(), same);
        }
        let goes = serde_json::json!({ "removing": "goes" });
        assert_eq!(serde_json::from_value::<State>(goes).unwrap(), State::Removing(Fate::Goes));
        for (word, state) in [
            ("making", State::Making),
            ("ready", State::Ready),
            ("collected", State::Collected),
            ("applied", State::Applied),
            ("removed", State::Removed),
        ] {
            assert_eq!(serde_json::from_value::<State>(word.into()).unwrap(), state);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_knows_when_it_began() {
        let this = Owner::this();
        assert!(this.started > 0 && Owner::this() == this);
    }
}
