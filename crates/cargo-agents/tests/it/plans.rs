//! `cargo agents plan …`

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod crash;
mod draft;
mod joins;
mod live;
mod memory;
mod orders;
mod unread;

use std::{process::Stdio, time::Duration};

use agents_testkit::scratch;
use serde_json::{Value, json};

use crate::{
    models::CUSTOMARY,
    world::{Run, World},
};

/// A workspace whose only model plays this script, with an agent `helper` that may use everything, and a plan.
struct Stage {
    world: World,
}

impl Stage {
    fn new(script: &str, plan: &str) -> Self {
        Self::on(World::new(), script, plan)
    }

    fn on(world: World, script: &str, plan: &str) -> Self {
        let file = world.home().join("script.toml");
        scratch::write(&file, script);
        let text = "---\nname: helper\ndescription: helps\n---\nYou help.\n";
        scratch::write(&world.user().join(".agents/agents/helper.md"), text);
        scratch::write(&world.sample.root().join("plan.toml"), plan);
        let stage = Self { world };
        stage.config("");
        stage
    }

    /// With more in the configuration.
    fn config(&self, more: &str) {
        let file = self.world.home().join("script.toml");
        self.world.config(&format!(
            "[defaults]\nsymposium-recommendations = false\n[providers.demo]\nkind = \"script\"\nscript = \"{file}\"\n{more}"
        ));
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut all = vec!["plan"];
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

    /// The one document of `--json`.
    fn document(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let run = self.run(&all);
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    }

    fn state_dir(&self) -> camino::Utf8PathBuf {
        agents_system::dirs::Dirs::below(&self.world.home()).state
    }

    fn has(&self, file: &str) -> bool {
        self.world.sample.root().join(file).exists()
    }

    /// What agents wrote into a file, line by line.
    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.sample.root().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Starts a run, and waits until an agent has made this file.
    fn until(&self, args: &[&str], file: &str) -> std::process::Child {
        let mut command = self.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !self.has(file) {
            if child.try_wait().unwrap().is_some() {
                panic!("no `{file}`: {:?}", Run::from(child.wait_with_output().unwrap()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }

    fn state(&self) -> Value {
        self.document(&["list"])["runs"][0]["state"].clone()
    }
}

fn signal(child: &std::process::Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    let plan = r#"plan = "wrong"
[[tasks]]
id = "a"
agent = "helpr"
prompt = "x"
needs = ["c"]
[[tasks]]
id = "b"
agent = "helper"
prompt = "${{ tasks.a.text }}"
[[tasks]]
id = "c"
agent = "helper"
prompt = "${{ tasks.b.text }}"
"#;
    let stage = Stage::new("", plan);
    let run = stage.run(&["check", "plan.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    for part in [
        "there is no agent `helpr`",
        "plan.toml:4:9",
        "did you mean `helper`?",
        "tasks need each other: `a` needs `c` needs `b` needs `a`",
        "plan.toml:3:6",
        "the plan cannot run: 2 things are wrong with it",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let document = stage.document(&["check", "plan.toml"]);
    assert_eq!((&document["valid"], &document["tasks"]), (&json!(false), &json!(3)));
    assert_eq!(document["findings"][0]["line"], 4, "{document}");
    // Nothing runs, and nothing is left.
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("there is no agent `helpr`"), "{}", run.stderr);
    assert_eq!(stage.document(&["list"])["runs"], json!([]));
}

/// Three tasks of which each uses the result of the one before.
const CHAIN: &str = r#"plan = "chain"
[params.topic]
[[tasks]]
id = "find"
agent = "helper"
prompt = "FIND ${{ params.topic }}"
output = { type = "object", required = ["files"], properties = { files = { type = "array", items = { type = "string" } } } }
[[tasks]]
id = "count"
agent = "helper"
prompt = "COUNT ${{ tasks.find.output.files[1] }}"
[[tasks]]
id = "report"
agent = "helper"
prompt = "REPORT ${{ tasks.count.text }}"
"#;

const CHAIN_SCRIPT: &str = r#"
[[replies]]
when = { text = "FIND errors" }
calls = [{ name = "yield", input = { data = { files = ["a.rs", "b.rs"] } } }]
[[replies]]
when = { text = "COUNT b.rs" }
text = "there are seven"
[[replies]]
when = { text = "REPORT there are seven" }
text = "Seven errors."
"#;

#[test]
fn results_reach_those_who_refer_to_them_and_the_last_one_is_printed() {
    let stage = Stage::new(CHAIN_SCRIPT, CHAIN);
    let run = stage.run(&["check", "plan.toml"]);
    let fine = "chain: 3 tasks, nothing is wrong with it\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), fine), "{run:?}");
    let plan = stage.document(&["show", "plan.toml", "--param", "topic=errors"]);
    assert_eq!(plan["plan"], "chain");
    assert_eq!(
        plan["tasks"][1],
        json!({ "task": "count", "agent": "helper", "needs": [{ "task": "find", "until": "completed" }] })
    );
    let run = stage.run(&["run", "plan.toml", "--param", "topic=errors"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## report\nSeven errors.\n"), "{run:?}");
    assert!(run.stderr.contains(": 3 completed; 3 turns, 330 tokens"), "{}", run.stderr);

    let shown = stage.run(&["show", "last"]);
    assert!(shown.stdout.contains("├─ count   helper, completed, after find"), "{}", shown.stdout);
    let shown = stage.run(&["show", "last", "--at", "1"]);
    assert!(shown.stdout.contains("├─ find    helper, running"), "{}", shown.stdout);
    assert_eq!(
        stage.document(&["show", "last"])["tasks"][0]["outcome"]["output"]["files"][0],
        "a.rs"
    );
    let logs = stage.run(&["logs", "last"]);
    assert_eq!(logs.stdout.lines().count(), 6, "{}", logs.stdout);
    assert!(logs.stdout.contains("report: completed"), "{}", logs.stdout);
    // Every task has a transcript of its own.
    let tasks = Run::from(stage.world.command(&["task", "list", "--json"]).output().unwrap());
    let tasks: Value = serde_json::from_str(&tasks.stdout).unwrap();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 3);

    let missing = stage.run(&["run", "plan.toml"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("--param topic=..."), "{}", missing.stderr);
    let run = stage.run(&["resume", "last"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn the_result_of_a_race_is_that_of_its_winner() {
    let script = r#"
[[replies]]
when = { text = "Which is best?" }
calls = [{ name = "yield", input = { data = { winner = 2, reason = "shorter" } } }]

[[replies]]
when = { text = "In one word" }
text = "short"

[[replies]]
text = "long"
"#;
    let plan = r#"plan = "race"
[[tasks]]
id = "answer"
agent = "helper"
prompt = "Answer."
[tasks.race]
contenders = [{}, { prompt = "In one word." }]
pick = "judge"
judge = { agent = "helper", prompt = "Which is best?" }
"#;
    let run = Stage::new(script, plan).run(&["run", "plan.toml"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stdout, "## answer\nshort\n");
}

#[test]
fn a_plan_can_be_drawn_before_it_runs() {
    let stage = Stage::new("", CHAIN);
    let args = ["show", "plan.toml", "--param", "topic=x"];
    let run = stage.run(&args);
    assert_eq!(
        run.stdout,
        "chain\n├─ find    helper\n├─ count   helper, after find\n└─ report  helper, after count\n",
        "{run:?}"
    );
    let run = stage.run(&[&args[..], &["--format", "mermaid"]].concat());
    assert!(run.stdout.starts_with("flowchart TD\n"), "{run:?}");
    let run = stage.run(&[&args[..], &["--format", "svg", "-o", "plan.svg"]].concat());
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    assert!(stage.lines("plan.svg")[0].starts_with("<svg"));
}

#[test]
fn events_are_lines_of_json_with_one_first_and_one_last() {
    let stage = Stage::new(CHAIN_SCRIPT, CHAIN);
    let run = stage.run(&["run", "plan.toml", "--param", "topic=errors", "--json"]);
    let lines: Vec<Value> =
        run.stdout.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().filter_map(|it| it["line"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"begin"), Some(&"end")), "{run:?}");
    assert!(kinds.contains(&"task"));
    let events: Vec<String> = lines
        .iter()
        .filter(|it| it["line"] == "event")
        .map(|it| format!("{} {}", it["task"].as_str().unwrap(), it["event"].as_str().unwrap()))
        .collect();
    let expected =
        ["find", "count", "report"].map(|it| [format!("{it} started"), format!("{it} ended")]);
    assert_eq!(events, expected.concat());
    let last = &lines[lines.len() - 1];
    assert_eq!((&last["state"], &last["spent"]["turns"]), (&json!("completed"), &json!(3)));
}

#[test]
fn a_task_that_is_tried_again_is_told_why_it_failed() {
    let plan = r#"plan = "again"
[[tasks]]
id = "a"
agent = "helper"
prompt = "DO IT"
retry = { attempts = 2, backoff = "0s" }
"#;
    let script = r#"
[[replies]]
when = { text = "An earlier attempt did not succeed (failed): the door is locked" }
text = "I found the key."
[[replies]]
calls = [{ name = "yield", input = { error = "the door is locked" } }]
"#;
    let stage = Stage::new(script, plan);
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## a\nI found the key.\n"), "{run:?}");
    let document = stage.document(&["show", "last"]);
    assert_eq!(document["tasks"][0]["attempts"], 2);
}

/// `bad` cannot succeed, `needs` needs it, `free` does not; what `bad` says about failures comes first.
fn failing(on_failure: &str) -> String {
    format!(
        r#"plan = "failing"
[[tasks]]
id = "bad"
agent = "helper"
prompt = "BAD"
on-failure = "{on_failure}"
output = {{ type = "object", required = ["x"] }}
limits = {{ turns = 1 }}
[[tasks]]
id = "needs"
agent = "helper"
prompt = "NEEDS"
needs = ["bad"]
[[tasks]]
id = "free"
agent = "helper"
prompt = "FREE"
"#
    )
}

const FAILING_SCRIPT: &str = r#"
[[replies]]
when = { text = "BAD" }
text = "no"
[[replies]]
when = { text = "NEEDS" }
text = "I went on."
[[replies]]
when = { text = "FREE" }
text = "I am free."
"#;

#[test]
fn what_needs_a_task_that_failed_is_left_out_and_the_rest_goes_on() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("skip-dependents"));
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "## free\nI am free.\n"), "{run:?}");
    for part in [
        "completed only partly",
        "needs: skipped",
        "1 completed, 1 failed, 1 skipped",
        "plan retry failing-",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(stage.state(), "partly");
    // Only what did not complete is done again.
    let run = stage.run(&["retry", "last"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let tasks = stage.document(&["show", "last"])["tasks"].clone();
    assert_eq!((&tasks[0]["attempts"], &tasks[2]["attempts"]), (&json!(2), &json!(1)), "{tasks}");
}

#[test]
fn a_failure_that_somebody_must_decide_about_waits_for_an_answer() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("ask"));
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("--answer bad=retry"), "{}", run.stderr);
    assert_eq!(stage.state(), "suspended");
    let run = stage.run(&["resume", "last"]);
    assert!(run.stderr.contains("--answer bad=retry"), "{run:?}");
    let run = stage.run(&["resume", "last", "--answer", "bad=continue"]);
    assert!(run.stdout.contains("I went on."), "{run:?}");
    assert_eq!(stage.state(), "partly");
}

#[test]
fn members_come_after_those_that_they_depend_on() {
    let world = World::new();
    let sample = &world.sample;
    sample.workspace("members = [\"app\", \"base\", \"lib\"]");
    sample.package("app", "app", "0.1.0", "[dependencies]\nlib = { path = \"../lib\" }\n");
    sample.package("lib", "lib", "0.1.0", "[dependencies]\nbase = { path = \"../base\" }\n");
    // Cargo lets tests go around in a circle.
    sample.package("base", "base", "0.1.0", "[dev-dependencies]\napp = { path = \"../app\" }\n");
    sample.lock();
    let plan = r#"plan = "members"
[[tasks]]
id = "each"
agent = "helper"
prompt = "DO ${{ item.name }} in ${{ item.dir }}"
for-each = { members = ["*"] }
"#;
    let reply = |name: &str| {
        format!(
            "[[replies]]\nwhen = {{ text = \"DO {name} in {name}\" }}\ntimes = 1\ncalls = [{{ name = \"bash\", input = {{ command = \"echo {name} >> order\" }} }}]\n"
        )
    };
    let script = ["app", "base", "lib"].map(reply).concat() + "[[replies]]\ntext = \"Done.\"\n";
    let stage = Stage::on(world, &script, plan);
    let run = stage.run(&["run", "plan.toml", "--allow", "bash"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.lines("order"), ["base", "lib", "app"]);
}

/// `one` is done at once, `two` waits until there is a file `go`.
const SLOW: &str = r#"plan = "slow"
[[tasks]]
id = "one"
agent = "helper"
prompt = "ONE"
[[tasks]]
id = "two"
agent = "helper"
prompt = "TWO"
needs = ["one"]
[[tasks]]
id = "three"
agent = "helper"
prompt = "THREE"
needs = ["two"]
"#;

const SLOW_SCRIPT: &str = r#"
[[replies]]
when = { text = "ONE" }
times = 1
calls = [{ name = "bash", input = { command = "echo one >> log" } }]
[[replies]]
when = { text = "TWO" }
times = 1
calls = [{ name = "bash", input = { command = "echo two >> log; touch waits; while ! test -e go; do sleep 0.02; done" } }]
[[replies]]
when = { text = "THREE" }
times = 1
calls = [{ name = "bash", input = { command = "echo three >> log" } }]
[[replies]]
text = "Done."
"#;

const RUN_SLOW: [&str; 4] = ["run", "plan.toml", "--allow", "bash"];

#[test]
fn a_run_that_was_killed_goes_on_without_doing_again_what_was_done() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let mut child = stage.until(&RUN_SLOW, "waits");
    assert_eq!(stage.state(), "running");
    let run = stage.run(&["retry", "last"]);
    assert!(run.stderr.contains("another process runs"), "{run:?}");
    signal(&child, nix::sys::signal::Signal::SIGKILL);
    child.wait().unwrap();
    scratch::write(&stage.world.sample.root().join("go"), "");
    assert_eq!(stage.state(), "suspended");
    let run = stage.run(&["resume", "last", "--allow", "bash"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## three\nDone.\n"), "{run:?}");
    assert_eq!(stage.lines("log"), ["one", "two", "two", "three"]);
    assert_eq!(stage.state(), "completed");

    // A fork pays only for what is to be done again.
    let run = stage.run(&["fork", "last", "--from", "three", "--allow", "bash"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.lines("log"), ["one", "two", "two", "three", "three"]);
    assert!(stage.document(&["show", "last"])["fork_of"].as_str().unwrap().starts_with("slow-"));
    let gone = stage.document(&["gc", "--older-than", "0s", "--keep", "1"]);
    assert_eq!(gone["removed"].as_array().unwrap().len(), 1, "{gone}");
    assert_eq!(stage.document(&["list"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_of_which_everything_completed_has_nothing_to_retry() {
    let stage = Stage::new(CHAIN_SCRIPT, CHAIN);
    assert_eq!(stage.run(&["run", "plan.toml", "--param", "topic=errors"]).code, Some(0));
    let run = stage.run(&["retry", "last"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("completed, so there is nothing to retry"), "{run:?}");
    assert!(run.stderr.contains("--from TASK"), "{run:?}");
    assert_eq!(stage.state(), "completed");
}

#[test]
fn ctrl_c_leaves_a_run_as_it_is() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let child = stage.until(&RUN_SLOW, "waits");
    signal(&child, nix::sys::signal::Signal::SIGINT);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run:?}");
    assert!(run.stderr.contains("cargo agents plan resume slow-"), "{}", run.stderr);
    assert!(run.stderr.contains("--allow \"bash\"` continues"), "{}", run.stderr);
    scratch::write(&stage.world.sample.root().join("go"), "");
    let run = stage.run(&["resume", "slow", "--allow", "bash"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## three\nDone.\n"), "{run:?}");
    assert_eq!(stage.lines("log"), ["one", "two", "two", "three"]);
}

#[test]
fn another_process_can_pause_a_run_and_let_it_go_on() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let child = stage.until(&RUN_SLOW, "waits");
    let run = stage.run(&["pause", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.state(), "paused");
    scratch::write(&stage.world.sample.root().join("go"), "");
    while stage.document(&["show", "last"])["tasks"][1]["state"] != "completed" {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(stage.document(&["show", "last"])["tasks"][2]["state"], "ready");
    let run = stage.run(&["resume", "last"]);
    assert!(run.stdout.contains("continues in the process that runs it"), "{run:?}");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## three\nDone.\n"), "{run:?}");
}

#[test]
fn what_is_said_to_a_run_is_answered_with_a_document() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let child = stage.until(&RUN_SLOW, "waits");
    let id = stage.document(&["list"])["runs"][0]["run"].clone();
    let said = |args: &[&str]| {
        let mut document = stage.document(args);
        assert_eq!(document["done"].as_array().unwrap().len(), 1, "{document}");
        let done = document["done"][0].take();
        assert_eq!((&done["object"], &done["id"]), (&"run".into(), &id), "{done}");
        done
    };
    assert_eq!(said(&["pause", "last"])["action"], "paused");
    assert_eq!(said(&["resume", "last"])["action"], "continued");
    let four =
        "[[tasks]]\nid = \"four\"\nagent = \"helper\"\nprompt = \"FOUR\"\nneeds = [\"two\"]\n";
    let more = format!("{SLOW}{four}");
    scratch::write(&stage.world.sample.root().join("plan.toml"), more);
    let added = said(&["add", "last", "plan.toml"]);
    assert_eq!((&added["action"], &added["tasks"][0]), (&"added".into(), &"four".into()));
    let one = said(&["cancel", "last", "--task", "three"]);
    assert_eq!((&one["action"], &one["tasks"][0]), (&"cancelled".into(), &"three".into()));
    let all = said(&["cancel", "last"]);
    assert_eq!((&all["action"], &all["tasks"]), (&"cancelled".into(), &Value::Array(Vec::new())));
    assert!(all["message"].as_str().unwrap().ends_with("is cancelled"), "{all}");
    child.wait_with_output().unwrap();
}

#[test]
fn a_run_can_be_cancelled_while_it_runs_and_when_nobody_does() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let child = stage.until(&RUN_SLOW, "waits");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run:?}");
    assert_eq!(stage.state(), "cancelled");

    std::fs::remove_file(stage.world.sample.root().join("waits")).unwrap();
    let mut child = stage.until(&RUN_SLOW, "waits");
    signal(&child, nix::sys::signal::Signal::SIGKILL);
    child.wait().unwrap();
    let run = stage.run(&["cancel", "last", "--task", "tow"]);
    assert!(run.stderr.contains("did you mean `two`?"), "{run:?}");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.state(), "cancelled");
    scratch::write(&stage.world.sample.root().join("go"), "");
}

#[test]
fn journals_are_looked_through_for_damage() {
    let stage = Stage::new(CHAIN_SCRIPT, CHAIN);
    let run = stage.run(&["run", "plan.toml", "--param", "topic=errors"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = stage.run(&["check-journal"]);
    assert!(run.code == Some(0) && run.stdout.contains("6 events  sound"), "{run:?}");
    let id = stage.document(&["list"])["runs"][0]["run"].as_str().unwrap().to_owned();
    let file = stage.state_dir().join(format!("plans/{id}/journal.db"));
    let database = rusqlite::Connection::open(file).unwrap();
    database.execute("DELETE FROM event WHERE seq = 4", []).unwrap();
    let run = stage.run(&["check-journal", "last"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("event 4 of"), "{run:?}");
    let document = stage.document(&["check-journal"]);
    assert_eq!(document["runs"][0]["problems"].as_array().unwrap().len(), 1, "{document}");
    // What was before it can still be seen.
    let shown = stage.run(&["show", "last", "--at", "3"]);
    assert!(shown.stdout.contains("count   helper, running"), "{shown:?}");
}

#[test]
fn a_journal_that_is_none_is_a_problem_for_doctor() {
    let stage = Stage::new(CHAIN_SCRIPT, CHAIN);
    let run = stage.run(&["run", "plan.toml", "--param", "topic=errors"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let codes = || stage.world.json(&["doctor"])["problems"].to_string();
    assert!(!codes().contains("journal-broken"), "{}", codes());
    let id = stage.document(&["list"])["runs"][0]["run"].as_str().unwrap().to_owned();
    scratch::write(&stage.state_dir().join(format!("plans/{id}/journal.db")), "no database");
    assert!(codes().contains("journal-broken") && codes().contains(&id), "{}", codes());
}

#[test]
fn events_can_be_followed_until_the_run_has_ended() {
    let stage = Stage::new(SLOW_SCRIPT, SLOW);
    let mut child = stage.until(&RUN_SLOW, "waits");
    let follow = stage
        .command(&["logs", "last", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    scratch::write(&stage.world.sample.root().join("go"), "");
    assert!(child.wait().unwrap().success());
    let run = Run::from(follow.wait_with_output().unwrap());
    let events: Vec<Value> =
        run.stdout.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let told: Vec<String> = events
        .iter()
        .map(|it| {
            format!(
                "{} {} {}",
                it["number"],
                it["task"].as_str().unwrap(),
                it["event"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "1 one started",
            "2 one ended",
            "3 two started",
            "4 two ended",
            "5 three started",
            "6 three ended"
        ]
    );
    assert!(run.code == Some(0), "{run:?}");
}

#[cfg(not(feature = "restate"))]
#[test]
fn a_program_without_the_engine_says_how_to_get_it() {
    let stage = Stage::new("", &failing("abort"));
    let run = stage.run(&["run", "plan.toml", "--engine", "restate"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    for part in ["built without the engine `restate`", "--features restate"] {
        assert!(run.stderr.contains(part), "{part}: {run:?}");
    }
    // Nothing was begun.
    assert_eq!(stage.run(&["show", "last"]).code, Some(2));
    let worker = stage.world.agents(&["worker"]);
    assert_eq!(worker.code, Some(2), "{worker:?}");
    assert!(worker.stderr.contains("--features restate"), "{worker:?}");
}
