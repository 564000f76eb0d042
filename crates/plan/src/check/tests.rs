use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::json;

use super::*;
use crate::file::load;

pub(crate) fn facts() -> Facts {
    let member = |name: &str, needs: &[&str]| MemberFacts {
        name: name.to_owned(),
        dir: format!("crates/{name}").into(),
        depends_on: needs.iter().map(|it| (*it).to_owned()).collect(),
    };
    let output = json!({
        "type": "object",
        "properties": { "files": { "type": "array", "items": { "type": "string" } }, "count": { "type": "integer" } },
    });
    Facts {
        agents: BTreeMap::from([
            ("explore".to_owned(), AgentFacts { output: Some(output), provider: None }),
            (
                "task".to_owned(),
                AgentFacts { output: None, provider: Some("anthropic".to_owned()) },
            ),
        ]),
        members: vec![member("cli", &["util"]), member("core", &[]), member("util", &["core"])],
    }
}

/// Several files; the first is the plan.
pub(crate) fn bundle(files: &[(&str, &str)]) -> (Option<Bundle>, Vec<Finding>) {
    let sources: BTreeMap<Utf8PathBuf, String> =
        files.iter().map(|(name, text)| ((*name).into(), (*text).to_owned())).collect();
    load(files[0].0.into(), &sources)
}

/// All that is wrong, a line each.
fn wrong(files: &[(&str, &str)]) -> String {
    let (bundle, mut findings) = bundle(files);
    if let Some(bundle) = &bundle {
        findings.extend(check(bundle, &facts()));
    }
    let told = findings.iter().map(|it| {
        let place = it.place.as_ref().map(ToString::to_string).unwrap_or_default();
        let more = it.label.iter().chain(&it.hint).map(|it| format!(" ({it})")).collect::<String>();
        let kind = if it.severity == Severity::Error { "" } else { "warning: " };
        format!("{place}: {kind}{}{more}", it.message)
    });
    told.collect::<Vec<_>>().join("\n")
}

fn in_toml(tasks: &str) -> String {
    wrong(&[("p.toml", &format!("plan = \"p\"\n{tasks}"))])
}

#[test]
fn a_plan_that_makes_sense_has_no_findings() {
    let text = r#"
[params.deep]
type = "boolean"
default = false
[[tasks]]
id = "a"
agent = "explore"
prompt = "look"
[[tasks]]
id = "b"
agent = "task"
prompt = "${{ tasks.a.output.files[0] }}"
when = "tasks.a.output.count > 0 or params.deep"
"#;
    assert_eq!(in_toml(text), "");
}

#[test]
fn everything_is_told_at_once_with_its_place() {
    let text = r#"
[[tasks]]
id = "A b"
agent = "exlore"
prompt = "look at ${{ tasks.c.output.file }} and ${{ params.x }} ${{ item }}"
needs = ["nobody"]
[[tasks]]
id = "c"
agent = "explore"
[[tasks]]
id = "c"
agent = "explore"
prompt = "${{ tasks.c.output"
limits = { turns = 0 }
retry = { attempts = 0 }
writes = ["member:cor"]
output = { type = "objekt" }
"#;
    assert_snapshot!(in_toml(text), @r#"
    p.toml:4:6: `A b` is no name for a task (lower-case letters, digits and `-` between them, at most 64)
    p.toml:5:9: there is no agent `exlore` (did you mean `explore`?)
    p.toml:8:1: `prompt` is missing in `c`
    p.toml:12:6: there are two tasks named `c`
    p.toml:18:10: the schema does not compile: "objekt" is not valid under any of the schemas listed in the 'anyOf' keyword (at `/type`)
    p.toml:16:22: it would never be tried
    p.toml:15:20: nothing can be done with nothing
    p.toml:17:11: the workspace has no member `cor` (did you mean `core`?)
    p.toml:6:23: `tasks.c.output.file` can never be there (of `tasks.c.output`: it has no `file`, but `files`)
    p.toml:6:54: the plan has no parameter `x`
    p.toml:6:70: there is no `item` without `for-each`
    p.toml:7:10: there is no task `nobody` (there are `A b` and `c`)
    p.toml:14:11: `${{` without `}}`; write `$${{` if it is meant as it stands
    "#);
}

#[test]
fn circles_are_named_with_their_path() {
    let text = r#"
[[tasks]]
id = "a"
agent = "task"
prompt = "x"
needs = ["c"]
[[tasks]]
id = "b"
agent = "task"
prompt = "${{ tasks.a.text }}"
[[tasks]]
id = "c"
agent = "task"
prompt = "x"
after = ["b"]
"#;
    assert_snapshot!(in_toml(text), @"p.toml:4:6: tasks need each other: `a` needs `c` needs `b` needs `a`");
}

#[test]
fn results_that_can_never_be_there_are_found() {
    let text = r#"
[[tasks]]
id = "a"
agent = "explore"
prompt = "x"
[[tasks]]
id = "each"
agent = "explore"
prompt = "x ${{ item }}"
for-each = { in = ["x"] }
[[tasks]]
id = "b"
agent = "task"
prompt = """
${{ tasks.a.output.counts }}
${{ tasks.a.output.files.name }}
${{ tasks.each.output.count }} ${{ tasks.each.output[0].count }} ${{ tasks.a.items }}"""
when = "tasks.a.output.count == 'x' or tasks.a.output.files > 3"
done-when = { commands = ["test ${{ tasks.a.text }}"] }
"#;
    assert_snapshot!(in_toml(text), @r#"
    p.toml:16:5: `tasks.a.output.counts` can never be there (of `tasks.a.output`: it has no `counts`, but `count`)
    p.toml:17:5: `tasks.a.output.files.name` can never be there (of `tasks.a.output`: it is an array, so it has no `name`)
    p.toml:18:5: `tasks.each.output.count` can never be there (of `tasks.each.output`: it is an array, so it has no `count`)
    p.toml:18:70: `a` is not done for each of something (`tasks.a.output` is its result)
    p.toml:20:37: results of tasks are not known here (only parameters and items are: it is read before the plan runs)
    p.toml:19:8: `==` compares integer with string
    p.toml:19:8: `>` compares array with integer
    "#);
}

#[test]
fn what_is_never_done_and_budgets_that_cannot_suffice() {
    let text = r#"
[budget]
turns = 2
cost = 0
[concurrency]
resources = { cargo = 2 }
[[tasks]]
id = "a"
agent = "task"
prompt = "x"
when = "false"
[[tasks]]
id = "b"
agent = "task"
prompt = "x"
needs = ["a"]
resources = { cargo = 3 }
limits = { turns = 9 }
[[tasks]]
id = "c"
agent = "task"
prompt = "x"
for-each = { members = ["*"] }
"#;
    assert_snapshot!(in_toml(text), @r#"
    p.toml:18:23: it uses 3 of `cargo`, and there is 2
    p.toml:12:8: warning: `a` is never done
    p.toml:14:6: warning: `b` is never done, because `a` is not
    p.toml:5:8: nothing can be done with nothing
    p.toml:4:9: the budget cannot suffice: 4 tasks need at least 4 turns, and there are 2
    p.toml:19:20: warning: `b` may use more than the whole plan
    "#);
}

#[test]
fn plans_within_plans_get_what_they_need() {
    let part = r#"
plan: part
params:
  name: {}
  deep: { type: boolean, default: false }
outputs: { files: "${{ tasks.look.output.files }}" }
tasks:
  - id: look
    agent: explore
    prompt: "${{ params.name }}"
"#;
    let main = r#"{
  "plan": "main",
  "tasks": [
    { "id": "one", "plan": "part.yaml", "with": { "deep": 3, "nme": "x" }, "prompt": "no" },
    { "id": "two", "agent": "task", "prompt": "${{ tasks.one.output.files[0].x }} ${{ tasks.one.output.file }}" },
    { "id": "three", "plan": "gone.toml" }
  ]
}"#;
    assert_snapshot!(wrong(&[("main.json", main), ("part.yaml", part)]), @r#"
    main.json:6:30: the plan `gone.toml` cannot be read: entity not found
    main.json:4:86: `prompt` is said by the tasks of the other plan
    main.json:5:52: `tasks.one.output.files[0].x` can never be there (of `tasks.one.output`: it is a string, so it has no `x`)
    main.json:5:87: `tasks.one.output.file` can never be there (of `tasks.one.output`: it has no `file`, but `files`)
    main.json:4:28: the plan needs `name` (say `with = { name = ... }`)
    main.json:4:59: `deep` must be `true` or `false`
    main.json:4:69: the plan takes no `nme` (did you mean `name`?)
    "#);
}

#[test]
fn plans_that_are_parts_of_each_other_are_found() {
    let one = "plan = 'one'\n[[tasks]]\nid = 'a'\nplan = 'sub/two.toml'\n";
    let two = "plan = 'two'\n[[tasks]]\nid = 'a'\nplan = '../one.toml'\n";
    assert_snapshot!(wrong(&[("one.toml", one), ("sub/two.toml", two)]), @"one.toml:4:8: plans are parts of each other: `one.toml` has `sub/two.toml` has `one.toml`");
}

#[test]
fn races_say_who_runs_and_who_decides() {
    let text = r#"
[[tasks]]
id = "a"
prompt = "x"
writes = ["."]
race = { contenders = [{ agent = "task" }, {}], pick = "judge" }
[[tasks]]
id = "b"
agent = "task"
prompt = "x"
race = { contenders = [{}], judge = { agent = "nobody" } }
[[tasks]]
id = "c"
"#;
    assert_snapshot!(in_toml(text), @r#"
    p.toml:7:44: neither the contender nor the task says `agent`
    p.toml:7:8: `judge` is missing
    p.toml:6:10: the contenders would write the same files at once (say `isolation = "worktree"`)
    p.toml:12:8: a race has at least two contenders
    p.toml:12:37: nobody asks the judge (say `pick = "judge"`, or leave the judge out)
    p.toml:13:1: nobody does `c` (say `agent`, `plan` or `race`)
    p.toml:13:1: `prompt` is missing in `c`
    "#);
}
