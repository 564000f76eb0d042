//! From a name in a manifest to a command line.

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use agents_system::{finding::Finding, progress::Progress};
use agents_workspace::{Cargo, Network};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    bring::{Brought, Origin, Update, bring, refresh},
    crates::{Crate, CrateOrigin},
    entry::{Base, EntryError, locate},
    error::{AcquireError, InstallError},
    git::{GitAddress, TreeOrigin, tree_slot},
    order::order,
    receipt::Generation,
    recipe::{CargoPlace, Entry, Installation, InstallationName, Installations, Source},
    runnable::{Acquired, Installed, Runnable, Tells, assemble},
    setup,
    slot::{INSTALLATIONS, Slot},
};

/// Acquires installations and says how to run them.
#[derive(Debug)]
pub struct Installer<'a> {
    pub(crate) cache: &'a Utf8Path,
    pub(crate) cargo: &'a Cargo,
    pub(crate) update: Update,
    pub(crate) progress: &'a Progress,
    /// What was already looked after in this run: asking again would be slow and change nothing.
    refreshed: RefCell<BTreeSet<Utf8PathBuf>>,
}

/// What may be done on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// Whatever is missing is acquired.
    Acquire,
    /// Nothing: it is only told what is there.
    Tell,
    /// What is there is brought up to date, if nobody has looked for so long.
    Refresh(Duration),
}

/// What an installation is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is what will be run.
    Command,
    /// It only has to be there.
    Requirement,
}

/// One installation of a plugin.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) name: &'a InstallationName,
    pub(crate) installation: &'a Installation,
    pub(crate) plugin_dir: &'a Utf8Path,
    pub(crate) role: Role,
    /// What was acquired before it.
    pub(crate) before: &'a [Acquired],
}

impl<'a> Installer<'a> {
    /// An installer that keeps things in `cache`, which is `Dirs::cache`. Whether it may use the network is
    /// up to `cargo`.
    #[must_use]
    pub fn new(
        cache: &'a Utf8Path,
        cargo: &'a Cargo,
        update: Update,
        progress: &'a Progress,
    ) -> Self {
        let update = update.allowed_by(cargo.network());
        Self { cache, cargo, update, progress, refreshed: RefCell::default() }
    }

    /// How to run `name`, after acquiring what is missing of it and of everything that it requires.
    pub fn resolve(
        &self,
        installations: &Installations,
        name: &InstallationName,
        plugin_dir: &Utf8Path,
    ) -> Result<Runnable, InstallError> {
        let acquired =
            self.walk(installations, (name, Role::Command), plugin_dir, Effort::Acquire)?;
        runnable(&acquired.unwrap_or_default(), installations, name)
    }

    /// How to run `name` if everything is there: no child process, no network, nothing acquired. `None` if
    /// something is missing.
    pub fn resolve_cached(
        &self,
        installations: &Installations,
        name: &InstallationName,
        plugin_dir: &Utf8Path,
    ) -> Result<Option<Runnable>, InstallError> {
        let acquired = self.walk(installations, (name, Role::Command), plugin_dir, Effort::Tell)?;
        acquired.map(|acquired| runnable(&acquired, installations, name)).transpose()
    }

    /// What is there of `name`, whether or not there is anything to run: no child process, no network, nothing acquired.
    /// `None` if it, or something that it requires, is missing.
    pub fn installed(
        &self,
        installations: &Installations,
        name: &InstallationName,
        plugin_dir: &Utf8Path,
    ) -> Result<Option<Installed>, InstallError> {
        let wanted = (name, Role::Requirement);
        let acquired = self.walk(installations, wanted, plugin_dir, Effort::Tell)?;
        let last = acquired.and_then(|mut acquired| acquired.pop());
        Ok(last.map(|Acquired { version, commit, tree, .. }| Installed { version, commit, tree }))
    }

    /// Acquires `name` and everything that it requires, whether or not there is anything to run. Says what
    /// the user should know about it.
    pub fn acquire(
        &self,
        installations: &Installations,
        name: &InstallationName,
        plugin_dir: &Utf8Path,
    ) -> Result<Vec<Finding>, InstallError> {
        let wanted = (name, Role::Requirement);
        let acquired = self.walk(installations, wanted, plugin_dir, Effort::Acquire)?;
        Ok(acquired.into_iter().flatten().flat_map(|one| one.findings).collect())
    }

    /// Brings `name` and everything that it requires up to date, if all of it is there and as far as nobody has looked for
    /// something newer within `rest`. Nothing that is missing is acquired, nobody who is at work on it is waited for, and the
    /// user's own programs are not touched. Without a network nothing happens.
    pub fn refresh(
        &self,
        installations: &Installations,
        name: &InstallationName,
        plugin_dir: &Utf8Path,
        rest: Duration,
    ) -> Result<(), InstallError> {
        let wanted = (name, Role::Requirement);
        if self.cargo.network() == Network::Offline
            || self.walk(installations, wanted, plugin_dir, Effort::Tell)?.is_none()
        {
            return Ok(());
        }
        self.walk(installations, wanted, plugin_dir, Effort::Refresh(rest)).map(|_| ())
    }

    /// Whether a [`refresh`](Self::refresh) with a network would look for something newer: no child process, no network.
    pub fn is_refresh_due(
        &self,
        installations: &Installations,
        name: &InstallationName,
        plugin_dir: &Utf8Path,
        rest: Duration,
    ) -> Result<bool, InstallError> {
        let wanted = (name, Role::Requirement);
        let all = self.walk(installations, wanted, plugin_dir, Effort::Tell)?;
        let is_old = |slot: &Slot| slot.load().is_some_and(|it| !it.was_checked_within(rest));
        Ok(all.into_iter().flatten().filter_map(|one| one.slot).any(|slot| is_old(&slot)))
    }

    fn walk(
        &self,
        installations: &Installations,
        (name, role): (&InstallationName, Role),
        plugin_dir: &Utf8Path,
        effort: Effort,
    ) -> Result<Option<Vec<Acquired>>, InstallError> {
        let mut acquired: Vec<Acquired> = Vec::new();
        for next in order(installations, name)? {
            let Some(installation) = installations.get(next) else {
                continue;
            };
            let role = if next == name { role } else { Role::Requirement };
            let job = Job { name: next, installation, plugin_dir, role, before: &acquired };
            match self.one(job, effort)? {
                Some(one) => acquired.push(one),
                None => return Ok(None),
            }
        }
        Ok(Some(acquired))
    }

    fn one(&self, job: Job<'_>, effort: Effort) -> Result<Option<Acquired>, InstallError> {
        match &job.installation.source {
            Some(Source::Cargo { name, version, git, place }) => {
                let wanted = Crate {
                    name,
                    version: version.as_deref(),
                    git: git.as_deref(),
                    binary: match &job.installation.entry {
                        Some(Entry::Executable(binary)) => Some(binary),
                        _ => None,
                    },
                };
                match place {
                    CargoPlace::Own => self.own_crate(job, wanted, effort),
                    CargoPlace::Global if effort == Effort::Acquire => {
                        self.global(job, wanted).map(Some)
                    }
                    CargoPlace::Global => self.cached_global(job),
                }
            }
            Some(Source::Git { url }) => self.tree(job, url, effort),
            None => self.plugin_file(job, effort),
        }
    }

    fn own_crate(
        &self,
        job: Job<'_>,
        wanted: Crate<'_>,
        effort: Effort,
    ) -> Result<Option<Acquired>, InstallError> {
        let commands = &job.installation.install_commands;
        let key = (("cargo", wanted.name, wanted.version), wanted.git, commands);
        let slot = self.slot(wanted.name, &format!("{key:?}"));
        let finish = |dir: &Utf8Path| {
            let bin = Some(dir.join("bin"));
            self.install_commands(job, dir, job.acquired(Some(dir.to_owned()), bin))
        };
        let (cargo, progress) = (self.cargo, self.progress);
        let origin = CrateOrigin { wanted, cargo, progress, finish: &finish };
        let Some(brought) = self.bring(job, &slot, &origin, effort)? else {
            return Ok(None);
        };
        let dir = brought.generation.base(&slot);
        let binaries = &brought.generation.binaries;
        let base = Base::Root { dir: &dir, name: wanted.name, binaries };
        let found = job.found(base, Some(&dir), brought.generation.clone(), brought.findings)?;
        let may_change = wanted.git.is_some() || wanted.version.is_none();
        Ok(Some(Acquired { slot: may_change.then_some(slot), ..found }))
    }

    fn tree(
        &self,
        job: Job<'_>,
        url: &str,
        effort: Effort,
    ) -> Result<Option<Acquired>, InstallError> {
        let address = GitAddress::parse(url).map_err(|error| job.failed(error.into()))?;
        let parent = self.cache.join(INSTALLATIONS);
        let slot = tree_slot(&parent, &address, &job.installation.install_commands);
        let finish = |dir: &Utf8Path| {
            self.install_commands(job, dir, job.acquired(Some(dir.to_owned()), None))
        };
        let (network, progress) = (self.cargo.network(), self.progress);
        let origin = TreeOrigin { address: &address, network, progress, finish: &finish };
        let Some(brought) = self.bring(job, &slot, &origin, effort)? else {
            return Ok(None);
        };
        let dir = brought.generation.base(&slot);
        let base = Base::Tree { dir: &dir };
        let found = job.found(base, Some(&dir), brought.generation, brought.findings)?;
        Ok(Some(Acquired { slot: Some(slot), ..found }))
    }

    fn plugin_file(&self, job: Job<'_>, effort: Effort) -> Result<Option<Acquired>, InstallError> {
        if !job.installation.install_commands.is_empty() {
            let finish =
                |_: &Utf8Path| self.install_commands(job, job.plugin_dir, job.acquired(None, None));
            let origin = setup::Setup { name: job.name, id: "done", finish: &finish };
            let slot = self.setup_slot(job);
            if self.bring(job, &slot, &origin, effort)?.is_none() {
                return Ok(None);
            }
        }
        let mut acquired = job.acquired(None, None);
        let base = Base::Plugin { dir: job.plugin_dir };
        acquired.target = locate(job.installation.entry.as_ref(), base).map_err(job.not_found())?;
        Ok(Some(acquired))
    }

    /// Brings `origin` into `slot`, or tells what is there.
    fn bring(
        &self,
        job: Job<'_>,
        slot: &Slot,
        origin: &impl Origin,
        effort: Effort,
    ) -> Result<Option<Brought>, InstallError> {
        let there = match effort {
            Effort::Acquire => {
                let brought = bring(slot, origin, self.update_for(slot), self.progress);
                return brought.map(Some).map_err(|error| job.failed(error));
            }
            Effort::Tell => slot.current(),
            Effort::Refresh(rest) => {
                refresh(slot, origin, rest).map_err(|error| job.failed(error))?
            }
        };
        Ok(there.map(|generation| Brought { generation, findings: Vec::new() }))
    }

    /// What is asked for, once for each slot.
    pub(crate) fn update_for(&self, slot: &Slot) -> Update {
        let is_first = self.refreshed.borrow_mut().insert(slot.dir.clone());
        if is_first { self.update } else { Update::None }
    }

    pub(crate) fn slot(&self, readable: &str, key: &str) -> Slot {
        Slot::new(&self.cache.join(INSTALLATIONS), readable, key)
    }
}

impl Job<'_> {
    /// It, as far as it is known before its entry has been looked for.
    pub(crate) fn acquired(&self, dir: Option<Utf8PathBuf>, bin: Option<Utf8PathBuf>) -> Acquired {
        Acquired {
            name: self.name.clone(),
            dir,
            target: None,
            bin,
            version: None,
            commit: None,
            tree: None,
            slot: None,
            findings: Vec::new(),
            tells: Tells::Everything,
        }
    }

    fn found(
        &self,
        base: Base<'_>,
        dir: Option<&Utf8Path>,
        generation: Generation,
        findings: Vec<Finding>,
    ) -> Result<Acquired, InstallError> {
        let bin = match base {
            Base::Root { dir, .. } => Some(dir.join("bin")),
            _ => None,
        };
        let mut acquired = self.acquired(dir.map(Utf8Path::to_owned), bin);
        acquired.version = generation.version;
        acquired.commit = generation.commit;
        acquired.tree = generation.tree;
        acquired.findings = findings;
        acquired.target = match locate(self.installation.entry.as_ref(), base) {
            // Whoever requires it finds them all through `PATH`.
            Err(EntryError::Several { .. }) if self.role == Role::Requirement => None,
            target => target.map_err(self.not_found())?,
        };
        Ok(acquired)
    }

    pub(crate) fn failed(&self, source: AcquireError) -> InstallError {
        InstallError::Acquire { name: self.name.clone(), source }
    }

    pub(crate) fn not_found(&self) -> impl FnOnce(EntryError) -> InstallError {
        let name = self.name.clone();
        |source| InstallError::Entry { name, source }
    }
}

fn runnable(
    acquired: &[Acquired],
    installations: &Installations,
    name: &InstallationName,
) -> Result<Runnable, InstallError> {
    let args = installations.get(name).map(|installation| installation.args.as_slice());
    match acquired.last().and_then(|last| last.target.as_ref()) {
        Some(target) => Ok(assemble(acquired, target, args.unwrap_or_default())),
        None => Err(InstallError::Entry { name: name.clone(), source: EntryError::NothingToRun }),
    }
}
