//! Starting programs and taking the time.

use std::{
    collections::hash_map::RandomState,
    fs::File,
    hash::BuildHasher as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agents_testkit::scratch::{Scratch, run};
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::{
    resource::{Usage, UsageWho, getrusage},
    time::TimeValLike as _,
};

/// Something to start again and again.
pub(crate) struct Case {
    pub(crate) name: String,
    /// How many plugins there are.
    pub(crate) plugins: Option<usize>,
    command: Command,
    /// What it is given to read, if anything.
    input: Option<Utf8PathBuf>,
    /// What happens before each start, and is not measured.
    before: Option<Box<dyn FnMut()>>,
}

/// One start of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    /// Of the whole process tree.
    pub(crate) cpu: Duration,
    /// Page faults that needed no disk.
    pub(crate) faults: i64,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, plugins: Option<usize>, command: Command) -> Self {
        Self { name: name.into(), plugins, command, input: None, before: None }
    }

    /// Reads this file on its standard input.
    pub(crate) fn reading(mut self, input: &Utf8Path) -> Self {
        self.input = Some(input.to_owned());
        self
    }

    /// Does this before each start.
    pub(crate) fn after(mut self, before: impl FnMut() + 'static) -> Self {
        self.before = Some(Box::new(before));
        self
    }

    /// Fills caches; a command that fails is not worth measuring.
    pub(crate) fn warm_up(&mut self) {
        self.prepare();
        run(&mut self.command);
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        self.start();
    }

    /// The command once more, to look at it in another way.
    pub(crate) fn again(&self) -> Command {
        let mut command = Command::new(self.command.get_program());
        command.args(self.command.get_args()).env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.command.get_current_dir().unwrap());
        command
    }

    fn stdin(&self) -> Stdio {
        match &self.input {
            Some(file) => File::open(file).unwrap().into(),
            None => Stdio::null(),
        }
    }

    fn start(&mut self) -> Sample {
        self.prepare();
        run_once(&mut self.command)
    }

    fn prepare(&mut self) {
        if let Some(before) = &mut self.before {
            before();
        }
        self.command.stdin(self.stdin());
    }
}

/// Starts every case once a round, in an order that is random in every round.
pub(crate) fn measure(cases: &mut [Case], rounds: usize) -> Vec<Vec<Sample>> {
    let mut samples = vec![Vec::with_capacity(rounds); cases.len()];
    let mut order: Vec<usize> = (0..cases.len()).collect();
    let random = RandomState::new();
    for round in 0..rounds {
        order.sort_by_cached_key(|case| random.hash_one((round, *case)));
        for at in &order {
            samples[*at].push(cases[*at].start());
        }
    }
    samples
}

fn run_once(command: &mut Command) -> Sample {
    let before = children();
    let start = Instant::now();
    let status = command.status().unwrap();
    let wall = start.elapsed();
    let after = children();
    assert!(status.success(), "{command:?} ended with {status}");
    Sample {
        wall,
        cpu: cpu(&after).saturating_sub(cpu(&before)),
        faults: after.minor_page_faults() - before.minor_page_faults(),
    }
}

/// What all children so far, and theirs, have used.
fn children() -> Usage {
    getrusage(UsageWho::RUSAGE_CHILDREN).unwrap()
}

fn cpu(usage: &Usage) -> Duration {
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// The system calls of a command in one line, if there is a program that counts them.
pub(crate) fn system_calls(scratch: &Scratch, command: &Command) -> Option<String> {
    let counts = scratch.path("system-calls");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "calls,name", "-S", "calls", "-o", counts.as_str()]);
    strace.arg(command.get_program()).args(command.get_args());
    strace.current_dir(command.get_current_dir()?).env_clear();
    strace.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !ended.is_ok_and(|status| status.success()) {
        return None;
    }
    let text = fs_err::read_to_string(counts).ok()?;
    let rows: Vec<(usize, &str)> = text
        .lines()
        .filter_map(|line| {
            line.split_whitespace().next()?.parse().ok().zip(line.split_whitespace().nth(1))
        })
        .collect();
    let total = rows.iter().find(|(_, name)| *name == "total")?.0;
    let most: Vec<String> = rows
        .iter()
        .filter(|(_, name)| *name != "total")
        .take(6)
        .map(|(calls, name)| format!("{calls} {name}"))
        .collect();
    Some(format!("{total} system calls, most of them {}", most.join(", ")))
}
