//! A run whose reader has left: `plan run --json … | head -1`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use agents_testkit::scratch;

use super::{FAILING_SCRIPT, RUN_SLOW, Run, SLOW, SLOW_SCRIPT, Stage, failing};

/// Starts a run, reads the first line of it, and leaves.
fn left_after_one_line(stage: &Stage, args: &[&str]) -> Child {
    let mut command = stage.command(&[args, &["--json"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("begin"), "{first}");
    child
}

#[test]
fn a_run_goes_on_when_its_reader_has_left() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let mut child = left_after_one_line(&stage, &RUN_SLOW);
    let since = Instant::now();
    while !stage.has("waits") {
        assert!(since.elapsed() < Duration::from_secs(60), "it never came so far");
        assert_eq!(child.try_wait().unwrap(), None, "it has ended: {}", stage.state());
        std::thread::sleep(Duration::from_millis(10));
    }
    scratch::write(&stage.world.sample.root().join("go"), "");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(stage.state(), "completed");
    assert_eq!(stage.lines("log"), ["one", "two", "three"]);
}

#[test]
fn a_reader_that_leaves_early_hides_no_failed_task() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("skip-dependents"));
    let child = left_after_one_line(&stage, &["run", "plan.toml"]);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "{run:?}");
    assert_eq!(stage.state(), "partly");
}
