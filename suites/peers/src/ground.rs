//! A user with a workspace, a registry of plugins and a configuration: the same files for both programs.

use std::{process::Command, rc::Rc};

use agents_system::{env, process::path_with};
use agents_testkit::{sample::Sample, scratch, vendor};
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::{
    say,
    tree::{Tree, tree},
};
use serde_json::Value;

use crate::{
    program::Who,
    run::{self, Run, Running},
};

/// The crate that plugins are for.
pub(crate) const CRATE: &str = "tiny-sql";

/// The configuration that both read. Nobody is asked over the network, and nothing is put off.
const CONFIG: &str = "\
auto-update = \"off\"
hook-scope = \"project\"
mcp-register = \"each\"
sync-debounce-secs = 0
";

/// One user of one of the programs.
pub(crate) struct Ground {
    pub(crate) who: Who,
    sample: Rc<Sample>,
}

/// What becomes of the files of a user afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Gone,
    /// Left where they are, for whoever wants to know why.
    Kept,
}

impl Ground {
    /// A workspace that depends on [`CRATE`], and an empty registry.
    pub(crate) fn new(
        who: Who,
        program: &Utf8Path,
        afterwards: Afterwards,
    ) -> anyhow::Result<Self> {
        let ground = Self::bare(who, program, afterwards)?;
        ground.sample.vendor().library(CRATE, "0.3.1", "");
        ground.sample.package(".", "app", "0.1.0", &format!("[dependencies]\n{CRATE} = \"0.3\"\n"));
        ground.sample.lock();
        Ok(ground)
    }

    /// No workspace yet.
    pub(crate) fn bare(
        who: Who,
        program: &Utf8Path,
        afterwards: Afterwards,
    ) -> anyhow::Result<Self> {
        let sample = Rc::new(Sample::new());
        if afterwards == Afterwards::Kept {
            say(&format!("{} is left in {}", who.name(), sample.scratch().root()));
            std::mem::forget(Rc::clone(&sample));
        }
        for dir in ["bin", "user", "registry"] {
            fs_err::create_dir_all(sample.scratch().path(dir))?;
        }
        // Both are found under the same name, and nothing else is beside them.
        fs_err::os::unix::fs::symlink(program, sample.scratch().path("bin/cargo-agents"))?;
        Ok(Self { who, sample })
    }

    pub(crate) fn sample(&self) -> &Sample {
        &self.sample
    }

    pub(crate) fn workspace(&self) -> Utf8PathBuf {
        self.sample.root()
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.sample.scratch().path("user")
    }

    /// Where the program keeps what is its own: configuration, caches, what it remembers, logs.
    pub(crate) fn own(&self) -> Utf8PathBuf {
        self.sample.scratch().path("own")
    }

    pub(crate) fn config(&self) -> Utf8PathBuf {
        self.own().join("config.toml")
    }

    /// These hosts, and these lines of TOML.
    pub(crate) fn configure(&self, hosts: &[&str], more: &str) {
        let hosts: String =
            hosts.iter().map(|it| format!("[[agent]]\nname = \"{it}\"\n\n")).collect();
        let registry = self.sample.scratch().path("registry");
        let text = format!(
            "{CONFIG}{more}\n{hosts}[defaults]\nsymposium-recommendations = false\n\n\
             [[registry]]\nname = \"team\"\npath = \"{registry}\"\n"
        );
        scratch::write(&self.config(), text);
    }

    /// A plugin for everybody, with what else its manifest says; its directory.
    pub(crate) fn plugin(&self, name: &str, manifest: &str) -> Utf8PathBuf {
        self.plugin_for("*", name, manifest)
    }

    /// A plugin for whoever depends on this crate.
    pub(crate) fn plugin_for(&self, krate: &str, name: &str, manifest: &str) -> Utf8PathBuf {
        let text = format!("name = \"{name}\"\ndepends-on = [\"{krate}\"]\n\n{manifest}\n");
        self.sample.scratch().write(format!("registry/{name}/SYMPOSIUM.toml"), text);
        self.sample.scratch().path(format!("registry/{name}"))
    }

    /// A plugin with a skill in the directory `it`, whose frontmatter begins like this.
    pub(crate) fn skill(&self, plugin: &str, frontmatter: &str, body: &str) -> Utf8PathBuf {
        let dir = self.plugin(plugin, "[[skills]]\nsource.path = \"skills\"\n");
        let text = format!("---\n{frontmatter}\n---\n{body}\n");
        scratch::write(&dir.join("skills/it/SKILL.md"), text);
        dir.join("skills/it")
    }

    /// A plugin with a hook that is this shell script. Neither program is asked to find the script by itself.
    pub(crate) fn hook(&self, plugin: &str, event: &str, script: &str) {
        let path = self.script(plugin, script);
        self.plugin(plugin, &hook_table("hook", event, &path));
    }

    /// A shell script of a plugin.
    pub(crate) fn script(&self, name: &str, script: &str) -> Utf8PathBuf {
        self.sample.scratch().script(format!("scripts/{name}.sh"), script)
    }

    /// A command line of the program, in the workspace.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.sample.scratch().path("bin/cargo-agents"));
        command.args(args);
        self.furnish(&mut command);
        command
    }

    /// The directory and the environment of the user.
    fn furnish(&self, command: &mut Command) {
        // Cargo itself in front of rustup's proxy for it, which would cost whoever calls cargo.
        let cargo = Utf8PathBuf::from(vendor::cargo_program());
        let bin = self.sample.scratch().path("bin");
        let front = [Some(bin.as_path()), cargo.parent().filter(|dir| dir.is_absolute())];
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", path_with(front.into_iter().flatten()))
            .env("HOME", self.home())
            .env("CARGO_HOME", self.sample.home())
            .env("SYMPOSIUM_HOME", self.own());
        for name in ["RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // Where there is only rustup's cargo, it looks for the toolchains of another user's home.
        if let Some(home) = env::HOME.absolute_path()
            && std::env::var_os("RUSTUP_HOME").is_none()
        {
            command.env("RUSTUP_HOME", home.join(".rustup"));
        }
    }

    /// Runs the program with nothing to read.
    pub(crate) fn run(&self, args: &[&str]) -> anyhow::Result<Run> {
        run::run(&mut self.command(args))
    }

    /// Runs it, and it must succeed: what is looked at comes later.
    pub(crate) fn must(&self, args: &[&str]) -> anyhow::Result<Run> {
        let run = self.run(args)?;
        anyhow::ensure!(run.succeeded(), "`{}` {}\n{}", args.join(" "), run.ending(), run.said());
        Ok(run)
    }

    /// What a host does before a tool is used, and so on.
    pub(crate) fn call_hook(
        &self,
        host: &str,
        event: &str,
        payload: &Value,
    ) -> anyhow::Result<Running> {
        let bytes = serde_json::to_vec(payload)?;
        run::start(&mut self.command(&["hook", host, event]), &bytes)
    }

    /// Every file of the user's, in the home and in the workspace.
    pub(crate) fn tree(&self) -> anyhow::Result<Tree> {
        Ok(tree(&[self.home(), self.workspace()])?)
    }

    /// Puts everything back: what was there then, and nothing else, for the user and for the program.
    pub(crate) fn restore(&self, then: &Tree) -> anyhow::Result<()> {
        let roots = [self.home(), self.workspace(), self.own()];
        for path in tree(&roots)?.into_keys().filter(|path| !then.contains_key(path)) {
            fs_err::remove_file(&path)?;
            let mut dir = path.parent();
            while let Some(empty) = dir.filter(|it| !roots.iter().any(|root| root == it)) {
                if fs_err::remove_dir(empty).is_err() {
                    break;
                }
                dir = empty.parent();
            }
        }
        for (path, bytes) in then {
            if fs_err::read(path).ok().as_ref() != Some(bytes) {
                scratch::write(path, bytes);
            }
        }
        Ok(())
    }

    /// What [`Self::restore`] wants: the user's files, and the program's own.
    pub(crate) fn everything(&self) -> anyhow::Result<Tree> {
        Ok(tree(&[self.home(), self.workspace(), self.own()])?)
    }

    /// A path as tables show it.
    pub(crate) fn short(&self, path: &Utf8Path) -> String {
        let within = |dir: Utf8PathBuf, name: &str| {
            path.strip_prefix(dir).ok().map(|rest| format!("{name}{rest}"))
        };
        let shown = within(self.workspace(), "").or_else(|| within(self.home(), "~/"));
        let root = self.sample.scratch().root().to_owned();
        shown.or_else(|| within(root, "…/")).unwrap_or_else(|| path.to_string())
    }
}

/// One hook in a manifest: a script, for an event.
pub(crate) fn hook_table(name: &str, event: &str, script: &Utf8Path) -> String {
    format!(
        "[[hooks]]\nname = \"{name}\"\nevent = \"{event}\"\ncommand = {{ executable = \"{script}\" }}\n"
    )
}
