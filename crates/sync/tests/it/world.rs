//! A scratch home with hosts' files in it, and short ways to say what should be there.

use std::{collections::BTreeMap, rc::Rc, time::SystemTime};

use agents_host::HostId;
use agents_plugin::skills::{Mode, SkillName, SkillTree, TreeEntry, TreeKind};
use agents_sync::{
    Applied, Desired, DesiredPart, DesiredSkill, Edited, Places, SkillFiles, desired::hex,
};
use agents_system::{
    edit::{Format, KeyPath},
    ledger::{Ledger, Share, What},
    progress::Progress,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

/// Every file and directory below a root, with its bytes.
pub(crate) type Snapshot = BTreeMap<String, Vec<u8>>;

/// A home (`user/`) and our state (`state/`).
#[derive(Debug, Clone)]
pub(crate) struct World {
    root: Utf8PathBuf,
}

impl World {
    pub(crate) fn at(root: &Utf8Path) -> Self {
        fs_err::create_dir_all(root.join("user")).unwrap();
        Self { root: root.to_owned() }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> Utf8PathBuf {
        self.root.join("user").join(relative)
    }

    pub(crate) fn places(&self) -> Places {
        Places::below(&self.root.join("state"))
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::load(&self.places().ledger).unwrap()
    }

    /// The workspace that most tests sync for.
    pub(crate) fn workspace(&self) -> Utf8PathBuf {
        self.path("work")
    }

    pub(crate) fn sync(&self, desired: &Desired) -> Applied {
        self.sync_as(desired, Edited::Keep)
    }

    pub(crate) fn sync_as(&self, desired: &Desired, edited: Edited) -> Applied {
        let progress = Progress::silent();
        agents_sync::sync(&self.places(), desired, &self.workspace(), edited, &progress).unwrap()
    }

    /// For another workspace.
    pub(crate) fn sync_for(&self, workspace: &Utf8Path, desired: &Desired) -> Applied {
        let (places, progress) = (self.places(), Progress::silent());
        agents_sync::sync(&places, desired, workspace, Edited::Keep, &progress).unwrap()
    }

    pub(crate) fn uninstall(&self) -> Vec<Applied> {
        agents_sync::uninstall(&self.places(), Edited::Keep, &Progress::silent()).unwrap()
    }

    pub(crate) fn write(&self, relative: &str, text: impl AsRef<[u8]>) {
        agents_testkit::scratch::write(&self.path(relative), text);
    }

    pub(crate) fn read(&self, relative: &str) -> Option<String> {
        fs_err::read_to_string(self.path(relative)).ok()
    }

    /// Everything of the user. Directories that hold nothing are not told apart from absent ones.
    pub(crate) fn files(&self) -> Snapshot {
        files(&self.root.join("user"))
    }

    /// When each file, also of our state, was last written.
    pub(crate) fn times(&self) -> BTreeMap<String, SystemTime> {
        let all = files(&self.root).into_keys();
        let written = |path: &String| self.root.join(path).symlink_metadata().unwrap().modified();
        // Taking the lock may touch it.
        all.filter(|path| !path.ends_with("sync.lock"))
            .map(|path| (path.clone(), written(&path).unwrap()))
            .collect()
    }

    /// Names of temporary files and directories.
    pub(crate) fn litter(&self) -> Vec<String> {
        fn look(dir: &Utf8Path, found: &mut Vec<String>) {
            for entry in dir.read_dir_utf8().into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name.starts_with(".agents-")
                    || (name.starts_with('.') && name.contains(".agents-"))
                {
                    found.push(entry.path().to_string());
                }
                if entry.file_type().unwrap().is_dir() {
                    look(entry.path(), found);
                }
            }
        }
        let mut found = Vec::new();
        look(&self.root, &mut found);
        found
    }
}

/// Every file below a directory with its bytes.
fn files(dir: &Utf8Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in next.read_dir_utf8().into_iter().flatten().flatten() {
            let path = entry.path().to_owned();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_string();
                found.insert(name, fs_err::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

/// A snapshot to look at when a test fails.
pub(crate) fn shown(files: &Snapshot) -> BTreeMap<&str, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    files.iter().map(|(path, bytes)| (path.as_str(), text(bytes))).collect()
}

pub(crate) fn host(name: &str) -> HostId {
    HostId::new(name).unwrap()
}

/// A tree of plain files.
pub(crate) fn tree(files: &[(&str, &str)]) -> SkillTree {
    let mut entries: BTreeMap<Utf8PathBuf, TreeKind> = BTreeMap::new();
    for (path, text) in files {
        let path = Utf8PathBuf::from(*path);
        let dirs = path.ancestors().skip(1).filter(|dir| !dir.as_str().is_empty());
        entries.extend(dirs.map(|dir| (dir.to_owned(), TreeKind::Dir)));
        let mode = if path.extension() == Some("sh") { Mode::Executable } else { Mode::Plain };
        entries.insert(path, TreeKind::File { mode, bytes: text.as_bytes().to_vec() });
    }
    let entries = entries.into_iter().map(|(path, kind)| TreeEntry { path, kind });
    SkillTree { entries: entries.collect() }
}

/// A skill of some origin in a directory of skills.
pub(crate) fn skill(dir: &Utf8Path, name: &str, origin: &str, tree: SkillTree) -> DesiredSkill {
    DesiredSkill {
        dir: dir.to_owned(),
        hosts: vec![host("claude")],
        name: SkillName::new(name).unwrap(),
        suffixed: format!("{name}-{origin}"),
        source: Utf8PathBuf::from(format!("/nowhere/{origin}/{name}")),
        digest: hex(&tree.digest()),
        files: SkillFiles::Held(Rc::new(tree)),
        from: origin.to_owned(),
    }
}

/// A server at a key of a file.
pub(crate) fn server(file: &Utf8Path, at: &[&str], value: Value) -> DesiredPart {
    DesiredPart {
        host: host("claude"),
        file: file.to_owned(),
        format: match file.extension() {
            Some("toml") => Format::Toml,
            Some("yaml") => Format::Yaml,
            _ => Format::Json,
        },
        at: KeyPath::new(at.iter().copied()),
        share: Share::Key,
        value,
        what: What::Server,
        name: (*at.last().unwrap()).to_owned(),
        from: "plugin".to_owned(),
    }
}

/// What an item of ours in a list of hooks has in it.
pub(crate) const MARK: &str = "cargo-agents hook claude ";

/// The registration of a hook: an item of a list.
pub(crate) fn item(file: &Utf8Path, at: &[&str], value: Value) -> DesiredPart {
    let share = Share::Item { mark: MARK.to_owned() };
    DesiredPart { share, what: What::Hook, ..server(file, at, value) }
}
