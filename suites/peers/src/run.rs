//! A command that is run to its end, or to the end of our patience.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use agents_system::process::kill_group;
use anyhow::Context as _;

/// What came of it.
#[derive(Debug)]
pub(crate) struct Run {
    /// Nothing, if it had not ended when we lost patience.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// How long anything may take that should not take long.
pub(crate) const USUAL: Duration = Duration::from_secs(60);

impl Run {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status?.code()
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.code() == Some(0)
    }

    /// Everything it said, on both streams.
    pub(crate) fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Whether it is a failure that nobody meant: a panic, a signal, no end.
    pub(crate) fn crashed(&self) -> bool {
        self.code().is_none_or(|code| code == 101)
    }

    /// How it ended, in few words.
    pub(crate) fn ending(&self) -> String {
        match self.status {
            None => "does not end".to_owned(),
            Some(_) if self.code() == Some(101) => "panics".to_owned(),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ends with {code}"),
                (None, Some(signal)) => format!("is ended by signal {signal}"),
                (None, None) => "ends somehow".to_owned(),
            },
        }
    }
}

/// A command that runs, as the leader of a process group of its own.
pub(crate) struct Running {
    child: Child,
    stdout: File,
    stderr: File,
}

/// Starts it with `input` to read.
pub(crate) fn start(command: &mut Command, input: &[u8]) -> anyhow::Result<Running> {
    let scratch = || tempfile::tempfile().context("a file to print to");
    let (mut stdin, stdout, stderr) = (scratch()?, scratch()?, scratch()?);
    std::io::Write::write_all(&mut stdin, input)?;
    stdin.rewind()?;
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let child = command.process_group(0).spawn().with_context(|| format!("{command:?}"))?;
    Ok(Running { child, stdout, stderr })
}

impl Running {
    /// Waits for it, but not longer than this; then its whole group is ended.
    pub(crate) fn wait(mut self, limit: Duration) -> anyhow::Result<Run> {
        let since = Instant::now();
        let mut status = self.child.try_wait()?;
        while status.is_none() && since.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(1));
            status = self.child.try_wait()?;
        }
        if status.is_none() {
            self.kill()?;
        }
        let text = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut bytes))?;
            anyhow::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Run { status, stdout: text(&mut self.stdout)?, stderr: text(&mut self.stderr)? })
    }

    /// Ends it and everything that it started, without a word of warning.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        kill_group(self.child.id());
        self.child.wait()?;
        Ok(())
    }
}

/// A command that stands behind another program now has the environment that it had, and nothing else of ours.
pub(crate) fn as_before(mut behind: Command, command: &Command) -> Command {
    behind.env_clear();
    behind.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    behind
}

/// Runs it with nothing to read.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<Run> {
    start(command, b"")?.wait(USUAL)
}
