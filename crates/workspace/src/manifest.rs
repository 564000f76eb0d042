//! What `Cargo.toml` says, as far as it decides which packages there are.

use std::{collections::BTreeMap, time::Duration};

use agents_system::finding::{Finding, Place};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use crate::error::WorkspaceError;

/// The file's name.
pub(crate) const MANIFEST: &str = "Cargo.toml";

/// File times may be this coarse.
pub(crate) const CLOCK_GRAIN: Duration = Duration::from_secs(2);

/// A manifest with the directory it stands in.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) dir: Utf8PathBuf,
    pub(crate) text: Text,
}

/// The tables of a manifest that matter here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Text {
    pub(crate) package: Option<Package>,
    pub(crate) workspace: Option<WorkspaceTable>,
    #[serde(default)]
    dependencies: Table,
    #[serde(default)]
    dev_dependencies: Table,
    #[serde(default)]
    build_dependencies: Table,
    #[serde(default)]
    target: BTreeMap<String, Target>,
    #[serde(default)]
    pub(crate) patch: BTreeMap<String, Table>,
    replace: Option<IgnoredAny>,
    // Old or unstable ways, whose rules are better left to cargo.
    project: Option<IgnoredAny>,
    cargo_features: Option<IgnoredAny>,
    #[serde(rename = "dev_dependencies")]
    old_dev_dependencies: Option<IgnoredAny>,
    #[serde(rename = "build_dependencies")]
    old_build_dependencies: Option<IgnoredAny>,
}

/// Dependencies by the name that the code uses.
pub(crate) type Table = BTreeMap<String, Dependency>;

/// `[package]`
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    version: Option<Field>,
    /// Points to the workspace root.
    pub(crate) workspace: Option<String>,
}

/// A value, or `{ workspace = true }`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Field {
    Own(String),
    Inherited(Inherited),
}

#[derive(Debug, Deserialize)]
struct Inherited {
    workspace: bool,
}

/// `[workspace]`
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WorkspaceTable {
    #[serde(default)]
    pub(crate) members: Vec<String>,
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    #[serde(default)]
    pub(crate) dependencies: Table,
    #[serde(default)]
    package: WorkspacePackage,
}

#[derive(Debug, Default, Deserialize)]
struct WorkspacePackage {
    version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Target {
    #[serde(default)]
    dependencies: Table,
    #[serde(default)]
    dev_dependencies: Table,
    #[serde(default)]
    build_dependencies: Table,
    #[serde(rename = "dev_dependencies")]
    old_dev_dependencies: Option<IgnoredAny>,
    #[serde(rename = "build_dependencies")]
    old_build_dependencies: Option<IgnoredAny>,
}

/// One dependency as it is declared.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Dependency {
    /// `name = "1.0"`
    Version(String),
    /// `name = { ... }`
    Detailed(Box<Detailed>),
}

/// A dependency declared by a table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Detailed {
    pub(crate) version: Option<String>,
    pub(crate) package: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) git: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) rev: Option<String>,
    pub(crate) registry: Option<String>,
    pub(crate) registry_index: Option<String>,
    pub(crate) workspace: Option<bool>,
    #[serde(default)]
    pub(crate) optional: bool,
    // Unstable, and with rules of their own.
    artifact: Option<IgnoredAny>,
    base: Option<IgnoredAny>,
}

impl Detailed {
    pub(crate) fn is_unstable(&self) -> bool {
        self.artifact.is_some() || self.base.is_some()
    }
}

/// Which table a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `[dependencies]` or `[build-dependencies]`
    Normal,
    /// `[dev-dependencies]`
    Dev,
}

impl Manifest {
    /// The version of the package, `None` if it cannot be told.
    pub(crate) fn version<'a>(&'a self, root: &'a Self) -> Option<&'a str> {
        match self.text.package.as_ref()?.version.as_ref() {
            None => Some("0.0.0"),
            Some(Field::Own(version)) => Some(version.trim()),
            Some(Field::Inherited(Inherited { workspace: true })) => {
                root.text.workspace.as_ref()?.package.version.as_deref().map(str::trim)
            }
            Some(Field::Inherited(_)) => None,
        }
    }

    /// Every declared dependency, of every kind and for every target.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (Kind, &str, &Dependency)> {
        let text = &self.text;
        let top = (&text.dependencies, &text.build_dependencies, &text.dev_dependencies);
        let targets = text.target.values();
        let targets =
            targets.map(|t| (&t.dependencies, &t.build_dependencies, &t.dev_dependencies));
        std::iter::once(top).chain(targets).flat_map(|(normal, build, dev)| {
            let normal = normal.iter().chain(build).map(|(key, dep)| (Kind::Normal, key, dep));
            let all = normal.chain(dev.iter().map(|(key, dep)| (Kind::Dev, key, dep)));
            all.map(|(kind, key, dependency)| (kind, key.as_str(), dependency))
        })
    }

    /// Something whose rules only cargo knows.
    pub(crate) fn is_exotic(&self) -> bool {
        let text = &self.text;
        let old = |target: &Target| {
            target.old_dev_dependencies.is_some() || target.old_build_dependencies.is_some()
        };
        text.replace.is_some()
            || text.project.is_some()
            || text.cargo_features.is_some()
            || text.old_dev_dependencies.is_some()
            || text.old_build_dependencies.is_some()
            || text.target.values().any(old)
    }
}

/// Reads TOML; `None` if it is TOML but not of this shape.
pub(crate) fn parse<T: DeserializeOwned>(
    file: &Utf8Path,
    content: &str,
) -> Result<Option<T>, WorkspaceError> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    if let Ok(value) = toml::from_str(content) {
        return Ok(Some(value));
    }
    match toml::from_str::<toml::Table>(content) {
        Ok(_) => Ok(None),
        Err(error) => {
            let place = match error.span() {
                Some(span) => Place::span(file, content, span),
                None => Place::file(file),
            };
            let message = error.message().lines().next().unwrap_or("not valid TOML").to_owned();
            let finding = Finding::error(message).at(place);
            Err(WorkspaceError::Syntax { file: file.to_owned(), findings: vec![finding] })
        }
    }
}

/// Joins and removes `.` and `..` by their spelling alone, as cargo does.
pub(crate) fn join(base: &Utf8Path, relative: &str) -> Utf8PathBuf {
    use camino::Utf8Component;
    let mut out = Utf8PathBuf::new();
    for component in base.join(relative).components() {
        match component {
            Utf8Component::ParentDir => {
                out.pop();
            }
            Utf8Component::CurDir => {}
            other => out.push(other.as_str()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_by_spelling() {
        for (relative, expected) in [
            ("../b", "/w/b"),
            ("./c/../d", "/w/a/d"),
            ("/x", "/x"),
            (".", "/w/a"),
            ("../../../..", "/"),
        ] {
            assert_eq!(join("/w/a".into(), relative), expected, "{relative}");
        }
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let error = parse::<Text>("Cargo.toml".into(), "[package]\nname = \n").unwrap_err();
        let WorkspaceError::Syntax { findings, .. } = error else { panic!("{error:?}") };
        assert_eq!(findings[0].place.as_ref().unwrap().to_string(), "Cargo.toml:2:8");
    }

    #[test]
    fn another_shape_is_left_to_cargo() {
        assert!(parse::<Text>("Cargo.toml".into(), "dependencies = 3").unwrap().is_none());
    }

    #[test]
    fn every_table_is_seen() {
        let text = r#"
            [dependencies]
            a = "1"
            [build-dependencies]
            b = "1"
            [dev-dependencies]
            c = "1"
            [target.'cfg(windows)'.dependencies]
            d = { version = "1", optional = true }
            [target.x86_64-unknown-linux-gnu.dev-dependencies]
            e.workspace = true
        "#;
        let text: Text = parse("Cargo.toml".into(), text).unwrap().unwrap();
        let manifest = Manifest { dir: "/".into(), text };
        let mut seen: Vec<_> = manifest.dependencies().map(|(kind, key, _)| (key, kind)).collect();
        seen.sort_by_key(|(key, _)| *key);
        let expected = [
            ("a", Kind::Normal),
            ("b", Kind::Normal),
            ("c", Kind::Dev),
            ("d", Kind::Normal),
            ("e", Kind::Dev),
        ];
        assert_eq!(seen, expected);
    }
}
