//! A home, a workspace and a registry; our own commands in them.

use std::time::Duration;

use agents_system::{
    env,
    process::{Call, Captured},
};
use agents_testkit::{sample::Sample, scratch};
use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};

use hosts_suite::{
    client::Scope,
    tree::{Tree, tree_without},
};

/// The name of the MCP server that the plugin brings.
pub(crate) const SERVER: &str = "notes";
/// Its tool.
pub(crate) const TOOL: &str = "look_up";
/// What only that server knows.
pub(crate) const TOKEN: &str = "quartz-lantern-4711";
/// The name of the skill that the plugin brings.
pub(crate) const SKILL: &str = "tiny-sql-queries";
/// The name of the agent that the plugin brings.
pub(crate) const AGENT: &str = "query-reviewer";
/// Its description.
pub(crate) const AGENT_DESCRIPTION: &str =
    "Reads queries written with tiny-sql and says what is wrong with them";
/// What only that agent is told.
pub(crate) const AGENT_PROMPT: &str = "You are marble-kestrel-5530, who reads queries.";
/// Why the plugin's hook denies a command.
pub(crate) const REASON: &str = "basalt-heron-8123 forbids it";
/// The file that a command makes which the hook denies.
pub(crate) const FORBIDDEN: &str = "forbidden.txt";
/// The file that a command makes which the hook says nothing about.
pub(crate) const ALLOWED: &str = "allowed.txt";
/// Its description.
pub(crate) const SKILL_DESCRIPTION: &str = "Use when writing queries with the tiny-sql crate";

/// One user with one workspace.
pub(crate) struct Ground {
    sample: Sample,
    program: Utf8PathBuf,
}

impl Ground {
    /// A workspace that depends on `tiny-sql`, and a registry with a plugin for that crate.
    pub(crate) fn new(built: &Utf8Path) -> anyhow::Result<Self> {
        let sample = Sample::new();
        sample.vendor().library("tiny-sql", "0.3.1", "");
        sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
        sample.lock();
        // Hosts find it on `PATH`, where nothing else of ours is.
        let program = sample.scratch().path("bin/cargo-agents");
        fs_err::create_dir_all(sample.scratch().path("bin"))?;
        fs_err::os::unix::fs::symlink(built.join("cargo-agents"), &program)?;
        let ground = Self { sample, program };
        ground.write_registry(&built.join("notes-server"));
        Ok(ground)
    }

    fn write_registry(&self, server: &Utf8Path) {
        let scratch = self.sample.scratch();
        let registry = scratch.path("registry");
        let log = self.log();
        scratch.write(
            "registry/tiny-sql/SYMPOSIUM.toml",
            format!(
                "name = \"tiny-sql-notes\"\ncrates = [\"tiny-sql\"]\n\n\
                 [[skills]]\nsource.path = \"skills\"\n\n\
                 [[agents]]\nsource.path = \"agents\"\n\n\
                 [[mcp_servers]]\nname = \"{SERVER}\"\ncommand = \"{server}\"\n\
                 args = [\"--log\", \"{log}\"]\nenv = {{ NOTES_TOKEN = \"{TOKEN}\" }}\n\n\
                 [[hooks]]\nname = \"guard\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"guard.sh\" }}\n"
            ),
        );
        scratch.script(
            "registry/tiny-sql/guard.sh",
            &format!("case $(cat) in *{FORBIDDEN}*) echo '{REASON}' >&2; exit 2;; esac"),
        );
        scratch.write(
            format!("registry/tiny-sql/skills/{SKILL}/SKILL.md"),
            format!(
                "---\nname: {SKILL}\ndescription: {SKILL_DESCRIPTION}\n---\nBind every value.\n"
            ),
        );
        scratch.write(
            format!("registry/tiny-sql/agents/{AGENT}.md"),
            format!("---\nname: {AGENT}\ndescription: {AGENT_DESCRIPTION}\n---\n{AGENT_PROMPT}\n"),
        );
        let config = format!(
            "mcp-register = \"each\"\n\n[defaults]\nsymposium-recommendations = false\n\n\
             [[registry]]\nname = \"team\"\npath = \"{registry}\"\n"
        );
        scratch::write(&self.home().join(".config/cargo-agents/config.toml"), config);
    }

    /// The directory that our program is in.
    pub(crate) fn bin(&self) -> Utf8PathBuf {
        self.sample.scratch().path("bin")
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.sample.scratch().path("user")
    }

    pub(crate) fn workspace(&self) -> Utf8PathBuf {
        self.sample.root()
    }

    /// What the MCP server writes when its tool is called.
    pub(crate) fn log(&self) -> Utf8PathBuf {
        self.sample.scratch().path("notes.log")
    }

    /// Writes a file of the user's own.
    pub(crate) fn own(&self, relative: &Utf8Path, text: &str) {
        scratch::write(&self.home().join(relative), text);
    }

    /// Runs our program, which must succeed.
    pub(crate) fn agents(&self, args: &[&str]) -> anyhow::Result<Captured> {
        let mut call = Call::new(self.program.clone())
            .args(args.iter().copied())
            .in_empty_env()
            .env("HOME", self.home())
            .env("CARGO_HOME", self.sample.home())
            .cwd(self.workspace())
            .deadline(Duration::from_secs(120));
        for variable in [env::PATH, env::CARGO] {
            if let Some(value) = variable.get() {
                call = call.env(variable.name, value);
            }
        }
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
        Ok(done)
    }

    /// `init` and `sync` for one host; a second `sync` must have nothing to do.
    pub(crate) fn sync(&self, host: &str, scope: Scope) -> anyhow::Result<()> {
        self.agents(&["init", "--add-agent", host, "--hook-scope", scope.word()])?;
        self.agents(&["sync"])?;
        self.agents(&["sync", "--check"])?;
        Ok(())
    }

    /// Every file of the home and the workspace, without what is our own.
    pub(crate) fn tree(&self) -> anyhow::Result<Tree> {
        let home = self.home();
        let ours = [".config/cargo-agents", ".cache/cargo-agents", ".local/state/cargo-agents"];
        let ours = ours.map(|dir| home.join(dir));
        Ok(tree_without(&[home, self.workspace()], &ours)?)
    }

    /// Leaves everything where it is; the directory.
    pub(crate) fn keep(self) -> Utf8PathBuf {
        let root = self.sample.scratch().root().to_owned();
        std::mem::forget(self.sample);
        root
    }
}
