//! A home, a place to work and a scripted model for a few runs.

use std::{
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
    time::Duration,
};

use agents_testkit::{
    endpoint::{Endpoint, Reply, Request, Script},
    harm::{self, Noticed},
    scratch::Scratch,
    through::bound_by_modes,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::disk::Disk;

/// Megabytes that a few runs fit on, and that are soon full.
const DISK: usize = 3;

/// Where a few runs happen.
pub(crate) struct World {
    /// Where our state is, if it can become full; let go of before the directory that it is in.
    disk: Option<Disk>,
    scratch: Scratch,
    program: Utf8PathBuf,
    pub(crate) endpoint: Endpoint,
}

/// What the model says: so many calls of a tool, one after the other, each of which leaves a line in a file; then that it is done. Every
/// answer, and everything that a tool says, has something in it that is nowhere else.
fn script(steps: usize, pause: Duration) -> Script {
    Script::rule(move |request: &Request| {
        let run = run_of(&request.text()).unwrap_or_else(|| "run-none".to_owned());
        let done = request.results().count();
        let mut reply = if done < steps {
            let command = format!(
                "printf 'tok-{run}-out-{done}-%s\\n' $$; echo {done} >> {run}.effects; sleep 0.0{}",
                done * 3 % 10
            );
            Reply::text(format!("tok-{run}-says-{done}"))
                .and_call("bash", json!({ "command": command }))
        } else {
            Reply::text(format!("tok-{run}-says-{done} done"))
        };
        reply.delay = pause;
        reply
    })
}

/// The run that a text is about.
pub(crate) fn run_of(text: &str) -> Option<String> {
    let at = text.find("run-")?;
    let digits: String = text[at + 4..].chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then(|| format!("run-{digits}"))
}

impl World {
    pub(crate) fn new(
        program: &Utf8Path,
        disk: bool,
        steps: usize,
        pause: Duration,
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new();
        let endpoint = Endpoint::start(script(steps, pause));
        scratch.write("home/config.toml", "[defaults]\nsymposium-recommendations = false\n");
        scratch.write(
            "user/.agents/agents/helper.md",
            "---\nname: helper\ndescription: helps\n---\nYou help.\n",
        );
        fs_err::create_dir_all(scratch.path("work"))?;
        fs_err::create_dir_all(scratch.path("home/state"))?;
        let disk = disk.then(|| Disk::mount(scratch.path("home/state"), DISK)).transpose()?;
        Ok(Self { disk, scratch, program: program.to_owned(), endpoint })
    }

    pub(crate) fn root(&self) -> Utf8PathBuf {
        self.scratch.root().to_owned()
    }

    fn state(&self) -> Utf8PathBuf {
        self.scratch.path("home/state")
    }

    pub(crate) fn transcripts(&self) -> Utf8PathBuf {
        self.state().join("transcripts")
    }

    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        self.disk.as_ref().map_or(Ok(()), |it| it.fill(0))
    }

    pub(crate) fn make_room(&self) -> anyhow::Result<()> {
        self.disk.as_ref().map_or(Ok(()), Disk::make_room)
    }

    /// What the tools of a run did, a number a line.
    pub(crate) fn effects(&self, run: &str) -> Vec<String> {
        let text = fs_err::read_to_string(self.scratch.path(format!("work/{run}.effects")));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Nobody can make anything in the directory of transcripts any more.
    pub(crate) fn lock_out(&self) -> anyhow::Result<()> {
        for dir in [self.transcripts(), self.transcripts().join("owners")] {
            fs_err::create_dir_all(&dir)?;
            fs_err::set_permissions(&dir, std::fs::Permissions::from_mode(0o500))?;
        }
        Ok(())
    }

    pub(crate) fn let_in(&self) -> anyhow::Result<()> {
        for dir in [self.transcripts(), self.transcripts().join("owners")] {
            fs_err::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    fn noted(&self) -> Utf8PathBuf {
        self.scratch.path("noted")
    }

    /// Has it noted what goes wrong for a command, and for whatever it leaves running.
    pub(crate) fn watch(&self, command: &mut Command) {
        harm::watch(self.scratch.root(), command, &self.noted());
    }

    /// What went wrong so far for those that are watched.
    pub(crate) fn noticed(&self) -> Noticed {
        Noticed::of(&self.noted())
    }

    /// A command of the program, for which file modes count.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("task").args(args).current_dir(self.scratch.path("work"));
        let mut command = bound_by_modes(&command);
        command.env_clear();
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn variables(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", self.scratch.path("user").into()),
            ("CARGO_AGENTS_HOME", self.scratch.path("home").into()),
            ("CARGO_AGENTS_SUPERVISOR_IDLE", "20".into()),
            ("ANTHROPIC_API_KEY", "sk-scripted".into()),
            ("ANTHROPIC_BASE_URL", self.endpoint.url().into()),
        ]
    }

    pub(crate) fn run(&self, args: &[&str]) -> anyhow::Result<Output> {
        Ok(self.command(args).output()?)
    }

    /// The tasks that there are, as the program tells it.
    pub(crate) fn tasks(&self) -> anyhow::Result<Vec<Value>> {
        let output = self.run(&["list", "--json", "-n", "1000"])?;
        let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            anyhow::anyhow!("`task list --json` is no JSON ({error}): {said}")
        })?;
        Ok(document["tasks"].as_array().cloned().unwrap_or_default())
    }

    /// Keeps everything for whoever wants to know why.
    pub(crate) fn keep(&self) -> anyhow::Result<Utf8PathBuf> {
        crate::ground::keep(&self.root())
    }
}
