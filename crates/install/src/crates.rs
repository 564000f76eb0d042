//! Crates with binaries, installed by cargo.

use std::{collections::BTreeMap, time::Duration};

use agents_system::{
    process::{Call, find_program},
    progress::Progress,
};
use agents_workspace::{Cargo, Network};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use crate::{
    bring::Origin,
    error::{AcquireError, Needs},
    git::{self, GitAddress},
    receipt::Content,
    slot::remove,
    step::{GIT, INSTALL, Step},
};

/// A crate as a manifest asks for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crate<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: Option<&'a str>,
    pub(crate) git: Option<&'a str>,
    /// The binary that must come out of it, when the manifest says which.
    pub(crate) binary: Option<&'a str>,
}

/// What is needed to install one.
pub(crate) struct CrateOrigin<'a> {
    pub(crate) wanted: Crate<'a>,
    pub(crate) cargo: &'a Cargo,
    pub(crate) progress: &'a Progress,
    pub(crate) finish: &'a dyn Fn(&Utf8Path) -> Result<(), AcquireError>,
}

impl Origin for CrateOrigin<'_> {
    fn what(&self) -> String {
        self.wanted.what()
    }

    fn newest(&self) -> Result<Option<String>, AcquireError> {
        match (self.wanted.git, self.wanted.version) {
            (Some(url), _) => {
                let address = GitAddress::parse(url)?;
                Ok(Some(git::resolve(&address, self.progress)?.commit))
            }
            (None, Some(pinned)) => Ok(Some(pinned.to_owned())),
            (None, None) => {
                let newest = newest_in_registry(self.wanted.name, self.cargo, GIT, self.progress)?;
                Ok(newest.map(|it| it.version))
            }
        }
    }

    fn acquire(&self, into: &Utf8Path) -> Result<Content, AcquireError> {
        install(self.wanted, self.cargo, Place::Root(into), Again::No, self.progress)?;
        self.wanted.content(into)
    }

    fn finish(&self, base: &Utf8Path) -> Result<(), AcquireError> {
        (self.finish)(base)
    }
}

/// Where cargo puts it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    Root(&'a Utf8Path),
    Global { bin: &'a Utf8Path },
}

impl Place<'_> {
    fn bin(self) -> Utf8PathBuf {
        match self {
            Self::Root(root) => root.join("bin"),
            Self::Global { bin } => bin.to_owned(),
        }
    }

    /// Removes what a failed attempt left in a root; the user's own programs are not touched.
    fn empty(self) -> Result<(), AcquireError> {
        let Self::Root(root) = self else {
            return Ok(());
        };
        let entries = root.read_dir_utf8().map_err(AcquireError::io(format!("read `{root}`")))?;
        entries.flatten().try_for_each(|entry| remove(entry.path()))
    }
}

/// Whether to install what is already installed in the same version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    No,
    Yes,
}

/// Runs `cargo binstall` if there is one, else or if that does not help `cargo install`.
pub(crate) fn install(
    wanted: Crate<'_>,
    cargo: &Cargo,
    place: Place<'_>,
    again: Again,
    progress: &Progress,
) -> Result<(), AcquireError> {
    let step = |name: &str, needs| Step {
        name: format!("`{name}`"),
        doing: format!("installing {}", wanted.what()),
        needs,
        deadline: INSTALL,
        progress,
    };
    let is_offline = cargo.network() == Network::Offline;
    if has_binstall(cargo) && !is_offline {
        let call = cargo.call().args(["binstall", "--no-confirm", "--no-symlinks"]);
        let call = wanted.arguments(call, place, again).env("BINSTALL_DISABLE_TELEMETRY", "true");
        match step("cargo binstall", Needs::Machine).run(&in_place(call, place)) {
            Ok(_) if wanted.is_in(place) => return Ok(()),
            Err(error) if error.was_interrupted() => return Err(error.into()),
            // No prebuilt binary is no failure: cargo can build it, if nothing is in its way.
            Ok(_) | Err(_) => place.empty()?,
        }
    }
    let call = wanted.arguments(cargo.call().arg("install"), place, again);
    let needs = if is_offline { Needs::Network } else { Needs::Machine };
    match step("cargo install", needs).run(&in_place(call, place)) {
        Ok(_) => Ok(()),
        Err(error) if is_offline && error.source.is_none() => {
            Err(AcquireError::Offline { what: wanted.what(), tried: Some(error) })
        }
        Err(error) => Err(error.into()),
    }
}

/// The toolchain file of the directory that the user stands in is not about the tools we install.
fn in_place(call: Call, place: Place<'_>) -> Call {
    match place {
        Place::Root(root) => call.cwd(root),
        Place::Global { bin } => match bin.parent().filter(|home| home.is_dir()) {
            Some(home) => call.cwd(home),
            None => call,
        },
    }
}

fn has_binstall(cargo: &Cargo) -> bool {
    let program = format!("cargo-binstall{}", std::env::consts::EXE_SUFFIX);
    let in_home = cargo.home().is_some_and(|home| home.join("bin").join(&program).is_file());
    in_home || find_program(&program).is_some()
}

impl Crate<'_> {
    pub(crate) fn what(&self) -> String {
        match (self.version, self.git) {
            (Some(version), _) => format!("crate `{}` {version}", self.name),
            (None, Some(git)) => {
                let shown = GitAddress::parse(git).map(|address| address.to_string());
                format!("crate `{}` from {}", self.name, shown.unwrap_or_else(|_| git.to_owned()))
            }
            (None, None) => format!("crate `{}`", self.name),
        }
    }

    fn arguments(&self, mut call: Call, place: Place<'_>, again: Again) -> Call {
        if let Place::Root(root) = place {
            call = call.arg("--root").arg(root.as_str());
        }
        if let Some(git) = self.git {
            call = call.arg("--git").arg(git);
        }
        if again == Again::Yes {
            call = call.arg("--force");
        }
        call.arg("--").arg(match self.version {
            Some(version) => format!("{}@{version}", self.name),
            None => self.name.to_owned(),
        })
    }

    fn is_in(&self, place: Place<'_>) -> bool {
        let bin = place.bin();
        if let (Place::Root(root), Some(pinned)) = (place, self.version)
            && tracked(root, self.name).is_some_and(|there| there.version != pinned)
        {
            return false;
        }
        match self.binary {
            Some(name) => bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)).is_file(),
            None => !files_in(&bin).is_empty(),
        }
    }

    /// What cargo wrote down about the root that it installed into.
    fn content(&self, root: &Utf8Path) -> Result<Content, AcquireError> {
        let (version, commit, binaries) = match tracked(root, self.name) {
            Some(tracked) => (Some(tracked.version), tracked.commit, tracked.binaries),
            None => (self.version.map(str::to_owned), None, files_in(&root.join("bin"))),
        };
        let is_missing = |name: &&String| !root.join("bin").join(name).is_file();
        let missing = match binaries.iter().find(is_missing) {
            Some(name) => Some(format!("its binary `{name}` is not there")),
            None => binaries.is_empty().then(|| "it has no binaries".to_owned()),
        };
        if let Some(missing) = missing {
            return Err(AcquireError::NoBinary { name: self.name.to_owned(), missing });
        }
        let id = match self.git {
            Some(_) => commit.clone().or_else(|| version.clone()),
            // As it is pinned: cargo may know it with build metadata.
            None => self.version.map(str::to_owned).or_else(|| version.clone()),
        };
        let id = id.unwrap_or_else(|| "unknown".to_owned());
        Ok(Content { id, within: Utf8PathBuf::new(), version, commit, tree: None, binaries })
    }
}

/// What cargo knows about an installed crate.
pub(crate) struct Tracked {
    pub(crate) version: String,
    commit: Option<String>,
    binaries: Vec<String>,
}

/// `.crates.toml`, which both cargo and binstall write.
#[derive(Deserialize)]
struct Tracking {
    v1: BTreeMap<String, Vec<String>>,
}

pub(crate) fn tracked(root: &Utf8Path, name: &str) -> Option<Tracked> {
    let text = fs_err::read_to_string(root.join(".crates.toml")).ok()?;
    parse_tracking(&text, name)
}

fn parse_tracking(text: &str, name: &str) -> Option<Tracked> {
    let Tracking { v1 } = toml::from_str(text).ok()?;
    v1.into_iter().find_map(|(package, binaries)| parse_tracked(&package, name, binaries))
}

/// What is known of a crate by `.crates.toml`, with its commit and its binaries, and by a `Cargo.lock`.
#[doc(hidden)]
#[must_use]
pub fn read_tracking(text: &str, name: &str) -> (Option<TrackedParts>, Option<Newest>) {
    let tracked = parse_tracking(text, name).map(|it| (it.version, it.commit, it.binaries));
    (tracked, parse_newest(text, name))
}

#[doc(hidden)]
pub type TrackedParts = (String, Option<String>, Vec<String>);

/// `ripgrep 15.1.0 (registry+https://...)` or `tool 0.1.0 (git+https://...#<commit>)`.
fn parse_tracked(package: &str, name: &str, binaries: Vec<String>) -> Option<Tracked> {
    let (found, rest) = package.split_once(' ')?;
    let (version, source) = rest.split_once(' ')?;
    let source = source.trim_start_matches('(').trim_end_matches(')');
    let commit = source.strip_prefix("git+").and_then(|source| source.rsplit_once('#'));
    let commit = commit.map(|(_, commit)| commit.to_owned());
    // A binary is a name in `bin`, whatever else stands there.
    let is_name = |it: &String| Utf8Path::new(it).file_name() == Some(it);
    let binaries = binaries.into_iter().filter(is_name).collect();
    (found == name).then(|| Tracked { version: version.to_owned(), commit, binaries })
}

fn files_in(dir: &Utf8Path) -> Vec<String> {
    let Ok(entries) = fs_err::read_dir(dir) else {
        return Vec::new();
    };
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<_> =
        files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[derive(Deserialize)]
struct LockFile {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// The newest version of a crate that `cargo install` would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// Which one.
    pub version: String,
    dependencies: Vec<String>,
}

impl Newest {
    /// Whether it depends on the crate of this name itself.
    #[must_use]
    pub fn depends_on(&self, name: &str) -> bool {
        // Where a name stands for several versions, the version follows it.
        self.dependencies.iter().any(|it| it.split(' ').next() == Some(name))
    }
}

const PROBE: &str = "agents-version-probe";

/// The version that `cargo install` would take. Cargo has no command that says so and works with
/// mirrors and vendored registries alike, so a throw-away package that depends on any version of
/// the crate is resolved.
pub(crate) fn newest_in_registry(
    name: &str,
    cargo: &Cargo,
    deadline: Duration,
    progress: &Progress,
) -> Result<Option<Newest>, AcquireError> {
    let failed = || AcquireError::io("make a package to look for newer versions");
    let dir = tempfile::tempdir().map_err(failed())?;
    let Some(root) = Utf8Path::from_path(dir.path()) else {
        return Ok(None);
    };
    let manifest = format!(
        "[package]\nname = \"{PROBE}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n[dependencies.\"{name}\"]\nversion = \"*\"\n\n[workspace]\n"
    );
    fs_err::write(root.join("Cargo.toml"), manifest).map_err(failed())?;
    fs_err::write(root.join("lib.rs"), "").map_err(failed())?;
    let step = Step {
        name: "`cargo generate-lockfile`".to_owned(),
        doing: format!("looking for newer versions of crate `{name}`"),
        needs: Needs::Network,
        deadline,
        progress,
    };
    step.run(&cargo.call().arg("generate-lockfile").cwd(root))?;
    let text = fs_err::read_to_string(root.join("Cargo.lock")).map_err(failed())?;
    Ok(parse_newest(&text, name))
}

fn parse_newest(lock: &str, name: &str) -> Option<Newest> {
    let LockFile { package } = toml::from_str(lock).ok()?;
    let found = package.into_iter().find(|locked| locked.name == name);
    found.map(|Locked { version, dependencies, .. }| Newest { version, dependencies })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_tracks_is_understood() {
        let parse = |text| parse_tracked(text, "tool", vec!["tool".to_owned()]);
        let registry = "tool 1.2.3-rc.1 (registry+https://github.com/rust-lang/crates.io-index)";
        let registry = parse(registry).unwrap();
        assert_eq!((registry.version.as_str(), registry.commit), ("1.2.3-rc.1", None));
        let git = parse("tool 0.1.0 (git+https://h/o/r?branch=a#b#0123abcd)").unwrap();
        assert_eq!(git.commit.as_deref(), Some("0123abcd"));
        assert!(parse("toolbox 0.1.0 (registry+https://x)").is_none());
        assert!(parse("tool").is_none());
    }
}
