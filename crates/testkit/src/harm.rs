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
