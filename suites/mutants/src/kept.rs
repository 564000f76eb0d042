//! What is known from earlier runs, so that one that was interrupted goes on, and one after a test was added is quick.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{trial::Test, weed::Weeds};

/// What is known of a room. Only who noticed what is believed of another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Of everything that is built, and of how.
    everything: String,
    pub(crate) weeds: Weeds,
    /// By the keys of the changes.
    pub(crate) outcomes: BTreeMap<String, Outcome>,
    /// The test that noticed a change the last time will mostly do so again.
    pub(crate) noticed_by: BTreeMap<String, Test>,
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Noticed,
    Endless,
    NotNoticed,
    /// The compiler noticed.
    NotRust,
}

/// A test that passes without a change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Reach {
    pub(crate) test: Test,
    pub(crate) millis: u64,
    /// The numbers of the switches that it asks.
    pub(crate) switches: Vec<u32>,
}

/// What the tests of a room reach.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reached {
    /// Of everything that is built, and of which switch has which number.
    numbered: String,
    pub(crate) tests: Vec<Reach>,
    /// They fail without any change.
    pub(crate) failing: Vec<Test>,
}

/// The files in which it is kept.
#[derive(Debug)]
pub(crate) struct Shelf {
    outcomes: Utf8PathBuf,
    reached: Utf8PathBuf,
}

impl Shelf {
    /// For a room, in this directory.
    pub(crate) fn new(directory: &Utf8Path, room: &str) -> Self {
        let file = |name| directory.join(format!("{room}-{name}.json"));
        Self { outcomes: file("outcomes"), reached: file("reached") }
    }

    pub(crate) fn forget(&self) -> anyhow::Result<()> {
        for file in [&self.outcomes, &self.reached].into_iter().filter(|it| it.exists()) {
            fs_err::remove_file(file)?;
        }
        Ok(())
    }

    pub(crate) fn load(&self, everything: &str) -> Kept {
        let kept: Kept = load(&self.outcomes);
        if kept.everything == everything {
            return kept;
        }
        let everything = everything.to_owned();
        Kept { everything, noticed_by: kept.noticed_by, ..Kept::default() }
    }

    pub(crate) fn save(&self, kept: &Kept) -> anyhow::Result<()> {
        save(&self.outcomes, kept)
    }

    pub(crate) fn load_reached(&self, numbered: &str) -> Option<Reached> {
        let reached: Reached = load(&self.reached);
        (reached.numbered == numbered).then_some(reached)
    }

    pub(crate) fn save_reached(&self, reached: &mut Reached, numbered: &str) -> anyhow::Result<()> {
        numbered.clone_into(&mut reached.numbered);
        save(&self.reached, reached)
    }
}

/// What cannot be read is not known.
fn load<T: DeserializeOwned + Default>(file: &Utf8Path) -> T {
    let text = fs_err::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn save(file: &Utf8Path, value: &impl Serialize) -> anyhow::Result<()> {
    agents_system::atomic::write(file, &serde_json::to_vec(value)?)?;
    Ok(())
}
