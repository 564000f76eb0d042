//! Clients and node from npm, our own programs from cargo.

use std::time::Duration;

use agents_system::{
    env,
    process::{Call, find_program},
};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::say;

/// A package of npm that brings a client.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// The program, below the directory that it was installed in.
    pub program: &'static str,
}

/// The node that runs npm and the clients; what the system has is too old for some of them.
const NODE: Package = Package { name: "node", program: "node_modules/.bin/node" };
const NODE_VERSION: &str = "24";

/// A directory with one directory per package, so that no two packages meet.
#[derive(Debug, Clone)]
pub struct Prefix(Utf8PathBuf);

impl Prefix {
    /// This one if there is one, else `cargo-agents-suites` in the user's cache directory.
    ///
    /// # Errors
    /// Nobody knows where that is.
    pub fn or_usual(dir: Option<&Utf8Path>) -> anyhow::Result<Self> {
        Ok(Self(match dir {
            Some(dir) => camino::absolute_utf8(dir)?,
            None => {
                let home = env::HOME.absolute_path().map(|home| home.join(".cache"));
                let cache = env::XDG_CACHE_HOME.absolute_path().or(home);
                cache
                    .context("cannot tell where your home directory is")?
                    .join("cargo-agents-suites")
            }
        }))
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Utf8Path {
        &self.0
    }

    fn dir(&self, package: Package) -> Utf8PathBuf {
        self.0.join(package.name.trim_start_matches('@').replace('/', "-"))
    }

    /// The program of a package.
    #[must_use]
    pub fn program(&self, package: Package) -> Utf8PathBuf {
        self.dir(package).join(package.program)
    }

    /// The directory of `node`.
    #[must_use]
    pub fn node(&self) -> Utf8PathBuf {
        self.dir(NODE).join("node_modules/.bin")
    }

    /// A path in the package of a client, if that is installed.
    #[must_use]
    pub fn file(&self, package: Package, relative: &str) -> Option<Utf8PathBuf> {
        Some(self.dir(package).join(relative)).filter(|path| path.exists())
    }

    /// Installs node, unless it is there.
    ///
    /// # Errors
    /// npm fails.
    pub fn install_node(&self) -> anyhow::Result<()> {
        if !self.program(NODE).exists() {
            self.npm(NODE, NODE_VERSION)?;
        }
        Ok(())
    }

    /// Installs a client, unless it is there.
    ///
    /// # Errors
    /// npm fails, or the package has no such program.
    pub fn install(&self, package: Package, update: bool) -> anyhow::Result<()> {
        if update || !self.program(package).exists() {
            // Without a tag, npm takes an old version that fits an old node.
            self.npm(package, "latest")?;
        }
        let program = self.program(package);
        if !program.exists() {
            bail!("`{}` has no `{}`", package.name, package.program);
        }
        // npm restores modes of what is in `bin` only.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    /// Installs a program from crates.io, unless this version is there; the directory that it is in.
    ///
    /// # Errors
    /// cargo fails.
    pub fn install_crate(&self, name: &str, version: &str) -> anyhow::Result<Utf8PathBuf> {
        let dir = self.0.join(format!("{name}-{version}"));
        let wanted = format!("{name}@{version}");
        if !dir.join("bin").exists() {
            say(&format!("installing {wanted} into {dir}, which takes minutes"));
            let call = Call::new(env::CARGO.get().unwrap_or_else(|| "cargo".into()))
                .args(["install", "--locked", "--root", dir.as_str(), &wanted])
                // What it is built from is nobody's business afterwards.
                .without_env("CARGO_TARGET_DIR")
                .deadline(Duration::from_secs(3600));
            let done = call.capture()?;
            if !done.status.success() {
                bail!("`{}` failed\n{}", call.display(), done.said());
            }
        }
        Ok(dir.join("bin"))
    }

    /// The directory of a program from crates.io: where `PATH` has one, of whatever version, or where this one is installed then.
    ///
    /// # Errors
    /// cargo fails.
    pub fn find_crate(&self, name: &str, version: &str) -> anyhow::Result<Utf8PathBuf> {
        let found = find_program(name);
        match found.as_deref().and_then(Utf8Path::parent) {
            Some(dir) => Ok(dir.to_owned()),
            None => self.install_crate(name, version),
        }
    }

    fn npm(&self, package: Package, version: &str) -> anyhow::Result<()> {
        let dir = self.dir(package);
        fs_err::create_dir_all(&dir)?;
        let wanted = format!("{}@{version}", package.name);
        say(&format!("installing {wanted} into {dir}"));
        let call = Call::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix", dir.as_str(), &wanted])
            .env("PATH", agents_system::process::path_with([self.node().as_path()]))
            .deadline(Duration::from_secs(600));
        let done = call.capture().context("npm is needed to install the clients")?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
        Ok(())
    }

    /// The version of a client, as npm wrote it down.
    ///
    /// # Errors
    /// It is not installed.
    pub fn version(&self, package: Package) -> anyhow::Result<String> {
        let manifest = self.dir(package).join("node_modules").join(package.name);
        let manifest = fs_err::read_to_string(manifest.join("package.json"))?;
        let manifest: Value = serde_json::from_str(&manifest)?;
        Ok(manifest["version"].as_str().context("a package without a version")?.to_owned())
    }
}

/// Builds programs of this workspace, each of a package; the directory that they are in.
///
/// # Errors
/// One of them cannot be built.
pub fn build(programs: &[(&str, &str)]) -> anyhow::Result<Utf8PathBuf> {
    build_as(programs, &[])
}

/// The same, as users have them, for suites that measure.
///
/// # Errors
/// One of them cannot be built.
pub fn build_release(programs: &[(&str, &str)]) -> anyhow::Result<Utf8PathBuf> {
    build_as(programs, &["--release"])
}

/// The same with features that they do not have by themselves.
///
/// # Errors
/// One of them cannot be built.
pub fn build_with(programs: &[(&str, &str)], features: &[&str]) -> anyhow::Result<Utf8PathBuf> {
    build_as(programs, &["--features", &features.join(",")])
}

fn build_as(programs: &[(&str, &str)], options: &[&str]) -> anyhow::Result<Utf8PathBuf> {
    let mut dir = None;
    for (package, program) in programs {
        say(&format!("building {program}"));
        let cargo = env::CARGO.get().unwrap_or_else(|| "cargo".into());
        let call = Call::new(cargo)
            .args(["build", "--locked", "-p", *package, "--bin", *program])
            .args(options.iter().copied())
            .arg("--message-format=json-render-diagnostics")
            .cwd(env!("CARGO_MANIFEST_DIR"))
            .deadline(Duration::from_secs(3600));
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), String::from_utf8_lossy(&done.stderr));
        }
        let built = done.stdout_text();
        let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut paths = messages.filter_map(|it| it["executable"].as_str().map(Utf8PathBuf::from));
        let path = paths.next_back().context("cargo does not say what it built")?;
        dir = path.parent().map(Utf8Path::to_owned);
    }
    dir.context("cargo does not say where it built")
}
