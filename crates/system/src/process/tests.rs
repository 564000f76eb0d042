use super::*;

fn sh(script: &str) -> Call {
    Call::new("sh").arg("-c").arg(script)
}

#[test]
fn output_and_exit_code_are_kept() {
    let done = sh("echo out; echo err >&2; exit 3").capture().unwrap();
    assert_eq!((done.stdout_text().as_str(), done.status.code()), ("out\n", Some(3)));
    assert_eq!(done.said(), "err\nout");
    assert_eq!(ending(done.status), "exit code 3");
}

#[test]
fn an_empty_environment_holds_what_is_set_for_the_call_and_nothing_else() {
    let call = Call::new("/usr/bin/env").env("ONE", "1").in_empty_env().env("TWO", "2");
    assert_eq!(call.capture().unwrap().stdout_text(), "ONE=1\nTWO=2\n");
}

#[test]
fn more_output_than_a_pipe_holds_does_not_block() {
    let done = sh("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2").capture().unwrap();
    assert_eq!((done.stdout.len(), done.stderr.len()), (3_000_000, 3_000_000));
}

#[test]
fn a_missing_program_says_so() {
    let error = Call::new("no-such-program-here").status().unwrap_err();
    assert_eq!(error.to_string(), "there is no program `no-such-program-here`");
}

#[test]
fn the_deadline_ends_the_whole_group_even_if_it_ignores_requests() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let script = format!(
        "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {0}; while :; do sleep 0.1; done' & wait; while :; do sleep 0.1; done",
        pid_file.display()
    );
    let error = sh(&script).deadline(Duration::from_millis(500)).status().unwrap_err();
    assert!(matches!(error, ProcessError::TimedOut { .. }), "{error}");
    let pid = fs_err::read_to_string(&pid_file).unwrap();
    assert!(is_gone(pid.trim()), "grandchild {pid} still runs");
}

#[test]
fn what_a_child_leaves_behind_in_its_group_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    sh(&format!("sleep 300 & echo $! > {}", pid_file.display())).status().unwrap();
    let pid = fs_err::read_to_string(&pid_file).unwrap();
    assert!(is_gone(pid.trim()), "left-over {pid} still runs");
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_has_the_lock_that_it_holds_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(dir.path().join("lock")).unwrap();
    let lock = Lock::try_acquire(&path).unwrap().unwrap();
    let call = sh("readlink /proc/self/fd/0");
    assert_eq!(call.capture().unwrap().stdout_text().trim(), "/dev/null");
    let held = call.holding(&lock).capture().unwrap().stdout_text();
    assert_eq!(held.trim(), path.canonicalize_utf8().unwrap());
    drop(lock);
    assert!(Lock::try_acquire(&path).unwrap().is_some());
}

const BOUNDS: Bounds = Bounds {
    whole: Duration::from_secs(60),
    grace: Duration::from_millis(100),
    output: 64 * 1024 * 1024,
};

/// Runs scripts together, each with the same input.
fn together(scripts: &[&str], stdin: &[u8], bounds: Bounds) -> Vec<Ran> {
    let calls: Vec<Call> = scripts.iter().map(|script| sh(script)).collect();
    let jobs: Vec<Job<'_>> = calls.iter().map(|call| Job { call, stdin }).collect();
    run_together(&jobs, bounds)
}

#[test]
fn children_run_at_the_same_time_and_answer_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    // Each waits for the other one, so neither would end if they ran in turn.
    let meet = |mine: &std::path::Path, other: &std::path::Path, word: &str| {
        let (mine, other) = (mine.display(), other.display());
        format!(": > {mine}.here; while [ ! -e {other}.here ]; do sleep 0.01; done; echo {word}")
    };
    let ran = together(&[&meet(&a, &b, "first"), &meet(&b, &a, "second")], b"", BOUNDS);
    let words: Vec<_> = ran.iter().map(|it| String::from_utf8_lossy(&it.stdout)).collect();
    assert_eq!(words, ["first\n", "second\n"]);
}

#[test]
fn large_inputs_and_outputs_cross_without_a_deadlock() {
    let payload = vec![b'x'; 50 * 1024 * 1024];
    let ran = together(&["cat", "cat >&2", "head -c 3; exec <&-; exit 7", ":"], &payload, BOUNDS);
    assert_eq!(ran[0].stdout.len(), payload.len());
    assert_eq!(ran[1].stderr.len(), payload.len());
    assert_eq!(ran[2].stdout, b"xxx");
    let codes: Vec<_> = ran.iter().map(|it| it.ending.as_ref().unwrap().code()).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(7), Some(0)]);
}

#[test]
fn a_flood_is_cut_and_ended() {
    let bounds = Bounds { output: 1024 * 1024, ..BOUNDS };
    let ran = together(&["yes", "echo fine", "yes >&2"], b"", bounds);
    assert!(matches!(ran[0].ending, Err(ProcessError::TooMuchOutput { .. })), "{:?}", ran[0]);
    assert!(matches!(ran[2].ending, Err(ProcessError::TooMuchOutput { .. })), "{:?}", ran[2]);
    assert_eq!((ran[0].stdout.len(), ran[2].stderr.len()), (1024 * 1024, 1024 * 1024));
    assert_eq!(ran[1].stdout, b"fine\n");
}

#[test]
fn a_daemon_that_keeps_our_pipes_does_not_keep_us() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    // In a group of its own, so that it survives; it must be ended by the test.
    let script = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 300' & while [ ! -s {0} ]; do sleep 0.01; done; echo answer",
        pid_file.display()
    );
    let ran = together(&[&script], b"", BOUNDS);
    assert_eq!(ran[0].stdout, b"answer\n");
    assert!(ran[0].ending.as_ref().unwrap().success());
    let pid = fs_err::read_to_string(&pid_file).unwrap();
    let alive = sh(&format!("kill -0 {0} && kill {0}", pid.trim())).status().unwrap();
    assert!(alive.success(), "the daemon was not there to hold the pipes");
}

#[test]
fn the_deadline_of_one_and_of_all_end_whole_groups() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let stubborn = format!(
        "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 0.1; done' & wait; while :; do sleep 0.1; done",
        pid_file.display()
    );
    let calls = [
        sh(&stubborn).deadline(Duration::from_millis(500)),
        sh("trap 'echo asked; exit 0' TERM; while :; do sleep 0.01; done"),
    ];
    let jobs: Vec<Job<'_>> = calls.iter().map(|call| Job { call, stdin: b"" }).collect();
    let ran = run_together(&jobs, Bounds { whole: Duration::from_secs(1), ..BOUNDS });
    assert!(matches!(ran[0].ending, Err(ProcessError::TimedOut { .. })), "{:?}", ran[0]);
    assert!(matches!(ran[1].ending, Err(ProcessError::TimedOut { .. })), "{:?}", ran[1]);
    assert_eq!(ran[1].stdout, b"asked\n");
    let pid = fs_err::read_to_string(&pid_file).unwrap();
    assert!(is_gone(pid.trim()), "grandchild {pid} still runs");
}

#[test]
fn one_that_cannot_start_does_not_stop_the_others() {
    let calls = [Call::new("no-such-program-here"), sh("cat")];
    let jobs: Vec<Job<'_>> = calls.iter().map(|call| Job { call, stdin: b"in" }).collect();
    let ran = run_together(&jobs, BOUNDS);
    assert!(matches!(ran[0].ending, Err(ProcessError::NotFound { .. })));
    assert_eq!(ran[1].stdout, b"in");
}

#[test]
fn a_deadline_beyond_all_clocks_is_no_deadline() {
    let endless = sh("echo out").deadline(Duration::MAX);
    let jobs = [Job { call: &endless, stdin: b"" }];
    let bounds = Bounds { whole: Duration::MAX, grace: Duration::MAX, ..BOUNDS };
    assert_eq!(run_together(&jobs, bounds)[0].stdout, b"out\n");
}

#[test]
fn writing_to_the_device_of_a_stream_loses_nothing() {
    let ran = together(&["echo one >&2; echo two > /dev/stderr; echo three >&2"], b"", BOUNDS);
    assert_eq!(ran[0].stderr, b"one\ntwo\nthree\n");
}

/// Dead, or a zombie that nobody has collected yet (in a container without an init).
fn is_gone(pid: &str) -> bool {
    for _ in 0..200 {
        match fs_err::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}
