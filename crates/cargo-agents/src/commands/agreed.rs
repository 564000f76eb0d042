//! What hosts should have, measured against what was agreed to: the way from the desired state to the one that `agents.lock` allows.

mod agents;
mod hold;
mod programs;
mod running;
mod trees;

use std::{cell::LazyCell, collections::BTreeMap};

use agents_install::git::TreeNow;
use agents_plugin::{
    hooks::ActiveHook,
    skills::{Skill, SkillTree},
};
use agents_system::{
    explain::{Code, ErrorKind},
    finding::Finding,
    lock::Lock as Pen,
};
use agents_trust::{
    agreement::LockFile,
    audit::{Records, unaudited},
    compare::{Comparison, Item, Status, Verdict, compare, differences},
    content::{inspect_agent, inspect_tree},
    items::{PluginKey, Surveyor, Unseen},
    lock::{Entry, Hash, Kind, LOCK_FILE, Lock},
    review::Review,
    store::Store,
};
use camino::{Utf8Path, Utf8PathBuf};

use self::hold::Pinned;
pub(crate) use self::{
    agents::held_agents,
    hold::hashes,
    programs::refuse_other_program,
    running::{may_run, refuse_unaccepted},
};
use super::{
    audit,
    wanted::{Wanted, agents::Brought},
};
use crate::{failure::Failure, here::Here, settings::Settings};

/// What was just accepted, and what else is asked of this run.
#[derive(Default)]
pub(crate) struct Terms {
    /// What the user has just looked at, exactly as they saw it.
    pub(crate) accepted: Vec<Entry>,
    /// Whether somebody must have looked at everything.
    pub(crate) audited: Audited,
}

/// Whether content that nobody has looked at is refused.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Audited {
    Required,
    #[default]
    Optional,
}

/// Whether anything is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Yes,
    No,
}

/// What an item is, in the same order as the items.
enum Subject {
    Plugin(PluginKey),
    Skill(usize),
    Agent(usize),
    Tree(TreeNow),
}

/// Why something waits for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// It was not there.
    New,
    /// It is another content than the one that was agreed to.
    Changed,
    /// The same, in the very version or commit that was agreed to.
    Altered,
}

/// Something that waits for the user, with what they have to read.
pub(crate) struct Pending {
    pub(crate) why: Waits,
    pub(crate) entry: Entry,
    pub(crate) before: Option<Entry>,
    pub(crate) review: Review,
    pub(crate) suspicions: Vec<Finding>,
}

/// What came of it.
pub(crate) struct Settled {
    file: LockFile,
    before: Option<Lock>,
    comparison: Comparison,
    /// Of what seems to be gone, what may only be out of sight.
    kept: Vec<Entry>,
    /// What was agreed to, is another content here, and is nowhere on this machine.
    lacking: Vec<Entry>,
    /// What the user has just looked at.
    accepted: Vec<Entry>,
    /// Who has looked at what, if somebody must have.
    records: Option<Vec<(Utf8PathBuf, Records)>>,
    /// Held while the lock file may be written.
    _pen: Option<Pen>,
    pub(crate) pending: Vec<Pending>,
    /// What trusted content became, by the name of its skill.
    pub(crate) reviews: BTreeMap<String, Review>,
    pub(crate) findings: Vec<Finding>,
}

/// Compares what is wanted with what was agreed to, and takes out of it what was not.
pub(crate) fn settle(
    here: &Here<'_>,
    root: &Utf8Path,
    wanted: &mut Wanted,
    terms: &Terms,
    writing: Writing,
) -> Result<Settled, Failure> {
    let settings = here.settings;
    let file = LockFile::beside(root);
    let pen = match writing {
        Writing::Yes => {
            Some(file.pen(&settings.dirs.state, &settings.progress).map_err(lock_failure)?)
        }
        Writing::No => None,
    };
    let before = file.load()?;
    let mut settled = Settled {
        file,
        before,
        comparison: Comparison::default(),
        kept: Vec::new(),
        lacking: Vec::new(),
        accepted: terms.accepted.clone(),
        records: None,
        _pen: pen,
        pending: Vec::new(),
        reviews: BTreeMap::new(),
        findings: Vec::new(),
    };
    let Some(workspace) = here.workspace.as_ref() else { return Ok(settled) };
    let surveyor = Surveyor::new(here.registries, &here.set, workspace);
    let (mut subjects, mut items) = survey(&surveyor, wanted);
    trees::survey(&surveyor, wanted, &mut subjects, &mut items, &mut settled.findings);
    let lock = settled.before.clone().unwrap_or_default();
    let is_suspicious = |item: &Item| {
        let at = items.iter().position(|it| it == item);
        at.is_some_and(|at| !subjects[at].suspicions(wanted).is_empty())
    };
    let is_accepted = |item: &Item| terms.accepted.contains(&item.entry);
    settled.comparison = compare(items.clone(), &lock, is_suspicious, is_accepted);
    settled.refuse_changed_trees(&subjects, wanted, &surveyor);
    // It only matters for what seems to be gone, and is slow to find out.
    let unseen = match settled.comparison.gone.is_empty() {
        true => Unseen::default(),
        false => surveyor.unseen(wanted.skills.skipped.iter().chain(&wanted.agents.skipped)),
    };
    // A skill that cannot be read has no hash, but is there.
    let digests = LazyCell::new(|| wanted.digests());
    let is_unread = |entry: &&Entry| {
        let mut unread = wanted.skills.skills.iter();
        let is_it = |it: &Skill| {
            it.name.as_str() == entry.name && !digests.contains_key(it.dir.as_std_path())
        };
        entry.kind == Kind::Skill && unread.any(is_it)
    };
    let gone = settled.comparison.gone.iter();
    settled.kept = gone.filter(|it| unseen.may_hold(it) || is_unread(it)).cloned().collect();
    settled.refuse_if_locked(settings, &unseen)?;
    let store = Store::new(&settings.dirs.cache);
    let pinned = Pinned::new(&store, &settings.dirs.state);
    settled.enforce(&subjects, wanted, &surveyor, &pinned);
    settled.refuse_lacking_if_locked(settings)?;
    if terms.audited == Audited::Required {
        let records = audit::all_records(settings, root)?;
        settled.refuse_unaudited(here, &wanted.hooks, &records)?;
        settled.records = Some(records);
    }
    if writing == Writing::Yes {
        settled.keep_contents(&subjects, wanted, &surveyor, &store);
    }
    Ok(settled)
}

/// What applies, in the order in which it is compared.
fn survey(surveyor: &Surveyor<'_>, wanted: &Wanted) -> (Vec<Subject>, Vec<Item>) {
    let plugins = surveyor.plugins().into_iter();
    let plugins = plugins.map(|(key, item)| (Subject::Plugin(key), item));
    let digests = wanted.digests();
    let skills = wanted.skills.skills.iter().enumerate().filter_map(|(at, skill)| {
        let hash = Hash::new(digests.get(skill.dir.as_std_path())?);
        Some((Subject::Skill(at), surveyor.skill(skill, hash)))
    });
    let agents = wanted.agents.agents.iter().enumerate().map(|(at, it)| {
        let name = it.definition.name.as_str();
        (Subject::Agent(at), surveyor.agent(name, &it.dir, &it.file, it.hash()))
    });
    plugins.chain(skills).chain(agents).unzip()
}

impl Subject {
    /// What it consists of now.
    fn content(&self, wanted: &Wanted, surveyor: &Surveyor<'_>) -> Option<SkillTree> {
        match self {
            Self::Plugin(key) => surveyor.content(key),
            Self::Skill(at) => wanted.skills.skills[*at].read().0,
            Self::Agent(at) => Some(wanted.agents.agents[*at].tree.clone()),
            Self::Tree(_) => None,
        }
    }

    /// What a machine finds suspicious about it, if a model reads it.
    fn suspicions(&self, wanted: &Wanted) -> Vec<Finding> {
        match self {
            Self::Plugin(_) | Self::Tree(_) => Vec::new(),
            Self::Skill(at) => suspicions(&wanted.skills.skills[*at]),
            Self::Agent(at) => suspicions_of_agent(&wanted.agents.agents[*at]),
        }
    }
}

/// What a machine finds suspicious about the content of a skill.
pub(super) fn suspicions(skill: &Skill) -> Vec<Finding> {
    let (tree, _) = skill.read();
    tree.map(|tree| inspect_tree(&tree, &skill.dir)).unwrap_or_default()
}

/// What a machine finds suspicious about the definition of an agent.
pub(super) fn suspicions_of_agent(agent: &Brought) -> Vec<Finding> {
    inspect_agent(&agent.tree, &agent.dir.dir)
}

/// `--require-audit`: the end, if there is anything that nobody has looked at.
fn refuse_unknown(lines: &[String]) -> Result<(), Failure> {
    if lines.is_empty() {
        return Ok(());
    }
    let message = "some of what would be brought has not been reviewed";
    Err(Failure::new(ErrorKind::Refused, message)
        .code(Code::NotAudited)
        .details(lines.join("\n"))
        .hint("`cargo agents audit record <name> --note …` records your review"))
}

/// The flag that forbids to change the lock file, if one was given.
fn locking_flag(settings: &Settings) -> Option<&'static str> {
    match (settings.flags.frozen, settings.flags.locked) {
        (true, _) => Some("--frozen"),
        (_, true) => Some("--locked"),
        (false, false) => None,
    }
}

/// The end of a run with a flag that forbids to change the lock file.
fn differs(message: String) -> Failure {
    Failure::new(ErrorKind::Failure, message).code(Code::LockFileDiffers)
}

fn not_here<'e>(entries: impl IntoIterator<Item = &'e Entry>, because: &[String]) -> Failure {
    let entries = entries.into_iter().map(ToString::to_string);
    let lines: Vec<String> = entries.chain(because.iter().cloned()).collect();
    differs(format!("what `{LOCK_FILE}` lists is not on this machine")).details(lines.join("\n"))
}

fn lock_failure(error: agents_system::lock::LockError) -> Failure {
    Failure::from(agents_sync::ApplyError::Lock(error))
}

impl Settled {
    /// `--locked`: what is agreed to must be there, and must not change.
    fn refuse_if_locked(&self, settings: &Settings, unseen: &Unseen) -> Result<(), Failure> {
        let Some(flag) = locking_flag(settings) else { return Ok(()) };
        let nothing = Lock::default();
        let is_needed = !self.agreed().entries().is_empty();
        let Some(before) = self.before.as_ref().or((!is_needed).then_some(&nothing)) else {
            return Err(differs(format!("`{LOCK_FILE}` is missing, and `{flag}` was given"))
                .hint(format!("run `cargo agents sync` without `{flag}` and commit the file")));
        };
        let hidden: Vec<&Entry> = self.kept.iter().filter(|it| unseen.may_hold(it)).collect();
        if !hidden.is_empty() {
            return Err(not_here(hidden, &unseen.words)
                .hint(format!("run `cargo agents sync` once with the network, without `{flag}`")));
        }
        self.refuse_changes(before, &self.agreed(), flag)
    }

    /// `--locked`: hosts get what is agreed to, and not nothing because something else is here.
    fn refuse_lacking_if_locked(&self, settings: &Settings) -> Result<(), Failure> {
        match locking_flag(settings) {
            Some(_) if !self.lacking.is_empty() => Err(not_here(&self.lacking, &[]).hint(
                "go back to these versions, or run `cargo agents update` to see and accept what is here, and commit the file",
            )),
            _ => Ok(()),
        }
    }

    fn refuse_changes(&self, before: &Lock, after: &Lock, flag: &str) -> Result<(), Failure> {
        if before == after {
            return Ok(());
        }
        let message = format!("`{LOCK_FILE}` would change, and `{flag}` was given");
        Err(differs(message)
            .details(differences(before, after).join("\n"))
            .hint(format!("run `cargo agents sync` without `{flag}` and commit the file")))
    }

    /// `--require-audit`: somebody must have looked at everything that would be brought.
    fn refuse_unaudited(
        &self,
        here: &Here<'_>,
        hooks: &[ActiveHook],
        records: &[(Utf8PathBuf, Records)],
    ) -> Result<(), Failure> {
        let agreed = self.comparison.agreed(&self.kept);
        let (programs, missing) = self.expected_programs(here, hooks);
        let unknown = unaudited(agreed.entries().iter().chain(&programs), records);
        let unknown = unknown.into_iter().map(ToString::to_string);
        let missing = missing.into_iter().map(|name| {
            format!("installation `{name}`, of which nothing is installed and nothing recorded yet")
        });
        refuse_unknown(&unknown.chain(missing).collect::<Vec<_>>())
    }

    /// Whether anything that is here, or was, goes by that name.
    pub(crate) fn knows(&self, is_named: impl Fn(&Entry) -> bool) -> bool {
        self.entries().any(is_named)
    }

    /// Everything that is here or was.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let here = self.comparison.items.iter().map(|it| &it.item.entry);
        here.chain(self.before.iter().flat_map(Lock::entries))
    }

    /// What is agreed to after this run. Installations are added by [`record`](Self::record).
    fn agreed(&self) -> Lock {
        let agreed = self.comparison.agreed(&self.kept);
        let is_program = |entry: &&Entry| entry.kind == Kind::Installation;
        let programs = self.before.iter().flat_map(Lock::entries).filter(is_program);
        Lock::new(agreed.entries().iter().chain(programs).cloned())
    }

    /// Keeps what is taken, so that it can be shown and restored when it has changed.
    fn keep_contents(
        &mut self,
        subjects: &[Subject],
        wanted: &Wanted,
        surveyor: &Surveyor<'_>,
        store: &Store,
    ) {
        for (compared, subject) in self.comparison.items.iter().zip(subjects) {
            let Some(hash) = &compared.item.entry.hash else { continue };
            if compared.verdict != Verdict::Take || store.has(hash) {
                continue;
            }
            let tree = subject.content(wanted, surveyor);
            if let Some(Err(error)) = tree.map(|tree| store.put(&tree)) {
                let said = format!("what was agreed to cannot be kept: {error}");
                return self.findings.push(Finding::warning(said));
            }
        }
    }
}

/// Whether something changed that is worth counting lines for.
fn is_changed(status: &Status) -> bool {
    matches!(status, Status::Changed { .. } | Status::Altered { .. })
}
