//! What `cargo metadata` says.

use std::collections::{BTreeSet, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::{CrateName, Member, Package, PackageSource, Workspaces, error::CargoError};

/// Everything that cargo knows about the packages of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// `None` if packages for every platform are listed. Else cargo could not fetch them all, and only
    /// those for this platform are.
    pub platform: Option<String>,
    /// Every package of the graph, members included, sorted by name and version.
    pub packages: Vec<PackageDetails>,
    /// Which members depend on which, for any platform that is listed, sorted.
    pub edges: Vec<MemberEdge>,
}

/// A member that depends on another one. Members of one workspace have different names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MemberEdge {
    /// Who depends.
    pub from: CrateName,
    /// On whom.
    pub to: CrateName,
    /// What for.
    pub purpose: Purpose,
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Purpose {
    /// The package itself cannot be built without it.
    Build,
    /// Only its tests, examples and benchmarks need it. Cargo lets such dependencies go around in a circle.
    Dev,
}

/// One package of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackageDetails {
    /// Which one.
    pub package: Package,
    /// Where its sources are.
    pub dir: Utf8PathBuf,
    /// Its enabled features, sorted, when every feature of the members is on.
    pub features: Vec<String>,
}

/// The answer of cargo, with real paths.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) root: Utf8PathBuf,
    pub(crate) members: Vec<Member>,
    pub(crate) direct: Vec<Package>,
    pub(crate) details: Details,
}

/// Whether cargo may change the lock file it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LockFile {
    /// It may: it is a copy.
    Ours,
    /// It must not: it is the user's.
    Users,
}

/// Which packages are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform<'a> {
    /// All.
    Every,
    /// Only those for this one.
    Only(&'a str),
}

#[derive(Deserialize)]
struct Text {
    packages: Vec<TextPackage>,
    workspace_members: Vec<String>,
    workspace_root: Utf8PathBuf,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct TextPackage {
    id: String,
    name: String,
    version: Version,
    source: Option<String>,
    manifest_path: Utf8PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
    deps: Vec<Dep>,
    features: Vec<String>,
}

#[derive(Deserialize)]
struct Dep {
    pkg: String,
    dep_kinds: Vec<DepKind>,
}

#[derive(Deserialize)]
struct DepKind {
    /// Nothing for what is compiled in.
    kind: Option<String>,
}

/// Asks cargo about the workspace of the manifest.
pub(crate) fn ask(
    workspaces: &Workspaces<'_>,
    cwd: &Utf8Path,
    manifest: &Utf8Path,
    lock: LockFile,
    platform: Platform<'_>,
) -> Result<Metadata, CargoError> {
    let mut args = vec!["metadata", "--format-version=1", "--all-features"];
    args.extend(["--manifest-path", manifest.as_str()]);
    args.extend((lock == LockFile::Users).then_some("--locked"));
    if let Platform::Only(platform) = platform {
        args.extend(["--filter-platform", platform]);
    }
    let captured = workspaces.cargo.ask(&args, cwd, ABOUT, workspaces.progress)?;
    let mut found = read(&captured.stdout)?;
    if let Platform::Only(platform) = platform {
        found.details.platform = Some(platform.to_owned());
    }
    Ok(found)
}

fn read(answer: &[u8]) -> Result<Metadata, CargoError> {
    let text = serde_json::from_slice(answer);
    let text = text.map_err(|source| CargoError::Answer { about: ABOUT.to_owned(), source })?;
    Ok(understand(&text))
}

/// What cargo answered: members, what they depend on themselves, and the rest.
///
/// # Errors
/// It is no such answer.
#[doc(hidden)]
pub fn read_metadata(answer: &[u8]) -> Result<(Vec<Member>, Vec<Package>, Details), CargoError> {
    read(answer).map(|it| (it.members, it.direct, it.details))
}

impl Metadata {
    /// The directories of the packages that are directories.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Utf8Path> {
        self.details.packages.iter().filter_map(|details| match &details.package.source {
            PackageSource::Path { dir } => Some(dir.as_path()),
            PackageSource::Registry { .. } | PackageSource::Git { .. } => None,
        })
    }

    /// The same with other paths.
    pub(crate) fn map_paths(mut self, map: impl Fn(&Utf8Path) -> Utf8PathBuf) -> Self {
        self.root = map(&self.root);
        for member in &mut self.members {
            member.dir = map(&member.dir);
        }
        let details = &mut self.details.packages;
        for details in details.iter_mut() {
            details.dir = map(&details.dir);
        }
        let packages = details.iter_mut().map(|details| &mut details.package);
        for package in self.direct.iter_mut().chain(packages) {
            if let PackageSource::Path { dir } = &mut package.source {
                *dir = map(dir);
            }
        }
        self
    }
}

/// What we ask about.
pub(crate) const ABOUT: &str = "the workspace";

fn understand(text: &Text) -> Metadata {
    let packages: HashMap<&str, (Package, Utf8PathBuf)> = text
        .packages
        .iter()
        .map(|package| {
            let dir = package.manifest_path.parent().unwrap_or(Utf8Path::new("/")).to_owned();
            let source = package.source.as_deref().and_then(PackageSource::parse);
            let source = source.unwrap_or_else(|| PackageSource::Path { dir: dir.clone() });
            let (name, version) = (CrateName::new(&*package.name), package.version.clone());
            (package.id.as_str(), (Package { name, version, source }, dir))
        })
        .collect();
    let member_ids: BTreeSet<&str> = text.workspace_members.iter().map(String::as_str).collect();
    let member = |(package, dir): &(Package, Utf8PathBuf)| Member {
        name: package.name.clone(),
        version: package.version.clone(),
        dir: dir.clone(),
    };
    let mut members: Vec<_> =
        member_ids.iter().filter_map(|id| packages.get(id)).map(member).collect();
    members.sort();
    let nodes = text.resolve.nodes.iter();
    let direct: BTreeSet<&str> = nodes
        .filter(|node| member_ids.contains(node.id.as_str()))
        .flat_map(|node| node.dependencies.iter().map(String::as_str))
        .collect();
    let mut direct: Vec<_> =
        direct.iter().filter_map(|id| packages.get(id)).map(|(p, _)| p.clone()).collect();
    direct.sort();
    let mut all: Vec<_> = text
        .resolve
        .nodes
        .iter()
        .filter_map(|node| {
            let (package, dir) = packages.get(node.id.as_str())?;
            let mut features = node.features.clone();
            features.sort();
            Some(PackageDetails { package: package.clone(), dir: dir.clone(), features })
        })
        .collect();
    all.sort();
    let nodes = text.resolve.nodes.iter().filter(|node| member_ids.contains(node.id.as_str()));
    let mut edges: Vec<_> = nodes
        .flat_map(|node| node.deps.iter().map(move |dep| (node, dep)))
        // An example may depend on its own package.
        .filter(|(node, dep)| member_ids.contains(dep.pkg.as_str()) && dep.pkg != node.id)
        .filter_map(|(node, dep)| {
            let is_dev = dep.dep_kinds.iter().all(|it| it.kind.as_deref() == Some("dev"));
            Some(MemberEdge {
                from: packages.get(node.id.as_str())?.0.name.clone(),
                to: packages.get(dep.pkg.as_str())?.0.name.clone(),
                purpose: if is_dev { Purpose::Dev } else { Purpose::Build },
            })
        })
        .collect();
    edges.sort();
    Metadata {
        root: text.workspace_root.clone(),
        members,
        direct,
        details: Details { platform: None, packages: all, edges },
    }
}
