//! What cargo says, read by other code than ours, and the helper that compares.

use std::collections::{BTreeMap, BTreeSet};

use agents_system::progress::Progress;
use agents_testkit::{sample::Sample, vendor};
use agents_workspace::{Cargo, Network, PackageSource, Workspace, WorkspaceError, Workspaces};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

/// A package as `name version source`.
pub(crate) type Line = String;

/// Members and direct dependencies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) root: Utf8PathBuf,
    pub(crate) members: BTreeSet<Line>,
    pub(crate) packages: BTreeSet<Line>,
}

/// Our own answer, everything set up as a program would.
pub(crate) struct Ours {
    cache: Utf8PathBuf,
    cargo: Cargo,
    progress: Progress,
}

impl Ours {
    pub(crate) fn new(sample: &Sample) -> Self {
        Self::with(sample, vendor::cargo_program())
    }

    /// One that may use the network; the vendored crates are all that it finds there.
    pub(crate) fn online(sample: &Sample) -> Self {
        Self::online_with(sample, vendor::cargo_program())
    }

    pub(crate) fn online_with(sample: &Sample, program: impl AsRef<str>) -> Self {
        let cargo = Cargo::at(program.as_ref(), Network::Allowed).with_home(&sample.home());
        Self { cargo, ..Self::new(sample) }
    }

    pub(crate) fn with(sample: &Sample, program: impl AsRef<str>) -> Self {
        let cargo = Cargo::at(program.as_ref(), Network::Offline).with_home(&sample.home());
        Self { cache: sample.scratch().path("cache"), cargo, progress: Progress::silent() }
    }

    pub(crate) fn workspaces(&self) -> Workspaces<'_> {
        Workspaces { cache: &self.cache, cargo: &self.cargo, progress: &self.progress }
    }

    pub(crate) fn try_find(&self, dir: &Utf8Path) -> Result<Option<Workspace>, WorkspaceError> {
        self.workspaces().find(dir)
    }

    pub(crate) fn find(&self, dir: &Utf8Path) -> Workspace {
        match self.try_find(dir) {
            Ok(found) => found.expect("a workspace"),
            Err(error) => {
                use agents_system::explain::Explain as _;
                panic!("{error}: {:?}\n{}", error, error.details().unwrap_or_default())
            }
        }
    }
}

/// A cargo that fails the test when it is called.
pub(crate) fn no_cargo(sample: &Sample) -> Ours {
    Ours::with(sample, "/nowhere/cargo")
}

impl From<&Workspace> for Set {
    fn from(workspace: &Workspace) -> Self {
        let source = |source: &PackageSource| match source {
            PackageSource::Path { dir } => dir.to_string(),
            PackageSource::Registry { id } | PackageSource::Git { id } => id.clone(),
        };
        let members = workspace.members.iter();
        let packages = workspace.packages.iter();
        Self {
            root: workspace.root.clone(),
            members: members.map(|m| format!("{} {} {}", m.name, m.version, m.dir)).collect(),
            packages: packages
                .map(|p| format!("{} {} {}", p.name, p.version, source(&p.source)))
                .collect(),
        }
    }
}

/// What cargo says about `dir` of the tree. It is asked in a copy, so that it writes there.
pub(crate) fn cargo_says(sample: &Sample, dir: &str) -> Set {
    let _ = std::fs::remove_dir_all(sample.scratch().path("copy"));
    let copy = sample.copy("copy").join(dir);
    let args = ["metadata", "--format-version=1", "--all-features", "--offline"];
    let text = sample.cargo_in(&copy, &args);
    let text = text.replace(sample.scratch().path("copy").as_str(), sample.tree().as_str());
    let value: Value = serde_json::from_str(&text).unwrap();
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    let mut lines = BTreeMap::new();
    for package in value["packages"].as_array().unwrap() {
        let dir = string(&package["manifest_path"]);
        let dir = Utf8Path::new(&dir).parent().unwrap().to_string();
        let source = package["source"].as_str().unwrap_or(&dir).to_owned();
        let (name, version) = (string(&package["name"]), string(&package["version"]));
        lines.insert(string(&package["id"]), format!("{name} {version} {source}"));
    }
    let ids = value["workspace_members"].as_array().unwrap();
    let ids: BTreeSet<String> = ids.iter().map(string).collect();
    let nodes = value["resolve"]["nodes"].as_array().unwrap().iter();
    let direct = nodes
        .filter(|node| ids.contains(node["id"].as_str().unwrap()))
        .flat_map(|node| node["deps"].as_array().unwrap())
        .map(|dep| lines[dep["pkg"].as_str().unwrap()].clone());
    Set {
        root: string(&value["workspace_root"]).into(),
        packages: direct.collect(),
        members: ids.iter().map(|id| lines[id].clone()).collect(),
    }
}

/// Who had to work for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Reading,
    Cargo,
}

/// Our answer for `dir` is cargo's, comes about as expected, is the same from the cache without any
/// cargo, and leaves the tree alone.
#[track_caller]
pub(crate) fn check_in(sample: &Sample, dir: &str, by: By) -> Workspace {
    let before = sample.snapshot();
    let ours = match by {
        By::Reading => no_cargo(sample),
        By::Cargo => Ours::new(sample),
    };
    let found = ours.find(&sample.path(dir));
    assert_eq!(Set::from(&found), cargo_says(sample, dir), "left: ours, right: cargo's");
    if by == By::Cargo {
        let fresh = Sample::scratch(sample).path("other-cache");
        let other = Ours { cache: fresh, ..no_cargo(sample) };
        assert!(other.try_find(&sample.path(dir)).is_err(), "cargo was not needed");
    }
    assert_eq!(no_cargo(sample).find(&sample.path(dir)), found, "from the cache");
    assert_eq!(sample.snapshot(), before, "the tree was touched");
    found
}

#[track_caller]
pub(crate) fn check(sample: &Sample, by: By) -> Workspace {
    check_in(sample, "", by)
}
