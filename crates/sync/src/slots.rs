//! Looking at the places for skills. Most of them are as we left them, so what was in one is remembered until something in
//! it changes.

use std::{
    collections::HashMap,
    io::{self, Read as _},
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

/// Looks at places for skills.
#[derive(Debug)]
pub(crate) struct Slots {
    memory: Memory<Slot>,
    /// The real paths of the directories that they lie in.
    real: HashMap<Utf8PathBuf, Option<Utf8PathBuf>>,
}

impl Slots {
    /// Remembers nothing.
    pub(crate) fn unknown() -> Self {
        Self { memory: Memory::none(), real: HashMap::new() }
    }

    /// With what is remembered about those of a workspace.
    pub(crate) fn remembered(cache: &Utf8Path, workspace: &Utf8Path) -> Self {
        let file = cache.join("slots").join(name_hash(workspace.as_str()));
        let memory = Memory::load(CacheFile::new(file, LAYOUT));
        Self { memory, real: HashMap::new() }
    }

    /// What is at a place; `source` is the real path of the skill that is to be put there.
    pub(crate) fn look(&mut self, slot: &Utf8Path, source: Option<&Utf8Path>) -> Slot {
        let real = self.real_path(slot);
        // A real path leads over no link, so this one does not either.
        if real.is_some() && real.as_deref() == source {
            return Slot::Source;
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
            Some(real) => self.memory.ask("slot", &real, |watch| look_into(&real, watch)),
            None => look_into(slot, &mut Watch::new()),
        }
    }

    /// Remembers what was looked at.
    pub(crate) fn save(self) {
        self.memory.save();
    }

    fn real_path(&mut self, slot: &Utf8Path) -> Option<Utf8PathBuf> {
        let (dir, name) = (slot.parent()?, slot.file_name()?);
        let real = match self.real.get(dir) {
            Some(real) => real,
            None => self.real.entry(dir.to_owned()).or_insert(dir.canonicalize_utf8().ok()),
        };
        Some(real.as_ref()?.join(name))
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
