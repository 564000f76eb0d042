//! Files that belong to somebody else: the settings of coding agents, `AGENTS.md`, ...
//!
//! A [`ForeignFile`] is what was there when it was loaded. [`ForeignFile::replace`] puts a new text in its place
//! in one step and only if nobody wrote the file in between; a symbolic link stays one, and mode and byte
//! order mark stay. [`backup`] keeps the original bytes once, before the first touch. What to write comes
//! from [`crate::edit`]. Two processes of ours are kept apart by [`crate::lock`]. Access control lists and
//! extended attributes do not survive a replacement; when we are killed in the middle, an unfinished
//! `.<name>.agents-*` stays beside the file until [`remove_unfinished`].
//!
//! ```
//! use agents_system::{edit::{Edit, Format, apply}, foreign::{ForeignFile, Written, backup}};
//! # let dir = tempfile::tempdir()?;
//! # let home = camino::Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap();
//! let file = ForeignFile::load(&home.join("settings.json"))?;
//! backup(&file, &home.join("backups"))?;
//! let set = Edit::Set { at: ["model"].into(), value: "x".into() };
//! let new = apply(Format::Json, file.text().unwrap_or_default(), &[set])?;
//! assert_eq!(file.replace(&new)?, Written::Created);
//! assert_eq!(ForeignFile::load(&home.join("settings.json"))?.replace(&new)?, Written::Unchanged);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    fs::Metadata,
    io::{self, Write as _},
};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

use crate::{
    cache::{Digest, digest, name_hash},
    regular::{self, MAX_FILE},
};

mod error;

pub use error::ForeignError;

const BOM: char = '\u{feff}';

/// A file of somebody else, as it was when it was loaded. See the [module](self).
#[derive(Debug, Clone)]
pub struct ForeignFile {
    path: Utf8PathBuf,
    real: Utf8PathBuf,
    found: Option<Found>,
}

#[derive(Debug, Clone)]
struct Found {
    /// With its byte order mark.
    text: String,
    metadata: Metadata,
}

/// What [`ForeignFile::replace`] and [`ForeignFile::remove`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Nothing: it was so already.
    Unchanged,
    /// The file is new.
    Created,
    /// The file has a new content.
    Replaced,
    /// The file is gone.
    Removed,
}

/// What a file was before the first touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Original {
    /// There was none.
    Absent,
    /// These bytes.
    Bytes(Vec<u8>),
}

impl ForeignFile {
    /// Reads the file, or notes that there is none.
    pub fn load(path: &Utf8Path) -> Result<Self, ForeignError> {
        let real = follow(path)?;
        let found = read(path, &real)?;
        Ok(Self { path: path.to_owned(), real, found })
    }

    /// Where it is, as it was asked for.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Where it really is, with symbolic links followed.
    #[must_use]
    pub fn real_path(&self) -> &Utf8Path {
        &self.real
    }

    /// Its text without a byte order mark; `None` if there is no file.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let text = self.found.as_ref()?.text.as_str();
        Some(text.strip_prefix(BOM).unwrap_or(text))
    }

    /// The hash of its bytes; `None` if there is no file.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.found.as_ref().map(|found| digest(found.text.as_bytes()))
    }

    /// Its permission bits (0 where the system has none); `None` if there is no file.
    #[must_use]
    pub fn mode(&self) -> Option<u32> {
        self.found.as_ref().map(|found| mode(&found.metadata))
    }

    /// Whether it starts with a byte order mark.
    #[must_use]
    pub fn has_bom(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.text.starts_with(BOM))
    }

    /// Its line ending: that of its first line, or `\n`.
    #[must_use]
    pub fn line_ending(&self) -> &'static str {
        let first = self.text().and_then(|text| text.split_inclusive('\n').next());
        if first.is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" }
    }

    /// Puts `new_text` in its place, in one step: a reader sees the old file or the new one. The target of a
    /// symbolic link is replaced, not the link; mode, byte order mark and, where the system lets us, the
    /// owner stay. Nothing is written if it is so already. If the file is no longer what was loaded,
    /// that is an error and it stays.
    pub fn replace(&self, new_text: &str) -> Result<Written, ForeignError> {
        let body = new_text.strip_prefix(BOM).unwrap_or(new_text);
        let bom = if self.has_bom() || body.len() < new_text.len() { "\u{feff}" } else { "" };
        let new = format!("{bom}{body}");
        match &self.found {
            Some(found) if found.text == new => return Ok(Written::Unchanged),
            Some(found) if found.metadata.permissions().readonly() => {
                return Err(ForeignError::ReadOnly { path: self.real.clone() });
            }
            _ => {}
        }
        let parent = parent(&self.real);
        fs_err::create_dir_all(parent).map_err(ForeignError::io("create", parent))?;
        let file = write_beside(
            parent,
            &unfinished_prefix(&self.real),
            new.as_bytes(),
            self.found.as_ref(),
            Durable::Yes,
        )
        .map_err(ForeignError::io("write", &self.real))?;
        self.check_unchanged()?;
        if self.found.is_none() {
            return match file.persist_noclobber(&self.real) {
                Ok(_) => Ok(Written::Created),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(self.changed())
                }
                Err(error) => Err(ForeignError::io("create", &self.real)(error.error)),
            };
        }
        match file.persist(&self.real) {
            Ok(_) => Ok(Written::Replaced),
            Err(error) => Err(ForeignError::io("replace", &self.real)(error.error)),
        }
    }

    /// Deletes it, and the symbolic link that led to it, if it is still what was loaded.
    pub fn remove(&self) -> Result<Written, ForeignError> {
        self.check_unchanged()?;
        if self.found.is_none() {
            return Ok(Written::Unchanged);
        }
        let linked = self.path.is_symlink();
        fs_err::remove_file(&self.real).map_err(ForeignError::io("delete", &self.real))?;
        if linked {
            fs_err::remove_file(&self.path).map_err(ForeignError::io("delete", &self.path))?;
        }
        Ok(Written::Removed)
    }

    /// An error if the file is no longer what was loaded.
    pub fn check_unchanged(&self) -> Result<(), ForeignError> {
        let unchanged = follow(&self.path).is_ok_and(|real| real == self.real)
            && match (read(&self.path, &self.real), &self.found) {
                (Ok(None), None) => true,
                (Ok(Some(now)), Some(then)) => {
                    now.text == then.text && mode(&now.metadata) == mode(&then.metadata)
                }
                _ => false,
            };
        if unchanged { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> ForeignError {
        ForeignError::Changed { path: self.path.clone() }
    }
}

/// Keeps the original of `file` in the directory `backups`, once: later calls for the same path change nothing.
/// That there was no file is kept too. Returns where it is kept.
pub fn backup(file: &ForeignFile, backups: &Utf8Path) -> Result<Utf8PathBuf, ForeignError> {
    let (bytes, absent) = backup_paths(&file.path, backups);
    if let Some(kept) = [&bytes, &absent].into_iter().find(|path| path.is_file()) {
        return Ok(kept.clone());
    }
    let (kept, content) = match &file.found {
        Some(found) => (bytes, found.text.as_bytes().to_vec()),
        None => (absent, format!("{}\n", file.path).into_bytes()),
    };
    match write_backup(file, &kept, &content, backups)?.persist_noclobber(&kept) {
        Ok(_) => Ok(kept),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(kept),
        Err(error) => Err(ForeignError::io("create", &kept)(error.error)),
    }
}

/// Keeps `file` as it is now in the directory `backups`, in the place of what was kept for its path. For a file that was
/// given back and is about to be touched again.
pub fn renew_backup(file: &ForeignFile, backups: &Utf8Path) -> Result<Utf8PathBuf, ForeignError> {
    let (bytes, absent) = backup_paths(&file.path, backups);
    let (kept, content, stale) = match &file.found {
        Some(found) => (bytes, found.text.as_bytes().to_vec(), absent),
        None => (absent, format!("{}\n", file.path).into_bytes(), bytes),
    };
    let new = write_backup(file, &kept, &content, backups)?;
    new.persist(&kept).map_err(|error| ForeignError::io("create", &kept)(error.error))?;
    match fs_err::remove_file(&stale) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ForeignError::io("delete", &stale)(error))
        }
        _ => Ok(kept),
    }
}

fn write_backup(
    file: &ForeignFile,
    kept: &Utf8Path,
    content: &[u8],
    backups: &Utf8Path,
) -> Result<NamedTempFile, ForeignError> {
    fs_err::create_dir_all(backups).map_err(ForeignError::io("create", backups))?;
    // That there was nothing is said by the name; what stands in it is for whoever looks, and not worth waiting for the disk.
    let durable = if file.found.is_some() { Durable::Yes } else { Durable::No };
    let written = write_beside(backups, ".writing-", content, None, durable);
    written.map_err(ForeignError::io("write", kept))
}

/// Removes what a killed [`ForeignFile::replace`] left beside the file. Nobody may be replacing it meanwhile.
pub fn remove_unfinished(path: &Utf8Path) {
    for file in unfinished(path) {
        // It does no harm if it cannot be removed.
        let _ = fs_err::remove_file(file);
    }
}

/// What a killed [`ForeignFile::replace`] left beside the file, or one that is at it now.
#[must_use]
pub fn unfinished(path: &Utf8Path) -> Vec<Utf8PathBuf> {
    let Ok(real) = follow(path) else { return Vec::new() };
    let prefix = unfinished_prefix(&real);
    let beside = parent(&real).read_dir_utf8().into_iter().flatten().flatten();
    let ours = beside.filter(|entry| {
        let random = entry.file_name().strip_prefix(prefix.as_str());
        random.is_some_and(|it| it.len() == 6 && it.bytes().all(|b| b.is_ascii_alphanumeric()))
    });
    ours.map(camino::Utf8DirEntry::into_path).collect()
}

/// How the name of a file begins that will take the place of `real`.
fn unfinished_prefix(real: &Utf8Path) -> String {
    format!(".{}.agents-", real.file_name().unwrap_or_default())
}

/// What [`backup`] kept for this path; `None` if the file was never touched.
pub fn original(path: &Utf8Path, backups: &Utf8Path) -> Result<Option<Original>, ForeignError> {
    let (bytes, absent) = backup_paths(path, backups);
    match fs_err::read(&bytes) {
        Ok(bytes) => Ok(Some(Original::Bytes(bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(absent.is_file().then_some(Original::Absent))
        }
        Err(error) => Err(ForeignError::io("read", &bytes)(error)),
    }
}

fn backup_paths(path: &Utf8Path, backups: &Utf8Path) -> (Utf8PathBuf, Utf8PathBuf) {
    let name = name_hash(path.as_str());
    (backups.join(format!("{name}.original")), backups.join(format!("{name}.absent")))
}

/// Where the file really is.
fn follow(path: &Utf8Path) -> Result<Utf8PathBuf, ForeignError> {
    match path.canonicalize_utf8() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match path.read_link_utf8() {
            Ok(target) => Err(ForeignError::Dangling { path: path.to_owned(), target }),
            // Nothing is there; its directory may be.
            Err(_) => match (parent(path).canonicalize_utf8(), path.file_name()) {
                (Ok(parent), Some(name)) => Ok(parent.join(name)),
                _ => Ok(path.to_owned()),
            },
        },
        Err(error) => Err(ForeignError::io("read", path)(error)),
    }
}

fn read(path: &Utf8Path, real: &Utf8Path) -> Result<Option<Found>, ForeignError> {
    let Some((metadata, bytes)) = regular::look(path, real, MAX_FILE)? else { return Ok(None) };
    Ok(Some(Found { text: regular::text(path, bytes)?, metadata }))
}

/// Whether the content of a file must be on the disk before the file has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

/// A finished temporary file with the mode and owner of the file that it will replace.
fn write_beside(
    parent: &Utf8Path,
    prefix: &str,
    bytes: &[u8],
    like: Option<&Found>,
    durable: Durable,
) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    if like.is_none() && prefix != ".writing-" {
        // What the umask makes of it, as for any new file.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(parent)?;
    file.write_all(bytes)?;
    if let Some(like) = like {
        keep_owner(file.as_file(), &like.metadata)?;
        file.as_file().set_permissions(like.metadata.permissions())?;
    }
    if durable == Durable::Yes {
        file.as_file().sync_all()?;
    }
    Ok(file)
}

#[cfg(unix)]
fn keep_owner(file: &std::fs::File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        // Only the superuser may; then the group may still work.
        let all = fchown(file, Some(like.uid()), Some(like.gid()));
        let _ = all.or_else(|_| fchown(file, None, Some(like.gid())));
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_owner(_: &std::fs::File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o7777
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0
}

fn parent(path: &Utf8Path) -> &Utf8Path {
    path.parent().filter(|parent| !parent.as_str().is_empty()).unwrap_or(Utf8Path::new("."))
}

#[cfg(test)]
mod tests;
