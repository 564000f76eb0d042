//! The files that an answer is read from, each read once.

use std::{
    collections::{HashMap, HashSet},
    io,
    rc::Rc,
};

use agents_system::fingerprint::{Fingerprint, Inputs};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    error::WorkspaceError,
    manifest::{self, MANIFEST, Manifest},
};

/// Why our own reading did not lead to an answer.
#[derive(Debug)]
pub(crate) enum Undecided {
    /// Rules that only cargo knows, or a mistake that it reports best.
    AskCargo(&'static str),
    /// The lock file does not answer for the manifests, or might not. Cargo can bring it up to date
    /// without downloading anything, and then it does.
    Stale(&'static str),
    /// Something cannot be read at all.
    Failed(WorkspaceError),
}

impl From<WorkspaceError> for Undecided {
    fn from(error: WorkspaceError) -> Self {
        Self::Failed(error)
    }
}

/// What was found where a manifest was looked for.
#[derive(Debug, Clone)]
pub(crate) enum Loaded {
    /// A manifest.
    Manifest(Rc<Manifest>),
    /// TOML of another shape than we know; cargo may still know it, or say best what is wrong.
    Unknown,
    /// No such file.
    Absent,
}

/// Reads files and remembers that it did.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    inputs: Inputs,
    manifests: HashMap<Utf8PathBuf, Loaded>,
    read: HashSet<Utf8PathBuf>,
    /// Where cargo does not look for a workspace root any more.
    pub(crate) cargo_home: Option<&'a Utf8Path>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(cargo_home: Option<&'a Utf8Path>) -> Self {
        Self { inputs: Inputs::new(), manifests: HashMap::new(), read: HashSet::new(), cargo_home }
    }

    /// The manifest in `dir`.
    pub(crate) fn manifest(&mut self, dir: &Utf8Path) -> Result<Loaded, WorkspaceError> {
        if let Some(loaded) = self.manifests.get(dir) {
            return Ok(loaded.clone());
        }
        let file = dir.join(MANIFEST);
        let loaded = match self.read(&file)? {
            None => Loaded::Absent,
            Some(content) => match manifest::parse(&file, &content)? {
                Some(text) => Loaded::Manifest(Rc::new(Manifest { dir: dir.to_owned(), text })),
                None => Loaded::Unknown,
            },
        };
        self.manifests.insert(dir.to_owned(), loaded.clone());
        Ok(loaded)
    }

    /// The manifest in `dir`, which must be there.
    pub(crate) fn expect_manifest(&mut self, dir: &Utf8Path) -> Result<Rc<Manifest>, Undecided> {
        match self.manifest(dir)? {
            Loaded::Manifest(manifest) => Ok(manifest),
            Loaded::Unknown => Err(Undecided::AskCargo("a manifest of an unknown shape")),
            Loaded::Absent => Err(Undecided::AskCargo("a manifest that is not there")),
        }
    }

    /// The text of a file, if there is one.
    pub(crate) fn read(&mut self, file: &Utf8Path) -> Result<Option<String>, WorkspaceError> {
        self.read.insert(file.to_owned());
        self.inputs.read(file).map_err(unreadable)
    }

    /// The names in a directory, if there is one.
    pub(crate) fn list(&mut self, dir: &Utf8Path) -> Result<Vec<String>, WorkspaceError> {
        Ok(self.inputs.list(dir).map_err(unreadable)?.unwrap_or_default())
    }

    /// Whether this file was read already.
    pub(crate) fn has_read(&self, file: &Utf8Path) -> bool {
        self.read.contains(file)
    }

    /// Whether something is there.
    pub(crate) fn exists(&mut self, path: &Utf8Path) -> bool {
        self.inputs.exists(path)
    }

    /// What everything looked like.
    pub(crate) fn finish(self) -> Fingerprint {
        self.inputs.finish()
    }
}

fn unreadable(source: io::Error) -> WorkspaceError {
    WorkspaceError::Read { source }
}
