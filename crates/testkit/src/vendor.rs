//! Crates that cargo finds without a network, in place of crates.io.
//!
//! A vendored directory that the configuration puts in place of crates.io: cargo resolves, builds and
//! installs from it (`cargo install some-tool`), and never asks anybody.

use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};

use crate::scratch::write;

/// A directory of vendored crates.
#[derive(Debug, Clone)]
pub struct Vendor {
    dir: Utf8PathBuf,
}

impl Vendor {
    /// An empty one at `dir`.
    #[must_use]
    pub fn new(dir: Utf8PathBuf) -> Self {
        fs_err::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// A library; `rest` follows `[package]` in its manifest and may be empty.
    pub fn library(&self, name: &str, version: &str, rest: &str) -> Utf8PathBuf {
        self.krate(name, version, rest, &[("src/lib.rs", "")])
    }

    /// A program that runs `body` as its `main`.
    pub fn program(&self, name: &str, version: &str, body: &str) -> Utf8PathBuf {
        self.krate(name, version, "", &[("src/main.rs", &format!("fn main() {{ {body} }}\n"))])
    }

    /// A crate with these files; `rest` follows `[package]` in its manifest.
    pub fn krate(
        &self,
        name: &str,
        version: &str,
        rest: &str,
        files: &[(&str, &str)],
    ) -> Utf8PathBuf {
        let dir = self.dir.join(format!("{name}-{version}"));
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n{rest}\n"
        );
        write(&dir.join("Cargo.toml"), manifest);
        for (file, text) in files {
            write(&dir.join(file), text);
        }
        // Cargo compares this with the lock file, not with anything it could compute.
        let checksum = format!("{{\"files\":{{}},\"package\":\"{}\"}}", "0".repeat(64));
        write(&dir.join(".cargo-checksum.json"), checksum);
        dir
    }

    /// The configuration that puts it in place of crates.io.
    #[must_use]
    pub fn config(&self) -> String {
        format!(
            "[source.crates-io]\nreplace-with = \"vendored\"\n\n\
             [source.vendored]\ndirectory = \"{}\"\n",
            self.dir
        )
    }

    /// Makes `home` a `CARGO_HOME` with that configuration.
    pub fn write_home(&self, home: &Utf8Path) {
        write(&home.join("config.toml"), self.config());
    }
}

/// The cargo that runs the test, called with `home` as its `CARGO_HOME`. With the configuration of a
/// [`Vendor`] there it knows nobody in the network to ask, only repositories by `file://`.
#[must_use]
pub fn cargo(home: &Utf8Path) -> Command {
    let mut command = Command::new(cargo_program());
    command.env("CARGO_HOME", home);
    // Set by the cargo that runs the tests, and not what a user would have.
    command.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR");
    command
}

/// The path of that cargo.
#[must_use]
pub fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
