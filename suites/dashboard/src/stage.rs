//! A user with a workspace, a scripted model, and tasks to look at.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use agents_system::{
    env,
    process::{Call, kill_group},
};
use agents_testkit::{
    sample::Sample,
    scratch::{self, Scratch},
};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::confine;
use serde_json::Value;

const SOON: Duration = Duration::from_secs(60);

/// What the model says, by what it is asked.
const SCRIPT: &str = include_str!("script.toml");

/// Five tasks, of which three run side by side.
const PLAN: &str = include_str!("plan.toml");

pub(crate) struct Stage {
    sample: Sample,
    /// The workspace, where pictures show it.
    root: Utf8PathBuf,
    program: Utf8PathBuf,
}

/// A program of ours that goes with whoever started it.
pub(crate) struct Running(Child);

/// The page, and where it is.
pub(crate) struct Served {
    pub(crate) running: Running,
    pub(crate) address: String,
}

impl Running {
    /// The hard way, as a crash would.
    pub(crate) fn kill(&mut self) {
        kill_group(self.0.id());
        _ = self.0.wait();
    }

    pub(crate) fn wait(&mut self) -> anyhow::Result<bool> {
        Ok(self.0.wait()?.success())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Stage {
    pub(crate) fn set(built: &Utf8Path) -> anyhow::Result<Self> {
        let sample = Sample::new();
        sample.vendor().library("tiny-sql", "0.3.1", "");
        sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
        sample.lock();
        let root = confine::show_at(&sample.root(), "/srv/shop".into())?;
        let stage = Self { sample, root, program: built.join("cargo-agents") };
        let (home, root) = (stage.home(), &stage.root);
        let script = scratch::write(&home.join("script.toml"), SCRIPT);
        let config = format!(
            "hosts = [\"claude\"]\n[defaults]\nsymposium-recommendations = false\n\n[tasks]\nsandbox = \"never\"\n\n\
             [providers.demo]\nkind = \"script\"\nscript = \"{script}\"\n\n\
             [[models.known]]\nprovider = \"demo\"\nid = \"default\"\nprice = {{ input = 3_000_000, output = 15_000_000 }}\n"
        );
        let own = home.join(".config/cargo-agents");
        scratch::write(&own.join("config.toml"), config);
        let plugin =
            "name = \"tiny\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource.path = \"skills\"\n";
        scratch::write(&own.join("plugins/tiny/SYMPOSIUM.toml"), plugin);
        let other = "name = \"elsewhere\"\ncrates = [\"another-crate\"]\n";
        scratch::write(&own.join("plugins/elsewhere/SYMPOSIUM.toml"), other);
        let skill = "---\nname: queries\ndescription: how to write SQL with tiny-sql\n---\nBind every value.\n";
        scratch::write(&own.join("plugins/tiny/skills/queries/SKILL.md"), skill);
        for (dir, what) in [
            (home.join(".agents/agents"), "helps with what you ask"),
            (home.join(".claude/agents"), "helps, as Claude Code has it"),
        ] {
            let text = format!("---\nname: helper\ndescription: {what}\n---\nYou help.\n");
            scratch::write(&dir.join("helper.md"), text);
        }
        let lead = "---\nname: lead\ndescription: divides what is to be done\nspawns: [helper]\n---\nYou divide.\n";
        scratch::write(&home.join(".agents/agents/lead.md"), lead);
        scratch::write(&root.join("plan.toml"), PLAN);
        Ok(stage)
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        self.sample.scratch()
    }

    fn home(&self) -> Utf8PathBuf {
        self.scratch().path("user")
    }

    /// Our program, as the user calls it in the workspace.
    fn call(&self, args: &[&str]) -> Call {
        let mut call = Call::new(self.program.clone())
            .args(args.iter().copied())
            .in_empty_env()
            .env("HOME", self.home())
            .env("CARGO_HOME", self.sample.home())
            .env("CARGO_AGENTS_SUPERVISOR_IDLE", "5")
            .cwd(&self.root)
            .deadline(SOON);
        for variable in [env::PATH, env::CARGO] {
            if let Some(value) = variable.get() {
                call = call.env(variable.name, value);
            }
        }
        call
    }

    pub(crate) fn agents(&self, args: &[&str]) -> anyhow::Result<String> {
        let call = self.call(args);
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
        Ok(done.stdout_text().trim().to_owned())
    }

    pub(crate) fn json(&self, args: &[&str]) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.agents(args)?)?)
    }

    /// Starts a task in the background: its id.
    pub(crate) fn task(&self, prompt: &str, more: &[&str]) -> anyhow::Result<String> {
        let args = ["task", "run", "helper", prompt, "--background"];
        self.agents(&[&args, more].concat())
    }

    /// Starts something in front, with nobody there.
    pub(crate) fn begin(&self, args: &[&str]) -> anyhow::Result<Running> {
        let call = self.call(args);
        let mut command = call.group_leader();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Running(command.spawn().with_context(|| format!("`{}`", call.display()))?))
    }

    pub(crate) fn page(&self, more: &[&str]) -> anyhow::Result<Served> {
        let mut command = self.call(&[&["dashboard"], more].concat()).group_leader();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().context("no pipe")?;
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().to_owned();
        if !address.starts_with("http://127.0.0.1:") {
            bail!("the program printed `{address}`");
        }
        Ok(Served { running: Running(child), address })
    }

    pub(crate) fn file(&self, name: &str) -> Utf8PathBuf {
        self.root.join(name)
    }

    /// Lets something go on that waits for a file.
    pub(crate) fn go(&self, name: &str) {
        scratch::write(&self.file(name), "");
    }

    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !holds() {
            if begun.elapsed() > SOON {
                bail!("waited in vain: {what}");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.call(&["task", "supervisor", "--stop", "--cancel"]).capture();
    }
}
