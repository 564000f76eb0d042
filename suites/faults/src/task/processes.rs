//! Who is there.

use camino::Utf8Path;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// A process that works somewhere below a directory.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) line: String,
}

/// What a process is to a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The one that looks after background tasks.
    Supervisor,
    /// One that runs tasks for it.
    Worker,
    /// One that sees to it that tools leave nothing behind.
    Keeper,
    /// What a tool started.
    Tool,
    /// Whoever typed something.
    Client,
}

impl Process {
    pub(crate) fn part(&self) -> Part {
        let mut words = self.line.split('\0');
        let program = words.next().unwrap_or_default();
        let second = words.next().unwrap_or_default();
        match (program.ends_with("cargo-agents"), second) {
            (true, "__supervise") => Part::Supervisor,
            (true, "__work") => Part::Worker,
            (true, word) if word.starts_with("__") => Part::Keeper,
            (true, _) => Part::Client,
            (false, _) => Part::Tool,
        }
    }

    /// Without a word of warning. It may be gone already.
    pub(crate) fn kill(&self) {
        let _ = kill(Pid::from_raw(self.id), Signal::SIGKILL);
    }

    pub(crate) fn told(&self) -> String {
        format!("{} ({})", self.id, self.line.trim_end_matches('\0').replace('\0', " "))
    }
}

/// All processes that work below a directory, and those that one of them started, but for those that have ended and were not waited
/// for.
pub(crate) fn below(root: &Utf8Path) -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(Process, i32, bool)> = entries
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let works = std::fs::read_link(entry.path().join("cwd")).ok()?;
            let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name, which may hold anything, stands in brackets; the state and the parent follow.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            let within = works.starts_with(root);
            (!line.is_empty()).then_some((Process { id, line }, parent, within))
        })
        .collect();
    let own: Vec<i32> = all.iter().filter(|it| it.2).map(|it| it.0.id).collect();
    let ours = |(process, parent, within): (Process, i32, bool)| {
        (within || own.contains(&parent)).then_some(process)
    };
    all.into_iter().filter_map(ours).collect()
}

/// Those that are this to it.
pub(crate) fn of(root: &Utf8Path, part: Part) -> Vec<Process> {
    below(root).into_iter().filter(|it| it.part() == part).collect()
}
