//! What becomes of what gathers others: `for-each`, races and plans within plans.

use std::{collections::BTreeMap, sync::Arc};

use agents_plan::{
    check::{AgentFacts, Facts, MemberFacts},
    event::{Action, Ending, Millis, Outcome, PlanEnding, What},
    expand::expand,
    file::load,
    graph::NodeId,
    reference::{Lookup as _, Template},
    schedule::{Results, Scheduler},
};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

/// Runs a plan with these results; everything else completes with its own name. `Err` fails.
fn run(files: &[(&str, &str)], results: &[(&str, Result<Value, &str>)]) -> Scheduler {
    let sources: BTreeMap<Utf8PathBuf, String> =
        files.iter().map(|(name, text)| ((*name).into(), (*text).to_owned())).collect();
    let (bundle, findings) = load(files[0].0.into(), &sources);
    assert_eq!(findings, []);
    let member = |name: &str, needs: &[&str]| MemberFacts {
        name: name.to_owned(),
        dir: name.into(),
        depends_on: needs.iter().map(|it| (*it).to_owned()).collect(),
    };
    let facts = Facts {
        agents: BTreeMap::from([("any".to_owned(), AgentFacts::default())]),
        members: vec![
            member("low", &[]),
            member("mid", &["low"]),
            member("top", &["mid"]),
            member("other", &[]),
        ],
    };
    let graph = expand(&bundle.unwrap(), &facts, &BTreeMap::new()).unwrap();
    let mut it = Scheduler::new(graph);
    while it.ending().is_none() {
        it.advance(Millis(1), &mut Vec::new());
        let actions: Vec<Action> = it.actions().collect();
        for action in actions {
            let Action::Start { attempt, .. } = action else { continue };
            let id = it.graph().node(attempt.node).unwrap().id.to_string();
            let said = results.iter().find(|(name, _)| *name == id).map(|it| it.1.clone());
            let outcome = match said.unwrap_or(Ok(json!(id))) {
                Ok(value) => Outcome::completed(value),
                Err(why) => Outcome::ended(Ending::Failed, why),
            };
            it.accept(What::Ended { attempt, outcome: Arc::new(outcome) }.at(Millis(1))).unwrap();
        }
    }
    it
}

/// State and output of a node.
fn of(it: &Scheduler, id: &str) -> (String, Value) {
    let index = it.graph().find(&NodeId::new(id)).unwrap();
    let output = it.outcome(index).map_or(Value::Null, |it| Value::clone(&it.output));
    (it.state(index).word().to_owned(), output)
}

const EACH: &str = r#"
plan = "p"
[[tasks]]
id = "up"
agent = "any"
prompt = "${{ item.name }}"
for-each = { members = ["*"] }
on-failure = "skip-dependents"
[[tasks]]
id = "report"
agent = "any"
prompt = "${{ tasks.up.items }}"
"#;

#[test]
fn a_for_each_gathers_what_there_is() {
    let it = run(&[("p.toml", EACH)], &[("up/mid", Err("no"))]);
    assert_eq!(it.ending(), Some(PlanEnding::Partly));
    assert_eq!(of(&it, "up/top").0, "skipped");
    // In the order of dependencies, by name where that says nothing.
    assert_eq!(of(&it, "up"), ("completed".to_owned(), json!(["up/low", null, "up/other", null])));
    assert_eq!(of(&it, "report").0, "completed");
    let template = Template::parse("${{ tasks.up.items }}").unwrap();
    let items = Results(&it).look_up(template.only_reference().unwrap()).unwrap();
    let endings: Vec<&str> =
        items.as_array().unwrap().iter().map(|it| it["ending"].as_str().unwrap()).collect();
    assert_eq!(endings, ["completed", "failed", "completed", "skipped"]);
    assert_eq!(items[1]["item"]["name"], "mid");
}

#[test]
fn a_for_each_of_which_nothing_completes_fails() {
    let it = run(&[("p.toml", EACH)], &[("up/low", Err("no")), ("up/other", Err("never"))]);
    let index = it.graph().find(&NodeId::new("up")).unwrap();
    let why = &it.outcome(index).unwrap().message;
    assert_eq!(
        why,
        "none of 4 completed: `up/low` failed: no; `up/mid` skipped; `up/other` failed: never; `up/top` skipped"
    );
    assert_eq!(of(&it, "report").0, "skipped");
}

#[test]
fn a_for_each_of_nothing_is_done() {
    let text = "plan = 'p'\n[[tasks]]\nid = 'a'\nagent = 'any'\nprompt = ''\nfor-each = { in = [] }\n[[tasks]]\nid = 'b'\nagent = 'any'\nprompt = ''\nneeds = ['a']\n";
    let it = run(&[("p.toml", text)], &[]);
    assert_eq!(of(&it, "a"), ("completed".to_owned(), json!([])));
    assert_eq!(it.ending(), Some(PlanEnding::Completed));
}

fn race(pick: &str) -> String {
    format!(
        "plan = 'p'\n[[tasks]]\nid = 'r'\nagent = 'any'\nprompt = 'x'\non-failure = 'skip-dependents'\n\
         race = {{ contenders = [{{}}, {{}}, {{}}], {pick} }}\n[[tasks]]\nid = 'end'\nagent = 'any'\nprompt = '${{{{ tasks.r.output }}}}'\n"
    )
}

#[test]
fn most_votes_win_and_of_equal_ones_the_first() {
    let text = race("pick = 'vote'");
    let vote =
        |results: &[(&str, Result<Value, &str>)]| of(&run(&[("p.toml", &text)], results), "r").1;
    assert_eq!(
        vote(&[("r/1", Ok(json!(1))), ("r/2", Ok(json!(2))), ("r/3", Ok(json!(2)))]),
        json!(2)
    );
    assert_eq!(
        vote(&[("r/1", Ok(json!(3))), ("r/2", Ok(json!(2))), ("r/3", Ok(json!(1)))]),
        json!(3)
    );
    assert_eq!(vote(&[("r/1", Err("no")), ("r/2", Ok(json!(2))), ("r/3", Ok(json!(1)))]), json!(2));
}

#[test]
fn a_judge_names_the_winner() {
    let text = race("pick = 'judge', judge = { agent = 'any' }");
    let judge = |verdict: Result<Value, &'static str>, first: Result<Value, &'static str>| {
        let it = run(&[("p.toml", &text)], &[("r/judge", verdict), ("r/1", first)]);
        let index = it.graph().find(&NodeId::new("r")).unwrap();
        (
            of(&it, "r"),
            it.outcome(index).map_or(String::new(), |it| it.message.clone()),
            it.ending().unwrap(),
        )
    };
    let ((state, output), _, ending) = judge(Ok(json!({"winner": 2})), Err("no"));
    assert_eq!(
        (state.as_str(), output, ending),
        ("completed", json!("r/2"), PlanEnding::Completed)
    );
    let ((state, _), why, ending) = judge(Ok(json!({"winner": 1})), Err("no"));
    assert_eq!(
        (state.as_str(), why.as_str()),
        ("failed", "the judge named contender 1, which did not complete")
    );
    assert_eq!(ending, PlanEnding::Partly);
    let (_, why, _) = judge(Ok(json!({"winner": 9})), Ok(json!(1)));
    assert_eq!(why, "the judge named contender 9, which did not complete");
    let (_, why, _) = judge(Err("too hard"), Ok(json!(1)));
    assert_eq!(why, "the judge failed: too hard");
}

#[test]
fn a_race_that_nobody_wins_fails() {
    for pick in ["pick = 'first'", "pick = 'vote'", "pick = 'judge', judge = { agent = 'any' }"] {
        let text = race(pick);
        let lost = [("r/1", Err("a")), ("r/2", Err("b")), ("r/3", Err("c"))];
        let it = run(&[("p.toml", &text)], &lost);
        let index = it.graph().find(&NodeId::new("r")).unwrap();
        let why = &it.outcome(index).unwrap().message;
        assert_eq!(
            why, "none of 3 completed: `r/1` failed: a; `r/2` failed: b; `r/3` failed: c",
            "{pick}"
        );
        assert_eq!(of(&it, "end").0, "skipped", "{pick}");
        assert_eq!(it.ending(), Some(PlanEnding::Partly));
    }
}

const OUTER: &str = "plan = 'p'\n[[tasks]]\nid = 'first'\nagent = 'any'\nprompt = ''\n[[tasks]]\nid = 'sub'\nplan = 'sub.toml'\nneeds = ['first']\nwhen = \"tasks.first.output != 'no'\"\non-failure = 'skip-dependents'\n[[tasks]]\nid = 'end'\nagent = 'any'\nprompt = '${{ tasks.sub.output.a }}'\n";
const INNER: &str = "plan = 'sub'\non-failure = 'skip-dependents'\n[outputs]\na = '${{ tasks.a.output }}'\nboth = 'x ${{ tasks.b.output }}'\n[[tasks]]\nid = 'a'\nagent = 'any'\nprompt = ''\n[[tasks]]\nid = 'b'\nagent = 'any'\nprompt = ''\nafter = ['a']\n";

#[test]
fn a_plan_hands_on_what_it_says() {
    let files = [("p.toml", OUTER), ("sub.toml", INNER)];
    let it = run(&files, &[]);
    assert_eq!(of(&it, "sub"), ("completed".to_owned(), json!({"a": "sub/a", "both": "x sub/b"})));
    assert_eq!(it.ending(), Some(PlanEnding::Completed));
    let it = run(&files, &[("sub/a", Err("no"))]);
    assert_eq!(of(&it, "sub/b").0, "completed");
    assert_eq!((of(&it, "sub").0, of(&it, "end").0), ("failed".to_owned(), "skipped".to_owned()));
    let index = it.graph().find(&NodeId::new("sub")).unwrap();
    assert_eq!(it.outcome(index).unwrap().message, "`sub/a` failed: no");
}

#[test]
fn the_condition_of_a_plan_holds_for_all_of_it() {
    let it = run(&[("p.toml", OUTER), ("sub.toml", INNER)], &[("first", Ok(json!("no")))]);
    assert_eq!(
        (of(&it, "sub/a").0, of(&it, "sub/b").0),
        ("skipped".to_owned(), "skipped".to_owned())
    );
    assert_eq!((of(&it, "sub").0, of(&it, "end").0), ("skipped".to_owned(), "skipped".to_owned()));
    assert_eq!(it.ending(), Some(PlanEnding::Completed));
}
