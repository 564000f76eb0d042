//! The programs that are installed for what applies here, in the lock file.

use std::collections::BTreeSet;

use agents_install::{InstallationName, Installations};
use agents_plugin::{
    hooks::ActiveHook,
    plugin::{Origin, Plugin},
};
use agents_system::explain::{Code, ErrorKind};
use agents_trust::{
    agreement::LockFile,
    audit::unaudited,
    compare::{Status, Verdict, differences},
    items::Surveyor,
    lock::{Entry, Kind, LOCK_FILE, Lock},
    review::Review,
};

use super::{Pending, Settled, Waits, Writing, hold::altered, locking_flag, refuse_unknown};
use crate::{failure::Failure, here::Here};

/// A program that a plugin can have installed.
struct Program {
    /// `<plugin>/<installation>`
    name: String,
    /// What is installed of it now; `None` for nothing, and for what was there before us.
    now: Option<Entry>,
    arrives: Arrives,
}

/// When a program is installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrives {
    /// By `sync`: a hook runs it.
    WithSync,
    /// When somebody first needs it, so that machines differ in whether they have it.
    OnDemand,
}

impl Settled {
    /// Writes down what is agreed to, with the programs of plugins. Nothing is forgotten about programs that are not installed
    /// here, or whose plugin waits.
    pub(crate) fn record(
        &mut self,
        here: &Here<'_>,
        hooks: &[ActiveHook],
        writing: Writing,
    ) -> Result<Vec<String>, Failure> {
        let flag = locking_flag(here.settings);
        let agreed = self.comparison.agreed(&self.kept);
        let mut entries: Vec<Entry> =
            agreed.entries().iter().filter(|it| it.kind != Kind::Installation).cloned().collect();
        let before = self.before.clone().unwrap_or_default();
        let waiting = self.waiting_plugins();
        let is_of_waiting = |name: &str| {
            let (plugin, _) = name.split_once('/').unwrap_or((name, ""));
            waiting.iter().any(|it| it == plugin)
        };
        entries.extend(programs_in(&before).filter(|it| is_of_waiting(&it.name)).cloned());
        for Program { name, now, arrives } in programs(here, hooks) {
            if is_of_waiting(&name) {
                continue;
            }
            let known: Vec<&Entry> = programs_in(&before).filter(|it| it.name == name).collect();
            match now {
                // That it is here is no change of what was agreed to.
                Some(_) if known.is_empty() && flag.is_some() && arrives == Arrives::OnDemand => {}
                Some(now) => {
                    let now = with_known_hash(now, &known);
                    let before = known.into_iter().find(|it| is_altered(&now, it));
                    match before.filter(|_| !self.accepted.contains(&now)) {
                        Some(before) => {
                            entries.push(before.clone());
                            self.refuse_program(now, before);
                        }
                        None => entries.push(now),
                    }
                }
                None => entries.extend(known.into_iter().cloned()),
            }
        }
        let after = Lock::new(entries);
        if let Some(records) = &self.records {
            // Now they are here, maybe in another version than the recorded one.
            let unknown = unaudited(after.entries(), records);
            refuse_unknown(&unknown.into_iter().map(ToString::to_string).collect::<Vec<_>>())?;
        }
        if let Some(flag) = flag {
            self.refuse_changes(&before, &after, flag)?;
        }
        if writing == Writing::Yes {
            self.file.save(&after)?;
        }
        Ok(differences(&before, &after))
    }

    /// The programs that are here, or should be as recorded, and the names of those that would be installed now and of which
    /// nothing is known.
    pub(super) fn expected_programs(
        &self,
        here: &Here<'_>,
        hooks: &[ActiveHook],
    ) -> (Vec<Entry>, Vec<String>) {
        let before = self.before.clone().unwrap_or_default();
        let (mut expected, mut missing) = (Vec::new(), Vec::new());
        for Program { name, now, arrives } in programs(here, hooks) {
            let known: Vec<&Entry> = programs_in(&before).filter(|it| it.name == name).collect();
            match now {
                Some(now) => expected.push(with_known_hash(now, &known)),
                None if known.is_empty() && arrives == Arrives::WithSync => missing.push(name),
                None => expected.extend(known.into_iter().cloned()),
            }
        }
        (expected, missing)
    }

    /// Another tree under the commit that was agreed to. What it held is not kept, so there are only the hashes to show.
    fn refuse_program(&mut self, entry: Entry, before: &Entry) {
        let review = Review::default();
        self.findings.push(altered(&entry, Some(before), &review));
        let (why, before) = (Waits::Altered, Some(before.clone()));
        self.pending.push(Pending { why, entry, before, review, suspicions: Vec::new() });
    }

    /// The plugins that are held as they were.
    fn waiting_plugins(&self) -> BTreeSet<String> {
        let plugins = self.comparison.items.iter().filter(|it| {
            let is_held = it.verdict != Verdict::Take && !matches!(it.status, Status::Moved { .. });
            it.item.entry.kind == Kind::Plugin && is_held
        });
        plugins.map(|it| it.item.entry.name.clone()).collect()
    }
}

fn programs_in(lock: &Lock) -> impl Iterator<Item = &Entry> {
    lock.entries().iter().filter(|it| it.kind == Kind::Installation)
}

/// Whether it is another content under the same version or commit.
fn is_altered(now: &Entry, known: &Entry) -> bool {
    now.source == known.source
        && now.hash.is_some()
        && known.hash.is_some()
        && now.hash != known.hash
}

/// What an older version of this program installed has no hash of its own; the commit says that it is the same.
fn with_known_hash(mut now: Entry, known: &[&Entry]) -> Entry {
    if now.hash.is_none() {
        let same = known.iter().find(|it| it.source == now.source);
        now.hash = same.and_then(|it| it.hash.clone());
    }
    now
}

/// Everything that active plugins have installed, or would: for hooks, commands, custom predicates, and what those require.
fn programs(here: &Here<'_>, hooks: &[ActiveHook]) -> Vec<Program> {
    let mut programs = Vec::new();
    for plugin in here.set.active().filter(|it| it.origin != Origin::BuiltIn) {
        let Ok(manifest) = plugin.manifest() else { continue };
        let mine =
            hooks.iter().filter(|it| (&it.plugin, &it.origin) == (&plugin.name, &plugin.origin));
        let of_hooks: BTreeSet<&InstallationName> =
            mine.flat_map(|it| it.hook.requirements.iter().chain([&it.hook.command])).collect();
        for (name, installation) in &manifest.installations {
            if installation.source.is_none() {
                continue;
            }
            programs.push(Program {
                name: format!("{}/{name}", plugin.name),
                now: installed(here, plugin, &manifest.installations, name),
                arrives: match of_hooks.contains(name) {
                    true => Arrives::WithSync,
                    false => Arrives::OnDemand,
                },
            });
        }
    }
    programs
}

/// What is installed now, as it is recorded.
fn installed(
    here: &Here<'_>,
    plugin: &Plugin,
    installations: &Installations,
    name: &InstallationName,
) -> Option<Entry> {
    let found = here.registries.installer.installed(installations, name, plugin.dir());
    let installation = installations.get(name)?;
    Surveyor::installation(plugin.name.as_str(), name.as_str(), installation, &found.ok()??)
}

/// `--locked`: a program that is recorded runs only in the version or commit that is recorded.
pub(crate) fn refuse_other_program(
    here: &Here<'_>,
    plugin: &Plugin,
    installations: &Installations,
    name: &InstallationName,
) -> Result<(), Failure> {
    let (Some(flag), Some(workspace)) = (locking_flag(here.settings), here.workspace.as_ref())
    else {
        return Ok(());
    };
    let Some(lock) = LockFile::beside(&workspace.root).load()? else { return Ok(()) };
    let Some(now) = installed(here, plugin, installations, name) else { return Ok(()) };
    let known: Vec<&Entry> = programs_in(&lock).filter(|it| it.name == now.name).collect();
    let now = with_known_hash(now, &known);
    if known.is_empty() || known.contains(&&now) {
        return Ok(());
    }
    let message = format!("{now} is not what `{LOCK_FILE}` lists, and `{flag}` was given");
    let lines: Vec<String> = known.iter().map(|it| format!("listed: {it}")).collect();
    Err(Failure::new(ErrorKind::Failure, message)
        .code(Code::LockFileDiffers)
        .details(lines.join("\n"))
        .hint(format!("run `cargo agents sync` without `{flag}` and commit the file")))
}
