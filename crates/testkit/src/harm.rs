//! What can go wrong below a program that writes files: it is killed at one of its writes, what it writes is torn, the disk is full, the
//! clock is wrong. A library that is preloaded into the program does it, so that the program itself knows nothing of it.

use std::{process::Command, sync::OnceLock};

use camino::{Utf8Path, Utf8PathBuf};

/// The source, which a C compiler makes a library of.
const SOURCE: &str = include_str!("harm/faults.c");

/// What goes wrong. Steps are writes and flushes of what [matters](Place), counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// The program is killed before this step.
    Before(usize),
    /// Half of what this step writes is written, then the program is killed.
    Torn(usize),
    /// From this step on there is no room on the disk.
    Full(usize),
    /// From a step on the clock is wrong by so many seconds.
    Jump {
        /// The step.
        at: usize,
        /// The seconds.
        by: i64,
    },
    /// The clock is wrong by so many seconds all the time.
    Clock(i64),
}

/// Where steps are counted.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// At files whose paths end like this.
    File(&'a str),
    /// At everything below a directory, where making, renaming and removing something are steps as well; only in the program whose path
    /// ends like this, not in those that it starts.
    Below(&'a Utf8Path, &'a str),
}

impl Harm {
    /// Lets it happen to a command.
    pub fn put(self, place: Place<'_>, command: &mut Command) {
        preload(place, command);
        let (kind, at) = match self {
            Self::Before(at) => (Some("before"), at),
            Self::Torn(at) => (Some("torn"), at),
            Self::Full(at) => (Some("full"), at),
            Self::Jump { at, .. } => (Some("jump"), at),
            Self::Clock(_) => (None, 0),
        };
        if let Some(kind) = kind {
            command.env("FAULT_KIND", kind).env("FAULT_AT", at.to_string());
        }
        if let Self::Jump { by, .. } | Self::Clock(by) = self {
            command.env("FAULT_CLOCK", by.to_string());
        }
    }
}

/// Lets nothing happen to a command, and counts its steps: one byte for each in this file.
pub fn count(place: Place<'_>, command: &mut Command, file: &Utf8Path) {
    preload(place, command);
    command.env("FAULT_COUNT", file);
}

/// Notes in a file what goes wrong for a command, and for what it starts, below a directory, whatever makes it go wrong: [`Noticed::of`] reads it.
pub fn watch(around: &Utf8Path, command: &mut Command, file: &Utf8Path) {
    command.env("LD_PRELOAD", library()).env("FAULT_SEEN", file).env("FAULT_AROUND", around);
}

/// What a command, or one that it started, has come upon, as far as it can be seen: a system call that is not made through the C library
/// cannot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noticed {
    /// Something could not be written for want of room.
    pub no_room: bool,
    /// Something could not be made, changed or removed for want of a right.
    pub no_right: bool,
    /// A clock was asked, and wrong.
    pub clock: bool,
}

impl Noticed {
    /// What [`watch`] noted in this file so far; nothing, if there is none.
    #[must_use]
    pub fn of(file: &Utf8Path) -> Self {
        let letters = fs_err::read_to_string(file).unwrap_or_default();
        let has = |letter| letters.contains(letter);
        Self { no_room: has('S'), no_right: has('R'), clock: has('C') }
    }
}

fn preload(place: Place<'_>, command: &mut Command) {
    command.env("LD_PRELOAD", library());
    match place {
        Place::File(end) => command.env("FAULT_FILE", end),
        Place::Below(dir, program) => command.env("FAULT_BELOW", dir).env("FAULT_PROG", program),
    };
}

/// The library, built once for each version of its source.
fn library() -> &'static Utf8Path {
    static LIBRARY: OnceLock<Utf8PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let dir = Utf8PathBuf::from_path_buf(std::env::temp_dir()).unwrap();
        let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        let version = blake3::hash(SOURCE.as_bytes()).to_hex();
        let built = dir.join(format!("agents-faults-{user}-{}.so", &version[..16]));
        if !built.exists() {
            // Beside it first: others build at the same time.
            let scratch = tempfile::tempdir_in(&dir).unwrap();
            let new = Utf8PathBuf::from_path_buf(scratch.path().join("faults.so")).unwrap();
            let source = new.with_extension("c");
            fs_err::write(&source, SOURCE).unwrap();
            let mut compiler = Command::new("cc");
            compiler.args(["-shared", "-fPIC", "-O1", "-o", new.as_str(), source.as_str(), "-ldl"]);
            crate::scratch::run(&mut compiler);
            fs_err::rename(&new, &built).unwrap();
        }
        built
    })
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;
    use crate::{scratch::Scratch, through::bound_by_modes};

    /// What is noticed of a command of the shell below a directory.
    fn noticed(scratch: &Scratch, script: &str, harm: impl FnOnce(&mut Command)) -> Noticed {
        let (dir, file) = (scratch.path("dir"), scratch.path("seen"));
        let _ = fs_err::remove_file(&file);
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&dir);
        let mut command = bound_by_modes(&command);
        harm(&mut command);
        watch(&dir, &mut command, &file);
        command.output().unwrap();
        Noticed::of(&file)
    }

    #[test]
    fn what_went_wrong_is_noticed_and_what_did_not_is_not() {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};
        let scratch = Scratch::new();
        scratch.write("dir/locked/old", "");
        let locked = scratch.path("dir/locked");
        let mode = |mode| fs_err::set_permissions(&locked, Permissions::from_mode(mode)).unwrap();
        let nothing = Noticed::default();
        let write = "mkdir locked/new && rmdir locked/new";
        assert_eq!(noticed(&scratch, write, |_| ()), nothing);
        mode(0o500);
        assert_eq!(noticed(&scratch, write, |_| ()), Noticed { no_right: true, ..nothing });
        let elsewhere = "mkdir /proc/none; echo > /proc/none";
        assert_eq!(
            noticed(&scratch, elsewhere, |_| ()),
            nothing,
            "that is not below the directory"
        );
        mode(0o700);
        let dir = scratch.path("dir");
        let full = |command: &mut Command| Harm::Full(1).put(Place::Below(&dir, "cat"), command);
        let copy = "cat /proc/self/status > new";
        assert_eq!(noticed(&scratch, copy, full), Noticed { no_room: true, ..nothing });
        let clock = |command: &mut Command| Harm::Clock(60).put(Place::File("none"), command);
        assert_eq!(noticed(&scratch, "date", clock), Noticed { clock: true, ..nothing });
        let jump = |at| {
            let harm = Harm::Jump { at, by: 60 };
            noticed(&scratch, "date", |command| harm.put(Place::File("none"), command))
        };
        assert_eq!(jump(0), Noticed { clock: true, ..nothing });
        assert_eq!(jump(9), nothing, "the clock was asked before");
    }
}
