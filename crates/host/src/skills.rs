//! Which directories must hold a skill so that every host sees it.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::{host::Host, id::HostId, path::Roots, scope::Scope};

/// A directory to write skills into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillDir {
    /// The directory; a skill `x` is `<dir>/x/SKILL.md`.
    pub dir: Utf8PathBuf,
    /// The configured hosts that read it, in alphabetical order.
    pub hosts: Vec<HostId>,
}

/// The smallest reasonable set of directories such that every host reads at least one of them.
///
/// Hosts read several directories, and each other's. The rules, in order:
///
/// 1. A host that reads one directory only gets it (Claude Code reads nothing but `.claude/skills`).
/// 2. A host that already reads a directory of the set gets nothing more (Cursor reads `.claude/skills`, so
///    `.cursor/skills` is not written when Claude Code is configured too).
/// 3. Any other host gets the directory that its descriptor says to write, which is the shared
///    `.agents/skills` wherever the host knows it.
///
/// So each host sees each skill once, as far as that is possible. With Claude Code and Codex configured,
/// both `.claude/skills` and `.agents/skills` are written, and OpenCode or Goose, which read both, see a
/// skill twice: such a host appears in several of the results. That is harmless as long as the same name
/// means the same content, so whoever writes must give a skill the same name and bytes in all of them.
///
/// The result does not depend on the order of `hosts` and is sorted by directory. In the project scope
/// without a workspace it is empty.
#[must_use]
pub fn skill_dirs(hosts: &[&Host], scope: Scope, roots: &Roots<'_>) -> Vec<SkillDir> {
    struct Reader<'h> {
        id: &'h HostId,
        write: Utf8PathBuf,
        read: Vec<Utf8PathBuf>,
    }
    let mut readers: Vec<Reader<'_>> = hosts
        .iter()
        .filter_map(|host| {
            let paths = host.paths(scope, roots);
            Some(Reader { id: &host.id, write: paths.skills_dir?, read: paths.skills_read })
        })
        .collect();
    readers.sort_by(|one, other| (one.read.len(), one.id).cmp(&(other.read.len(), other.id)));
    readers.dedup_by(|one, other| one.id == other.id);

    let mut dirs: Vec<Utf8PathBuf> = Vec::new();
    for reader in &readers {
        if !reader.read.iter().any(|dir| dirs.contains(dir)) {
            dirs.push(reader.write.clone());
        }
    }
    dirs.sort();
    let with_readers = dirs.into_iter().map(|dir| {
        let reading = readers.iter().filter(|reader| reader.read.contains(&dir));
        let mut hosts: Vec<HostId> = reading.map(|reader| reader.id.clone()).collect();
        hosts.sort();
        SkillDir { dir, hosts }
    });
    with_readers.collect()
}

#[cfg(test)]
mod tests;
