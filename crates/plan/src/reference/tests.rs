use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

struct Known(BTreeMap<&'static str, Value>);

impl Lookup for Known {
    fn look_up(&self, reference: &Reference) -> Option<Value> {
        let root = Reference { path: Vec::new(), ..reference.clone() };
        walk(self.0.get(root.to_string().as_str())?, &reference.path).cloned()
    }
}

fn known() -> Known {
    Known(BTreeMap::from([
        ("params.name", json!("serde")),
        ("item", json!({"dir": "crates/a", "n": 3})),
        ("tasks.find-it.output", json!({"list": [{"x": 1}, {"x": 2}], "empty": []})),
        ("tasks.find-it.ending", json!("completed")),
    ]))
}

#[test]
fn texts_take_values_of_every_kind() {
    let render = |text: &str| Template::parse(text).unwrap().render(&known());
    assert_eq!(render("a ${{ params.name }}, ${{item.dir}}!"), "a serde, crates/a!");
    assert_eq!(render("${{ tasks.find-it.output.list[1].x }}"), "2");
    assert_eq!(render("${{ tasks.find-it.output.list[0] }}"), "{\n  \"x\": 1\n}");
    assert_eq!(render("gone: ${{ tasks.find-it.output.list[7] }}."), "gone: .");
    assert_eq!(render("$${{ params.name }} costs $5 {{x}}"), "${{ params.name }} costs $5 {{x}}");
}

#[test]
fn a_text_that_is_only_a_reference_is_its_value() {
    let value = |text: &str| Template::parse(text).unwrap().value(&known());
    assert_eq!(value("${{ item.n }}"), json!(3));
    assert_eq!(value("n=${{ item.n }}"), json!("n=3"));
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let long = Known(BTreeMap::from([("item", json!("é".repeat(MAX_VALUE)))]));
    let text = Template::parse("${{ item }}").unwrap().render(&long);
    assert!(
        text.len() < MAX_VALUE + 50 && text.ends_with("more bytes are left out]"),
        "{}",
        text.len()
    );
}

#[test]
fn what_is_bound_is_gone_and_the_rest_has_new_names() {
    let params = Known(BTreeMap::from([("params.name", json!("x"))]));
    let rename = |id: &str| format!("sub/{id}");
    let bound =
        Template::parse("${{ params.name }} ${{ tasks.a.text }}").unwrap().bind(&params, &rename);
    let left: Vec<String> = bound.references().map(|(it, _)| it.to_string()).collect();
    assert_eq!(left, ["tasks.sub/a.text"]);
    let again: Template = serde_json::from_value(serde_json::to_value(&bound).unwrap()).unwrap();
    assert_eq!(again, bound);
}

#[test]
fn errors_say_what_and_where() {
    let cases = [
        ("x ${{ tasks.a }}", "`tasks.a` needs a `.` and a name after it", 12..13),
        (
            "x ${{ tasks.a.result }}",
            "a task has no `result`: only `output`, `text`, `ending` and `items`",
            14..20,
        ),
        ("${{ params.a b }}", "`b` is too much", 13..14),
        ("${{ item[x] }}", "`x` is no position in a list", 9..10),
        ("${{ }}", "a name is missing", 4..5),
        ("a ${{ item", "`${{` without `}}`; write `$${{` if it is meant as it stands", 2..5),
    ];
    for (text, what, span) in cases {
        let error = Template::parse(text).unwrap_err();
        assert_eq!((error.what.as_str(), error.span), (what, span), "{text}");
    }
}

#[test]
fn conditions_hold_or_not() {
    let cases = [
        ("true", true),
        ("not true", false),
        ("item.n > 2 and item.n <= 3", true),
        ("item.n == 3.0", true),
        ("params.name == 'serde' or params.nothing > 3", true),
        ("tasks.find-it.ending != \"failed\"", true),
        ("${{ tasks.find-it.output.empty }}", false),
        ("not (tasks.find-it.output.empty or item.n < 0)", true),
        ("params.nothing == null", true),
        ("item.n == 'three'", false),
        ("not not item.n", true),
    ];
    for (text, holds) in cases {
        let condition = Condition::parse(text).unwrap();
        assert_eq!(condition.holds(&known()), Ok(holds), "{text}");
        let again: Condition =
            serde_json::from_value(serde_json::to_value(&condition).unwrap()).unwrap();
        assert_eq!(again, condition);
    }
}

#[test]
fn conditions_without_an_answer_or_a_meaning_are_errors() {
    let holds = |text: &str| Condition::parse(text).unwrap().holds(&known());
    assert_eq!(holds("item < 3").unwrap_err(), "{\"dir\":\"crates/a\",\"n\":3} < 3 has no answer");
    let error = |text: &str| Condition::parse(text).unwrap_err();
    assert_eq!(error("(item").what, "`(` without `)`");
    assert_eq!(error("item ==").what, "a name is missing");
    assert_eq!(error("item = 3").span, 5..8);
    assert_eq!(error("'a").what, "the text after `'` does not end");
    assert_eq!(error(&"(".repeat(99)).what, "too many parentheses");
    assert_eq!(error(&"not ".repeat(99)).what, "too many parentheses");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([a-z.$ {}()\\[\\]'\"<>=!0-9é-]|tasks|params|item|\\$\\{\\{|\\}\\}){0,30}") {
        if let Err(error) = Template::parse(&text) {
            prop_assert!(error.span.start <= text.len());
        }
        if let Ok(condition) = Condition::parse(&text) {
            let _ = condition.holds(&known());
        }
    }
}
