//! `--background`, and reaching tasks from other processes.

use std::{
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    process::Stdio,
    time::Duration,
};

use agents_testkit::{
    scratch,
    terminal::{Size, Terminal, keys},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::{LOOKS, Stage, is_running};
use crate::world::Run;

/// A stage whose supervisor goes with it.
pub(crate) struct Scene(pub(crate) Stage);

impl Scene {
    pub(crate) fn new(script: &str) -> Self {
        Self(Stage::new(script))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.0.command(args);
        // Should a test fail, nothing stays for long.
        command.env("CARGO_AGENTS_SUPERVISOR_IDLE", "5");
        command
    }

    /// Starts something in the background: its id.
    pub(crate) fn start(&self, args: &[&str]) -> String {
        let mut all = args.to_vec();
        all.push("--background");
        let run = self.run(&all);
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout.trim_end().to_owned()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let run = self.run(&all);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    }

    pub(super) fn supervisor(&self) -> Option<i32> {
        let process = &self.json(&["supervisor"])["process"];
        process.as_i64().map(|it| i32::try_from(it).unwrap())
    }

    fn workers(&self) -> Vec<i32> {
        let status = self.json(&["supervisor"]);
        let workers = status["workers"].as_array().unwrap().iter();
        workers.map(|it| i32::try_from(it.as_i64().unwrap()).unwrap()).collect()
    }

    pub(crate) fn until(&self, name: &str) {
        until(|| self.0.world.sample.root().join(name).exists());
    }

    /// The only question that waits for an answer, once there is one.
    pub(crate) fn question(&self) -> Value {
        let mut asks = Vec::new();
        until(|| {
            asks = self.json(&["asks"])["asks"].as_array().unwrap().clone();
            !asks.is_empty()
        });
        asks.remove(0)
    }

    fn socket(&self) -> camino::Utf8PathBuf {
        self.0.world.home().join("state/supervisor/socket")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.run(&["supervisor", "--stop", "--cancel"]);
    }
}

pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it never came to be");
}

pub(crate) fn sleeps(mark: &str) -> String {
    format!(
        "[[replies]]\nwhen = {{ text = \"first\" }}\ntext = \"On it.\"\ncalls = [{{ name = \"bash\", input = {{ command = \"touch started; sleep {mark}\" }} }}]\n[[replies]]\nwhen = {{ text = \"second\" }}\ntext = \"Then without it.\"\n"
    )
}

pub(crate) const ASKS: &str = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "touch made" } }]
[[replies]]
text = "Over."
"#;

#[test]
fn it_goes_on_without_the_terminal_and_its_result_can_be_had_anywhere() {
    let scene = Scene::new(LOOKS);
    let id = scene.start(&["run", "helper", "what does it use?"]);
    assert_eq!(id.len(), 36, "{id}");
    let waited = scene.run(&["wait", &id]);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert_eq!(waited.stdout, format!("{id}  helper  completed\n"));
    let collected = scene.run(&["collect", &id]);
    assert_eq!(
        (collected.code, collected.stdout.as_str(), collected.stderr.as_str()),
        (Some(0), "It uses tiny-sql.\n", "")
    );
    let last = scene.json(&["collect", &id]);
    assert_eq!(last["outcome"]["report"]["text"], "It uses tiny-sql.");
    assert_eq!(last["event"], "ended");
}

#[test]
fn exit_codes_are_those_of_a_run_in_front_of_the_user() {
    let turn = "[[replies]]\ntext = \"So far.\"\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n";
    let scene = Scene::new(&turn.repeat(9));
    let id = scene.start(&["run", "helper", "x", "--max-turns", "3"]);
    let collected = scene.run(&["collect", &id]);
    assert_eq!((collected.code, collected.stdout.as_str()), (Some(1), "So far.\n"));
    assert!(collected.stderr.contains("its turns ran out"), "{}", collected.stderr);
    assert_eq!(scene.run(&["wait", &id]).code, Some(1));
    assert_eq!(scene.run(&["collect", "no-such-task"]).code, Some(2));
}

#[test]
fn what_stands_in_the_way_is_told_at_once() {
    let scene = Scene::new(LOOKS);
    let run = scene.run(&["run", "helpr", "x", "--background"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("did you mean `helper`?"), "{}", run.stderr);
    let run = scene.run(&["batch", "no-such-file.toml", "--background"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    scene.0.config("[tasks]\nmax-depth = \"deep\"\n");
    let run = scene.run(&["run", "helper", "x", "--background"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("`max-depth` is a number"), "{}", run.stderr);
}

#[test]
fn the_run_has_the_environment_the_place_and_the_mask_of_whoever_typed_it() {
    let script = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "printf '%s' \"$PWD\" > seen; umask > mask" } }]
[[replies]]
text = "Seen."
"#;
    let scene = Scene::new(script);
    let dir = scene.0.world.sample.root().join("deeper");
    std::fs::create_dir_all(&dir).unwrap();
    let mut command = scene.command(&["run", "helper", "-", "--allow", "bash", "--background"]);
    command.current_dir(&dir).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env("DEMO_API_KEY", "sk-never-seen-anywhere");
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"what is here?").unwrap();
    let output = child.wait_with_output().unwrap();
    let id = String::from_utf8(output.stdout).unwrap();
    let collected = scene.run(&["collect", id.trim()]);
    assert_eq!(collected.code, Some(0), "{collected:?}");
    assert_eq!(std::fs::read_to_string(dir.join("seen")).unwrap(), dir.as_str());
    let mask = std::process::Command::new("sh").args(["-c", "umask"]).output().unwrap().stdout;
    assert_eq!(std::fs::read_to_string(dir.join("mask")).unwrap().as_bytes(), mask);
    let page = scene.run(&["show", id.trim()]).stdout;
    assert!(page.contains("what is here?"), "{page}");

    // The key is nowhere: not in the supervisor, and in no file.
    let supervisor = scene.supervisor().unwrap();
    let environ = std::fs::read(format!("/proc/{supervisor}/environ")).unwrap();
    assert_eq!(String::from_utf8_lossy(&environ), "");
    let found = std::process::Command::new("grep")
        .args(["-r", "sk-never-seen-anywhere", scene.0.world.home().as_str()])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn cancelling_ends_the_programs_of_the_agent_and_is_told_when_that_is_done() {
    let scene = Scene::new(&sleeps("61.375"));
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let list = scene.run(&["list"]);
    assert!(list.stdout.contains("running"), "{list:?}");
    until(|| is_running("sleep\x0061.375\0"));
    let cancelled = scene.run(&["cancel", &id[..]]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert!(cancelled.stderr.ends_with(": cancelled\n"), "{}", cancelled.stderr);
    assert!(!is_running("sleep\x0061.375\0"), "a process was left behind");
    let collected = scene.run(&["collect", &id]);
    assert_eq!((collected.code, collected.stdout.as_str()), (Some(130), "On it.\n"));
    let again = scene.run(&["cancel", &id]);
    assert_eq!(again.code, Some(0));
    assert!(again.stderr.contains("has ended: cancelled"), "{}", again.stderr);
}

#[test]
fn orders_are_answered_with_a_document() {
    let scene = Scene::new(ASKS);
    let id = scene.start(&["run", "helper", "x"]);
    let ask = scene.question()["ask"].clone();
    let denied = scene.json(&["deny", ask.as_str().unwrap()])["done"][0].take();
    let said = (&denied["action"], &denied["object"], &denied["id"]);
    assert_eq!(said, (&"denied".into(), &"question".into(), &ask));
    scene.run(&["wait", &id]);
    let ended = scene.json(&["cancel", &id])["done"][0].take();
    let said = (&ended["action"], &ended["object"], &ended["state"]);
    assert_eq!(said, (&"none".into(), &"task".into(), &"completed".into()), "{ended}");
    assert_eq!(ended["id"], id.as_str());
    until(|| scene.workers().is_empty());
    let stopped = scene.json(&["supervisor", "--stop"])["done"][0].take();
    assert_eq!((&stopped["action"], &stopped["object"]), (&"stopped".into(), &"supervisor".into()));
    assert_eq!(scene.json(&["supervisor", "--stop"])["done"][0]["action"], "none");
}

#[test]
fn a_run_that_cannot_even_be_cancelled_is_ended_all_the_same() {
    let scene = Scene::new(&sleeps("62.625"));
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let worker = scene.workers()[0];
    kill(Pid::from_raw(worker), Signal::SIGSTOP).unwrap();
    let cancelled = scene.json(&["cancel", &id])["done"][0].take();
    let said = (&cancelled["action"], &cancelled["state"]);
    assert_eq!(said, (&"cancelled".into(), &"interrupted".into()), "{cancelled}");
    let message = cancelled["message"].as_str().unwrap();
    assert!(message.contains("interrupted (it did not end by itself)"), "{cancelled}");
    until(|| !is_running("sleep\x0062.625\0"));
    assert_eq!(scene.workers(), [] as [i32; 0]);
}

#[test]
fn whoever_attaches_sees_it_from_the_beginning_and_leaves_with_ctrl_c() {
    let scene = Scene::new(&sleeps("63.125"));
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let mut command = scene.command(&["attach", &id, "-v"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = child.stderr.take().unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("On it.") {
        let mut bytes = [0; 1024];
        let length = talk.read(&mut bytes).unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend(&bytes[..length]);
    }
    assert!(agents_testkit::signal::interrupt(child.id()));
    talk.read_to_end(&mut seen).unwrap();
    let seen = String::from_utf8(seen).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{seen}");
    assert!(seen.contains("model demo/default"), "{seen}");
    assert!(seen.contains("detached: `helper` keeps running"), "{seen}");
    until(|| is_running("sleep\x0063.125\0"));
    scene.run(&["cancel", &id]);

    // Afterwards it has the result, and every event once more.
    let run = scene.run(&["attach", &id]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(130), "On it.\n"), "{run:?}");
    let run = scene.run(&["attach", &id, "--json"]);
    let events: Vec<Value> =
        run.stdout.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(events[0]["event"], "started");
    assert_eq!(events.last().unwrap()["event"], "ended");
    assert_eq!(run.code, Some(130));
}

/// `task attach --json … | head -1`
#[test]
fn whoever_only_watches_leaves_when_nobody_reads_it() {
    let words = "word ".repeat(600);
    let scene = Scene::new(&format!("[[replies]]\ntext = \"{words}\"\npiece = 1\npace-ms = 20\n"));
    let id = scene.start(&["run", "helper", "x"]);
    let mut command = scene.command(&["attach", &id, "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let cancelled = scene.json(&["cancel", &id])["done"][0].take();
    assert_eq!(cancelled["state"], "cancelled", "it ran until then: {cancelled}");
}

#[test]
fn questions_are_answered_from_another_process() {
    let scene = Scene::new(ASKS);
    let made = scene.0.world.sample.root().join("made");
    let id = scene.start(&["run", "helper", "x"]);
    let question = scene.question();
    assert_eq!(question["task"], id.as_str());
    assert_eq!(question["question"], "`bash` runs `touch made`");
    let ask = question["ask"].as_str().unwrap();
    let listed = scene.run(&["asks"]);
    assert_eq!(listed.stdout, format!("{ask}  helper: `bash` runs `touch made`\n"));
    let denied = scene.run(&["deny", ask]);
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let collected = scene.run(&["collect", &id]);
    assert!(collected.stderr.contains("it was refused"), "{collected:?}");
    assert!(!made.exists());
    assert_eq!(scene.run(&["approve", ask]).code, Some(2), "nobody waits for it");

    let id = scene.start(&["run", "helper", "x"]);
    let question = scene.question();
    let approved = scene.run(&["approve", question["ask"].as_str().unwrap(), "--for", "task"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let collected = scene.run(&["collect", &id]);
    assert_eq!((collected.code, collected.stderr.as_str()), (Some(0), ""));
    assert!(made.exists());
}

#[test]
fn whoever_attaches_can_answer_and_leaving_is_no_answer() {
    let scene = Scene::new(ASKS);
    let id = scene.start(&["run", "helper", "x"]);
    let ask = scene.question()["ask"].clone();
    let size = Size { columns: 140, rows: 40 };
    let mut terminal = Terminal::start(&scene.command(&["attach", &id]), size);
    terminal.wait_for("helper: `bash` runs `touch made`");
    terminal.press([keys::CTRL_C]);
    let left = terminal.end();
    assert_eq!(left.code, Some(0), "{}", left.screen);
    assert!(left.screen.contains("detached: `helper` keeps running"), "{}", left.screen);
    assert_eq!(scene.question()["ask"], ask, "it still waits");

    let mut terminal = Terminal::start(&scene.command(&["attach", &id]), size);
    terminal.wait_for("helper: `bash` runs `touch made`");
    terminal.press(["y"]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    assert!(ended.screen.contains("Over."), "{}", ended.screen);
    assert!(scene.0.world.sample.root().join("made").exists());
}

#[test]
fn a_question_that_somebody_else_answers_leaves_the_terminals_of_those_who_watch() {
    let scene = Scene::new(ASKS);
    let id = scene.start(&["run", "helper", "x"]);
    let ask = scene.question()["ask"].as_str().unwrap().to_owned();
    let size = Size { columns: 140, rows: 40 };
    let terminal = Terminal::start(&scene.command(&["attach", &id]), size);
    terminal.wait_for("helper: `bash` runs `touch made`");
    let approved = scene.run(&["approve", &ask]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    assert!(ended.screen.contains("somebody else has answered"), "{}", ended.screen);
    assert!(ended.screen.contains("Over."), "{}", ended.screen);
}

#[test]
fn a_supervisor_that_is_killed_takes_everything_with_it_and_tasks_can_go_on() {
    let scene = Scene::new(&sleeps("64.875"));
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let (first, workers) = (scene.supervisor().unwrap(), scene.workers());
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    let waited = scene.run(&["wait", &id]);
    assert_eq!(
        (waited.code, waited.stdout.as_str()),
        (Some(1), &*format!("{id}  helper  interrupted\n"))
    );
    until(|| !is_running("sleep\x0064.875\0"));
    for worker in workers {
        until(|| kill(Pid::from_raw(worker), None).is_err());
    }
    let collected = scene.run(&["collect", &id]);
    assert_eq!(collected.code, Some(1));
    assert!(collected.stderr.contains("cargo agents task resume"), "{collected:?}");
    assert!(scene.socket().exists(), "the next one has to cope with it");

    let next = scene.start(&["resume", &id, "second"]);
    assert_ne!(scene.supervisor(), Some(first));
    assert_eq!(scene.run(&["collect", &next]).stdout, "Then without it.\n");
    let list = scene.json(&["list"]);
    assert_eq!(list["tasks"].as_array().unwrap().len(), 2, "nothing ran twice: {list}");
}

#[test]
fn those_that_start_at_the_same_time_share_one_supervisor() {
    let scene = Scene::new(&sleeps("65.375"));
    let starting: Vec<_> = (0..4)
        .map(|_| {
            let args = ["run", "helper", "first", "--allow", "bash", "--background"];
            scene.command(&args).stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut ids = Vec::new();
    for child in starting {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        ids.push(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    assert_eq!(scene.workers().len(), 4);
    let lines = std::fs::read_to_string(scene.0.world.home().join("state/supervisor/log")).unwrap();
    assert_eq!(lines.matches("listens").count(), 1, "{lines}");
    let mut all = vec!["cancel"];
    all.extend(ids.iter().map(String::as_str));
    assert_eq!(scene.run(&all).code, Some(0));
    assert_eq!(scene.workers(), [] as [i32; 0]);
}

#[test]
fn a_batch_is_one_run_of_which_one_task_can_be_cancelled() {
    let script = r#"
[[replies]]
when = { text = "long" }
calls = [{ name = "bash", input = { command = "touch started; sleep 66.125" } }]
[[replies]]
when = { text = "short" }
calls = [{ name = "bash", input = { command = "while ! test -e go; do sleep 0.05; done" } }]
[[replies]]
text = "Seen."
"#;
    let scene = Scene::new(script);
    let root = scene.0.world.sample.root();
    let file = "agent = \"helper\"\n[[tasks]]\nname = \"one\"\nprompt = \"long\"\n[[tasks]]\nname = \"two\"\nprompt = \"short\"\n";
    scratch::write(&root.join("many.toml"), file);
    let ids = scene.start(&["batch", "many.toml", "--allow", "bash"]);
    let ids: Vec<&str> = ids.lines().collect();
    scene.until("started");
    let cancelled = scene.run(&["cancel", ids[0]]);
    assert!(cancelled.stderr.contains("`one`"), "{cancelled:?}");
    assert!(!is_running("sleep\x0066.125\0"));
    scratch::write(&root.join("go"), "");
    let waited = scene.run(&["wait", ids[0], ids[1]]);
    assert_eq!(waited.code, Some(130), "{waited:?}");
    assert_eq!(scene.run(&["collect", ids[1]]).stdout, "Seen.\n");
}

#[test]
fn nonsense_on_the_socket_hurts_nobody_and_other_versions_are_told() {
    let scene = Scene::new(&sleeps("67.625"));
    let id = scene.start(&["run", "helper", "first", "--allow", "bash"]);
    scene.until("started");
    let mode = std::fs::metadata(scene.socket().parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let talk = |lines: &[&str]| {
        let mut stream = UnixStream::connect(scene.socket()).unwrap();
        for line in lines {
            // It may have hung up already.
            let _ = stream.write_all(line.as_bytes());
        }
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        said
    };
    let hello = "{\"protocol\":1,\"program\":\"0\"}\n";
    assert_eq!(talk(&["\u{0}\u{1}nonsense\n"]), "");
    assert_eq!(talk(&[&"x".repeat(100_000)]), "");
    assert_eq!(talk(&[""]), "");
    assert!(talk(&[hello, "{\"request\":\"dance\"}\n"]).contains("not understood"));
    assert!(talk(&[hello, "{\"request\":"]).contains("cut off"));
    let other = "{\"protocol\":99,\"program\":\"9.9\"}\n";
    let told = talk(&[other, "{\"request\":\"list\"}\n"]);
    assert!(told.contains("of version 9.9 (protocol 99)"), "{told}");
    assert!(talk(&[other, "{\"request\":\"status\"}\n"]).contains("\"workers\":["));
    until(|| is_running("sleep\x0067.625\0"));
    let run = scene.run(&["supervisor", "--stop"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(scene.run(&["cancel", &id]).code, Some(0));

    // With nothing to do, it makes way for the other version.
    let first = scene.supervisor().unwrap();
    talk(&[other, "{\"request\":\"list\"}\n"]);
    until(|| kill(Pid::from_raw(first), None).is_err());
}

#[test]
fn nothing_stays_when_there_is_nothing_to_do() {
    let scene = Scene::new(LOOKS);
    assert_eq!(
        scene.run(&["supervisor"]).stdout,
        "there is no supervisor: nothing runs in the background\n"
    );
    let run = scene.run(&["asks"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    let mut command = scene.0.command(&["run", "helper", "x", "--background", "--json"]);
    command.env("CARGO_AGENTS_SUPERVISOR_IDLE", "1");
    let started: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(started["tasks"][0]["path"], json!("helper"));
    let id = started["tasks"][0]["id"].as_str().unwrap();
    assert_eq!(scene.run(&["collect", id]).code, Some(0));
    until(|| !scene.socket().exists());
    // What it did is still known.
    let run = scene.run(&["attach", id]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It uses tiny-sql.\n"), "{run:?}");
}

#[test]
fn a_task_in_another_terminal_is_left_to_it() {
    let scene = Scene::new(&sleeps("68.375"));
    let mut command = scene.command(&["run", "helper", "first", "--allow", "bash"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    scene.until("started");
    let id = scene.json(&["list"])["tasks"][0]["id"].as_str().unwrap().to_owned();
    for command in ["cancel", "attach"] {
        let run = scene.run(&[command, &id]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("does not run in the background"), "{}", run.stderr);
    }
    assert!(agents_testkit::signal::interrupt(child.id()));
    let waited = scene.run(&["wait", &id]);
    assert_eq!(waited.code, Some(130), "{waited:?}");
    child.wait().unwrap();
}
