//! What arrives at the other end.

use agents_model::{
    Dialect, Effort, Message, OutputSchema, Part, Provider as _, Role, ToolChoice, ToolInput,
    ToolResult, ToolSpec, Wire,
    endpoint::{Endpoint, Reply, Script},
    message::{ToolCall, ToolStatus},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{ask, provider, request, run};

fn conversation() -> agents_model::Request {
    let call = ToolCall {
        id: "call_1".to_owned(),
        name: "read".to_owned(),
        input: ToolInput::Json(json!({"path": "a"})),
        signature: None,
    };
    let broken = ToolCall {
        id: "call_2".to_owned(),
        input: ToolInput::Raw("{path".to_owned()),
        ..call.clone()
    };
    let answer = |id: &str, content: &str, status| ToolResult {
        id: id.to_owned(),
        name: "read".to_owned(),
        content: content.to_owned(),
        status,
    };
    request()
        .with_system("be brief")
        .with_message(Message {
            role: Role::Assistant,
            parts: vec![
                Part::Text("I look".to_owned()),
                Part::ToolCall(call),
                Part::ToolCall(broken),
            ],
        })
        .with_message(Message::results([
            answer("call_1", "[package]", ToolStatus::Done),
            answer("call_2", "not JSON", ToolStatus::Failed),
        ]))
        .with_tools([ToolSpec {
            name: "read".to_owned(),
            description: "Reads a file".to_owned(),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }])
}

fn sent(wire: Wire, request: agents_model::Request, dialect: Dialect) -> (Endpoint, Value) {
    let endpoint = Endpoint::start(Script::of([Reply::text("ok")]));
    run(ask(&provider(wire, &endpoint).with_dialect(dialect), request)).complete();
    let json = endpoint.received()[0].json.clone().unwrap();
    (endpoint, json)
}

#[test]
fn the_conversation_arrives_in_every_format() {
    for wire in Wire::ALL {
        let (endpoint, _) = sent(wire, conversation(), Dialect::Official);
        let seen = &endpoint.requests()[0];
        assert_eq!(seen.model, "some-model", "{wire}");
        assert_eq!(seen.system, "be brief", "{wire}");
        assert_eq!(seen.results().collect::<Vec<_>>(), ["[package]", "not JSON"], "{wire}");
        assert_eq!(seen.tool("read").unwrap().description, "Reads a file", "{wire}");
        assert!(seen.text().contains("hi") && seen.text().contains("I look"), "{wire}");
        let received = &endpoint.received()[0];
        // Servers that do not like bodies in chunks are not asked to.
        assert!(received.headers.get("content-length").is_some(), "{wire}");
        assert_eq!(received.headers.get("transfer-encoding"), None, "{wire}");
    }
}

#[test]
fn choices_schemas_and_effort_are_said_in_the_words_of_each_format() {
    let closed = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": false,
    });
    let schema = OutputSchema { name: "answer".to_owned(), schema: closed.clone() };
    let mut asked =
        conversation().with_schema(schema).with_effort(Effort::High).with_choice(ToolChoice::Auto);
    asked.max_output_tokens = Some(1000);
    asked.model = "claude-opus-4-6".to_owned();
    let (_, body) = sent(Wire::Messages, asked.clone(), Dialect::Official);
    assert_eq!(body["thinking"]["type"], "adaptive");
    assert_eq!(body["output_config"]["effort"], "high");
    assert_eq!(body["output_config"]["format"], json!({"type": "json_schema", "schema": closed}));
    assert_eq!((&body["max_tokens"], &body["tool_choice"]["type"]), (&json!(1000), &json!("auto")));
    asked.model = "claude-sonnet-4-5".to_owned();
    let (_, body) = sent(Wire::Messages, asked.clone(), Dialect::Official);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 16384}));
    assert_eq!(body["max_tokens"], 17384, "the budget counts within the limit");
    let forced = asked.clone().with_choice(ToolChoice::Tool("read".to_owned()));
    let (_, body) = sent(Wire::Messages, forced.clone(), Dialect::Official);
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "read"}));
    assert_eq!(body.get("thinking"), None);

    asked.model = "gpt-5.2".to_owned();
    let (_, body) = sent(Wire::Chat, asked.clone(), Dialect::Official);
    assert_eq!(
        (&body["reasoning_effort"], &body["max_completion_tokens"]),
        (&json!("high"), &json!(1000))
    );
    assert_eq!(
        body["response_format"]["json_schema"],
        json!({"name": "answer", "schema": closed, "strict": true})
    );
    assert_eq!(body["stream_options"]["include_usage"], true);
    let (_, body) = sent(Wire::Chat, forced.clone(), Dialect::Compatible);
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "read"}}));
    assert_eq!((&body["max_tokens"], body.get("max_completion_tokens")), (&json!(1000), None));
    assert_eq!(body["messages"][2]["tool_calls"][1]["function"]["arguments"], "{path");

    let (_, body) = sent(Wire::Responses, asked.clone(), Dialect::Official);
    assert_eq!(body["reasoning"]["effort"], "high");
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!((&body["store"], &body["max_output_tokens"]), (&json!(false), &json!(1000)));
    assert_eq!(body["text"]["format"]["schema"], closed);

    asked.model = "gemini-3-pro".to_owned();
    let (_, body) = sent(Wire::Gemini, asked.clone(), Dialect::Official);
    let generation = &body["generationConfig"];
    assert_eq!(generation["thinkingConfig"]["thinkingLevel"], "high");
    assert_eq!(
        (&generation["maxOutputTokens"], &generation["responseJsonSchema"]),
        (&json!(1000), &closed)
    );
    asked.model = "gemini-2.5-flash".to_owned();
    let none = asked.clone().with_effort(Effort::None).with_choice(ToolChoice::Required);
    let (endpoint, body) = sent(Wire::Gemini, none, Dialect::Official);
    let generation = &body["generationConfig"];
    assert_eq!(generation["thinkingConfig"]["thinkingBudget"], 0);
    assert_eq!(generation.get("responseJsonSchema"), None, "not together with tools");
    assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
    let received = &endpoint.received()[0];
    assert_eq!(received.path, "/v1beta/models/gemini-2.5-flash:streamGenerateContent");
    assert_eq!(received.query, "alt=sse");
}

#[test]
fn what_shall_be_kept_for_the_next_turn_is_marked() {
    let marks = |body: &Value| body.to_string().matches("cache_control").count();
    let (_, body) = sent(Wire::Messages, conversation(), Dialect::Official);
    let ephemeral = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0]["cache_control"], ephemeral);
    assert_eq!(body["messages"][2]["content"][1]["cache_control"], ephemeral);
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], ephemeral);
    assert_eq!(marks(&body), 3);
    let mut once = conversation();
    once.caching = agents_model::request::Caching::Off;
    assert_eq!(marks(&sent(Wire::Messages, once, Dialect::Official).1), 0);
}

#[test]
fn versions_in_the_address_are_not_said_twice() {
    for (wire, base, path) in [
        (Wire::Messages, "", "/v1/messages"),
        (Wire::Messages, "/v1/", "/v1/messages"),
        (Wire::Messages, "/anthropic", "/anthropic/v1/messages"),
        (Wire::Chat, "/v1", "/v1/chat/completions"),
        (Wire::Chat, "/api/v1/", "/api/v1/chat/completions"),
        (Wire::Responses, "/v1", "/v1/responses"),
        (Wire::Gemini, "", "/v1beta/models/m:streamGenerateContent"),
        (Wire::Gemini, "/v1beta", "/v1beta/models/m:streamGenerateContent"),
    ] {
        let endpoint = Endpoint::start(Script::of([Reply::text("ok")]));
        let url = format!("{}{base}", endpoint.url());
        let provider = agents_model::HttpProvider::new("test", wire, &url).unwrap();
        run(ask(&provider, agents_model::Request { model: "m".to_owned(), ..request() }))
            .complete();
        assert_eq!(endpoint.received()[0].path, path);
    }
}

#[test]
fn the_models_that_it_has() {
    for wire in Wire::ALL {
        let endpoint = Endpoint::start(Script::of([]));
        let models = run(provider(wire, &endpoint).models(CancellationToken::new())).unwrap();
        let ids: Vec<&str> = models.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, [endpoint.model()], "{wire}");
    }
}
