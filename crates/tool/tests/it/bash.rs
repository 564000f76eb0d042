//! `bash`: what it gives back, and that it leaves nothing behind.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::Agent;

#[test]
fn output_ending_and_directory() {
    let agent = Agent::new();
    agent.write("dir/x", "");
    assert_eq!(agent.bash("echo out; echo err >&2; echo out").content, "out\nerr\nout", "in order");
    assert_eq!(agent.bash("true").content, "it printed nothing and ended with 0");
    let failed = agent.bash("echo x; exit 3");
    assert_eq!((failed.content.as_str(), failed.is_error), ("x\n[exit code 3]", true));
    assert_eq!(agent.bash("kill -9 $$").content, "[ended by signal 9]");
    assert_eq!(agent.ok("bash", json!({"command": "ls", "cwd": "dir"})), "x");
    agent.refused("bash", json!({"command": "ls", "cwd": ".."}));
    assert_eq!(agent.bash("cat; echo done").content, "done", "there is nothing to read");
    assert_eq!(agent.bash("X=1; cd dir").content, "it printed nothing and ended with 0");
    assert_eq!(agent.bash("echo [$X]; ls").content, "[]\ndir", "each call is a new shell");
}

#[test]
fn much_output_is_bounded() {
    let agent = Agent::new();
    let shown = agent.bash("yes long line | head -c 40000000; echo; echo the end").content;
    assert!(shown.len() <= 500_000);
    assert!(
        shown.starts_with("long line\n") && shown.ends_with("the end"),
        "{}",
        &shown[shown.len() - 80..]
    );
}

#[test]
fn what_takes_too_long_is_stopped_politely_and_then_by_force() {
    let agent = Agent::new();
    let run = |command: &str| agent.refused("bash", json!({"command": command, "timeout": 1}));
    let said = run("trap 'echo bye; exit 5' TERM; echo hi; sleep 100 & wait");
    assert!(
        said.starts_with("hi\nbye\n[stopped: it did not end within 1 s]\n[exit code 5]"),
        "{said}"
    );
    let said = run("trap '' TERM; echo hi; while true; do sleep 1; done");
    assert!(said.contains("[ended by signal 9]"), "{said}");
}

#[test]
fn a_timeout_beyond_all_clocks_is_bounded_by_the_time_of_the_call() {
    let mut agent = Agent::new();
    let input = |command: &str| json!({"command": command, "timeout": u64::MAX});
    assert_eq!(agent.ok("bash", input("echo out")), "out");
    agent.context.deadline = Instant::now() + Duration::from_millis(1900);
    let said = agent.refused("bash", input("sleep 100"));
    assert!(said.contains("[stopped: it did not end within 1 s]"), "{said}");
}

#[test]
fn cancelling_stops_it() {
    let agent = Agent::new();
    let token = agent.context.cancelled.clone();
    let since = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            token.cancel();
        });
        assert_eq!(agent.bash("sleep 1000").content, "the call was cancelled");
    });
    assert!(since.elapsed() < Duration::from_secs(500));
}

/// How many processes carry this mark in their command lines.
fn running(mark: &str) -> usize {
    let processes = fs_err::read_dir("/proc").unwrap().flatten();
    let marked = |path: std::path::PathBuf| {
        fs_err::read(path.join("cmdline"))
            .is_ok_and(|it| String::from_utf8_lossy(&it).contains(mark))
    };
    processes.filter(|entry| marked(entry.path())).count()
}

#[test]
fn nothing_stays_behind_however_it_tries() {
    let agent = Agent::new();
    for (index, escape) in [
        "sleep MARK &",
        "nohup sleep MARK >/dev/null 2>&1 &",
        "setsid sleep MARK >/dev/null 2>&1 < /dev/null &",
        "(setsid sh -c 'setsid sleep MARK & exec setsid sleep MARK' &) ; sleep 0.2",
        "env -i setsid -f sleep MARK",
        "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep MARK; sleep MARK' & sleep 0.2",
        "disown -a; (sleep MARK & disown) ; (((sleep MARK &)))",
    ]
    .into_iter()
    .enumerate()
    {
        let mark = format!("7{:07}.{index}", std::process::id());
        let result = agent.bash(&format!("{}\necho started", escape.replace("MARK", &mark)));
        assert!(result.content.contains("started"), "{}", result.content);
        assert!(
            result.content.contains("still running and have been stopped"),
            "{escape}: {}",
            result.content
        );
        assert_eq!(running(&mark), 0, "{escape}");
    }
}

#[test]
fn nothing_stays_behind_when_it_is_stopped() {
    let agent = Agent::new();
    let mark = format!("8{:07}.5", std::process::id());
    let command = format!("setsid sleep {mark} & trap '' TERM; sleep {mark}; sleep {mark}");
    agent.refused("bash", json!({"command": command, "timeout": 1}));
    assert_eq!(running(&mark), 0);
}

#[test]
fn nothing_stays_behind_when_we_are_killed() {
    let mark = format!("9{:07}.5", std::process::id());
    // A program that keeps a child, and dies: here, the socket to the keeper is simply closed.
    let agent = Agent::new();
    let room = agent.scratch.path("room");
    agent.scratch.write("room/half/written", "by what is killed");
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    #[allow(clippy::disallowed_methods, reason = "to be the one that dies")]
    let mut keeper = std::process::Command::new(env!("CARGO_BIN_EXE_agents-keeper"))
        .stdin(std::os::fd::OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    let order = agents_system::process::keeper::Order {
        program: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), format!("trap '' TERM; sleep {mark} & sleep {mark}")],
        cwd: agent.scratch.root().to_owned(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        sandbox: None,
        grace: Duration::from_millis(200),
        room: Some(room.clone()),
    };
    let mut ours = ours;
    serde_json::to_writer(&mut ours, &order).unwrap();
    std::io::Write::write_all(&mut ours, b"\n").unwrap();
    while running(&mark) < 3 {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(ours);
    keeper.wait().unwrap();
    assert_eq!(running(&mark), 0);
    assert!(!room.exists());
}
