use insta::assert_snapshot;
use serde_json::json;

use super::*;
use crate::{
    check::tests::{bundle, facts},
    draw,
    graph::Work,
};

fn graph(files: &[(&str, &str)], values: &[(&str, Value)]) -> Graph {
    let (bundle, findings) = bundle(files);
    assert_eq!(findings, []);
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    expand(&bundle.unwrap(), &facts(), &values).unwrap()
}

fn assignment<'g>(graph: &'g Graph, id: &str) -> &'g Assignment {
    match &graph.node(graph.find(&NodeId::new(id)).unwrap()).unwrap().work {
        Work::Agent(assignment) => assignment,
        Work::Join(_) => panic!("`{id}` is no agent"),
    }
}

struct Nobody;

impl Lookup for Nobody {
    fn look_up(&self, reference: &Reference) -> Option<Value> {
        Some(json!(format!("<{reference}>")))
    }
}

#[test]
fn members_come_after_those_that_they_depend_on() {
    let text = r#"
plan = "p"
[params.dep]
[[tasks]]
id = "survey"
agent = "explore"
prompt = "x"
[[tasks]]
id = "up"
agent = "task"
prompt = "${{ params.dep }} in ${{ item.name }}: ${{ tasks.survey.output.files }}"
for-each = { members = ["cli", "core"] }
done-when = { commands = ["cargo test -p ${{ item.name }}"] }
writes = ["member:${{ item.name }}", "Cargo.lock"]
[[tasks]]
id = "report"
agent = "explore"
prompt = "${{ tasks.up.items }}"
after = ["up"]
"#;
    let graph = graph(&[("p.toml", text)], &[("dep", json!("serde"))]);
    // `cli` depends on `core` through `util`, which is not asked for.
    assert_snapshot!(draw::text(&graph), @"
    p
    ├─ survey   explore
    ├─ up       for-each
    │  ├─ core  task, after survey
    │  └─ cli   task, after survey, up/core
    └─ report   explore, after up
    ");
    let cli = assignment(&graph, "up/cli");
    assert_eq!(cli.prompt.render(&Nobody), "serde in cli: <tasks.survey.output.files>");
    assert_eq!(cli.done_when.commands, ["cargo test -p cli"]);
    let node = &graph.nodes()[graph.find(&NodeId::new("up/cli")).unwrap().at()];
    assert_eq!(node.uses.writes, ["crates/cli", "Cargo.lock"]);
    assert_eq!(node.uses.provider.as_deref(), Some("anthropic"));
}

#[test]
fn lists_have_names_that_do_not_change() {
    let text = r#"
plan: p
params:
  of: { type: strings, default: [] }
tasks:
  - id: a
    agent: task
    prompt: "${{ item }}"
    for-each: { in: "${{ params.of }}" }
  - id: b
    agent: task
    prompt: "${{ item.n }}"
    for-each: { in: [{ n: 1 }, { n: 2, name: "two and" }] }
"#;
    let graph = graph(&[("p.yaml", text)], &[("of", json!(["src/x.rs", "src/x.rs", "é"]))]);
    let ids: Vec<&str> = graph.nodes().iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["a/src-x.rs", "a/src-x.rs-2", "a/3", "a", "b/1", "b/two-and", "b"]);
    assert_eq!(assignment(&graph, "b/two-and").prompt.render(&Nobody), "2");
}

#[test]
fn plans_within_plans_keep_their_names_apart() {
    let part = r#"
plan = "part"
[params.name]
[outputs]
all = "${{ tasks.look.output.files }}"
[[tasks]]
id = "look"
agent = "explore"
prompt = "look at ${{ params.name }}"
when = "params.name != 'y'"
[[tasks]]
id = "check"
agent = "task"
prompt = "${{ tasks.look.text }}"
"#;
    let main = r#"
plan = "main"
[[tasks]]
id = "first"
agent = "explore"
prompt = "x"
[[tasks]]
id = "part"
plan = "part.toml"
with = { name = "the ${{ item }}" }
for-each = { in = ["x", "y"] }
when = "tasks.first.output.count > 0"
[[tasks]]
id = "last"
agent = "task"
prompt = "${{ tasks.part.output[1].all }}"
"#;
    let graph = graph(&[("main.toml", main), ("part.toml", part)], &[]);
    assert_snapshot!(draw::text(&graph), @"
    main
    ├─ first        explore
    ├─ part         for-each
    │  ├─ x         plan
    │  │  ├─ look   explore, after first
    │  │  └─ check  task, after first, part/x/look
    │  └─ y         plan
    │     ├─ look   explore, after first
    │     └─ check  task, after first, part/y/look
    └─ last         task, after part
    ");
    assert_eq!(assignment(&graph, "part/y/look").prompt.render(&Nobody), "look at the y");
    assert_eq!(
        assignment(&graph, "part/y/check").prompt.render(&Nobody),
        "<tasks.part/y/look.text>"
    );
}

#[test]
fn races_are_contenders_a_judge_and_a_winner() {
    let text = r#"
plan = "p"
[[tasks]]
id = "fix"
agent = "task"
prompt = "fix it"
isolation = "worktree"
writes = ["."]
race = { contenders = [{}, { prompt = "fix it well", model = ["openai/x"] }], pick = "judge", judge = { agent = "explore" } }
"#;
    let graph = graph(&[("p.toml", text)], &[]);
    assert_snapshot!(draw::text(&graph), @"
    p
    └─ fix       judge
       ├─ 1      task
       ├─ 2      task
       └─ judge  explore, after fix/1, fix/2
    ");
    let two = &graph.nodes()[1];
    assert_eq!(two.uses.provider.as_deref(), Some("openai"));
    assert!(two.uses.writes.is_empty() && two.on_failure == file::OnFailure::Continue);
    let told = assignment(&graph, "fix/judge").prompt.render(&Nobody);
    assert!(told.contains("Result 2 (<tasks.fix/2.ending>):\n<tasks.fix/2.output>"), "{told}");
}

#[test]
fn parameters_must_be_said_and_be_what_they_must() {
    let text = "plan = \"p\"\n[params.a]\n[params.b]\ntype = \"integer\"\n[[tasks]]\nid = \"x\"\nagent = \"task\"\nprompt = \"x\"\n";
    let (bundle, _) = bundle(&[("p.toml", text)]);
    let values = BTreeMap::from([("b".to_owned(), json!("x")), ("c".to_owned(), json!(1))]);
    let findings = expand(&bundle.unwrap(), &facts(), &values).unwrap_err();
    let told: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "the plan has no parameter `c`",
            "the plan needs a value for `a`",
            "`b` must be a whole number, not \"x\""
        ]
    );
}

#[test]
fn the_same_plan_is_the_same_graph() {
    let text = "plan = \"p\"\n[[tasks]]\nid = \"x\"\nagent = \"task\"\nprompt = \"x\"\nfor-each = { members = [\"*\"] }\n";
    let one = graph(&[("p.toml", text)], &[]);
    assert_eq!(one, graph(&[("p.toml", text)], &[]));
    let again: Graph = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
    assert_eq!(again, one);
}
