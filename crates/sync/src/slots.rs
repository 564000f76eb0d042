//! Looking at the places for skills. Most of them are as we left them, so what was in one is remembered until something in
//! it changes.

use std::{
    collections::HashMap,
    io::{self, Read as _},
    path::PathBuf,
    rc::Rc,
};

use agents_plugin::skills::{Content, MARKER, content_of};
use agents_system::{
    cache::{CacheFile, name_hash},
    memory::{Memory, Watch},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    desired::hex,
    facts::{IGNORE_ALL, IGNORE_FILE, Marked, Slot},
};

/// Changes with what is remembered.
const LAYOUT: &str = "slots 1";

/// What is asked about a place.
const ABOUT: &str = "slot";

/// Looks at places for skills.
#[derive(Debug)]
pub(crate) struct Slots {
    memory: Memory<Slot>,
    /// The directories that they lie in.
    parents: HashMap<PathBuf, Rc<Parent>>,
}

/// A directory that places for skills lie in.
#[derive(Debug)]
struct Parent {
    /// Its real path; `None` if there is none.
    real: Option<Utf8PathBuf>,
    names: Names,
}

/// What is in a directory.
#[derive(Debug)]
enum Names {
    /// Nothing but these, in lower case and in order: file systems differ in whether case counts.
    All(Vec<String>),
    /// It cannot be told by names.
    Unclear,
}

impl Slots {
    /// Remembers nothing.
    pub(crate) fn unknown() -> Self {
        Self { memory: Memory::none(), parents: HashMap::new() }
    }

    /// With what is remembered about those of a workspace.
    pub(crate) fn remembered(cache: &Utf8Path, workspace: &Utf8Path) -> Self {
        let file = cache.join("slots").join(name_hash(workspace.as_str()));
        let memory = Memory::load(CacheFile::new(file, LAYOUT));
        Self { memory, parents: HashMap::new() }
    }

    /// What is at a place; `source` is the real path of the skill that is to be put there.
    pub(crate) fn look(&mut self, slot: &Utf8Path, source: Option<&Utf8Path>) -> Slot {
        let parent = slot.parent().map(|dir| self.parent(dir));
        let inside = parent.as_deref().zip(slot.file_name());
        let real = inside.and_then(|(parent, name)| Some(parent.real.as_ref()?.join(name)));
        // A real path leads over no link, so this one does not either.
        if real.is_some() && real.as_deref() == source {
            return Slot::Source;
        }
        // Hardly any name with a suffix is ever taken, and asking for each of them is slow.
        if inside.is_some_and(|(parent, name)| parent.names.lack(name)) {
            return Slot::Free;
        }
        // Only directories are remembered, so one that looks as it did is neither gone nor a link by now.
        if let Some(known) = real.as_deref().and_then(|real| self.memory.recall(ABOUT, real)) {
            return known;
        }
        let Ok(data) = slot.symlink_metadata() else { return Slot::Free };
        if data.is_symlink() {
            let target = source.and_then(|_| slot.canonicalize_utf8().ok());
            return match target.is_some() && target.as_deref() == source {
                true => Slot::Source,
                // We never make one, whatever it leads to.
                false => Slot::Taken { digest: None, marked: Marked::No },
            };
        }
        match real {
            Some(real) => self.memory.learn(ABOUT, &real, |watch| look_into(&real, watch)),
            None => look_into(slot, &mut Watch::new()),
        }
    }

    /// Remembers what was looked at.
    pub(crate) fn save(self) {
        self.memory.save();
    }

    fn parent(&mut self, dir: &Utf8Path) -> Rc<Parent> {
        // Not by `Utf8Path`, which is compared part by part even if it is the same text.
        if let Some(parent) = self.parents.get(dir.as_std_path()) {
            return Rc::clone(parent);
        }
        let parent = Rc::new(Parent { real: dir.canonicalize_utf8().ok(), names: Names::of(dir) });
        self.parents.insert(dir.as_std_path().to_owned(), Rc::clone(&parent));
        parent
    }
}

impl Names {
    fn of(dir: &Utf8Path) -> Self {
        let listed = match fs_err::read_dir(dir) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::All(Vec::new()),
            Err(_) => return Self::Unclear,
        };
        let mut names = Vec::new();
        for entry in listed {
            // What other letters are the same as is for the file system to say.
            match entry.map(|entry| entry.file_name().into_string()) {
                Ok(Ok(name)) if name.is_ascii() => names.push(name.to_ascii_lowercase()),
                _ => return Self::Unclear,
            }
        }
        names.sort_unstable();
        Self::All(names)
    }

    /// Whether nothing has this name.
    fn lack(&self, name: &str) -> bool {
        match self {
            Self::All(names) => {
                let name = name.to_ascii_lowercase();
                name.is_ascii() && names.binary_search(&name).is_err()
            }
            Self::Unclear => false,
        }
    }
}

/// What is in a place that is neither free nor a link.
fn look_into(slot: &Utf8Path, watch: &mut Watch) -> Slot {
    let Content { digest, findings: left_out } = content_of(slot, watch);
    let is_marked = slot.join(MARKER).symlink_metadata().is_ok();
    // Neither a link nor another ignore file is from us.
    let is_ours = left_out.is_empty() && ignores_all(&slot.join(IGNORE_FILE), watch);
    Slot::Taken {
        digest: digest.filter(|_| is_ours).map(|digest| hex(&digest)),
        marked: if is_marked { Marked::Yes } else { Marked::No },
    }
}

fn ignores_all(file: &Utf8Path, watch: &mut Watch) -> bool {
    watch.look(file);
    // However long somebody has made it, the beginning tells.
    let mut start = Vec::new();
    let opened = fs_err::File::open(file);
    let read = opened.and_then(|it| it.take(IGNORE_ALL.len() as u64 + 1).read_to_end(&mut start));
    match read {
        Ok(_) => start == IGNORE_ALL.as_bytes(),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                watch.give_up();
            }
            false
        }
    }
}
