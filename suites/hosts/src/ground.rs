//! A home, a workspace and a registry; our own commands in them.

use std::time::Duration;

use agents_plugin::manifest::EVENTS;
use agents_probe::{
    client::Scope,
    left::Disk,
    sample::{CRATE, Marks, Registry, Servers},
};
use agents_system::{
    env,
    process::{Call, Captured},
};
use agents_testkit::{sample::Sample, scratch};
use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};

/// One user with one workspace.
pub(crate) struct Ground {
    sample: Sample,
    program: Utf8PathBuf,
}

impl Ground {
    /// A workspace that depends on `tiny-sql`, and a registry with a plugin for that crate.
    pub(crate) fn new(built: &Utf8Path, servers: Servers) -> anyhow::Result<Self> {
        let sample = Sample::new();
        sample.vendor().library(CRATE, "0.3.1", "");
        sample.package(".", "app", "0.1.0", &format!("[dependencies]\n{CRATE} = \"0.3\"\n"));
        sample.lock();
        // Hosts find it on `PATH`, where nothing else of ours is.
        let program = sample.scratch().path("bin/cargo-agents");
        fs_err::create_dir_all(sample.scratch().path("bin"))?;
        fs_err::os::unix::fs::symlink(built.join("cargo-agents"), &program)?;
        let ground = Self { sample, program };
        let (dir, log, marks) = (ground.path("registry"), ground.log(), ground.marks());
        fs_err::create_dir_all(&marks)?;
        fs_err::create_dir_all(ground.happened())?;
        let events = Some(Marks { events: EVENTS, dir: &marks });
        let server = built.join("notes-server");
        let registry = Registry { dir: &dir, server: (&server, &[]), log: &log, marks: events };
        registry.write()?;
        ground.own(".config/cargo-agents/config.toml".into(), &registry.config(servers));
        Ok(ground)
    }

    fn path(&self, relative: &str) -> Utf8PathBuf {
        self.sample.scratch().path(relative)
    }

    /// What hooks leave here: a file for each event.
    pub(crate) fn marks(&self) -> Utf8PathBuf {
        self.path("marks")
    }

    /// What hooks of the user's own leave here, likewise.
    pub(crate) fn happened(&self) -> Utf8PathBuf {
        self.path("happened")
    }

    /// The directory that our program is in.
    pub(crate) fn bin(&self) -> Utf8PathBuf {
        self.path("bin")
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.path("user")
    }

    pub(crate) fn workspace(&self) -> Utf8PathBuf {
        self.sample.root()
    }

    /// What the MCP server writes when its tool is called.
    pub(crate) fn log(&self) -> Utf8PathBuf {
        self.path("notes.log")
    }

    /// Writes a file of the user's own.
    pub(crate) fn own(&self, relative: &Utf8Path, text: &str) {
        scratch::write(&self.home().join(relative), text);
    }

    /// Runs our program, which must succeed.
    pub(crate) fn agents(&self, args: &[&str]) -> anyhow::Result<Captured> {
        let call = self.call(args);
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
        Ok(done)
    }

    /// A call of our program by its user.
    pub(crate) fn call(&self, args: &[&str]) -> Call {
        let call = Call::new(self.program.clone())
            .args(args.iter().copied())
            .in_empty_env()
            .env("HOME", self.home())
            .env("CARGO_HOME", self.sample.home())
            .cwd(self.workspace())
            .deadline(Duration::from_secs(120));
        [env::PATH, env::CARGO].into_iter().fold(call, |call, variable| match variable.get() {
            Some(value) => call.env(variable.name, value),
            None => call,
        })
    }

    /// `init` and `sync` for these hosts; a second `sync` must have nothing to do.
    pub(crate) fn sync(&self, hosts: &[&str], scope: Scope) -> anyhow::Result<()> {
        let added = hosts.iter().flat_map(|host| ["--add-agent", host]);
        let args: Vec<&str> =
            ["init", "--hook-scope", scope.word()].into_iter().chain(added).collect();
        self.agents(&args)?;
        self.agents(&["sync"])?;
        self.agents(&["sync", "--check"])?;
        Ok(())
    }

    /// Where everything is.
    pub(crate) fn root(&self) -> Utf8PathBuf {
        self.sample.scratch().root().to_owned()
    }

    /// What is in the home and the workspace, without what is our own.
    pub(crate) fn disk(&self) -> anyhow::Result<Disk> {
        Ok(Disk::of_user(&self.home(), &self.workspace())?)
    }

    /// Leaves everything where it is; the directory.
    pub(crate) fn keep(self) -> Utf8PathBuf {
        let root = self.root();
        std::mem::forget(self.sample);
        root
    }
}
