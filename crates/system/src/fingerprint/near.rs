//! The stamps of many files that lie close together.
//!
//! A directory of a thousand plugins is looked at with a thousand questions, each of which names a file from the root of the file system
//! down. Asked from a directory above the files, the system has less of a path to walk; and two threads ask at the same time.

use camino::Utf8Path;

use super::{Stamp, stamp_of};

/// So many files below a directory make it worth being opened.
const MANY: usize = 16;
/// So many files make a second thread worth being started.
const VERY_MANY: usize = 400;

/// Whether all of these files have these stamps.
pub(super) fn all_are(files: &[(&Utf8Path, &Stamp)]) -> bool {
    let halves = (files.len() >= VERY_MANY).then(|| files.split_at(files.len() / 2));
    let Some((one, other)) = halves else { return one_by_one(files) };
    std::thread::scope(|scope| {
        let second = std::thread::Builder::new().spawn_scoped(scope, || one_by_one(other));
        let same = one_by_one(one);
        match second {
            Ok(second) => second.join().unwrap_or(false) && same,
            Err(_) => same && one_by_one(other),
        }
    })
}

fn one_by_one(files: &[(&Utf8Path, &Stamp)]) -> bool {
    let mut near = Near::default();
    files.iter().enumerate().all(|(at, (path, stamp))| {
        let far = files.get(at + MANY - 1).map(|(path, _)| *path);
        near.stamp(path, far).as_ref() == Some(*stamp)
    })
}

/// A directory that is open.
#[derive(Default)]
struct Near<'f> {
    #[cfg(target_os = "linux")]
    base: Option<(&'f Utf8Path, rustix::fd::OwnedFd)>,
    #[cfg(not(target_os = "linux"))]
    base: std::marker::PhantomData<&'f Utf8Path>,
}

#[cfg(not(target_os = "linux"))]
impl<'f> Near<'f> {
    fn stamp(&mut self, path: &'f Utf8Path, _: Option<&'f Utf8Path>) -> Option<Stamp> {
        stamp_of(path)
    }
}

#[cfg(target_os = "linux")]
impl<'f> Near<'f> {
    /// The stamp of a file; `far` is one that comes much later, all between them in order.
    fn stamp(&mut self, path: &'f Utf8Path, far: Option<&'f Utf8Path>) -> Option<Stamp> {
        if self.base.as_ref().is_none_or(|(base, _)| !path.starts_with(base)) {
            self.base = far.and_then(|far| open(common(path, far)?));
        }
        let Some((base, open)) = &self.base else { return stamp_of(path) };
        match path.strip_prefix(base) {
            Ok(inside) if !inside.as_str().is_empty() => stamp_at(open, inside),
            _ => stamp_of(path),
        }
    }
}

/// The directory that both are in.
#[cfg(target_os = "linux")]
fn common<'f>(one: &'f Utf8Path, other: &Utf8Path) -> Option<&'f Utf8Path> {
    one.ancestors().skip(1).find(|it| other.starts_with(it))
}

#[cfg(target_os = "linux")]
fn open(directory: &Utf8Path) -> Option<(&Utf8Path, rustix::fd::OwnedFd)> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(directory.as_std_path(), flags, Mode::empty()).ok()?;
    Some((directory, open))
}

#[cfg(target_os = "linux")]
fn stamp_at(directory: &rustix::fd::OwnedFd, inside: &Utf8Path) -> Option<Stamp> {
    use rustix::fs::{AtFlags, FileType, StatxFlags, StatxTimestamp, statx};
    let wanted = StatxFlags::BASIC_STATS;
    let seen = statx(directory, inside.as_std_path(), AtFlags::empty(), wanted).ok()?;
    // As `stamp` has it: before 1970 all is alike.
    let nanos = |time: StatxTimestamp| {
        u64::try_from(time.tv_sec).map_or(0, |seconds| {
            seconds.saturating_mul(1_000_000_000).saturating_add(u64::from(time.tv_nsec))
        })
    };
    let directory = FileType::from_raw_mode(u32::from(seen.stx_mode)) == FileType::Directory;
    Some(Stamp {
        modified: nanos(seen.stx_mtime),
        changed: nanos(seen.stx_ctime),
        size: if directory { 0 } else { seen.stx_size },
        inode: seen.stx_ino,
    })
}
