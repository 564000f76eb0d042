//! One test in a process of its own, with one change or none.

use std::{
    os::unix::process::ExitStatusExt as _,
    time::{Duration, Instant},
};

use agents_system::process::{Call, ProcessError};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{
    change::Switch,
    compile::Program,
    switch::{ON, REACHED},
};

/// A test, by its program and its name there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Test {
    pub(crate) program: String,
    pub(crate) name: String,
}

/// What a test is run with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum With<'a> {
    /// Nothing is changed; which switches are reached goes to this file.
    Record(&'a Utf8Path),
    Change(Switch),
    /// The change that it was built with.
    Built,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Passed,
    Failed,
    /// It took so much longer than it should that it was ended.
    Endless,
}

/// How long a test may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Of a processor: a loop without an end is noticed soon, on a busy machine too.
    seconds: u64,
    /// By the clock, for what waits for something that does not come.
    wall: Duration,
}

impl Patience {
    /// For a test that nobody has seen.
    pub(crate) const FIRST: Self = Self { seconds: 600, wall: Duration::from_secs(900) };

    /// Ten times as long as without a change.
    pub(crate) fn after(took: Duration) -> Self {
        let wall = Duration::from_secs(30) + took * 20;
        Self { seconds: 3 + (took * 10).as_secs(), wall }
    }
}

/// More than any test needs, less than hurts a machine.
const MEMORY_KIB: u64 = 8 * 1024 * 1024;

/// The test programs of a room.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) programs: Vec<Program>,
    /// The directory of the room, where cargo would start them.
    pub(crate) room: Utf8PathBuf,
}

impl Stage {
    /// All tests, without those that are only run when they are asked for.
    pub(crate) fn tests(&self) -> anyhow::Result<Vec<Test>> {
        let mut tests = Vec::new();
        for program in &self.programs {
            let listed = |args: &[&str]| {
                let call = self.call(program).args(["--list", "--format", "terse"]);
                let done = call.args(args.iter().copied()).capture()?;
                if !done.status.success() {
                    bail!("`{}` does not list its tests\n{}", program.path, done.said());
                }
                let names = done.stdout_text();
                let names = names.lines().filter_map(|it| it.strip_suffix(": test"));
                Ok(names.map(str::to_owned).collect::<Vec<_>>())
            };
            let ignored = listed(&["--ignored"])?;
            let names = listed(&[])?.into_iter().filter(|it| !ignored.contains(it));
            tests.extend(names.map(|name| Test { program: program.name.clone(), name }));
        }
        Ok(tests)
    }

    /// Runs a test, and tells how long it took. What it leaves in `scratch` is for the caller to remove.
    pub(crate) fn run(
        &self,
        test: &Test,
        with: With<'_>,
        patience: Patience,
        scratch: &Utf8Path,
    ) -> anyhow::Result<(Ending, Duration)> {
        let program = self.programs.iter().find(|it| it.name == test.program);
        let program = program.context("a test of a program that was not built")?;
        let limits = r#"ulimit -t "$1"; ulimit -v "$2"; shift 3; exec "$@""#;
        let (seconds, memory) = (patience.seconds.to_string(), MEMORY_KIB.to_string());
        let call = self
            .call(program)
            .args(["--exact", &test.name])
            .through("sh", ["-c", limits, "sh", &seconds, &memory])
            .env("TMPDIR", scratch.as_str())
            .deadline(patience.wall);
        let call = match with {
            With::Record(file) => call.env(REACHED, file.as_str()),
            With::Change(switch) => call.env(ON, switch.0.to_string()),
            With::Built => call,
        };
        let since = Instant::now();
        let ending = match call.capture() {
            Ok(done) if done.status.success() => Ending::Passed,
            // Both are what happens when the processor was used for too long.
            Ok(done) if matches!(done.status.signal(), Some(9 | 24)) => Ending::Endless,
            Ok(_) => Ending::Failed,
            Err(ProcessError::TimedOut { .. } | ProcessError::TooMuchOutput { .. }) => {
                Ending::Endless
            }
            Err(error) => return Err(error.into()),
        };
        Ok((ending, since.elapsed()))
    }

    /// A test program as cargo starts it. Nothing that fails may be remembered in the copy.
    fn call(&self, program: &Program) -> Call {
        Call::new(program.path.as_str())
            .cwd(&self.room)
            .env("CARGO_MANIFEST_DIR", self.room.as_str())
            .env("INSTA_UPDATE", "no")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
    }
}
