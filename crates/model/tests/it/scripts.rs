//! The provider without a network, and the same script over HTTP.

use std::time::Duration;

use agents_model::{
    Event, Problem, StopReason, ToolInput, ToolSpec, Wire,
    endpoint::{Endpoint, Script},
    error::Deadline,
    script::{ScriptFile, ScriptProvider},
};
use serde_json::json;

use crate::world::{ask, provider, quick, request, run};

const SCRIPT: &str = r#"
[[replies]]
fault = { status = { code = 529, message = "busy" } }

[[replies]]
thinking = "hm"
text = "Let me look."
calls = [{ name = "read", input = { path = "Cargo.toml" } }, { name = "bad", input = "{not json" }]
usage = { input = 7, output = 3, cache-read = 2 }
model = "served"

[[replies]]
when = { text = "title" }
text = "A title"

[[replies]]
text = "cut"
fault = { drop-after = 1 }

[[replies]]
text = "nothing"
fault = "silence"

[[replies]]
when = { tool = "search" }
text = "too long"
stop = "max-tokens"
"#;

#[test]
fn a_script_leads_to_the_same_outcomes_with_and_without_http() {
    let file = ScriptFile::parse_toml(SCRIPT).unwrap();
    let endpoint = Endpoint::start(Script::file(file.clone()));
    let over_http = provider(Wire::Chat, &endpoint);
    let direct = ScriptProvider::new("script", file).with_retry(quick());
    let providers: [&dyn agents_model::Provider; 2] = [&direct, &over_http];
    for provider in providers {
        run(async {
            let turn = ask(provider, request()).await.complete();
            assert_eq!((&*turn.model, turn.message.text()), ("served", "Let me look.".to_owned()));
            assert_eq!(turn.stop, Some(StopReason::ToolCalls));
            assert_eq!(turn.usage.map(|it| (it.input, it.cache_read)), Some((7, 2)));
            let inputs: Vec<_> = turn.message.tool_calls().map(|it| it.input.clone()).collect();
            assert_eq!(
                inputs,
                [
                    ToolInput::Json(json!({"path": "Cargo.toml"})),
                    ToolInput::Raw("{not json".to_owned()),
                ]
            );
            let title = request().with_message(agents_model::Message::user("a title please"));
            let turn = ask(provider, title).await.complete();
            assert_eq!(turn.message.text(), "A title");
            let tool =
                ToolSpec { name: "search".into(), description: String::new(), schema: json!({}) };
            let turn = ask(provider, request().with_tools([tool])).await.complete();
            assert_eq!(turn.stop, Some(StopReason::MaxTokens));
            // Dropped before anything was said, so it goes on to the next, and that one is silent.
            let mut hurried = request();
            hurried.deadlines.first_token = Duration::from_millis(50);
            let problem = ask(provider, hurried).await.problem();
            let ended = matches!(
                problem,
                Problem::Program { .. }
                    | Problem::BadRequest { .. }
                    | Problem::Timeout { deadline: Deadline::FirstToken, .. }
            );
            assert!(ended, "{problem:?}");
            let problem = ask(provider, request()).await.problem();
            assert!(problem.to_string().contains("the script has no reply to this"), "{problem}");
        });
    }
}

#[test]
fn the_events_of_a_script_are_always_the_same() {
    let script =
        r#"{"replies": [{"text": "a text in pieces", "piece": 6, "calls": [{"name": "x"}]}]}"#;
    let file = ScriptFile::parse_json(script).unwrap();
    let outcome = run(ask(&ScriptProvider::new("script", file), request()));
    let text = |it: &str| Event::Text(it.to_owned());
    assert_eq!(
        outcome.events[..4],
        [
            Event::Started { id: "script_0000".to_owned(), model: "some-model".to_owned() },
            text("a text"),
            text(" in pi"),
            text("eces"),
        ]
    );
    assert_eq!(outcome.events.last(), Some(&Event::Stopped(StopReason::ToolCalls)));
}
