//! Random histories of syncs and of what users do meanwhile.
//!
//! Beside the real files, the test keeps those that the user would have without us: everything that the user does is
//! done to both. Whatever happened, the real ones without our entries are those.

use std::collections::{BTreeMap, BTreeSet};

use agents_sync::Edited;
use agents_system::{
    edit::{self, Edit, Format, KeyPath},
    finding::{Finding, Severity},
    ledger::{Part, Property, Share},
};
use camino::{Utf8Path, Utf8PathBuf};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    want::{FILES, SKILL_DIRS, WHOLE, Want, originals, want},
    world::{MARK, World, shown},
};

/// What is done, by the user or by us. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Sync(Want),
    /// A sync that is killed before its n-th system call.
    Killed(Want, usize),
    Uninstall,
    /// A key and a comment of the user's.
    AddKey {
        file: usize,
    },
    EditServer {
        which: usize,
    },
    EditHook {
        which: usize,
    },
    DeleteHook {
        which: usize,
    },
    EditWhole,
    DeleteWhole,
    DeleteServer {
        which: usize,
    },
    DeleteFile {
        file: usize,
    },
    /// As from version control: the file is what it was in the beginning.
    RestoreFile {
        file: usize,
    },
    EditSkill {
        which: usize,
        how: usize,
    },
    DeleteSkill {
        which: usize,
    },
    AddSkill {
        dir: usize,
        name: usize,
    },
}

/// A file as the user would have it without us.
#[derive(Debug, Clone)]
struct Shadow {
    text: Option<String>,
    /// Whether the real file must become it to the byte. Not if the user wrote into or beside what is ours.
    exact: bool,
    /// What the user wrote and did not take back.
    written: Vec<String>,
    /// Entries of ours that the user changed, which makes them theirs.
    edited: BTreeMap<KeyPath, String>,
    /// Lists with an item of ours that the user changed, and what they wrote.
    edited_items: BTreeMap<KeyPath, String>,
}

impl Shadow {
    fn new(text: Option<String>) -> Self {
        let (written, edited, edited_items) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { text, exact: true, written, edited, edited_items }
    }
}

pub(crate) struct History {
    _scratch: TempDir,
    world: World,
    first: Vec<Option<&'static str>>,
    shadows: Vec<Shadow>,
    /// Files in skills that the user wrote.
    skill_files: BTreeMap<String, String>,
    /// Skills of ours that the user edited.
    edited_skills: BTreeSet<Utf8PathBuf>,
    /// What the user made of the file that was ours as a whole.
    edited_whole: Option<String>,
    wanted: Want,
    count: usize,
}

impl History {
    pub(crate) fn new(kinds: &[usize]) -> Self {
        let (scratch, world) = quick();
        let first: Vec<_> = FILES
            .iter()
            .zip(kinds)
            .map(|((_, format, _), kind)| originals(*format)[kind % originals(*format).len()])
            .collect();
        let shadow = |text: &Option<&str>| Shadow::new(text.map(str::to_owned));
        for ((path, ..), text) in FILES.iter().zip(&first) {
            if let Some(text) = text {
                world.write(path, text);
            }
        }
        Self {
            _scratch: scratch,
            world,
            shadows: first.iter().map(shadow).collect(),
            first,
            skill_files: BTreeMap::new(),
            edited_skills: BTreeSet::new(),
            edited_whole: None,
            wanted: Want::default(),
            count: 0,
        }
    }

    /// Takes the steps; `kill` starts a sync for what is wanted in the world and kills it before its n-th system call.
    pub(crate) fn run(&mut self, steps: &[Step], kill: impl Fn(&World, &Want, usize)) {
        for step in steps {
            self.count += 1;
            match step {
                Step::Killed(want, at) => kill(&self.world, want, *at),
                step => self.step(step),
            }
            self.check_user_bytes(&format!("{step:?}"));
        }
        // However it came to this: the same as from scratch, and then nothing at all.
        self.sync(self.wanted.clone());
        self.check_user_bytes("the last sync");
        self.check_against_scratch();
        self.uninstall();
        self.check_user_bytes("the last uninstall");
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Sync(ref want) | Step::Killed(ref want, _) => self.sync(want.clone()),
            Step::Uninstall => self.uninstall(),
            Step::AddKey { file } => self.add_key(file),
            Step::EditServer { which } => self.edit_server(which),
            Step::DeleteServer { which } => self.delete_server(which),
            Step::EditHook { which } => self.edit_hook(which),
            Step::DeleteHook { which } => self.delete_hook(which),
            Step::EditWhole => self.edit_whole(),
            Step::DeleteWhole => self.delete_whole(),
            Step::DeleteFile { file } => self.put_file(file, None),
            Step::RestoreFile { file } => self.put_file(file, self.first[file]),
            Step::EditSkill { which, how } => self.edit_skill(which, how),
            Step::DeleteSkill { which } => self.delete_skill(which),
            Step::AddSkill { dir, name } => self.add_skill(dir, name),
        }
    }

    fn sync(&mut self, want: Want) {
        let desired = want.desired(&self.world);
        let applied = self.world.sync(&desired);
        assert!(applied.failed.is_empty(), "{:#?}", applied.failed);
        let left_alone = |finding: &&Finding| finding.severity == Severity::Error;
        let findings: Vec<_> = applied.plan.findings.iter().filter(left_alone).collect();
        assert!(findings.is_empty(), "every file can be edited: {findings:#?}");
        let times = self.world.times();
        let again = self.world.sync(&desired);
        assert!(again.plan.is_empty(), "there is more to do: {:#?}", again.plan.changes);
        assert_eq!(self.world.times(), times, "the second sync wrote something");
        assert_eq!(self.world.litter(), [""; 0]);
        self.wanted = want;
    }

    fn uninstall(&mut self) {
        for applied in self.world.uninstall() {
            assert!(applied.failed.is_empty(), "{:#?}", applied.failed);
        }
        self.wanted = Want::default();
        assert_eq!(self.world.litter(), [""; 0]);
        let owned = self.world.ledger().entries;
        assert!(owned.iter().all(|entry| entry.workspaces.is_empty()), "{owned:#?}");
        for ((path, format, _), shadow) in FILES.iter().zip(&self.shadows) {
            let real = self.world.read(path);
            if shadow.exact {
                assert_eq!(real, shadow.text, "{path} after uninstall");
            }
            let meant = meaning(*format, shadow.text.as_deref(), shadow);
            assert_eq!(meaning(*format, real.as_deref(), shadow), meant, "{path} after uninstall");
        }
        assert_eq!(self.world.read(WHOLE), self.edited_whole, "{WHOLE} after uninstall");
        for path in self.world.files().keys().filter(|path| path.contains("/skills/")) {
            let full = self.world.path(path);
            let edited = self.edited_skills.iter().any(|slot| full.starts_with(slot));
            assert!(edited || self.skill_files.contains_key(path), "{path} is left");
        }
    }

    fn add_key(&mut self, file: usize) {
        let (path, format, _) = FILES[file];
        let number = self.count;
        let insert = |text: Option<&str>| -> (String, String) {
            let text = text.unwrap_or_default();
            match format {
                Format::Json => {
                    let written = format!("/* note {number} */");
                    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
                    let entry = format!("{{\n  \"user_{number}\": 1, {written}");
                    (text.replacen('{', &entry, 1), written)
                }
                Format::Toml => {
                    let written = format!("user_{number} = 1 # note {number}\n");
                    (format!("{written}{text}"), written)
                }
                Format::Yaml => {
                    let written = format!("user_{number}: 1 # note {number}\n");
                    (format!("{written}{text}"), written)
                }
            }
        };
        let real = self.world.read(path);
        let shadow = &mut self.shadows[file];
        // What is ours may be all there is; then the form of what is left is not only the user's.
        let user = edit::read(format, shadow.text.as_deref().unwrap_or_default()).unwrap();
        let is_null = |at: &str| user.pointer(at).is_some_and(Value::is_null);
        let alone = match format {
            Format::Json => user == json!({}),
            Format::Toml => false,
            // `extensions:` without anything.
            Format::Yaml => is_null("/extensions") || is_null("/mcp/servers"),
        };
        shadow.exact &= real == shadow.text || (real.is_some() == shadow.text.is_some() && !alone);
        let (text, written) = insert(shadow.text.as_deref());
        shadow.text = Some(text);
        shadow.written.push(written);
        self.world.write(path, insert(real.as_deref()).0);
    }

    /// What is ours, or is about to be.
    fn owned(&self) -> Vec<Property> {
        let ledger = self.world.ledger();
        let intended = ledger.intended.unwrap_or_default();
        ledger.entries.into_iter().chain(intended).map(|entry| entry.property).collect()
    }

    /// The entries that are ours, with their files.
    fn servers(&self) -> Vec<(usize, KeyPath)> {
        let file_of =
            |path: &Utf8PathBuf| FILES.iter().position(|it| self.world.path(it.0) == *path);
        let keys = self.owned().into_iter().filter_map(|property| match property {
            Property::Part(Part { file, at, share: Share::Key, .. }) => Some((file_of(&file)?, at)),
            _ => None,
        });
        keys.filter(|(file, at)| self.value(*file, at).is_some()).collect()
    }

    fn value(&self, file: usize, at: &KeyPath) -> Option<Value> {
        let (path, format, _) = FILES[file];
        let document = edit::read(format, &self.world.read(path)?).unwrap();
        at.keys().iter().try_fold(&document, |value, key| value.get(key)).cloned()
    }

    fn change(&self, file: usize, edit: Edit) {
        let (path, format, _) = FILES[file];
        let text = edit::apply(format, &self.world.read(path).unwrap(), &[edit]).unwrap();
        self.world.write(path, text);
    }

    fn edit_server(&mut self, which: usize) {
        let servers = self.servers();
        let Some((file, at)) = servers.get(which % servers.len().max(1)).cloned() else { return };
        let mine = format!("mine-{}", self.count);
        self.change(file, Edit::Set { at: at.join("command"), value: json!(mine) });
        self.shadows[file].edited.insert(at, mine);
        self.shadows[file].exact = false;
    }

    fn delete_server(&mut self, which: usize) {
        let servers = self.servers();
        let Some((file, at)) = servers.get(which % servers.len().max(1)).cloned() else { return };
        self.change(file, Edit::Remove { at: at.clone() });
        self.shadows[file].edited.remove(&at);
        // What is left of the tables around it is as the user wanted it.
        self.shadows[file].exact = false;
    }

    /// The items that are ours and are as we put them there, with their lists; all in the first file.
    fn hooks(&self) -> Vec<(KeyPath, Value)> {
        let items = self.owned().into_iter().filter_map(|property| match property {
            Property::Part(part) if matches!(part.share, Share::Item { .. }) => {
                let list = self.value(0, &part.at)?;
                list.as_array()?.contains(&part.value).then_some((part.at, part.value))
            }
            _ => None,
        });
        items.collect()
    }

    fn edit_hook(&mut self, which: usize) {
        let hooks = self.hooks();
        let Some((at, value)) = hooks.get(which % hooks.len().max(1)).cloned() else { return };
        let mine = format!("mine-{}", self.count);
        let mut edited = value.clone();
        edited["note"] = json!(mine);
        self.change(0, Edit::RemoveItem { at: at.clone(), value });
        self.change(0, Edit::Append { at: at.clone(), value: edited });
        self.shadows[0].edited_items.insert(at, mine);
        self.shadows[0].exact = false;
    }

    fn delete_hook(&mut self, which: usize) {
        let hooks = self.hooks();
        let Some((at, value)) = hooks.get(which % hooks.len().max(1)).cloned() else { return };
        self.change(0, Edit::RemoveItem { at, value });
        self.shadows[0].exact = false;
    }

    fn edit_whole(&mut self) {
        let Some(text) = self.world.read(WHOLE) else { return };
        let mine = format!("{text}// mine {}\n", self.count);
        self.world.write(WHOLE, &mine);
        self.edited_whole = Some(mine);
    }

    fn delete_whole(&mut self) {
        drop(fs_err::remove_file(self.world.path(WHOLE)));
        self.edited_whole = None;
    }

    fn put_file(&mut self, file: usize, text: Option<&str>) {
        let (path, ..) = FILES[file];
        match text {
            Some(text) => self.world.write(path, text),
            None => drop(fs_err::remove_file(self.world.path(path))),
        }
        let text = text.map(str::to_owned);
        self.shadows[file] = Shadow::new(text);
    }

    fn skills(&self) -> Vec<Utf8PathBuf> {
        let dirs = self.owned().into_iter().filter_map(|property| match property {
            Property::Directory { dir, .. } => Some(dir),
            Property::File { .. } | Property::Part(_) => None,
        });
        dirs.filter(|dir| dir.exists()).collect()
    }

    fn edit_skill(&mut self, which: usize, how: usize) {
        let skills = self.skills();
        let Some(slot) = skills.get(which % skills.len().max(1)) else { return };
        let name = ["SKILL.md", "notes/mine.md", ".gitignore"][how % 3];
        let path = slot.strip_prefix(self.world.path("")).unwrap().join(name).to_string();
        let text = format!("mine {}", self.count);
        self.world.write(&path, &text);
        self.skill_files.insert(path, text);
        self.edited_skills.insert(slot.clone());
    }

    fn delete_skill(&mut self, which: usize) {
        let skills = self.skills();
        let Some(slot) = skills.get(which % skills.len().max(1)) else { return };
        fs_err::remove_dir_all(slot).unwrap();
        self.edited_skills.remove(slot);
        let world = &self.world;
        self.skill_files.retain(|path, _| !world.path(path).starts_with(slot));
    }

    fn add_skill(&mut self, dir: usize, name: usize) {
        let names = ["guide", "guide-one", "tools-two", "own"];
        let path = format!("{}/{}", SKILL_DIRS[dir], names[name % names.len()]);
        if !self.world.path(&path).exists() {
            let text = format!("own {}", self.count);
            self.world.write(&format!("{path}/SKILL.md"), &text);
            self.skill_files.insert(format!("{path}/SKILL.md"), text);
        }
    }

    /// Everything that the user wrote is there, and every file can be read.
    fn check_user_bytes(&self, after: &str) {
        for ((path, format, _), shadow) in FILES.iter().zip(&self.shadows) {
            let real = self.world.read(path);
            assert!(real.is_some() || shadow.text.is_none(), "{path} is gone after {after}");
            let real = real.unwrap_or_default();
            edit::read(*format, &real).unwrap_or_else(|error| panic!("{path}: {error}\n{real}"));
            let theirs = shadow.edited.values().chain(shadow.edited_items.values());
            for written in shadow.written.iter().chain(theirs) {
                assert!(
                    real.contains(written),
                    "{written:?} is lost in {path} after {after}:\n{real}"
                );
            }
            // Every word of the user's, in order; of ours there may be others between them.
            let mut rest = real.as_str();
            for word in shadow.text.iter().flat_map(|text| words(text)) {
                let Some(at) = rest.find(word) else {
                    panic!("{word:?} is lost in {path} after {after}:\n{real}");
                };
                rest = &rest[at + word.len()..];
            }
        }
        for (path, text) in &self.skill_files {
            assert_eq!(self.world.read(path).as_ref(), Some(text), "{path} after {after}");
        }
        if self.edited_whole.is_some() {
            assert_eq!(self.world.read(WHOLE), self.edited_whole, "{WHOLE} after {after}");
        }
    }

    /// A sync from scratch, with the files that the user would have, comes to the same.
    fn check_against_scratch(&self) {
        let (_scratch, fresh) = quick();
        for ((path, ..), shadow) in FILES.iter().zip(&self.shadows) {
            if let Some(text) = &shadow.text {
                fresh.write(path, text);
            }
        }
        let foreign = |path: &&String| {
            !self.edited_skills.iter().any(|slot| self.world.path(path).starts_with(slot))
        };
        for path in self.skill_files.keys().filter(foreign) {
            fresh.write(path, &self.skill_files[path]);
        }
        fresh.sync(&self.wanted.desired(&fresh));
        for ((path, format, _), shadow) in FILES.iter().zip(&self.shadows) {
            let [ours, other] = [&self.world, &fresh].map(|world| world.read(path));
            assert_eq!(
                meaning(*format, ours.as_deref(), shadow),
                meaning(*format, other.as_deref(), shadow),
                "{path}\n{ours:?}\n{other:?}"
            );
        }
        if self.edited_whole.is_none() {
            assert_eq!(self.world.read(WHOLE), fresh.read(WHOLE));
        }
        if self.edited_skills.is_empty() {
            let skills = |world: &World| -> BTreeMap<String, Vec<u8>> {
                world.files().into_iter().filter(|(path, _)| path.contains("/skills/")).collect()
            };
            assert_eq!(shown(&skills(&self.world)), shown(&skills(&fresh)));
        }
    }
}

/// What is between blanks, commas and brackets, which may change when something beside them does.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}' | '[' | ']');
    text.split(between).filter(|word| !word.is_empty())
}

/// What a text says, without entries of ours that the user edited and without empty tables and lists, which in
/// YAML may be nothing at all.
fn meaning(format: Format, text: Option<&str>, shadow: &Shadow) -> Value {
    fn prune(value: &mut Value) {
        if let Value::Object(map) = value {
            map.values_mut().for_each(prune);
            map.retain(|_, value| match value {
                Value::Object(map) => !map.is_empty(),
                Value::Array(items) => !items.is_empty(),
                other => !other.is_null(),
            });
        }
    }
    let mut value = edit::read(format, text.unwrap_or_default()).unwrap();
    for at in shadow.edited.keys() {
        let (last, tables) = at.keys().split_last().unwrap();
        let table = tables.iter().try_fold(&mut value, |value, key| value.get_mut(key));
        if let Some(Value::Object(table)) = table {
            table.remove(last);
        }
    }
    for at in shadow.edited_items.keys() {
        let list = at.keys().iter().try_fold(&mut value, |value, key| value.get_mut(key));
        if let Some(Value::Array(items)) = list {
            items.retain(|item| !item.to_string().contains(MARK));
        }
    }
    prune(&mut value);
    value
}

/// A world in memory where there is such a place: thousands of files are made durable here.
fn quick() -> (TempDir, World) {
    let dirs = ["/dev/shm".into(), std::env::temp_dir()];
    let scratch = dirs.iter().find_map(|dir| tempfile::tempdir_in(dir).ok()).unwrap();
    let world = World::at(Utf8Path::from_path(scratch.path()).unwrap());
    (scratch, world)
}

pub(crate) fn kinds() -> impl Strategy<Value = Vec<usize>> {
    vec(0..16_usize, FILES.len())
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let file = || 0..FILES.len();
    let which = || 0..32_usize;
    prop_oneof![
        8 => want().prop_map(Step::Sync),
        1 => Just(Step::Uninstall),
        3 => file().prop_map(|file| Step::AddKey { file }),
        2 => which().prop_map(|which| Step::EditServer { which }),
        2 => which().prop_map(|which| Step::DeleteServer { which }),
        2 => which().prop_map(|which| Step::EditHook { which }),
        1 => which().prop_map(|which| Step::DeleteHook { which }),
        1 => Just(Step::EditWhole),
        1 => Just(Step::DeleteWhole),
        1 => file().prop_map(|file| Step::DeleteFile { file }),
        1 => file().prop_map(|file| Step::RestoreFile { file }),
        2 => (which(), 0..3_usize).prop_map(|(which, how)| Step::EditSkill { which, how }),
        1 => which().prop_map(|which| Step::DeleteSkill { which }),
        1 => (0..2_usize, 0..4_usize).prop_map(|(dir, name)| Step::AddSkill { dir, name }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_history_loses_a_byte_of_the_user_and_every_one_converges(
        kinds in kinds(),
        steps in vec(step(), 1..12),
    ) {
        History::new(&kinds).run(&steps, |_, _, _| unreachable!());
    }
}

/// What `--overwrite` may write over is only what was ours.
#[test]
fn overwriting_replaces_edits_of_ours_and_nothing_else() {
    let mut history = History::new(&[1, 0, 1, 1, 3]);
    let want = Want {
        skills: vec![(0, 0, 0, 0)],
        servers: vec![(0, 0, 0), (0, 2, 0), (2, 0, 0)],
        ..Want::default()
    };
    history.sync(want.clone());
    let own = history.world.read("settings.json").unwrap();
    for which in 0..2 {
        history.edit_server(which);
    }
    history.edit_skill(0, 0);
    let desired = want.desired(&history.world);
    history.world.sync_as(&desired, Edited::Overwrite);
    assert_eq!(history.world.read("settings.json").unwrap(), own);
    assert!(own.contains("\"own\": { \"command\": \"x\" }, // keep"), "{own}");
    assert!(
        history.world.read(".claude/skills/guide/SKILL.md").unwrap().starts_with("guide of one")
    );
}
