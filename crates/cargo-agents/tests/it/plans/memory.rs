//! What is known from earlier runs.

use agents_testkit::scratch;

use super::Stage;

/// Each task leaves a line in `log`; `write` changes a file, and says so.
const EFFECTS: &str = r#"plan = "effects"
[params.what]
default = "A"
[[tasks]]
id = "read"
agent = "helper"
prompt = "READ ${{ params.what }}"
reads = ["input"]
[[tasks]]
id = "write"
agent = "helper"
prompt = "WRITE ${{ tasks.read.text }}"
writes = ["made"]
[[tasks]]
id = "last"
agent = "helper"
prompt = "LAST ${{ tasks.write.text }}"
reads = ["made"]
"#;

fn effects_script() -> String {
    let tell = |text: &str, command: &str, said: &str| {
        format!(
            "[[replies]]\nwhen = {{ text = \"{text}\", result = \"did it\" }}\ntext = \"{said}\"\n\
             [[replies]]\nwhen = {{ text = \"{text}\" }}\ncalls = [{{ name = \"bash\", input = {{ command = \"{command}; echo did it\" }} }}]\n"
        )
    };
    tell("READ", "echo read >> log", "input is read")
        + &tell("WRITE", "echo write >> log; echo made > made/it", "it is made")
        + &tell("LAST", "echo last >> log", "all is done")
}

#[test]
fn a_rerun_pays_only_for_what_changed() {
    let stage = Stage::new(&effects_script(), EFFECTS);
    let file = |name: &str, text: &str| {
        scratch::write(&stage.world.sample.root().join(name), text);
    };
    file("input", "one");
    file("made/.keep", "");
    let mut seen = 0;
    // What was done since the last time.
    let mut done = |args: &[&str]| {
        let run = stage.run(&[args, &["--allow", "bash"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## last\nall is done\n"), "{run:?}");
        let lines = stage.lines("log");
        let new = lines[seen..].to_vec();
        seen = lines.len();
        (new.join(" "), run.stderr)
    };
    assert_eq!(done(&["run", "plan.toml"]).0, "read write last");
    let (new, told) = done(&["run", "plan.toml"]);
    assert_eq!(new, "");
    assert!(told.contains("3 completed (3 known from earlier runs); 0 turns"), "{told}");
    let document = stage.document(&["show", "last"]);
    assert_eq!(document["tasks"][1]["outcome"]["recalled"], true, "{document}");
    // What it reads has changed; what comes of it is the same, so nothing after it is done again.
    file("input", "two");
    assert_eq!(done(&["run", "plan.toml"]).0, "read");
    // What it has made is gone.
    std::fs::remove_file(stage.world.sample.root().join("made/it")).unwrap();
    assert_eq!(done(&["run", "plan.toml"]).0, "write");
    // It is told something else.
    assert_eq!(done(&["run", "plan.toml", "--param", "what=B"]).0, "read");
    assert_eq!(done(&["run", "plan.toml", "--fresh"]).0, "read write last");
    assert_eq!(done(&["fork", "last", "--from", "write"]).0, "write last");
    // Another agent under the same name.
    let text = "---\nname: helper\ndescription: helps\n---\nYou help a lot.\n";
    scratch::write(&stage.world.user().join(".agents/agents/helper.md"), text);
    assert_eq!(done(&["run", "plan.toml"]).0, "read write last");
    let gone = stage.document(&["gc", "--older-than", "0s", "--keep", "0"]);
    assert!(gone["forgotten"].as_u64().unwrap() >= 3, "{gone}");
    assert_eq!(done(&["run", "plan.toml"]).0, "read write last");
}

#[test]
fn a_fork_of_a_plan_that_was_changed_keeps_what_still_holds() {
    let stage = Stage::new(&effects_script(), EFFECTS);
    scratch::write(&stage.world.sample.root().join("input"), "one");
    scratch::write(&stage.world.sample.root().join("made/.keep"), "");
    let run = stage.run(&["run", "plan.toml", "--param", "what=C", "--allow", "bash"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let changed = EFFECTS.replace("LAST $", "LAST of all $");
    scratch::write(&stage.world.sample.root().join("plan.toml"), &changed);
    // Without memory: what is kept is kept by the fork itself.
    std::fs::remove_file(stage.state_dir().join("plans/memo.db")).unwrap();
    let fork = ["fork", "last", "--file", "plan.toml", "--allow", "bash"];
    let run = stage.run(&fork);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.lines("log"), ["read", "write", "last", "last"]);
    let document = stage.document(&["show", "last"]);
    assert_eq!(document["tasks"][0]["outcome"]["recalled"], true, "{document}");
    // What was said about parameters holds until something else is said.
    // `last` is told the same, and known from the fork before.
    let run = stage.run(&[&fork[..], &["--param", "what=D"]].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.lines("log")[4..], ["read", "write"]);
    let run = stage.run(&["fork", "last", "--param", "what=D"]);
    assert!(run.code == Some(2) && run.stderr.contains("`--file`"), "{run:?}");
}
