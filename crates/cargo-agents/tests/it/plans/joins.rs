//! Races, votes, judges, sub-plans, leases, and tasks that come later: through the program.

use agents_testkit::scratch;
use serde_json::json;

use super::Stage;
use crate::world::{Run, World};

/// Replies by model: each contender is asked in a way of its own.
fn contenders(replies: &str) -> Stage {
    let world = World::new();
    let stage = Stage::on(world, replies, "");
    let script = stage.world.home().join("script.toml");
    stage.world.config(&format!(
        "[defaults]\nsymposium-recommendations = false\n[providers.demo]\nkind = \"script\"\nscript = \"{script}\"\nmodels = [\"one\", \"two\", \"three\"]\n"
    ));
    stage
}

fn race(stage: &Stage, pick: &str, more: &str) {
    let plan = format!(
        r#"plan = "race"
[[tasks]]
id = "r"
agent = "helper"
prompt = "RUN"
{more}
race = {{ contenders = [{{ model = ["demo/one"] }}, {{ model = ["demo/two"] }}, {{ model = ["demo/three"] }}], {pick} }}
[[tasks]]
id = "end"
agent = "helper"
prompt = "END ${{{{ tasks.r.text }}}}"
model = ["demo/one"]
"#
    );
    scratch::write(&stage.world.sample.root().join("plan.toml"), &plan);
}

#[test]
fn the_first_contender_that_is_done_wins_and_the_others_are_stopped() {
    // One is quick and not done: what must hold does not, and it gives up. Two is done; three would take for ever.
    let stage = contenders(
        r#"
[[replies]]
when = { text = "END two wins" }
text = "two has won"
[[replies]]
when = { model = "one" }
times = 1
text = "one wins"
[[replies]]
when = { model = "one" }
calls = [{ name = "yield", input = { error = "it does not hold" } }]
[[replies]]
when = { model = "two", result = "made" }
text = "two wins"
[[replies]]
when = { model = "two" }
calls = [{ name = "bash", input = { command = "while ! test -e checked; do sleep 0.02; done; touch done; echo made" } }]
[[replies]]
when = { model = "three", result = "over" }
text = "three wins"
[[replies]]
when = { model = "three" }
calls = [{ name = "bash", input = { command = "sleep 300; echo over" } }]
"#,
    );
    race(
        &stage,
        "pick = \"first\"",
        "done-when = { commands = [\"touch checked; test -e done\"] }",
    );
    let run = stage.run(&["run", "plan.toml", "--allow", "bash"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## end\ntwo has won\n"), "{run:?}");
    let tasks = stage.document(&["show", "last"])["tasks"].clone();
    let state = |name: &str| {
        let task = tasks.as_array().unwrap().iter().find(|it| it["task"] == name).unwrap();
        task["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (state("r/2"), state("r/3"), state("r")),
        ("completed".into(), "cancelled".into(), "completed".into())
    );
    assert_eq!(state("r/1"), "failed", "what it said did not hold: {tasks}");
}

#[test]
fn most_votes_win() {
    let stage = contenders(
        r#"
[[replies]]
when = { text = "END" }
text = "counted"
[[replies]]
when = { model = "one" }
calls = [{ name = "yield", input = { data = { answer = 41 } } }]
[[replies]]
calls = [{ name = "yield", input = { data = { answer = 42 } } }]
"#,
    );
    race(&stage, "pick = \"vote\"", "output = { type = \"object\", required = [\"answer\"] }");
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let tasks = stage.document(&["show", "last"])["tasks"].clone();
    let won = tasks.as_array().unwrap().iter().find(|it| it["task"] == "r").unwrap().clone();
    assert_eq!(won["outcome"]["output"], json!({ "answer": 42 }), "{tasks}");
}

#[test]
fn a_judge_sees_all_results_and_names_the_winner() {
    let stage = contenders(
        r#"
[[replies]]
when = { text = "END the second" }
text = "as the judge said"
[[replies]]
when = { text = "the second" }
calls = [{ name = "yield", input = { data = { winner = 2 } } }]
[[replies]]
when = { model = "two" }
text = "the second"
[[replies]]
text = "another"
"#,
    );
    race(&stage, "pick = \"judge\", judge = { agent = \"helper\" }", "");
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "## end\nas the judge said\n"),
        "{run:?}"
    );
}

#[test]
fn a_plan_can_be_a_part_of_another_one() {
    let inner = r#"plan = "inner"
[params.name]
[outputs]
greeting = "${{ tasks.greet.text }}"
[[tasks]]
id = "greet"
agent = "helper"
prompt = "GREET ${{ params.name }}"
"#;
    let outer = r#"plan = "outer"
[[tasks]]
id = "each"
plan = "inner.toml"
with = { name = "${{ item }}" }
for-each = { in = ["world", "moon"] }
[[tasks]]
id = "all"
agent = "helper"
prompt = "ALL ${{ tasks.each.output[0].greeting }} ${{ tasks.each.output[1].greeting }}"
"#;
    let script = r#"
[[replies]]
when = { text = "GREET world" }
text = "hello-world"
[[replies]]
when = { text = "GREET moon" }
text = "hello-moon"
[[replies]]
when = { text = "ALL hello-world hello-moon" }
text = "Both."
"#;
    let stage = Stage::new(script, outer);
    scratch::write(&stage.world.sample.root().join("inner.toml"), inner);
    let run = stage.run(&["run", "plan.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## all\nBoth.\n"), "{run:?}");
}

#[test]
fn tasks_that_write_the_same_paths_never_run_at_once_and_others_do() {
    let task = |id: &str, lease: &str| {
        format!("[[tasks]]\nid = \"{id}\"\nagent = \"helper\"\nprompt = \"WORK {id}\"\n{lease}\n")
    };
    let plan = "plan = \"leases\"\n".to_owned()
        + &task("w1", "writes = [\"crates/a\"]")
        + &task("w2", "writes = [\"crates/a/src\"]")
        + &task("r1", "reads = [\"crates\"]")
        + &task("other", "writes = [\"docs\"]");
    // Each waits until all that may run beside it have begun, so a lease too many would never end.
    let reply = |id: &str, command: &str| {
        format!(
            "[[replies]]\nwhen = {{ text = \"WORK {id}\", result = \"through\" }}\ntext = \"Done.\"\n\
             [[replies]]\nwhen = {{ text = \"WORK {id}\" }}\ncalls = [{{ name = \"bash\", input = {{ command = \"{command}; echo through\" }} }}]\n"
        )
    };
    // `mkdir` succeeds for one of them only.
    let alone = "mkdir lease && echo alone >> log; sleep 0.2; rmdir lease";
    let script = reply("w1", &format!("while ! test -e other; do sleep 0.02; done; {alone}"))
        + &reply("w2", alone)
        + &reply("r1", alone)
        + &reply("other", "touch other");
    let stage = Stage::new(&script, &plan);
    let run = stage.run(&["run", "plan.toml", "--allow", "bash", "--concurrency", "4"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.lines("log"), ["alone"; 3]);
}

#[test]
fn tasks_can_be_added_while_a_run_runs_all_or_none() {
    let stage = Stage::new(
        &(super::SLOW_SCRIPT.replace("[[replies]]\ntext = \"Done.\"", "")
            + "[[replies]]\nwhen = { text = \"FOUR\" }\ntimes = 1\ncalls = [{ name = \"bash\", input = { command = \"echo four >> log\" } }]\n\
               [[replies]]\ntext = \"Done.\"\n"),
        super::SLOW,
    );
    let child = stage.until(&super::RUN_SLOW, "waits");
    let plan = stage.world.sample.root().join("plan.toml");
    let four =
        "[[tasks]]\nid = \"four\"\nagent = \"helper\"\nprompt = \"FOUR\"\nneeds = [\"two\"]\n";
    // `three` has not begun, so it can come to need what is new.
    let grown = super::SLOW.replace("needs = [\"two\"]", "needs = [\"two\", \"four\"]") + four;
    // What has begun cannot.
    let late = grown.replace("needs = [\"one\"]", "needs = [\"one\", \"five\"]")
        + "[[tasks]]\nid = \"five\"\nagent = \"helper\"\nprompt = \"FIVE\"\n";
    scratch::write(&plan, &late);
    let run = stage.run(&["add", "last", "plan.toml"]);
    assert!(run.code == Some(2) && run.stderr.contains("`two` has begun already"), "{run:?}");
    assert_eq!(stage.document(&["show", "last"])["tasks"].as_array().unwrap().len(), 3);
    scratch::write(&plan, grown.replace("prompt = \"ONE\"", "prompt = \"UNO\""));
    let run = stage.run(&["add", "last", "plan.toml"]);
    assert!(run.stderr.contains("`one` is not what it was"), "{run:?}");
    assert!(run.stderr.contains("plan fork slow-"), "{run:?}");
    scratch::write(&plan, &grown);
    let run = stage.run(&["add", "last", "plan.toml"]);
    assert!(run.code == Some(0) && run.stdout.contains("added `four`"), "{run:?}");
    scratch::write(&stage.world.sample.root().join("go"), "");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.lines("log"), ["one", "two", "four", "three"]);
    // It is in the journal, so whoever looks later sees it, too.
    let tasks = stage.document(&["show", "last"])["tasks"].clone();
    assert_eq!(tasks[3]["task"], "four", "{tasks}");
}
