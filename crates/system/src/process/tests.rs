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
