use serde_json::json;

use super::*;
use crate::script::{Asked, Player};

#[test]
fn the_three_formats_say_the_same() {
    let toml = ScriptFile::parse_toml(
        r#"
        [[replies]]
        thinking = "hm"
        text = "Let me look."
        calls = [{ name = "read", input = { path = "a" } }, { name = "list" }]
        usage = { input = 5, cache-read = 7 }

        [[replies]]
        when = { result = "x" }
        stop = "max-tokens"
        fault = { status = { code = 429, headers = { retry-after = "1" } } }

        [[replies]]
        fault = "silence"
        "#,
    )
    .unwrap();
    let yaml = ScriptFile::parse_yaml(
        "
replies:
  - thinking: hm
    text: Let me look.
    calls:
      - name: read
        input: {path: a}
      - name: list
    usage: {input: 5, cache-read: 7}
  - when: {result: x}
    stop: max-tokens
    fault: {status: {code: 429, headers: {retry-after: '1'}}}
  - fault: silence
",
    )
    .unwrap();
    let json = json!({"replies": [
        {
            "thinking": "hm",
            "text": "Let me look.",
            "calls": [{"name": "read", "input": {"path": "a"}}, {"name": "list"}],
            "usage": {"input": 5, "cache-read": 7},
        },
        {
            "when": {"result": "x"},
            "stop": "max-tokens",
            "fault": {"status": {"code": 429, "headers": {"retry-after": "1"}}},
        },
        {"fault": "silence"},
    ]});
    let json = ScriptFile::parse_json(&json.to_string()).unwrap();
    assert_eq!(toml, json);
    assert_eq!(yaml, json);
    let reply = Reply::from(&json.replies[0]);
    let expected = Reply::default()
        .and_thinking("hm")
        .and_text("Let me look.")
        .and_call("read", json!({"path": "a"}))
        .and_call("list", json!({}))
        .with_usage(Usage { input: 5, cache_read: 7, ..Usage::default() });
    assert_eq!(reply, expected);
    assert_eq!(
        Reply::from(&json.replies[1]).fault,
        Some(Fault::Status {
            code: 429,
            headers: vec![("retry-after".to_owned(), "1".to_owned())],
            message: String::new(),
        })
    );
}

#[test]
fn what_is_not_a_script_says_why() {
    let error = ScriptFile::parse_toml("[[replies]]\ntxt = \"x\"").unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("unknown field `txt`") && source.contains("line 2"), "{source}");
    assert!(matches!(ScriptFile::parse_json("{}"), Err(ScriptError::Json(_))));
    assert!(matches!(ScriptFile::parse_yaml("replies: 1"), Err(ScriptError::Yaml(_))));
    assert!(matches!(ScriptFile::load("x.txt".into()), Err(ScriptError::Format(_))));
    assert!(matches!(ScriptFile::load("/nowhere/x.json".into()), Err(ScriptError::Read(_))));
}

#[test]
fn conditions_go_first_and_the_others_follow_in_order() {
    let player = Player::new(
        ScriptFile::parse_toml(
            r#"
            replies = [
                { text = "one" },
                { text = "title", when = { text = "title", model = "small" } },
                { text = "again", when = { result = "error" }, times = 1 },
                { text = "searching", when = { tool = "search", system = "careful" } },
                { text = "two" },
            ]
            "#,
        )
        .unwrap(),
    );
    let say = |asked: &Asked| -> String {
        let reply = player.next(asked);
        reply.map_or("-".to_owned(), |it| match &it.says[..] {
            [Said::Text(text)] => text.clone(),
            other => format!("{other:?}"),
        })
    };
    let plain = Asked { model: "large".to_owned(), text: "a title".to_owned(), ..Asked::default() };
    let title = Asked { model: "small".to_owned(), ..plain.clone() };
    let failed = Asked { results: vec!["ok".to_owned(), "an error".to_owned()], ..plain.clone() };
    let offered = Asked {
        tools: vec!["search".to_owned()],
        system: "be careful".to_owned(),
        ..plain.clone()
    };
    let asked = [&title, &plain, &offered, &failed, &failed, &title, &plain];
    assert_eq!(asked.map(say), ["title", "one", "searching", "again", "two", "title", "-"]);
}

#[test]
fn the_script_of_the_documentation_is_one() {
    let page = include_str!("../../../../../docs/models.md");
    let mut blocks =
        page.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap());
    let script = blocks.find(|block| block.contains("[[replies]]")).unwrap();
    assert_eq!(ScriptFile::parse_toml(script).unwrap().replies.len(), 4);
    // Every fault of the table is one.
    let faults = page.split("| fault | what happens |").nth(1).unwrap();
    let cells = faults.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let examples = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let mut count = 0;
    for example in examples.filter(|it| !it.contains("status")) {
        ScriptFile::parse_toml(&format!("[[replies]]\nfault = {example}")).unwrap();
        count += 1;
    }
    assert_eq!(count, 7);
}
