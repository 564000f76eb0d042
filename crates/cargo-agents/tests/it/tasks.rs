//! `cargo agents task run|batch`

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
    time::Duration,
};

use agents_testkit::{
    endpoint::{Endpoint, Reply, Script},
    scratch,
    through::through,
};
use serde_json::{Value, json};

use crate::{
    models::CUSTOMARY,
    world::{Run, World},
};

mod at_terminal;
#[cfg(unix)]
pub(crate) mod background;
mod by_host;
mod isolated;
mod kept;
mod knowledge;
mod once;
#[cfg(unix)]
mod racing;
pub(crate) mod secrets;
pub(crate) mod telemetry;
mod unread;

/// A workspace whose only model plays this script, with an agent `helper` that may use everything.
pub(crate) struct Stage {
    pub(crate) world: World,
}

impl Stage {
    pub(crate) fn new(script: &str) -> Self {
        let world = World::new();
        let file = world.home().join("script.toml");
        scratch::write(&file, script);
        let stage = Self { world };
        stage.config("");
        stage.agent("helper", "");
        stage
    }

    /// With more in the configuration.
    pub(crate) fn config(&self, more: &str) {
        let file = self.world.home().join("script.toml");
        self.world.config(&format!(
            "[defaults]\nsymposium-recommendations = false\n[providers.demo]\nkind = \"script\"\nscript = \"{file}\"\n{more}"
        ));
    }

    pub(crate) fn agent(&self, name: &str, header: &str) {
        let text = format!("---\nname: {name}\ndescription: helps\n{header}---\nYou help.\n");
        scratch::write(&self.world.user().join(format!(".agents/agents/{name}.md")), &text);
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut all = vec!["task"];
        all.extend(args);
        let mut command = self.world.command(&all);
        CUSTOMARY.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    /// Every line of `--json`.
    fn events(&self, args: &[&str]) -> (Vec<Value>, Option<i32>) {
        let mut all = args.to_vec();
        all.push("--json");
        let run = self.run(&all);
        let lines = run.stdout.lines();
        let events =
            lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{run:?}")));
        (events.collect(), run.code)
    }
}

const LOOKS: &str = r#"
[[replies]]
thinking = "Where?"
calls = [{ name = "read", input = { path = "Cargo.toml" } }]
[[replies]]
when = { result = "tiny-sql" }
text = "It uses tiny-sql."
"#;

#[test]
fn the_result_is_on_standard_output_and_nothing_else_in_a_pipe() {
    let stage = Stage::new(LOOKS);
    let run = stage.run(&["run", "helper", "what does it use?"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "It uses tiny-sql.\n", "")
    );
}

#[test]
fn what_happens_can_be_followed() {
    let stage = Stage::new(LOOKS);
    let run = stage.run(&["run", "helper", "what does it use?", "-v"]);
    for part in [
        "helper  (",
        "model demo/default",
        "limit 200 turns, 1 h, $20.00",
        "thinks: Where?",
        "1  read Cargo.toml",
        "done in",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn events_are_lines_of_json_with_one_first_and_one_last() {
    let stage = Stage::new(LOOKS);
    let (events, code) = stage.events(&["run", "helper", "what does it use?"]);
    let words: Vec<&str> = events.iter().filter_map(|it| it["event"].as_str()).collect();
    assert_eq!((words.first(), words.last(), code), (Some(&"started"), Some(&"ended"), Some(0)));
    assert!(words.contains(&"tool-started") && words.contains(&"tool-ended"), "{words:?}");
    let outcome = &events[events.len() - 1]["outcome"];
    assert_eq!(outcome["ending"], json!({"state": "completed"}));
    assert_eq!(
        (&outcome["report"]["text"], &outcome["report"]["turns"]),
        (&json!("It uses tiny-sql."), &json!(2))
    );
}

#[test]
fn a_rule_in_the_way_is_told_with_its_way_out() {
    let stage = Stage::new(LOOKS);
    stage.config("[tasks]\ndisabled-agents = [\"helper\"]\n");
    let run = stage.run(&["run", "helper", "x"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.starts_with("error[E0136]: agent `helper` is disabled"), "{}", run.stderr);
    let (events, code) = stage.events(&["run", "helper", "x"]);
    assert_eq!((events.len(), code), (1, Some(3)));
    assert_eq!(events[0]["outcome"]["ending"]["rule"], "disabled");
    let run = stage.run(&["run", "helpr", "x"]);
    assert!(
        run.stderr.contains("Unknown agent \"helpr\"")
            && run.stderr.contains("did you mean `helper`?"),
        "{}",
        run.stderr
    );
    assert_eq!(run.code, Some(2));
}

#[test]
fn without_a_terminal_a_question_is_a_no_that_is_told() {
    let script = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "touch made" } }, { name = "write", input = { path = "w", content = "" } }]
[[replies]]
text = "I was not let."
"#;
    let stage = Stage::new(script);
    let run = stage.run(&["run", "helper", "x"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stderr.contains("not done: `bash` runs `touch made`: nobody is there to agree"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("not done: `write` changes `w`"), "{}", run.stderr);
    let made = stage.world.sample.root().join("made");
    assert!(!made.exists());
    let run =
        stage.run(&["run", "helper", "x", "--allow", "bash(touch *)", "--mode", "accept-edits"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(made.exists() && stage.world.sample.root().join("w").exists());
}

#[test]
fn plan_mode_changes_nothing() {
    let script = r#"
[[replies]]
calls = [{ name = "write", input = { path = "w", content = "" } }]
[[replies]]
text = "The plan: write it."
"#;
    let stage = Stage::new(script);
    let run = stage.run(&["run", "helper", "x", "--plan", "--allow", "write"]);
    assert_eq!(run.stdout, "The plan: write it.\n", "{run:?}");
    assert!(!stage.world.sample.root().join("w").exists());
}

#[test]
fn a_schema_from_the_command_line_is_kept_to() {
    let script = r#"
[[replies]]
calls = [{ name = "yield", input = { data = { count = "many" } } }]
[[replies]]
calls = [{ name = "yield", input = { data = { count = 3 } } }]
"#;
    let stage = Stage::new(script);
    let schema = r#"{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}"#;
    let run = stage.run(&["run", "helper", "x", "--schema", schema]);
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap(), json!({"count": 3}), "{run:?}");
    let run = stage.run(&["run", "helper", "x", "--schema", "no-such-file.json"]);
    assert_eq!(run.code, Some(2));
    let run = stage.run(&["run", "helper", "x", "--schema", r#"{"type": "nothing"}"#]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn what_must_hold_is_checked_for_the_user() {
    let script = r#"
[[replies]]
text = "Done!"
[[replies]]
calls = [{ name = "write", input = { path = "w", content = "" } }]
[[replies]]
text = "Really done."
"#;
    let stage = Stage::new(script);
    let run = stage.run(&[
        "run",
        "helper",
        "x",
        "--done-when",
        "test -e w",
        "--mode",
        "accept-edits",
        "-v",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Really done.\n"), "{run:?}");
    assert!(run.stderr.contains("sent back: it is not done yet"), "{}", run.stderr);
}

#[test]
fn limits_end_a_task_with_what_it_had() {
    let turn = "[[replies]]\ntext = \"So far.\"\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n";
    let stage = Stage::new(&turn.repeat(9));
    let run = stage.run(&["run", "helper", "x", "--max-turns", "3"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "So far.\n"), "{run:?}");
    assert!(run.stderr.contains("stopped: its turns ran out"), "{}", run.stderr);
    for wrong in [["--max-time", "soon"], ["--max-cost", "much"]] {
        let run = stage.run(&["run", "helper", "x", wrong[0], wrong[1]]);
        assert_eq!(run.code, Some(2), "{run:?}");
    }
}

#[test]
fn no_definition_goes_beyond_the_limits_of_the_settings_but_a_flag_does() {
    let turn = "[[replies]]\ntext = \"So far.\"\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n";
    let stage = Stage::new(&turn.repeat(9));
    stage.config("[tasks]\nmax-turns = 3\n");
    stage.agent("greedy", "limits: { turns: 7 }\n");
    let turns = |flags: &[&str]| {
        let args = [&["run", "greedy", "x"], flags].concat();
        let run = stage.run(&args);
        assert!(run.stderr.contains("stopped: its turns ran out"), "{run:?}");
        let shown = stage.run(&["show", "last", "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        shown["task"]["turns"].as_u64()
    };
    assert_eq!(turns(&[]), Some(3));
    assert_eq!(turns(&["--max-turns", "5"]), Some(5));
}

#[test]
fn a_batch_keeps_its_order_and_starts_whole_or_not_at_all() {
    let stage = Stage::new("[[replies]]\ntext = \"Seen.\"\n");
    let root = stage.world.sample.root();
    scratch::write(
        &root.join("many.toml"),
        "agent = \"helper\"\ncontext = \"it is new\"\n[[tasks]]\nname = \"two\"\nprompt = \"b\"\n[[tasks]]\nname = \"one\"\nprompt = \"a\"\n",
    );
    let run = stage.run(&["batch", "many.toml", "--concurrency", "1"]);
    let expected = "## two: completed\nSeen.\n\n## one: completed\nSeen.\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected), "{run:?}");

    scratch::write(
        &root.join("bad.yaml"),
        "tasks:\n- {agent: helper, prompt: a}\n- {agent: nobody, prompt: b}\n",
    );
    let run = stage.run(&["batch", "bad.yaml", "-v"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(
        run.stderr.starts_with("error[E0080]: assignment 2: Unknown agent \"nobody\""),
        "{}",
        run.stderr
    );

    scratch::write(&root.join("odd.json"), "{\"tasks\": [{\"prompt\": \"a\", \"agnet\": \"x\"}]}");
    let run = stage.run(&["batch", "odd.json"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("agnet"), "{}", run.stderr);
}

#[test]
fn a_real_provider_over_http_with_a_key_that_nobody_sees() {
    let replies =
        vec![Reply::call("read", json!({"path": "Cargo.toml"})), Reply::text("It uses tiny-sql.")];
    let endpoint = Endpoint::start(Script::of(replies));
    let stage = Stage::new("");
    stage.world.config("[defaults]\nsymposium-recommendations = false\n");
    let mut command = stage.command(&["run", "helper", "what does it use?", "-v"]);
    command.env("ANTHROPIC_API_KEY", "sk-very-secret").env("ANTHROPIC_BASE_URL", endpoint.url());
    let run = Run::from(command.output().unwrap());
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It uses tiny-sql.\n"), "{run:?}");
    assert!(run.stderr.contains("model anthropic/"), "{}", run.stderr);
    assert!(!run.stderr.contains("sk-very-secret"));
}

#[test]
fn ctrl_c_ends_it_and_everything_that_it_started() {
    let script = "[[replies]]\ntext = \"On it.\"\ncalls = [{ name = \"bash\", input = { command = \"touch started; sleep 47.125\" } }]\n";
    let stage = Stage::new(script);
    let mut command = stage.command(&["run", "helper", "x", "--allow", "bash", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !stage.world.sample.root().join("started").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(agents_testkit::signal::interrupt(child.id()));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let last = lines.map_while(Result::ok).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["outcome"]["ending"], json!({"state": "cancelled"}));
    assert_eq!(last["outcome"]["report"]["text"], "On it.");
    let mut talk = String::new();
    child.stderr.take().unwrap().read_to_string(&mut talk).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{talk}");
    assert!(!is_running("sleep\x0047.125\0"), "a process was left behind");
}

#[test]
fn a_terminal_that_is_closed_ends_it_as_ctrl_c_does_unless_it_was_to_outlive_it() {
    let script = "[[replies]]\ncalls = [{ name = \"bash\", input = { command = \"touch started; while [ ! -e go ]; do sleep 0.02; done\" } }]\n\
                  [[replies]]\ntext = \"Done.\"\n";
    let becoming = "exec \"$0\" \"$@\"";
    // What `nohup` does.
    let outliving = format!("trap '' HUP; {becoming}");
    for (shell, code, said) in [(becoming, 130, ""), (&outliving, 0, "Done.\n")] {
        let stage = Stage::new(script);
        let root = stage.world.sample.root().to_owned();
        let temporary = stage.world.outside();
        let command = stage.command(&["run", "helper", "x", "--allow", "bash"]);
        let mut command = through(&["sh", "-c", shell], &command);
        command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        while !root.join("started").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The shell and the system both tell.
        assert!(agents_testkit::signal::hang_up(child.id()));
        assert!(agents_testkit::signal::hang_up(child.id()));
        if code == 0 {
            std::fs::write(root.join("go"), "").unwrap();
        }
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), said), "{run:?}");
        assert_eq!(temporary.read_dir_utf8().unwrap().count(), 0, "{run:?}");
    }
}

/// Whether a process has exactly this command line.
pub(crate) fn is_running(line: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default() == line
    })
}

#[test]
fn a_limit_that_would_hold_for_nothing_is_refused_and_nothing_runs() {
    let stage = Stage::new("[[replies]]\ntext = \"done\"\n");
    for (flags, said) in [
        (["--tools", "read,nosuch"], "no tool is called `nosuch`"),
        (["--tools", "raed"], "did you mean `read`?"),
        (["--allow", "bash("], "`(` is not closed"),
        (["--allow", "bash(nothing"], "`(` is not closed"),
        (["--allow", "nosuch"], "no tool is called `nosuch`"),
    ] {
        let run = stage.run(&["run", "helper", "x", flags[0], flags[1]]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{flags:?}: {run:?}");
        assert!(run.stderr.contains(said), "{flags:?}: {run:?}");
    }
    let batch =
        "[[tasks]]\nname = \"one\"\nagent = \"helper\"\nprompt = \"x\"\ntools = [\"raed\"]\n";
    scratch::write(&stage.world.sample.path("many.toml"), batch);
    let run = stage.run(&["batch", "many.toml"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("did you mean `read`?"), "{run:?}");
    let run = stage.run(&["run", "helper", "x", "--tools", "Read,mcp__git__*,web*"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"), "{run:?}");
}
