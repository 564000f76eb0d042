//! System calls, counted by strace: all of them, and those that ask somebody over a network.

use std::{collections::BTreeSet, process::Command};

use agents_system::process::find_program;
use agents_testkit::{scratch::Scratch, through::through};
use anyhow::ensure;
use camino::Utf8Path;

use crate::run::{self, Run};

/// What was seen of a whole process tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traced {
    pub(crate) calls: usize,
    /// The ports that were connected or sent to over a network.
    pub(crate) asked: Vec<u16>,
    /// How the command ended: whoever fails at once asks nobody, either.
    pub(crate) code: Option<i32>,
}

/// That there is a program that counts: a page without these figures would say less than it promises.
pub(crate) fn check() -> anyhow::Result<()> {
    ensure!(
        find_program("strace").is_some(),
        "there is no `strace`, which counts system calls\nhint: `apt-get install strace`"
    );
    Ok(())
}

/// Runs it once, and counts.
pub(crate) fn trace(
    scratch: &Scratch,
    command: &Command,
    input: Option<&Utf8Path>,
) -> anyhow::Result<Traced> {
    let log = scratch.path("strace.log");
    let before = ["strace", "-f", "-qq", "-e", "signal=none", "-o", log.as_str(), "--"];
    let mut traced = run::as_before(through(&before, command), command);
    let bytes = input.map(fs_err::read).transpose()?.unwrap_or_default();
    let ran = run::start(&mut traced, &bytes)?.wait(run::USUAL)?;
    counted(&ran, &String::from_utf8_lossy(&fs_err::read(&log).unwrap_or_default()))
}

/// What was counted, if anything was: where nobody may look at other processes, there is a log with nothing in it, or none.
fn counted(ran: &Run, log: &str) -> anyhow::Result<Traced> {
    let seen = read(log);
    ensure!(ran.status.is_some(), "what is counted does not end");
    ensure!(seen.calls > 0, "`strace` saw no system call ({}): {}", ran.ending(), ran.stderr);
    Ok(Traced { code: ran.code(), ..seen })
}

/// What a log says: a line for each call, with the id of its process in front; one that is interrupted by another process has
/// a second line, which says `resumed`.
fn read(log: &str) -> Traced {
    let calls = log.lines().filter_map(|line| {
        let call = line.trim_start_matches(|it: char| it.is_ascii_digit()).trim_start();
        let name = call.split('(').next().filter(|_| call.contains('('))?;
        let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        (!name.is_empty() && name.chars().all(is_name)).then_some((name, call))
    });
    let (mut count, mut asked) = (0, Vec::new());
    for (name, call) in calls {
        count += 1;
        if matches!(name, "connect" | "sendto") && call.contains("sa_family=AF_INET") {
            asked.extend(port(call));
        }
    }
    Traced { calls: count, asked, code: None }
}

/// The port that a call is about; nothing, if nobody would be asked: a name that has been looked up is connected to without a port, to see
/// which of our own addresses would be used.
fn port(call: &str) -> Option<u16> {
    let (_, rest) = call.split_once("_port=htons(")?;
    rest.split(')').next()?.parse().ok().filter(|port| *port != 0)
}

/// Each port once. Addresses say nothing where all names lead to this machine.
pub(crate) fn ports(asked: &[u16]) -> String {
    let each: BTreeSet<u16> = asked.iter().copied().collect();
    each.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

    use super::*;

    #[test]
    fn a_log_with_nothing_in_it_counts_nothing_and_is_no_zero() {
        let ended = |code: Option<i32>| Run {
            status: code.map(|code| ExitStatus::from_raw(code << 8)),
            stdout: String::new(),
            stderr: "ptrace: Operation not permitted".to_owned(),
        };
        let log = "12 close(3) = 0\n";
        assert_eq!(counted(&ended(Some(3)), log).unwrap().code, Some(3));
        let refused = counted(&ended(Some(1)), "").unwrap_err().to_string();
        assert!(refused.contains("Operation not permitted"), "{refused}");
        assert!(counted(&ended(None), log).is_err(), "it was cut off");
    }

    #[test]
    fn a_call_counts_once_and_an_address_is_an_attempt() {
        let log = "\
12 openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY) = 3
12 read(3,  <unfinished ...>
13 connect(5, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr(\"10.0.0.2\")}, 16) = -1 ENETUNREACH
12 <... read resumed>\"x\", 1) = 1
13 connect(5, {sa_family=AF_UNIX, sun_path=\"/run/nscd\"}, 110) = -1 ENOENT
13 connect(5, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, \"::1\", &sin6_addr)}, 28) = 0
13 connect(5, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr(\"127.0.0.1\")}, 16) = 0
12 +++ exited with 0 +++
";
        let seen = read(log);
        assert_eq!(seen.calls, 6);
        assert_eq!(seen.asked, [53, 443]);
    }
}
