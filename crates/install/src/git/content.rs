//! What a checked-out tree holds, as one hash that is the same on every machine.

use agents_system::{
    cache::{digest, hex},
    memory::Watch,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::error::AcquireError;

/// Of the names and bytes of all files below `dir`, and of where links lead. Modes are left out: not every file system has them.
pub(super) fn tree_digest(dir: &Utf8Path, watch: &mut Watch) -> Result<String, AcquireError> {
    let mut parts = Vec::new();
    collect(dir, Utf8Path::new(""), watch, &mut parts)
        .map_err(AcquireError::io(format!("read the tree in `{dir}`")))?;
    parts.sort();
    let mut all = Vec::new();
    for (path, kind, content) in &parts {
        for field in [path.as_bytes(), kind.as_bytes(), content.as_slice()] {
            all.extend_from_slice(&(field.len() as u64).to_le_bytes());
            all.extend_from_slice(field);
        }
    }
    Ok(hex(&digest(&all)))
}

/// A path with `/` between its parts, what is there, and the hash of its content.
type Part = (String, &'static str, Vec<u8>);

fn collect(
    dir: &Utf8Path,
    relative: &Utf8Path,
    watch: &mut Watch,
    parts: &mut Vec<Part>,
) -> std::io::Result<()> {
    // Joining nothing would leave a slash behind.
    let here = if relative == "" { dir.to_owned() } else { dir.join(relative) };
    watch.look(&here);
    for entry in fs_err::read_dir(here)? {
        let entry = entry?;
        let name = entry.file_name();
        // Git's own files differ each time; a submodule has one too.
        if name == ".git" {
            continue;
        }
        // Cannot be addressed by a manifest, but is content like everything else.
        if name.to_str().is_none() {
            watch.give_up();
        }
        let name = name.to_string_lossy();
        let path = match relative.as_str() {
            "" => Utf8PathBuf::from(name.as_ref()),
            above => Utf8PathBuf::from(format!("{above}/{name}")),
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(dir, &path, watch, parts)?;
        } else if kind.is_symlink() {
            watch.give_up();
            let target = fs_err::read_link(entry.path())?;
            let target = target.to_string_lossy().replace('\\', "/");
            parts.push((path.into_string(), "link", target.into_bytes()));
        } else {
            watch.look(&dir.join(&path));
            let bytes = fs_err::read(entry.path())?;
            parts.push((path.into_string(), "file", digest(&bytes).to_vec()));
        }
    }
    Ok(())
}
