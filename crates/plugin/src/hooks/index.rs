//! The index of hooks: what applies at a place, remembered, so that a hook with nothing to do reads one small file.
//!
//! ```text
//! <cache>/hooks/<workspace>/index    what a hook looks at before every tool call
//! <cache>/hooks/<workspace>/all      everything that the index was made of, for the moments at which that is checked
//! ```
//!
//! An index of another version of the program is none, and neither is one that cannot be read.

use agents_system::{
    cache::CacheFile,
    fingerprint::{Fingerprint, Freshness},
};
use agents_workspace::Workspaces;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::{ActiveHook, Certainty, HookSet};
use crate::plugin::Packed;

const OUTSIDE: &str = "outside";

/// The index of one place.
#[derive(Debug)]
pub struct HookIndex {
    dir: Utf8PathBuf,
}

/// How closely to look before an index is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrutiny {
    /// As before every tool call: see [`Registries::inputs_of_hooks`](crate::catalog::Registries::inputs_of_hooks).
    Quick,
    /// At everything.
    Full,
}

/// What an index says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The events that have a hook here.
    pub events: Vec<String>,
    /// Those for which a hook may apply at one moment and not at the next.
    pub undecided: Vec<String>,
    /// What a session should be told.
    pub session: Session,
    /// The hooks that apply, still to be decoded.
    packed: Packed,
}

/// What a session should be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Whether a plugin brings a command for agents here.
    pub commands: Commands,
    /// The plugins that need the user's consent.
    pub candidates: Vec<String>,
}

/// Whether plugins bring commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Commands {
    /// None.
    #[default]
    None,
    /// Some.
    Some,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    quick: Fingerprint,
    known: Known,
}

impl HookIndex {
    /// The index for `cwd`.
    #[must_use]
    pub fn of(workspaces: &Workspaces<'_>, cwd: &Utf8Path) -> Self {
        let name = workspaces.name_of(cwd);
        let name = name.as_deref().unwrap_or(OUTSIDE);
        Self { dir: workspaces.cache.join("hooks").join(name) }
    }

    /// What it says, if that still holds.
    #[must_use]
    pub fn load(&self, scrutiny: Scrutiny) -> Option<Known> {
        let stored: Stored = self.index().load()?;
        let holds = match scrutiny {
            Scrutiny::Quick => stored.quick.check(),
            Scrutiny::Full => self.all().load::<Fingerprint>()?.check(),
        };
        match holds {
            Freshness::Fresh => Some(stored.known),
            Freshness::Stale => None,
            Freshness::FreshAfterReading => {
                let quick = stored.quick.renewed();
                let stored = Stored { quick, ..stored };
                // Otherwise the next check must read again anyway.
                if scrutiny == Scrutiny::Quick && stored.quick.is_settled() {
                    let _ = self.index().store(&stored);
                }
                Some(stored.known)
            }
        }
    }

    /// What it said last, whether or not that still holds: better than nothing while the packages cannot be told.
    #[must_use]
    pub fn load_last(&self) -> Option<Known> {
        self.index().load::<Stored>().map(|stored| stored.known)
    }

    /// Remembers what is certain. A place that cannot be written to is only slower.
    pub fn store(
        &self,
        set: &HookSet,
        session: Session,
        all: &Fingerprint,
        quick: Fingerprint,
    ) -> Known {
        let certain = set.hooks.iter().filter(|hook| hook.certainty == Certainty::Certain);
        let certain: Vec<&ActiveHook> = certain.collect();
        let mut events: Vec<String> = certain.iter().map(|it| it.hook.event.clone()).collect();
        events.sort();
        events.dedup();
        let known = Known {
            events,
            undecided: set.undecided.iter().cloned().collect(),
            session,
            // Plain data: this cannot fail.
            packed: Packed(postcard::to_allocvec(&certain).unwrap_or_default()),
        };
        let stored = Stored { quick, known };
        let _ = self.all().store(all);
        let _ = self.index().store(&stored);
        stored.known
    }

    fn index(&self) -> CacheFile {
        CacheFile::new(self.dir.join("index"), "hook index 2")
    }

    fn all(&self) -> CacheFile {
        CacheFile::new(self.dir.join("all"), "hook inputs 1")
    }
}

impl Known {
    /// The hooks that apply as long as the index holds.
    #[must_use]
    pub fn hooks(&self) -> Vec<ActiveHook> {
        postcard::from_bytes(&self.packed.0).unwrap_or_default()
    }

    /// Whether there is nothing to run for an event.
    #[must_use]
    pub fn is_idle(&self, event: &str) -> bool {
        ![&self.events, &self.undecided].into_iter().flatten().any(|it| it == event)
    }
}
