//! The members of a workspace, by cargo's rules.

use std::{collections::BTreeMap, rc::Rc};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    error::WorkspaceError,
    files::{Files, Undecided},
    locate,
    manifest::{self, Dependency, Manifest},
};

/// Members by directory.
pub(crate) type Members = BTreeMap<Utf8PathBuf, Rc<Manifest>>;

/// Every member: those listed, the root, and path dependencies of members that lie below the root or
/// point to it.
pub(crate) fn find(root: &Rc<Manifest>, files: &mut Files<'_>) -> Result<Members, Undecided> {
    let mut members = Members::new();
    let Some(workspace) = &root.text.workspace else {
        members.insert(root.dir.clone(), Rc::clone(root));
        return Ok(members);
    };
    let mut open = vec![(root.dir.clone(), Why::Listed)];
    for pattern in &workspace.members {
        let found = expand(&root.dir, pattern, files)?;
        open.extend(found.into_iter().map(|dir| (dir, Why::Listed)));
    }
    while let Some((dir, why)) = open.pop() {
        if members.contains_key(&dir) || locate::is_excluded(root, &dir) {
            continue;
        }
        let own_root = locate::root_of(&dir, files)?;
        if own_root.dir != root.dir {
            if why == Why::PathDependency && !dir.starts_with(&root.dir) {
                continue;
            }
            return Err(Undecided::AskCargo("a member that belongs to another workspace"));
        }
        let manifest = files.expect_manifest(&dir)?;
        for (_, key, dependency) in manifest.dependencies() {
            if let Some(path) = path_of(&manifest, root, key, dependency) {
                open.push((path, Why::PathDependency));
            }
        }
        members.insert(dir, manifest);
    }
    // A virtual root was in the list only so that it is not visited twice.
    members.retain(|_, manifest| manifest.text.package.is_some());
    Ok(members)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Listed,
    PathDependency,
}

/// The directory of a path dependency, whether declared here or inherited.
fn path_of(
    manifest: &Manifest,
    root: &Manifest,
    key: &str,
    dependency: &Dependency,
) -> Option<Utf8PathBuf> {
    let Dependency::Detailed(detailed) = dependency else {
        return None;
    };
    if detailed.workspace == Some(true) {
        let inherited = root.text.workspace.as_ref()?.dependencies.get(key)?;
        let Dependency::Detailed(inherited) = inherited else {
            return None;
        };
        return inherited.path.as_ref().map(|path| manifest::join(&root.dir, path));
    }
    detailed.path.as_ref().map(|path| manifest::join(&manifest.dir, path))
}

/// The directories that an entry of `members` stands for. An entry that matches nothing stands for
/// itself, so that cargo's complaint about it is heard.
fn expand(
    root: &Utf8Path,
    pattern: &str,
    files: &mut Files<'_>,
) -> Result<Vec<Utf8PathBuf>, WorkspaceError> {
    let top = if pattern.starts_with('/') { Utf8Path::new("/") } else { root };
    let mut found = vec![top.to_owned()];
    if !pattern.contains(['*', '?', '[']) {
        return Ok(vec![manifest::join(root, pattern)]);
    }
    if pattern.contains("**") {
        return expand_deep(root, pattern, files);
    }
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        if part.contains(['*', '?', '[']) {
            // What the pattern cannot express cargo refuses, and is asked about.
            let Ok(part) = glob::Pattern::new(part) else {
                return Ok(vec![root.join(pattern)]);
            };
            for dir in &found {
                let names = files.list(dir)?.into_iter();
                next.extend(names.filter(|name| part.matches(name)).map(|name| dir.join(name)));
            }
        } else {
            next.extend(found.iter().map(|dir| manifest::join(dir, part)));
        }
        found = next.into_iter().filter(|dir| dir.is_dir()).collect();
    }
    if found.is_empty() {
        return Ok(vec![root.join(pattern)]);
    }
    Ok(found)
}

/// The same for a pattern over any depth: found by the library that cargo uses, while every directory
/// that it may look into is noted.
fn expand_deep(
    root: &Utf8Path,
    pattern: &str,
    files: &mut Files<'_>,
) -> Result<Vec<Utf8PathBuf>, WorkspaceError> {
    let whole = root.join(pattern);
    let plain = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[']));
    let plain = plain.fold(root.to_owned(), |dir, part| manifest::join(&dir, part));
    walk(&plain, files)?;
    let found = glob::glob(whole.as_str()).into_iter().flatten().flatten();
    let found = found.filter_map(|path| Utf8PathBuf::from_path_buf(path).ok());
    let found: Vec<_> =
        found.filter(|path| path.is_dir()).map(|path| manifest::join(&path, "")).collect();
    Ok(if found.is_empty() { vec![whole] } else { found })
}

fn walk(dir: &Utf8Path, files: &mut Files<'_>) -> Result<(), WorkspaceError> {
    for name in files.list(dir)? {
        let below = dir.join(name);
        let is_real = below.symlink_metadata().is_ok_and(|data| data.is_dir());
        // Build results and repositories are large and hold no members.
        if is_real && !below.ends_with("target") && !below.ends_with(".git") {
            walk(&below, files)?;
        }
    }
    Ok(())
}
