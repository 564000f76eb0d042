//! One start of one command, in a process of its own.
//!
//! What the children of a process have used is told for all of them together, and the largest of them is told for ever. So every start has
//! a parent that has no other child.

use std::{
    ffi::OsString,
    fs::File,
    io::Write as _,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use agents_testkit::through::through;
use anyhow::Context as _;
use camino::Utf8Path;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};

use crate::run::as_before;

/// The word that makes this program such a parent.
pub(crate) const WORD: &str = "__once";

/// What one start took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    /// Of the whole process tree.
    pub(crate) cpu: Duration,
    /// Of the largest process of the tree, in kB.
    pub(crate) memory: u64,
}

/// Starts a command once, with a file to read.
pub(crate) fn start(command: &Command, input: &Utf8Path) -> anyhow::Result<Sample> {
    let me = std::env::current_exe().context("cannot tell where this program is")?;
    let me = me.to_str().context("this program has a strange path")?;
    let mut parent = as_before(through(&[me, WORD, input.as_str()], command), command);
    let output = parent.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    anyhow::ensure!(output.status.success(), "{command:?}: {text}");
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [wall, cpu, memory] = numbers[..] else {
        anyhow::bail!("`{text}` is not what a start takes");
    };
    Ok(Sample { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), memory })
}

/// Being that parent: the file to read, then the command line.
pub(crate) fn main(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let input = words.next().context("no file to read")?;
    let mut command = Command::new(words.next().context("no command")?);
    command.args(words).stdin(File::open(input)?).stdout(Stdio::null()).stderr(Stdio::null());
    let since = Instant::now();
    let status = command.status()?;
    let wall = since.elapsed().as_micros();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = (usage.user_time() + usage.system_time()).num_microseconds();
    let mut out = std::io::stdout();
    if !status.success() {
        writeln!(out, "it ended with {status}")?;
        return Ok(ExitCode::FAILURE);
    }
    writeln!(out, "{wall} {cpu} {}", usage.max_rss())?;
    Ok(ExitCode::SUCCESS)
}
