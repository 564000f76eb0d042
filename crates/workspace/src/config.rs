//! What cargo's configuration files say, as far as it decides which packages there are.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, de::IgnoredAny};

use crate::{error::WorkspaceError, files::Files, manifest};

/// A chain of includes longer than this is a circle.
const MAX_INCLUDES: usize = 32;

/// The configuration that holds for a directory.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Index addresses of the registries by name; the nearest file wins.
    registries: BTreeMap<String, String>,
    /// `paths`, `patch`, or a file of a shape that we do not know.
    pub(crate) exotic: bool,
}

#[derive(Debug, Default, Deserialize)]
struct Text {
    #[serde(default)]
    registries: BTreeMap<String, Registry>,
    paths: Option<IgnoredAny>,
    patch: Option<IgnoredAny>,
    include: Option<Include>,
}

#[derive(Debug, Deserialize)]
struct Registry {
    index: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Include {
    One(String),
    Many(Vec<Included>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Included {
    Path(String),
    Table { path: String },
}

/// The configuration files that a directory can have.
pub(crate) fn files_of(dir: &Utf8Path) -> [Utf8PathBuf; 2] {
    [dir.join(".cargo/config"), dir.join(".cargo/config.toml")]
}

impl Config {
    /// Reads everything that holds for `dir`: its ancestors from the nearest to the farthest, then the
    /// home of cargo.
    pub(crate) fn load(dir: &Utf8Path, files: &mut Files<'_>) -> Result<Self, WorkspaceError> {
        let mut config = Self::default();
        for ancestor in dir.ancestors() {
            // One look at the folder, mostly absent, instead of two at the files.
            if files.exists(&ancestor.join(".cargo")) {
                config.take_first(&files_of(ancestor), files)?;
            }
        }
        if let Some(home) = files.cargo_home {
            config.take_first(&[home.join("config"), home.join("config.toml")], files)?;
        }
        Ok(config)
    }

    /// The index of a registry, as it is spelled in lock files.
    pub(crate) fn registry_id(&self, name: &str) -> Option<String> {
        if name == "crates-io" {
            return Some(CRATES_IO.to_owned());
        }
        self.registries.get(name).map(|index| registry_id(index))
    }

    /// Of two spellings cargo believes the one without the ending.
    fn take_first(
        &mut self,
        files: &[Utf8PathBuf],
        reader: &mut Files<'_>,
    ) -> Result<(), WorkspaceError> {
        for file in files {
            if self.take(file, reader, 0)? {
                break;
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        file: &Utf8Path,
        reader: &mut Files<'_>,
        depth: usize,
    ) -> Result<bool, WorkspaceError> {
        let Some(content) = reader.read(file)? else {
            return Ok(false);
        };
        let Some(text) = manifest::parse::<Text>(file, &content)? else {
            self.exotic = true;
            return Ok(true);
        };
        self.exotic |= text.paths.is_some() || text.patch.is_some() || depth > MAX_INCLUDES;
        for (name, registry) in text.registries {
            if let Some(index) = registry.index {
                self.registries.entry(name).or_insert(index);
            }
        }
        let included = match text.include {
            None => Vec::new(),
            Some(Include::One(path)) => vec![path],
            Some(Include::Many(many)) => {
                let path = |item| match item {
                    Included::Path(path) | Included::Table { path } => path,
                };
                many.into_iter().map(path).collect()
            }
        };
        let dir = file.parent().unwrap_or(Utf8Path::new("/"));
        for path in included.iter().rev().filter(|_| depth <= MAX_INCLUDES) {
            self.take(&manifest::join(dir, path), reader, depth + 1)?;
        }
        Ok(true)
    }
}

/// How lock files spell the registry that is meant when none is named.
pub(crate) const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// How lock files spell the registry with this index.
pub(crate) fn registry_id(index: &str) -> String {
    if index.starts_with("sparse+") { index.to_owned() } else { format!("registry+{index}") }
}
