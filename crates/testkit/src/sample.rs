//! Rust workspaces written from a short description.
//!
//! ```no_run
//! use agents_testkit::sample::Sample;
//! let sample = Sample::new();
//! sample.vendor().library("serde", "1.0.200", "");
//! sample.workspace("members = [\"app\"]");
//! sample.package("app", "app", "0.1.0", "[dependencies]\nserde = \"1\"");
//! sample.cargo(&["generate-lockfile"]);
//! ```

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    scratch::{Scratch, run, write},
    vendor::{self, Vendor},
};

/// A scratch directory with a workspace at `tree/ws`, vendored crates at `vendor`, and a `CARGO_HOME` at
/// `home` that uses them. What a test puts beside the workspace (path dependencies above the root)
/// goes to `tree` as well, so that `tree` as a whole can be copied and compared.
#[derive(Debug)]
pub struct Sample {
    scratch: Scratch,
    vendor: Vendor,
}

impl Default for Sample {
    fn default() -> Self {
        Self::new()
    }
}

impl Sample {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        let scratch = Scratch::new();
        let vendor = Vendor::new(scratch.path("vendor"));
        vendor.write_home(&scratch.path("home"));
        fs_err::create_dir_all(scratch.path("tree/ws")).unwrap();
        Self { scratch, vendor }
    }

    /// The scratch directory.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The vendored crates.
    #[must_use]
    pub fn vendor(&self) -> &Vendor {
        &self.vendor
    }

    /// Everything that belongs to the user.
    #[must_use]
    pub fn tree(&self) -> Utf8PathBuf {
        self.scratch.path("tree")
    }

    /// The root of the workspace.
    #[must_use]
    pub fn root(&self) -> Utf8PathBuf {
        self.scratch.path("tree/ws")
    }

    /// The `CARGO_HOME`.
    #[must_use]
    pub fn home(&self) -> Utf8PathBuf {
        self.scratch.path("home")
    }

    /// A path below the root of the workspace.
    #[must_use]
    pub fn path(&self, relative: &str) -> Utf8PathBuf {
        self.root().join(relative)
    }

    /// Writes a file below the root of the workspace; `..` leads out of it.
    pub fn write(&self, relative: &str, text: &str) -> Utf8PathBuf {
        write(&self.path(relative), text)
    }

    /// A root manifest without a package; `table` is what stands in `[workspace]` and after it.
    pub fn workspace(&self, table: &str) -> Utf8PathBuf {
        self.write("Cargo.toml", &format!("[workspace]\nresolver = \"2\"\n{table}\n"))
    }

    /// A library package in `dir`; `rest` follows `[package]` in its manifest.
    pub fn package(&self, dir: &str, name: &str, version: &str, rest: &str) -> Utf8PathBuf {
        let dir = if dir == "." { String::new() } else { format!("{dir}/") };
        self.write(&format!("{dir}src/lib.rs"), "");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n{rest}\n"
        );
        self.write(&format!("{dir}Cargo.toml"), &manifest)
    }

    /// Runs cargo at the root; it must succeed. What it printed.
    pub fn cargo(&self, args: &[&str]) -> String {
        self.cargo_in(&self.root(), args)
    }

    /// Runs cargo in `dir`; it must succeed. What it printed.
    pub fn cargo_in(&self, dir: &Utf8Path, args: &[&str]) -> String {
        let output = run(vendor::cargo(&self.home()).args(args).current_dir(dir));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Locks what the manifests ask for.
    pub fn lock(&self) -> &Self {
        self.cargo(&["generate-lockfile"]);
        self
    }

    /// A copy of the tree at `name` beside it; the path of the copied root.
    #[must_use]
    pub fn copy(&self, name: &str) -> Utf8PathBuf {
        let to = self.scratch.path(name);
        copy(&self.tree(), &to);
        to.join("ws")
    }

    /// Makes every file and directory of the tree an hour old, so that its time alone tells a change.
    pub fn age(&self) -> &Self {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for (path, _, _) in self.snapshot() {
            std::fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
        }
        self
    }

    /// Every file and directory of the tree with its content and its time: equal if nobody wrote.
    #[must_use]
    pub fn snapshot(&self) -> Vec<(Utf8PathBuf, std::time::SystemTime, Vec<u8>)> {
        let mut out = Vec::new();
        let mut open = vec![self.tree()];
        while let Some(path) = open.pop() {
            let data = fs_err::symlink_metadata(&path).unwrap();
            let content = if data.is_file() { fs_err::read(&path).unwrap() } else { Vec::new() };
            if data.is_dir() {
                open.extend(path.read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path()));
            }
            out.push((path, data.modified().unwrap(), content));
        }
        out.sort();
        out
    }

    /// A cargo that writes down each call before it does what the real one does; the script and the file
    /// it writes to.
    #[cfg(unix)]
    #[must_use]
    pub fn recording_cargo(&self) -> (Utf8PathBuf, Utf8PathBuf) {
        let log = self.scratch.path("cargo-calls");
        let real = vendor::cargo_program();
        let script = format!("echo \"$@\" >> '{log}'\nexec '{real}' \"$@\"");
        (self.scratch.script("bin/cargo", &script), log)
    }
}

fn copy(from: &Utf8Path, to: &Utf8Path) {
    fs_err::create_dir_all(to).unwrap();
    for entry in from.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        #[cfg(unix)]
        if kind.is_symlink() {
            let target = entry.path().read_link_utf8().unwrap();
            fs_err::os::unix::fs::symlink(target, &to).unwrap();
            continue;
        }
        if kind.is_dir() {
            copy(entry.path(), &to);
        } else {
            fs_err::copy(entry.path(), &to).unwrap();
        }
    }
}
