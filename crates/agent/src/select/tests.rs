use std::{collections::BTreeMap, sync::Arc};

use super::*;
use crate::{
    bundled,
    definition::{Dialect, Source},
    parse::{Input, Strictness, parse},
};

fn agent(name: &str, priority: u32, mutex: &str) -> AgentDefinition {
    let mutex = if mutex.is_empty() { String::new() } else { format!("mutex: {mutex}\n") };
    let text =
        format!("---\nname: {name}\ndescription: about {name}\npriority: {priority}\n{mutex}---\n");
    let (agent, findings) = parse(&Input {
        file: "a.md".into(),
        text: &text,
        dialect: Dialect::Ours,
        source: Source::User,
        strictness: Strictness::Strict,
    });
    agent.unwrap_or_else(|| panic!("{findings:?}"))
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

fn pairs(words: &[(&str, &str)]) -> BTreeMap<String, String> {
    words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn score(matcher: &Matcher, activation: &Activation) -> Option<(f64, String)> {
    matcher.matches(activation).map(|it| ((it.score * 100.0).round() / 100.0, it.reason))
}

#[test]
fn keywords() {
    let activation =
        Activation { prompt: " Fix the OPS pipeline ".to_owned(), ..Activation::default() };
    for (all, any, expected) in [
        (&[][..], &[][..], None),
        (&["fix"], &[], Some((0.75, "keywords: all 1"))),
        (&[" FIX ", "fix", ""], &["zz", "ops", "line"], Some((0.9, "keywords: all 1, any `line`"))),
        (&[], &["ops"], Some((0.7, "keywords: all 0, any `ops`"))),
        (&["fix", "gone"], &["ops"], None),
        (&["fix"], &["gone"], None),
        (&["peline"], &[], Some((0.75, "keywords: all 1"))),
    ] {
        let matcher = Matcher::Keyword { all: strings(all), any: strings(any) };
        let expected = expected.map(|(score, reason): (f64, &str)| (score, reason.to_owned()));
        assert_eq!(score(&matcher, &activation), expected, "{all:?} {any:?}");
    }
    let matcher = Matcher::Keyword { all: strings(&["fix"]), any: Vec::new() };
    assert_eq!(matcher.matches(&Activation::default()), None, "nothing was said");
}

#[test]
fn tags() {
    let activation =
        Activation { tags: pairs(&[("Lang", " Rust"), ("env", "ci")]), ..Activation::default() };
    for (require, exclude, expected) in [
        (&[][..], &[][..], None),
        (&[("lang", "rust")], &[], Some(0.9)),
        (&[("LANG", ""), ("env", "CI")], &[("os", "")], Some(0.9)),
        (&[], &[("os", "")], Some(0.55)),
        (&[("lang", "go")], &[], None),
        (&[("lang", "rust")], &[("env", "")], None),
        (&[("lang", "rust")], &[("env", "local")], Some(0.9)),
    ] {
        let matcher = Matcher::Tag { require: pairs(require), exclude: pairs(exclude) };
        let found = score(&matcher, &activation).map(|(score, _)| score);
        assert_eq!(found, expected, "{require:?} {exclude:?}");
    }
}

#[test]
fn traits_and_paths() {
    let activation = Activation {
        traits: strings(&["Async", "web"]),
        paths: strings(&["./src/Net/tcp.rs", "docs\\a.md"]),
        ..Activation::default()
    };
    let traits = |wanted: &[&str]| score(&Matcher::Trait(strings(wanted)), &activation);
    assert_eq!(traits(&["async", "gone"]), Some((0.75, "traits: 1 of 2".to_owned())));
    assert_eq!(traits(&["async", "WEB "]), Some((0.95, "traits: 2 of 2".to_owned())));
    assert_eq!((traits(&["gone"]), traits(&[])), (None, None));
    let path =
        |pattern: &str| score(&Matcher::Path(strings(&[pattern])), &activation).map(|it| it.0);
    for (pattern, expected) in [
        ("src/**/*.rs", Some(0.75)),
        ("/src/net/*.rs", Some(0.75)),
        ("src/*.rs", None),
        ("*.rs", None),
        ("docs/?.md", Some(0.75)),
        ("src/[", None),
    ] {
        assert_eq!(path(pattern), expected, "{pattern}");
    }
}

#[test]
fn a_function_says_what_it_likes_within_the_limits() {
    let says = |score: f64| {
        let function: Function =
            Arc::new(move |_| Some(Match { score, reason: "said".to_owned() }));
        Matcher::Function(function).matches(&Activation::default()).map(|it| it.score)
    };
    assert_eq!((says(7.0), says(-1.0), says(f64::NAN)), (Some(0.99), Some(0.0), Some(0.0)));
    let silent: Function = Arc::new(|_| None);
    assert_eq!(Matcher::Function(silent).matches(&Activation::default()), None);
}

#[test]
fn a_matcher_tells_those_who_debug_it_what_it_looks_for() {
    let shown = |matcher: Matcher| format!("{matcher:?}");
    let keyword = Matcher::Keyword { all: strings(&["a"]), any: strings(&["b"]) };
    assert_eq!(shown(keyword), r#"Keyword(all ["a"], any ["b"])"#);
    assert_eq!(shown(Matcher::Function(Arc::new(|_| None))), "Function");
}

#[test]
fn better_is_a_higher_score_then_a_reason_then_the_one_that_sorts_first() {
    let of = |score, reason: &str| Match::new(score, reason);
    assert!(of(0.6, "").is_better_than(&of(0.5, "a")));
    assert!(!of(0.5, "a").is_better_than(&of(0.6, "")));
    assert!(of(0.5, "z").is_better_than(&of(0.5, "")));
    assert!(of(0.5, "a").is_better_than(&of(0.5, "b")));
    assert!(!of(0.5, "a").is_better_than(&of(0.5, "a")));
}

fn keyword(word: &str) -> Vec<Matcher> {
    vec![Matcher::Keyword { all: Vec::new(), any: strings(&[word]) }]
}

#[test]
fn priority_then_score_then_name_and_one_per_mutex_key() {
    let agents = [
        (agent("zoe", 5, ""), Vec::new()),
        (agent("low", 0, ""), keyword("deploy")),
        (agent("b", 5, "Ops "), keyword("deploy")),
        (agent("a", 5, "ops"), keyword("deploy")),
        (agent("silent", 9, ""), keyword("paint")),
    ];
    let contenders =
        agents.iter().map(|(agent, matchers)| Contender { agent, matchers: matchers.clone() });
    let activation = Activation { prompt: "deploy it".to_owned(), ..Activation::default() };
    let ranking = select(contenders, &activation);
    let rows: Vec<String> = ranking
        .ranked
        .iter()
        .map(|it| {
            let held = match &it.verdict {
                Verdict::Stays => String::new(),
                Verdict::HeldBack { by } => format!(" held back by {by}"),
            };
            format!("{} {} {:.2} {}{held}", it.name, it.priority, it.score, it.reason)
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    a 5 0.70 keywords: all 0, any `deploy`
    b 5 0.70 keywords: all 0, any `deploy` held back by a
    zoe 5 0.50 always
    low 0 0.70 keywords: all 0, any `deploy`
    ");
    assert_eq!(ranking.unmatched, ["silent"], "a higher priority does not help who does not fit");
    assert_eq!(
        ranking.staying().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["a", "zoe", "low"]
    );
}

#[test]
fn nobody_fits_is_an_answer() {
    let painter = agent("painter", 0, "");
    let contender = Contender { agent: &painter, matchers: keyword("paint") };
    let ranking = select([contender], &Activation::default());
    assert_eq!(
        (ranking.first(), ranking.unmatched.as_slice()),
        (None, &["painter".to_owned()][..])
    );
}

#[test]
fn descriptions_find_the_right_bundled_agent() {
    let agents = bundled::agents();
    let descriptions = Descriptions::of(agents);
    for (prompt, expected) in [
        ("where is the retry logic and who calls it in this code base", "explore"),
        ("review my changes for races and security holes before merging", "reviewer"),
        ("the layout of the settings page, its components and accessibility", "designer"),
        ("work out the steps, files and risks of this change", "plan"),
        ("rename these: a list of similar edits, mechanical", "quick_task"),
    ] {
        let contenders = agents
            .iter()
            .map(|agent| Contender { agent, matchers: vec![descriptions.matcher(agent)] });
        let activation = Activation { prompt: prompt.to_owned(), ..Activation::default() };
        let ranking = select(contenders, &activation);
        let first = ranking.first().unwrap();
        assert_eq!(first.name, expected, "{prompt}: {ranking:#?}");
        assert!(first.score > ALWAYS && first.score < 0.7, "{}", first.score);
        assert!(first.reason.starts_with("description: "), "{}", first.reason);
    }
}
