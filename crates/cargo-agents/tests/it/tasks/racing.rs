//! What happens when two want the same at once.

use std::{
    process::{Child, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use super::{
    background::{Scene, sleeps, until},
    is_running,
};
use crate::world::Run;

fn spawn(scene: &Scene, args: &[&str]) -> Child {
    scene.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child) -> Run {
    Run::from(child.wait_with_output().unwrap())
}

/// A task whose supervisor was killed while its tool was running.
fn interrupted(scene: &Scene) -> String {
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    kill(Pid::from_raw(scene.supervisor().unwrap()), Signal::SIGKILL).unwrap();
    scene.run(&["wait", &id]);
    id
}

#[test]
fn only_one_goes_on_from_a_task() {
    let scene = Scene::new(&sleeps("73.125"));
    let id = interrupted(&scene);
    let args = ["resume", &id, "the first again", "--allow", "bash"];
    let mut open: Vec<Child> = (0..4).map(|_| spawn(&scene, &args)).collect();
    let mut refused = Vec::new();
    until(|| {
        let mut at = 0;
        while at < open.len() {
            match open[at].try_wait().unwrap() {
                Some(_) => refused.push(ended(open.remove(at))),
                None => at += 1,
            }
        }
        open.len() == 1 && is_running("sleep\x0073.125\0")
    });
    for run in &refused {
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("is still running"), "{run:?}");
    }
    let tasks = scene.json(&["list"])["tasks"].as_array().unwrap().clone();
    let states: Vec<&str> = tasks.iter().filter_map(|it| it["state"].as_str()).collect();
    assert_eq!(states, ["running", "interrupted"], "{tasks:?}");
    // In the background it is the same.
    let run = scene.run(&["resume", &id, "the first again", "--background"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("is still running"), "{run:?}");

    // Once that one has ended, in whatever way, somebody else may.
    let first = open.remove(0);
    assert!(agents_testkit::signal::destroy(first.id()));
    ended(first);
    until(|| !is_running("sleep\x0073.125\0"));
    let run = scene.run(&["resume", &id, "second"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Then without it.\n"), "{run:?}");
}

#[test]
fn a_task_is_cancelled_once_however_many_want_it() {
    let scene = Scene::new(&sleeps("74.125"));
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let cancels: Vec<Child> = (0..4).map(|_| spawn(&scene, &["cancel", &id])).collect();
    for run in cancels.into_iter().map(ended) {
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stderr.trim_end().ends_with("cancelled"), "{run:?}");
    }
    assert!(!is_running("sleep\x0074.125\0"));
    assert_eq!(outcomes(&scene, &id), ["cancelled"]);
}

/// How the transcript says that a task ended.
fn outcomes(scene: &Scene, id: &str) -> Vec<String> {
    let file = scene.0.world.home().join(format!("state/transcripts/{id}.jsonl"));
    let text = std::fs::read_to_string(file).unwrap();
    let records = text.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    let endings =
        records.filter_map(|it| Some(it["outcome"]["ending"]["state"].as_str()?.to_owned()));
    endings.collect()
}

#[test]
fn a_task_that_completes_while_it_is_cancelled_does_one_of_both() {
    let script = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "touch started; sleep 0.2" } }]
[[replies]]
text = "Done."
"#;
    let scene = Scene::new(script);
    for lag in [0, 100, 180, 200, 220, 300] {
        let _ = std::fs::remove_file(scene.0.world.sample.root().join("started"));
        let id = scene.start(&["run", "helper", "x", "--allow", "bash"]);
        scene.until("started");
        std::thread::sleep(Duration::from_millis(lag));
        let cancelled = scene.run(&["cancel", &id]);
        assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
        let all = outcomes(&scene, &id);
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(["completed", "cancelled"].contains(&all[0].as_str()), "{all:?}");
        assert!(cancelled.stderr.trim_end().ends_with(&all[0]), "{all:?}: {cancelled:?}");
        let tasks = scene.json(&["list"]);
        assert_eq!(tasks["tasks"][0]["state"], all[0].as_str());
        let code = if all[0] == "completed" { 0 } else { 130 };
        assert_eq!(scene.run(&["collect", &id]).code, Some(code));
    }
}

#[test]
fn of_several_supervisors_one_stays() {
    let scene = Scene::new("");
    let state = scene.0.world.home().join("state");
    let supervise = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-agents"));
        command.args(["__supervise", state.as_str(), "30"]).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut all: Vec<Child> = (0..5).map(|_| supervise()).collect();
    until(|| {
        all.retain_mut(|it| match it.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success(), "{status}");
                false
            }
            None => true,
        });
        all.len() == 1 && scene.supervisor().is_some()
    });
    assert_eq!(scene.supervisor(), Some(i32::try_from(all[0].id()).unwrap()));
    let log = std::fs::read_to_string(state.join("supervisor/log")).unwrap();
    assert_eq!(log.matches("listens").count(), 1, "{log}");
    assert_eq!(scene.run(&["supervisor", "--stop"]).code, Some(0));
    all[0].wait().unwrap();
}

#[test]
fn a_task_of_a_batch_that_never_had_its_turn_can_go_on() {
    let scene = Scene::new(&sleeps("75.125"));
    let root = scene.0.world.sample.root();
    let file = "agent = \"helper\"\n[[tasks]]\nname = \"one\"\nprompt = \"the first\"\n[[tasks]]\nname = \"two\"\nprompt = \"the second\"\n";
    agents_testkit::scratch::write(&root.join("many.toml"), file);
    let args = ["batch", "many.toml", "--allow", "bash", "--concurrency", "1"];
    let ids = scene.start(&args);
    let ids: Vec<&str> = ids.lines().collect();
    scene.until("started");
    kill(Pid::from_raw(scene.supervisor().unwrap()), Signal::SIGKILL).unwrap();
    scene.run(&["wait", ids[0], ids[1]]);
    let run = scene.run(&["resume", ids[1], "go on"]);
    // Only what it was told says `second`.
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Then without it.\n"), "{run:?}");
}

#[test]
fn nothing_begins_that_could_not_be_written_down() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new("[[replies]]\ntext = \"Done.\"\n");
    let dir = scene.0.world.home().join("state/transcripts");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap();
    for more in [&["--background"][..], &[]] {
        let mut args = vec!["run", "helper", "x"];
        args.extend(more);
        let command = scene.command(&args);
        let mut command = agents_testkit::through::bound_by_modes(&command);
        let run = Run::from(command.stdin(Stdio::null()).output().unwrap());
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("state/transcripts`"), "{run:?}");
        assert!(run.stderr.contains("hint: what tasks do is written down"), "{run:?}");
    }
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(scene.run(&["run", "helper", "x"]).stdout, "Done.\n");
}
