//! Random histories of syncs and of what users do meanwhile.
//!
//! Beside the real files, the test keeps those that the user would have without us: everything that the user does is
//! done to both. Whatever happened, the real ones without our entries are those.

use std::collections::{BTreeMap, BTreeSet};

use agents_sync::{Desired, Edited};
use agents_system::{
    edit::{self, Edit, Format, KeyPath},
    finding::{Finding, Severity},
    ledger::Property,
};
use camino::{Utf8Path, Utf8PathBuf};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{World, server, shown, skill, tree};

/// Files of hosts, and where in them servers are.
const FILES: [(&str, Format, &[&str]); 5] = [
    ("settings.json", Format::Json, &["mcpServers"]),
    ("deep/down/mcp.json", Format::Json, &["a", "b"]),
    ("config.toml", Format::Toml, &["mcp_servers"]),
    ("config.yaml", Format::Yaml, &["extensions"]),
    ("flow/config.yaml", Format::Yaml, &["mcp", "servers"]),
];

const SKILL_DIRS: [&str; 2] = [".claude/skills", ".agents/skills"];
const SKILLS: [&str; 3] = ["guide", "tools", "guide-one"];
const ORIGINS: [&str; 2] = ["one", "two"];
const SERVERS: [&str; 3] = ["alpha", "beta", "own"];

/// What a user may have in a file from the beginning; `None` is no file at all.
fn originals(format: Format) -> &'static [Option<&'static str>] {
    match format {
        Format::Json => &[
            None,
            Some(
                "{\n  // mine\n  \"mcpServers\": {\n    \"own\": { \"command\": \"x\" }, // keep\n  },\n  \"model\": \"m\"\n}\n",
            ),
            Some(
                "{\r\n\t\"model\": \"m\", /* the best */\r\n\t\"a\": { \"b\": { \"c\": {} }, },\r\n}\r\n",
            ),
            Some("{\"model\":\"m\",\"list\":[1,2]}"),
            Some("{}"),
            Some("{\n}\n"),
            Some(""),
            Some(" \n\n"),
            Some("{\"mcpServers\": {}, \"a\": {\n} }\n"),
            Some("// only\n{\n    \"theme\": \"dark\" // at night\n    // last words\n}"),
        ],
        Format::Toml => &[
            None,
            Some(
                "# mine\nmodel = \"m\" # the best\n\n[mcp_servers.own]\ncommand = \"x\"\n\n# tools\n[tools]\nweb = true\n",
            ),
            Some("model = 'm'\r\n# last words\r\n[tools]\r\nlist = [\r\n  1, # one\r\n]"),
            Some("# nothing yet\n"),
            Some(""),
            Some("mcp_servers = { own = { command = \"x\" } }\n"),
            Some("mcp_servers.own.command = \"x\" # mine\n[tools]\n"),
            Some("[mcp_servers.own.tools] # mine\nweb = true\n"),
            Some("[mcp_servers]\n# servers go here\n\n[[rules]]\nname = \"a\"\n"),
        ],
        Format::Yaml => &[
            None,
            Some("# mine\nextensions:\n  own: # keep\n    cmd: own\nprovider: p # the best\n"),
            Some("provider: p\r\nlist:\r\n- 1 # one\r\n- 2\r\n# last words\r\n"),
            Some(""),
            Some("# nothing yet\n"),
            Some("extensions: {}\nmcp: # none\n  servers: {}\n"),
            Some("extensions:\nmcp:\n  servers: # none\n"),
            Some("mcp:\n    servers: {own: {cmd: x}}\nmodel: m"),
            Some("text: |\n  block\n\n  more\nother: 'x' # end\n"),
        ],
    }
}

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

/// What should be where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Want {
    /// Directory, name, origin, revision.
    skills: Vec<(usize, usize, usize, usize)>,
    /// File, name, revision.
    servers: Vec<(usize, usize, usize)>,
}

impl Want {
    /// For another process.
    pub(crate) fn to_text(&self) -> String {
        json!([self.skills, self.servers]).to_string()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (skills, servers) = serde_json::from_str(text).ok()?;
        Some(Self { skills, servers })
    }

    pub(crate) fn desired(&self, world: &World) -> Desired {
        let mut desired = Desired::default();
        let mut seen = BTreeSet::new();
        for &(dir, name, origin, revision) in &self.skills {
            if seen.insert((dir, name, origin)) {
                let (name, origin) = (SKILLS[name], ORIGINS[origin]);
                let text = format!("{name} of {origin} {revision}");
                let files = [("SKILL.md", text.as_str()), ("bin/run.sh", "run"), ("a/b.md", &text)];
                let tree = tree(&files[..=revision % 3]);
                desired.skills.push(skill(&world.path(SKILL_DIRS[dir]), name, origin, tree));
            }
        }
        for &(file, name, revision) in &self.servers {
            let (path, _, table) = FILES[file];
            let at: Vec<&str> = table.iter().copied().chain([SERVERS[name]]).collect();
            let value = match revision {
                0 => json!({ "command": "run", "args": ["--stdio", "a \"b\" # c"] }),
                1 => json!({ "command": "run", "env": { "A": "1", "B.C": "é" }, "enabled": true }),
                _ => json!({ "url": "https://localhost:1/mcp", "timeout": 30, "headers": {} }),
            };
            desired.servers.push(server(&world.path(path), &at, value));
        }
        desired
    }
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
        let shadow = |text: &Option<&str>| Shadow {
            text: text.map(str::to_owned),
            exact: true,
            written: Vec::new(),
            edited: BTreeMap::new(),
        };
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
            Property::Key { file, at, .. } => Some((file_of(&file)?, at)),
            Property::Directory { .. } => None,
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

    fn put_file(&mut self, file: usize, text: Option<&str>) {
        let (path, ..) = FILES[file];
        match text {
            Some(text) => self.world.write(path, text),
            None => drop(fs_err::remove_file(self.world.path(path))),
        }
        let text = text.map(str::to_owned);
        let (written, edited) = (Vec::new(), BTreeMap::new());
        self.shadows[file] = Shadow { text, exact: true, written, edited };
    }

    fn skills(&self) -> Vec<Utf8PathBuf> {
        let dirs = self.owned().into_iter().filter_map(|property| match property {
            Property::Directory { dir, .. } => Some(dir),
            Property::Key { .. } => None,
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
            for written in shadow.written.iter().chain(shadow.edited.values()) {
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

/// What a text says, without entries of ours that the user edited and without empty tables, which in
/// YAML may be nothing at all.
fn meaning(format: Format, text: Option<&str>, shadow: &Shadow) -> Value {
    fn prune(value: &mut Value) {
        if let Value::Object(map) = value {
            map.values_mut().for_each(prune);
            map.retain(|_, value| match value {
                Value::Object(map) => !map.is_empty(),
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

pub(crate) fn want() -> impl Strategy<Value = Want> {
    let skills = vec((0..2_usize, 0..3_usize, 0..2_usize, 0..3_usize), 0..4);
    let servers = vec((0..FILES.len(), 0..3_usize, 0..3_usize), 0..7);
    (skills, servers).prop_map(|(skills, servers)| Want { skills, servers })
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
    let want = Want { skills: vec![(0, 0, 0, 0)], servers: vec![(0, 0, 0), (0, 2, 0), (2, 0, 0)] };
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
