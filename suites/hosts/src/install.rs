//! Clients and node from npm, our own programs from cargo.

use std::time::Duration;

use agents_system::{env, process::Call};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::report;

/// A package of npm that brings a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: &'static str,
    /// The program, below the directory that it was installed in.
    pub(crate) program: &'static str,
}

/// The node that runs npm and the clients; what the system has is too old for some of them.
const NODE: Package = Package { name: "node", program: "node_modules/.bin/node" };
const NODE_VERSION: &str = "24";

/// A directory with one directory per package, so that no two packages meet.
#[derive(Debug, Clone)]
pub(crate) struct Prefix(Utf8PathBuf);

impl Prefix {
    pub(crate) fn new(dir: Utf8PathBuf) -> Self {
        Self(dir)
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        &self.0
    }

    fn dir(&self, package: Package) -> Utf8PathBuf {
        self.0.join(package.name.trim_start_matches('@').replace('/', "-"))
    }

    /// The program of a package.
    pub(crate) fn program(&self, package: Package) -> Utf8PathBuf {
        self.dir(package).join(package.program)
    }

    /// The directory of `node`.
    pub(crate) fn node(&self) -> Utf8PathBuf {
        self.dir(NODE).join("node_modules/.bin")
    }

    /// A path in the package of a client, if that is installed.
    pub(crate) fn file(&self, package: Package, relative: &str) -> Option<Utf8PathBuf> {
        Some(self.dir(package).join(relative)).filter(|path| path.exists())
    }

    pub(crate) fn install_node(&self) -> anyhow::Result<()> {
        if !self.program(NODE).exists() {
            self.npm(NODE, NODE_VERSION)?;
        }
        Ok(())
    }

    pub(crate) fn install(&self, package: Package, update: bool) -> anyhow::Result<()> {
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

    fn npm(&self, package: Package, version: &str) -> anyhow::Result<()> {
        let dir = self.dir(package);
        fs_err::create_dir_all(&dir)?;
        let wanted = format!("{}@{version}", package.name);
        report::say(&format!("installing {wanted} into {dir}"));
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
    pub(crate) fn version(&self, package: Package) -> anyhow::Result<String> {
        let manifest = self.dir(package).join("node_modules").join(package.name);
        let manifest = fs_err::read_to_string(manifest.join("package.json"))?;
        let manifest: Value = serde_json::from_str(&manifest)?;
        Ok(manifest["version"].as_str().context("a package without a version")?.to_owned())
    }
}

/// Builds our program and the suite's MCP server; the directory that both are in.
pub(crate) fn build() -> anyhow::Result<Utf8PathBuf> {
    let mut dir = None;
    for (package, program) in [("cargo-agents", "cargo-agents"), ("hosts-suite", "notes-server")] {
        report::say(&format!("building {program}"));
        let cargo = env::CARGO.get().unwrap_or_else(|| "cargo".into());
        let call = Call::new(cargo)
            .args(["build", "--locked", "-p", package, "--bin", program])
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
