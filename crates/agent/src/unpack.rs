//! Writing the agents of the program as files, so that they can be changed.

use std::io;

use agents_system::atomic;
use camino::{Utf8Path, Utf8PathBuf};

use crate::bundled::Embedded;

/// What to do with files that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// They stay.
    Keep,
    /// They are replaced.
    Replace,
}

/// One file to write, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The agent.
    pub name: &'static str,
    /// Its file.
    pub file: Utf8PathBuf,
    /// What is done with it.
    pub action: Action,
    text: String,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is written; there was none.
    Write,
    /// It is replaced.
    Replace,
    /// It is left alone: another one is there.
    Keep,
    /// It is left alone: it says the same.
    Same,
}

/// What would be written into a directory.
#[must_use]
pub fn plan_unpack(dir: &Utf8Path, files: Vec<Embedded>, existing: Existing) -> Vec<Unpacked> {
    let plan = files.into_iter().map(|Embedded { name, text }| {
        let file = dir.join(format!("{name}.md"));
        let action = match (fs_err::read(&file), existing) {
            (Ok(bytes), _) if bytes == text.as_bytes() => Action::Same,
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Action::Write,
            (_, Existing::Keep) => Action::Keep,
            (_, Existing::Replace) => Action::Replace,
        };
        Unpacked { name, file, action, text }
    });
    plan.collect()
}

/// Writes it.
pub fn apply_unpack(plan: &[Unpacked]) -> io::Result<()> {
    for unpacked in plan {
        if matches!(unpacked.action, Action::Write | Action::Replace) {
            atomic::write(&unpacked.file, unpacked.text.as_bytes())?;
        }
    }
    Ok(())
}
