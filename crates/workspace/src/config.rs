//! What cargo's configuration files say, as far as it decides which packages there are.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, de::IgnoredAny};

use crate::{error::WorkspaceError, files::Files, manifest};

/// More files than anybody includes.
const MAX_INCLUDES: usize = 256;

/// The configuration that holds for a directory.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Index addresses of the registries by name; the nearest file wins.
    registries: BTreeMap<String, String>,
    /// `paths`, `patch`, a file of a shape that we do not know, or includes that go round in a circle.
    pub(crate) exotic: bool,
    /// The files that others include.
    included: BTreeSet<Utf8PathBuf>,
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
            if self.take(file, reader)? {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, file: &Utf8Path, reader: &mut Files<'_>) -> Result<bool, WorkspaceError> {
        let Some(content) = reader.read(file)? else {
            return Ok(false);
        };
        let Some(text) = manifest::parse::<Text>(file, &content)? else {
            self.exotic = true;
            return Ok(true);
        };
        self.exotic |= text.paths.is_some() || text.patch.is_some();
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
        for path in included.iter().rev() {
            let path = manifest::join(dir, path);
            if self.included.len() == MAX_INCLUDES {
                return Err(too_many(file));
            }
            if self.included.insert(path.clone()) {
                self.take(&path, reader)?;
            } else {
                // Read already. It may be included by itself, and cargo says so best.
                self.exotic = true;
            }
        }
        Ok(true)
    }
}

/// Links give one file many names; a workspace that we only look at must not keep us busy with that.
fn too_many(file: &Utf8Path) -> WorkspaceError {
    let message = format!("the files that `{file}` includes are more than {MAX_INCLUDES}");
    WorkspaceError::Read { source: std::io::Error::other(message) }
}

/// How lock files spell the registry that is meant when none is named.
pub(crate) const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// How lock files spell the registry with this index.
pub(crate) fn registry_id(index: &str) -> String {
    if index.starts_with("sparse+") { index.to_owned() } else { format!("registry+{index}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(files: &[(&str, &str)]) -> Result<Config, WorkspaceError> {
        let scratch = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(scratch.path()).unwrap();
        fs_err::create_dir(dir.join(".cargo")).unwrap();
        for (name, text) in files {
            fs_err::write(dir.join(".cargo").join(name), text).unwrap();
        }
        #[cfg(unix)]
        for link in ["x", "y"] {
            fs_err::os::unix::fs::symlink(".", dir.join(".cargo").join(link)).unwrap();
        }
        Config::load(dir, &mut Files::new(None))
    }

    #[test]
    fn included_files_count() {
        let files = [
            ("config.toml", "include = [\"a.toml\", { path = \"b.toml\" }]"),
            ("a.toml", "[registries.one]\nindex = \"https://a/\""),
            ("b.toml", "[registries.one]\nindex = \"sparse+https://b/\""),
        ];
        let config = load(&files).unwrap();
        assert_eq!(config.registry_id("one").as_deref(), Some("sparse+https://b/"));
        assert!(!config.exotic);
    }

    #[test]
    fn includes_that_go_round_are_left_to_cargo() {
        let circle = "include = [\"config.toml\", \"config.toml\"]";
        assert!(load(&[("config.toml", circle)]).unwrap().exotic);
    }

    #[cfg(unix)]
    #[test]
    fn many_names_of_few_files_are_refused() {
        let names: Vec<String> = (0..30).map(|at| format!("{at}.toml")).collect();
        let text = |next: &str| format!("include = [\"x/{next}\", \"y/{next}\"]");
        let texts: Vec<String> = names.iter().skip(1).map(|next| text(next)).collect();
        let mut files: Vec<(&str, &str)> =
            names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
        files.push(("config.toml", "include = \"0.toml\""));
        let error = load(&files).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.ends_with("are more than 256"), "{source}");
    }
}
