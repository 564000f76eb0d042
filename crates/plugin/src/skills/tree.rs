//! What a skill consists of: the files below its directory, as they are copied and compared.

use agents_system::{
    cache::{self, Digest},
    finding::{Finding, Place},
    memory::Watch,
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    Content, MARKER,
    within::{EntryKind, Within, leads_back},
};
use crate::scan::unreadable;

/// A skill with more bytes than this is none.
pub const MAX_BYTES: u64 = 50 * 1024 * 1024;

/// A skill with more files and directories than this is none.
pub const MAX_ENTRIES: usize = 5_000;

/// Nobody nests a skill deeper.
const MAX_DEPTH: usize = 32;

/// Ours, like the marker, in every skill that we install.
const IGNORE_FILE: &str = ".gitignore";

/// The content of a skill. Links are followed as long as they stay inside the tree that the skill comes from, and
/// what they lead to is content like everything else; `.symposium` and `.gitignore` at the top are ours, and
/// neither they nor version control, build output and installed packages are content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillTree {
    /// Everything below the directory, by path; a directory comes before what is in it.
    pub entries: Vec<TreeEntry>,
}

/// A file or directory of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where it is, relative to the skill, with `/` between the parts; none of them is `..`.
    pub path: Utf8PathBuf,
    /// What it is.
    pub kind: TreeKind,
}

/// What an entry of a skill is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeKind {
    /// A directory.
    Dir,
    /// A file.
    File {
        /// Whether it can be run.
        mode: Mode,
        /// What is in it.
        bytes: Vec<u8>,
    },
}

/// Whether a file can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// It cannot.
    Plain,
    /// It can.
    Executable,
}

impl SkillTree {
    /// Reads the skill in `dir`, following links inside `within` only. What is left out is among the findings;
    /// without a tree there is an error among them: the skill is too large, or a part of it cannot be read.
    #[must_use]
    pub fn read(dir: &Utf8Path, within: &Utf8Path) -> (Option<Self>, Vec<Finding>) {
        let opened = Within::new(within).and_then(|within| Ok((within, dir.canonicalize_utf8()?)));
        let (within, top) = match opened {
            Ok(opened) => opened,
            Err(error) => return (None, vec![unreadable(dir, &error)]),
        };
        Self::read_within(&within, &top, &mut Watch::new())
    }

    /// Reads the skill in `dir`, which is its real path.
    fn read_within(
        within: &Within,
        dir: &Utf8Path,
        watch: &mut Watch,
    ) -> (Option<Self>, Vec<Finding>) {
        let mut reader = Reader {
            within,
            watch,
            trail: Vec::new(),
            tree: Self::default(),
            bytes: 0,
            findings: Vec::new(),
        };
        let read = reader.read(dir, Utf8Path::new(""));
        let Reader { tree, mut findings, .. } = reader;
        match read {
            Ok(()) => (Some(tree), findings),
            Err(finding) => {
                findings.push(*finding);
                (None, findings)
            }
        }
    }

    /// Equal for equal content: paths, kinds, whether files can be run, and bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest_of_entries(self.entries.iter().map(|TreeEntry { path, kind }| match kind {
            TreeKind::Dir => (path.as_path(), None),
            TreeKind::File { mode, bytes } => (path.as_path(), Some((*mode, cache::digest(bytes)))),
        }))
    }

    /// What the [`digest`](Self::digest) of a tree of nothing but a plain file would be, whose bytes have this one.
    #[must_use]
    pub fn digest_of_file(path: &Utf8Path, bytes: Digest) -> Digest {
        digest_of_entries([(path, Some((Mode::Plain, bytes)))])
    }
}

/// The digest of a tree: paths in order, and what is in files; a directory has nothing.
fn digest_of_entries<'e>(
    entries: impl IntoIterator<Item = (&'e Utf8Path, Option<(Mode, Digest)>)>,
) -> Digest {
    let mut all = Vec::new();
    let mut field = |bytes: &[u8]| {
        all.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        all.extend_from_slice(bytes);
    };
    for (path, file) in entries {
        field(path.as_str().as_bytes());
        match file {
            None => field(b"d"),
            Some((mode, bytes)) => {
                field(if mode == Mode::Executable { b"x" } else { b"f" });
                field(&bytes);
            }
        }
    }
    cache::digest(&all)
}

/// What is in `dir`, in short; it is its real path, and links in it are followed inside it only.
#[must_use]
pub fn content_of(dir: &Utf8Path, watch: &mut Watch) -> Content {
    digest_of(&Within::at(dir.to_owned()), dir, watch)
}

pub(super) fn digest_of(within: &Within, dir: &Utf8Path, watch: &mut Watch) -> Content {
    let (tree, findings) = SkillTree::read_within(within, dir, watch);
    Content { digest: tree.map(|tree| tree.digest()), findings }
}

struct Reader<'w> {
    within: &'w Within,
    watch: &'w mut Watch,
    /// The directories on the way, as they really are.
    trail: Vec<Utf8PathBuf>,
    tree: SkillTree,
    bytes: u64,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn read(&mut self, dir: &Utf8Path, below: &Utf8Path) -> Result<(), Box<Finding>> {
        let failed = |message: String| Box::new(Finding::error(message).at(Place::file(dir)));
        if self.trail.len() == MAX_DEPTH {
            return Err(failed(format!("the skill is more than {MAX_DEPTH} directories deep")));
        }
        self.trail.push(dir.to_owned());
        for entry in self.within.list(dir, &mut self.findings, self.watch)? {
            let at_top = below.as_str().is_empty();
            if at_top && matches!(entry.name.as_str(), MARKER | IGNORE_FILE) {
                continue;
            }
            let path = match at_top {
                true => Utf8PathBuf::from(&entry.name),
                false => Utf8PathBuf::from(format!("{below}/{}", entry.name)),
            };
            if self.trail.contains(&entry.real) {
                let place = Place::file(dir.join(&entry.name));
                self.findings.push(leads_back().at(place));
                continue;
            }
            if self.tree.entries.len() == MAX_ENTRIES {
                return Err(failed(format!("the skill has more than {MAX_ENTRIES} files")));
            }
            if entry.kind == EntryKind::Dir {
                self.tree.entries.push(TreeEntry { path: path.clone(), kind: TreeKind::Dir });
                self.read(&entry.real, &path)?;
            } else {
                self.watch.look(&entry.real);
                let kind = self.file(&entry.real).inspect_err(|_| self.watch.give_up())?;
                self.tree.entries.push(TreeEntry { path, kind });
            }
        }
        self.trail.pop();
        Ok(())
    }

    fn file(&mut self, file: &Utf8Path) -> Result<TreeKind, Box<Finding>> {
        let cannot = |error: std::io::Error| Box::new(unreadable(file, &error));
        let opened = fs_err::File::open(file).map_err(cannot)?;
        let mode = mode(&opened.metadata().map_err(cannot)?);
        // It may grow while it is read, or have no size at all.
        let mut bytes = Vec::new();
        let rest = MAX_BYTES - self.bytes;
        std::io::Read::read_to_end(&mut std::io::Read::take(opened, rest + 1), &mut bytes)
            .map_err(cannot)?;
        let length = bytes.len() as u64;
        if length > rest {
            let message = format!("the skill has more than {} MiB", MAX_BYTES / 1024 / 1024);
            return Err(Box::new(Finding::error(message).at(Place::file(file))));
        }
        self.bytes += length;
        Ok(TreeKind::File { mode, bytes })
    }
}

#[cfg(unix)]
fn mode(data: &std::fs::Metadata) -> Mode {
    use std::os::unix::fs::PermissionsExt as _;
    if data.permissions().mode() & 0o111 == 0 { Mode::Plain } else { Mode::Executable }
}

#[cfg(not(unix))]
fn mode(_: &std::fs::Metadata) -> Mode {
    Mode::Plain
}
