//! Finding the manifest we stand in and the workspace root it belongs to, by cargo's rules.

use std::rc::Rc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    config,
    files::{Files, Loaded, Undecided},
    manifest::{self, MANIFEST, Manifest},
};

/// Where we stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Here {
    /// The directory we were asked about.
    pub(crate) cwd: Utf8PathBuf,
    /// The directory of the nearest manifest.
    pub(crate) dir: Utf8PathBuf,
    /// Configuration files of cargo below that directory, on the way to where we stand: with them the
    /// answer may differ from the one for the directory itself.
    pub(crate) configs: Vec<Utf8PathBuf>,
}

/// Walks up to the nearest manifest. `None` if there is none: we are outside.
pub(crate) fn nearest(cwd: &Utf8Path) -> Option<Here> {
    let mut configs = Vec::new();
    for dir in cwd.ancestors() {
        if dir.join(MANIFEST).exists() {
            return Some(Here { cwd: cwd.to_owned(), dir: dir.to_owned(), configs });
        }
        if dir.join(".cargo").exists() {
            configs.extend(config::files_of(dir).into_iter().filter(|file| file.exists()));
        }
    }
    None
}

/// The manifest of the root that the package or workspace in `dir` belongs to; a package without a
/// workspace is its own root.
pub(crate) fn root_of(dir: &Utf8Path, files: &mut Files<'_>) -> Result<Rc<Manifest>, Undecided> {
    let own = files.expect_manifest(dir)?;
    if own.text.workspace.is_some() {
        return Ok(own);
    }
    if let Some(pointer) = pointer(&own) {
        return follow(&pointer, files);
    }
    for ancestor in above(dir, files.cargo_home) {
        match files.manifest(ancestor)? {
            Loaded::Absent => {}
            Loaded::Unknown => {
                return Err(Undecided::AskCargo("a manifest of an unknown shape above"));
            }
            Loaded::Manifest(candidate) => {
                if let Some(pointer) = pointer(&candidate) {
                    return follow(&pointer, files);
                }
                if candidate.text.workspace.is_some() && !is_excluded(&candidate, dir) {
                    return Ok(candidate);
                }
            }
        }
    }
    Ok(own)
}

/// The directories above `dir` in which cargo looks for a root. It does not leave its own home (the
/// crates unpacked there belong to nobody's workspace) nor a package that is being published.
pub(crate) fn above<'a>(
    dir: &'a Utf8Path,
    cargo_home: Option<&'a Utf8Path>,
) -> impl Iterator<Item = &'a Utf8Path> {
    let mut below = None;
    dir.ancestors().skip(1).take_while(move |ancestor| {
        let left_home = below.is_some() && below == cargo_home;
        below = Some(*ancestor);
        !left_home && !ancestor.ends_with("target/package")
    })
}

/// Whether the workspace of `root` leaves out the package in `dir`. Both lists are compared by
/// spelling here, patterns are not expanded.
pub(crate) fn is_excluded(root: &Manifest, dir: &Utf8Path) -> bool {
    let Some(workspace) = &root.text.workspace else {
        return false;
    };
    let below = |entry: &String| dir.starts_with(root.dir.join(entry));
    workspace.exclude.iter().any(below) && !workspace.members.iter().any(below)
}

fn pointer(manifest: &Manifest) -> Option<Utf8PathBuf> {
    let pointer = manifest.text.package.as_ref()?.workspace.as_ref()?;
    Some(manifest::join(&manifest.dir, pointer))
}

fn follow(dir: &Utf8Path, files: &mut Files<'_>) -> Result<Rc<Manifest>, Undecided> {
    let root = files.expect_manifest(dir)?;
    match root.text.workspace {
        Some(_) => Ok(root),
        None => Err(Undecided::AskCargo("a root without a workspace table")),
    }
}
