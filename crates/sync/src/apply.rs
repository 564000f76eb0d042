//! The only writer.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    io,
    time::Duration,
};

use agents_plugin::skills::{MARKER, Mode, SkillTree, TreeKind};
use agents_system::{
    atomic, edit,
    explain::{Code, ErrorKind, Explain},
    finding::{Finding, Place},
    foreign::{ForeignError, ForeignFile, backup, remove_unfinished, renew_backup},
    ledger::{Entry, Ledger, LedgerError, Part, Property},
    lock::{Lock, LockError},
    progress::Progress,
};
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::{
    desired::{Desired, SkillFiles, digest_of},
    facts::{Facts, File, IGNORE_ALL, IGNORE_FILE, Marked, Slot},
    originals::{self, Touch},
    plan::{Action, Change, Edited, Plan},
    slots::Slots,
};

/// How long another sync may take before we give up.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How the name of a directory begins in which a skill is put together or taken apart.
const BUILDING: &str = ".agents-building-";

/// Where we keep what we must remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The record of what we own.
    pub ledger: Utf8PathBuf,
    /// Held while somebody writes.
    pub lock: Utf8PathBuf,
    /// Originals of the files that we touched.
    pub backups: Utf8PathBuf,
    /// Where it is remembered what the places for skills hold, so that they need not be read every time.
    pub cache: Option<Utf8PathBuf>,
}

impl Places {
    /// Below the directory of our state.
    #[must_use]
    pub fn below(state: &Utf8Path) -> Self {
        Self {
            ledger: state.join("ledger.json"),
            lock: state.join("sync.lock"),
            backups: state.join("backups"),
            cache: None,
        }
    }

    /// The same, remembering below this directory what the places for skills hold.
    #[must_use]
    pub fn remembering(self, cache: &Utf8Path) -> Self {
        Self { cache: Some(cache.to_owned()), ..self }
    }

    fn look(&self, desired: &Desired, ledger: &Ledger, workspace: &Utf8Path) -> Facts {
        let Some(cache) = &self.cache else { return Facts::look(desired, ledger, workspace) };
        let mut slots = Slots::remembered(cache, workspace);
        let facts = Facts::look_with(desired, ledger, workspace, &mut slots);
        slots.save();
        facts
    }
}

/// A plan that was carried out.
#[derive(Debug)]
pub struct Applied {
    /// The plan, with the changes that were made.
    pub plan: Plan,
    /// The changes that could not be made.
    pub undone: Vec<Change>,
    /// Why not, one for each.
    pub failed: Vec<Finding>,
}

/// Why nothing could be done at all.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another process is at it.
    #[error("cannot begin to write")]
    Lock(#[from] LockError),
    /// We do not know what is ours.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Explain for ApplyError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Lock(error) => error.kind(),
            Self::Ledger(error) => error.kind(),
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Lock(error) => error.code(),
            Self::Ledger(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Lock(_) => None,
            Self::Ledger(error) => error.hint(),
        }
    }
}

/// The plan for a workspace, without doing anything.
pub fn preview(
    places: &Places,
    desired: &Desired,
    workspace: &Utf8Path,
    edited: Edited,
) -> Result<Plan, LedgerError> {
    let mut ledger = Ledger::load(&places.ledger)?;
    ledger.resolve(came_true);
    let facts = places.look(desired, &ledger, workspace);
    let mut plan = Plan::new(desired, &facts, &ledger, workspace, edited);
    originals::restore(&mut plan, &ledger, &places.backups);
    Ok(plan)
}

/// Makes the desired state true for a workspace.
pub fn sync(
    places: &Places,
    desired: &Desired,
    workspace: &Utf8Path,
    edited: Edited,
    progress: &Progress,
) -> Result<Applied, ApplyError> {
    let lock = Lock::acquire(&places.lock, PATIENCE, progress)?;
    sync_under(&lock, places, desired, workspace, edited)
}

/// The same without waiting: `None` if somebody else is at it.
pub fn sync_if_free(
    places: &Places,
    desired: &Desired,
    workspace: &Utf8Path,
    edited: Edited,
) -> Result<Option<Applied>, ApplyError> {
    let lock = match Lock::acquire(&places.lock, Duration::ZERO, &Progress::silent()) {
        Err(LockError::TimedOut { .. }) => return Ok(None),
        lock => lock?,
    };
    let applied = sync_under(&lock, places, desired, workspace, edited);
    applied.map(Some)
}

fn sync_under(
    _: &Lock,
    places: &Places,
    desired: &Desired,
    workspace: &Utf8Path,
    edited: Edited,
) -> Result<Applied, ApplyError> {
    let ledger = recovered(places)?;
    let facts = places.look(desired, &ledger, workspace);
    let mut plan = Plan::new(desired, &facts, &ledger, workspace, edited);
    originals::restore(&mut plan, &ledger, &places.backups);
    carry_out(places, plan, &ledger)
}

/// Ends what a killed writer began: what it finished is recorded, what it left half-built goes.
pub fn recover(places: &Places, progress: &Progress) -> Result<(), ApplyError> {
    let _lock = Lock::acquire(&places.lock, PATIENCE, progress)?;
    recovered(places)?;
    Ok(())
}

/// What killed writers left in a directory of skills, or one that is at it now.
#[must_use]
pub fn unfinished_skills(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().starts_with(BUILDING));
    ours.map(camino::Utf8DirEntry::into_path).collect()
}

/// Takes back everything that we ever wrote, in every workspace.
pub fn uninstall(
    places: &Places,
    edited: Edited,
    progress: &Progress,
) -> Result<Vec<Applied>, ApplyError> {
    let _lock = Lock::acquire(&places.lock, PATIENCE, progress)?;
    let mut ledger = recovered(places)?;
    let mut done = Vec::new();
    for workspace in workspaces(&ledger, edited) {
        let plan = plan_removal(places, &ledger, &workspace, edited);
        let applied = carry_out(places, plan, &ledger)?;
        ledger = applied.plan.owned.clone();
        done.push(applied);
    }
    Ok(done)
}

/// What [`uninstall`] would take back, workspace by workspace, without doing anything.
pub fn preview_uninstall(places: &Places, edited: Edited) -> Result<Vec<Plan>, LedgerError> {
    let mut ledger = Ledger::load(&places.ledger)?;
    ledger.resolve(came_true);
    let mut plans = Vec::new();
    for workspace in workspaces(&ledger, edited) {
        let plan = plan_removal(places, &ledger, &workspace, edited);
        ledger = plan.owned.clone();
        plans.push(plan);
    }
    Ok(plans)
}

/// The workspaces for which something is ours. What was left to the user because they edited it is for none; if that goes, too, the
/// directory that it is in stands for one.
fn workspaces(ledger: &Ledger, edited: Edited) -> BTreeSet<Utf8PathBuf> {
    let of_workspaces = ledger.entries.iter().flat_map(|entry| entry.workspaces.iter().cloned());
    let left =
        ledger.entries.iter().filter(|it| edited == Edited::Overwrite && it.workspaces.is_empty());
    let left = left.filter_map(|entry| entry.property.place().parent().map(Utf8Path::to_owned));
    of_workspaces.chain(left).collect()
}

fn plan_removal(places: &Places, ledger: &Ledger, workspace: &Utf8Path, edited: Edited) -> Plan {
    let nothing = Desired::default();
    let facts = Facts::look(&nothing, ledger, workspace);
    let mut plan = Plan::of_removal(&facts, ledger, workspace, edited);
    originals::restore(&mut plan, ledger, &places.backups);
    plan
}

/// The ledger; if the last writer was killed, after what it left half-built is gone and what it finished is recorded.
/// Nobody else writes while we hold the lock.
fn recovered(places: &Places) -> Result<Ledger, LedgerError> {
    atomic::remove_unfinished_of(&places.ledger);
    let mut ledger = Ledger::load(&places.ledger)?;
    if let Some(intended) = &ledger.intended {
        for entry in ledger.entries.iter().chain(intended) {
            match &entry.property {
                Property::Directory { dir, .. } => sweep(dir),
                Property::File { file, .. } | Property::Part(Part { file, .. }) => {
                    remove_unfinished(file);
                }
            }
        }
        // Whoever keeps originals holds the lock, as we do.
        atomic::remove_unfinished(&places.backups);
        ledger.resolve(came_true);
        ledger.save(&places.ledger)?;
    }
    Ok(ledger)
}

/// Removes what is half-built or half-removed beside a skill.
fn sweep(slot: &Utf8Path) {
    for dir in slot.parent().map(unfinished_skills).unwrap_or_default() {
        // It does no harm if it cannot be removed.
        let _ = fs_err::remove_dir_all(dir);
    }
}

/// Whether something that was intended is what the disk says, given what was recorded before.
fn came_true(property: &Property, recorded: Option<&Property>) -> bool {
    match property {
        Property::Directory { dir, digest } => match Facts::slot_at(dir) {
            Slot::Taken { digest: Some(now), .. } if now == *digest => true,
            // Where nothing was recorded, nothing of ours was: somebody has edited it since.
            Slot::Taken { marked, .. } => marked == Marked::Yes && recorded.is_none(),
            Slot::Free | Slot::Source => false,
        },
        Property::File { file, digest } => match Facts::file_at(file) {
            File::Text(text) => digest_of(&text) == *digest,
            File::Absent | File::Unreadable(_) => false,
        },
        Property::Part(part) => match Facts::file_at(&part.file) {
            File::Text(text) => {
                edit::read(part.format, &text).is_ok_and(|document| part.is_in(&document))
            }
            File::Absent | File::Unreadable(_) => false,
        },
    }
}

fn carry_out(places: &Places, mut plan: Plan, before: &Ledger) -> Result<Applied, ApplyError> {
    plan.owned.directories.extend(plan.changes.iter().flat_map(missing_directories));
    let mut announced = Cow::Borrowed(before);
    if !plan.changes.is_empty() {
        let announced = announced.to_mut();
        announced.entries.extend(plan.adopted.iter().cloned());
        announced.intended = Some(news(&plan.owned, before));
        announced.directories.clone_from(&plan.owned.directories);
        originals::note(&mut plan, before, announced);
        announced.save(&places.ledger)?;
    }
    let (mut failed, mut workshops) = (Vec::new(), Workshops::default());
    let (mut made, mut undone) = (Vec::new(), Vec::new());
    let is_change = !plan.changes.is_empty();
    for change in std::mem::take(&mut plan.changes) {
        let (place, done) = match &change {
            Change::Skill { slot, files, .. } => {
                (slot.clone(), write_skill(&mut workshops, slot, files.as_ref()))
            }
            Change::File { file, before: now, after, .. } => {
                let touch = Touch::of(file, now.as_deref(), before);
                let done = write_file(places, file, touch, now.as_deref(), after.as_deref());
                (file.clone(), done)
            }
        };
        match done {
            Ok(()) => made.push(change),
            Err(finding) => {
                failed.push(finding.at(Place::file(place.clone())));
                plan.keep_ownership_of(&place, before);
                originals::keep(&mut plan, &place, before);
                undone.push(change);
            }
        }
    }
    plan.changes = made;
    // They would keep empty directories from going.
    drop(workshops);
    if is_change {
        remove_empty(&mut plan.owned.directories);
    }
    if plan.owned != *announced {
        plan.owned.save(&places.ledger)?;
    }
    Ok(Applied { plan, undone, failed })
}

/// The entries that were not there before.
fn news(owned: &Ledger, before: &Ledger) -> Vec<Entry> {
    fn place(entry: &Entry) -> &Utf8Path {
        entry.property.place()
    }
    let mut known: HashMap<&Utf8Path, Vec<&Entry>> = HashMap::new();
    for entry in &before.entries {
        known.entry(place(entry)).or_default().push(entry);
    }
    let is_known = |entry: &&Entry| known.get(place(entry)).is_some_and(|it| it.contains(entry));
    owned.entries.iter().filter(|entry| !is_known(entry)).cloned().collect()
}

/// The directories that a change will have to make.
fn missing_directories(change: &Change) -> Vec<Utf8PathBuf> {
    let place = match change {
        Change::Skill { slot, files: Some(_), .. } => slot,
        Change::File { file, after: Some(_), .. } => file,
        Change::Skill { files: None, .. } | Change::File { after: None, .. } => return Vec::new(),
    };
    let missing = place.ancestors().skip(1).take_while(|dir| dir.symlink_metadata().is_err());
    missing.map(Utf8Path::to_owned).collect()
}

/// Removes the directories that we made and that hold nothing any more, and forgets those that are gone.
fn remove_empty(directories: &mut BTreeSet<Utf8PathBuf>) {
    let deepest_first: Vec<Utf8PathBuf> = directories.iter().rev().cloned().collect();
    for dir in deepest_first {
        // One that holds something refuses to go, which is the point.
        let gone = match fs_err::remove_dir(&dir) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if gone {
            directories.remove(&dir);
        }
    }
}

fn write_file(
    places: &Places,
    file: &Utf8Path,
    touch: Touch,
    before: Option<&str>,
    after: Option<&str>,
) -> Result<(), Box<Finding>> {
    let failed = |error: &ForeignError| {
        let finding = Finding::error(format!("not written: {error}"));
        Box::new(finding.advised_by(error))
    };
    let loaded = ForeignFile::load(file).map_err(|error| failed(&error))?;
    if loaded.text() != before {
        let finding = Finding::error("not written: it changed while we were at it");
        return Err(Box::new(finding.hint("run `cargo agents sync` again")));
    }
    let kept = match touch {
        Touch::First => renew_backup(&loaded, &places.backups),
        Touch::Again => backup(&loaded, &places.backups),
    };
    kept.map_err(|error| failed(&error))?;
    match after {
        Some(text) => loaded.replace(text).map(drop).map_err(|error| failed(&error)),
        None => loaded.remove().map(drop).map_err(|error| failed(&error)),
    }
}

fn write_skill(
    workshops: &mut Workshops,
    slot: &Utf8Path,
    files: Option<&(SkillFiles, String)>,
) -> Result<(), Box<Finding>> {
    let done = match files {
        Some((files, digest)) => workshops.install(slot, &*files.load(digest)?),
        None => workshops.remove(slot),
    };
    done.map_err(|error| Box::new(Finding::error(format!("not written: {error}"))))
}

/// Directories beside skills in which those are put together and taken apart, one for all skills of a directory, because
/// making and removing one costs as much as writing a small skill. What is in them is gone when they are dropped.
#[derive(Default)]
struct Workshops {
    open: HashMap<Utf8PathBuf, TempDir>,
    used: usize,
}

impl Workshops {
    /// A path on the file system of `slot` that nothing is at. Hosts do not look that deep.
    fn beside(&mut self, slot: &Utf8Path) -> io::Result<Utf8PathBuf> {
        let parent = slot.parent().unwrap_or(Utf8Path::new("."));
        if !self.open.contains_key(parent) {
            let new = tempfile::Builder::new().prefix(BUILDING).tempdir_in(parent)?;
            self.open.insert(parent.to_owned(), new);
        }
        self.used += 1;
        let workshop = self.open[parent].path().join(format!("skill-{}", self.used));
        Utf8PathBuf::from_path_buf(workshop)
            .map_err(|path| io::Error::other(format!("`{}` is not UTF-8", path.display())))
    }

    /// Takes the skill away in one step and then deletes it, so that being killed never leaves half of one.
    fn remove(&mut self, slot: &Utf8Path) -> io::Result<()> {
        let aside = self.beside(slot)?;
        match fs_err::rename(slot, &aside) {
            // Another name of the same directory was removed before.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            moved => moved.and_then(|()| fs_err::remove_dir_all(aside)),
        }
    }

    /// Writes the skill beside its place and then puts it there in one step.
    fn install(&mut self, slot: &Utf8Path, tree: &SkillTree) -> io::Result<()> {
        if let Some(parent) = slot.parent() {
            fs_err::create_dir_all(parent)?;
        }
        let new = self.beside(slot)?;
        fs_err::create_dir(&new)?;
        for entry in &tree.entries {
            let path = new.join(&entry.path);
            match &entry.kind {
                // It comes before what is in it.
                TreeKind::Dir => fs_err::create_dir(&path)?,
                TreeKind::File { mode, bytes } => {
                    fs_err::write(&path, bytes)?;
                    set_mode(&path, *mode)?;
                }
            }
        }
        fs_err::write(new.join(IGNORE_FILE), IGNORE_ALL)?;
        fs_err::write(new.join(MARKER), "")?;
        atomic::replace_directory(&new, slot)
    }
}

#[cfg(unix)]
fn set_mode(path: &Utf8Path, mode: Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    match mode {
        Mode::Plain => Ok(()),
        Mode::Executable => fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)),
    }
}

#[cfg(not(unix))]
fn set_mode(_: &Utf8Path, _: Mode) -> io::Result<()> {
    Ok(())
}

impl Change {
    /// What happens.
    #[must_use]
    pub fn action(&self) -> Action {
        match self {
            Self::Skill { action, .. } => *action,
            Self::File { before: None, .. } => Action::New,
            Self::File { after: None, .. } => Action::Removed,
            Self::File { .. } => Action::Updated,
        }
    }
}
