//! A user with a workspace, a home and some plugins.

use std::process::{Command, Output, Stdio};

use agents_testkit::{sample::Sample, scratch};
use camino::{Utf8Path, Utf8PathBuf};

use crate::models::CUSTOMARY;

/// A workspace `app` that depends on `serde 1.0.200` and `tiny-sql 0.3.1`, and a home without any plugin.
pub(crate) struct World {
    pub(crate) sample: Sample,
}

/// What may be set where the tests run and would change what the program does.
const OF_WHOEVER_TESTS: [&str; 14] = [
    "CARGO_AGENTS_CARGO",
    "CARGO_NET_OFFLINE",
    "CARGO_TARGET_DIR",
    "CI",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_CLI",
    "COPILOT_HOME",
    // Cargo's, with a directory for every build script.
    "LD_LIBRARY_PATH",
    "NO_COLOR",
    "SYMPOSIUM_CARGO",
    "SYMPOSIUM_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl World {
    pub(crate) fn new() -> Self {
        let sample = Sample::new();
        sample.vendor().library("serde", "1.0.200", "");
        sample.vendor().library("tiny-sql", "0.3.1", "");
        sample.package(".", "app", "0.1.0", "[dependencies]\nserde = \"1\"\ntiny-sql = \"0.3\"\n");
        sample.lock();
        let world = Self { sample };
        world.config("[defaults]\nsymposium-recommendations = false\n");
        world
    }

    /// Our own home.
    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.sample.scratch().path("agents-home")
    }

    /// A directory that is no workspace.
    pub(crate) fn outside(&self) -> Utf8PathBuf {
        let dir = self.sample.scratch().path("outside");
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(crate) fn config(&self, text: &str) {
        scratch::write(&self.home().join("config.toml"), text);
    }

    /// A plugin in the user's own directory.
    pub(crate) fn plugin(&self, dir: &str, manifest: &str) -> Utf8PathBuf {
        scratch::write(&self.home().join("plugins").join(dir).join("SYMPOSIUM.toml"), manifest)
    }

    /// An executable script in the plugin's directory.
    pub(crate) fn plugin_script(&self, dir: &str, name: &str, body: &str) -> Utf8PathBuf {
        self.sample.scratch().script(format!("agents-home/plugins/{dir}/{name}"), body)
    }

    /// A command of the program, in the workspace.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_in(&self.sample.root(), args)
    }

    pub(crate) fn command_in(&self, dir: &Utf8Path, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-agents"));
        command.args(args).current_dir(dir).stdin(Stdio::null());
        command.env("CARGO_AGENTS_HOME", self.home()).env("CARGO_HOME", self.sample.home());
        command.env("HOME", self.user()).env("TERM", "xterm-256color");
        for variable in OF_WHOEVER_TESTS.iter().chain(&CUSTOMARY) {
            command.env_remove(variable);
        }
        command
    }

    /// The user's home, which is not that of whoever runs the tests.
    pub(crate) fn user(&self) -> Utf8PathBuf {
        let user = self.sample.scratch().path("user");
        std::fs::create_dir_all(&user).unwrap();
        user
    }

    pub(crate) fn agents(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    pub(crate) fn agents_in(&self, dir: &Utf8Path, args: &[&str]) -> Run {
        Run::from(self.command_in(dir, args).output().unwrap())
    }

    /// The result of a command that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.agents(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    }

    /// The document of a `--json` command.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(args);
        let run = self.agents(&all);
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

/// The rows of one section of the help.
pub(crate) fn section(help: &str, heading: &str) -> Vec<String> {
    let (_, rest) = help.split_once(&format!("{heading}:\n")).unwrap_or_else(|| panic!("{help}"));
    let rows = rest.lines().take_while(|line| line.starts_with("  "));
    rows.map(|row| row.trim().to_owned()).collect()
}

/// Whether some row of the section is for that command.
pub(crate) fn lists(help: &str, heading: &str, name: &str) -> bool {
    section(help, heading).iter().any(|row| row.split_whitespace().next() == Some(name))
}

/// The manifest of a plugin with one subcommand that runs `command` (an inline installation).
pub(crate) fn subcommand(plugin: &str, gate: &str, name: &str, command: &str) -> String {
    format!(
        "name = \"{plugin}\"\n{gate}\n[subcommand.{name}]\ndescription = \"Run {name}\"\ncommand = {command}\n"
    )
}
