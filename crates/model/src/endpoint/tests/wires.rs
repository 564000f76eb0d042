//! The same conversation in every wire format.

use serde_json::{Value, json};

use super::client::{Answer, Client};
use crate::endpoint::{
    Delivery, Endpoint, Message, Part, Protocol, Reply, Request, Role, Script, StopReason, Tool,
    ToolCall, Usage,
};

const TEXT: &str = "Let me look at it, “carefully”.";

fn arguments() -> Value {
    json!({"path": "src/lib.rs", "lines": [1, 2]})
}

fn reply() -> Reply {
    Reply::text(TEXT).and_call("read", arguments()).and_call("list", json!({})).with_usage(Usage {
        input: 70,
        output: 8,
        cache_read: 30,
        ..Usage::default()
    })
}

/// Answers a streamed and a whole request with the same reply.
fn both(streamed: &str, whole: &str) -> (Answer, Value) {
    let endpoint = Endpoint::start(Script::of([reply(), reply()]));
    let mut client = Client::new(&endpoint);
    let stream = client.post(streamed, &json!({"model": "m", "stream": true}));
    assert_eq!(stream.header("content-type").as_deref(), Some("text/event-stream"));
    (stream, client.post(whole, &json!({"model": "m"})).json())
}

fn joined<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.filter_map(Value::as_str).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn messages() {
    let (stream, whole) = both("/v1/messages?beta=true", "/v1/messages");
    let data = stream.data();
    let kinds: Vec<&str> = data.iter().map(|it| it["type"].as_str().unwrap()).collect();
    let names: Vec<String> = stream.events().into_iter().map(|(name, _)| name).collect();
    assert_eq!(kinds, names);
    assert_eq!(kinds[..3], ["message_start", "ping", "content_block_start"]);
    assert_eq!(kinds[kinds.len() - 2..], ["message_delta", "message_stop"]);
    let deltas = |index: usize, key: &'static str| {
        let deltas = data.iter().filter(move |it| it["index"] == index);
        joined(deltas.map(|it| &it["delta"][key]))
    };
    assert_eq!(deltas(0, "text"), TEXT);
    assert_eq!(parsed(&deltas(1, "partial_json")), arguments());
    assert_eq!(parsed(&deltas(2, "partial_json")), json!({}));
    assert_eq!(data[data.len() - 2]["delta"]["stop_reason"], "tool_use");
    assert_eq!(data[0]["message"]["usage"]["cache_read_input_tokens"], 30);

    assert_eq!(whole["content"][0], json!({"type": "text", "text": TEXT}));
    assert_eq!(whole["content"][1]["input"], arguments());
    assert_eq!(whole["content"][2]["name"], "list");
    assert_ne!(whole["content"][1]["id"], whole["content"][2]["id"]);
    assert_eq!(whole["usage"]["output_tokens"], 8);
    assert_eq!(whole["stop_reason"], "tool_use");
}

#[test]
fn chat() {
    let (stream, whole) = both("/v1/chat/completions", "/proxy/v1/chat/completions");
    let data = stream.data();
    assert_eq!(stream.events().last().unwrap().1, "[DONE]");
    let delta = |it: &Value| it["choices"][0]["delta"].clone();
    let deltas: Vec<Value> = data.iter().map(delta).collect();
    assert_eq!(joined(deltas.iter().map(|it| &it["content"])), TEXT);
    let calls = |index: usize| {
        let calls = deltas.iter().map(|it| &it["tool_calls"][0]);
        let calls = calls.filter(move |it| it["index"] == index);
        parsed(&joined(calls.map(|it| &it["function"]["arguments"])))
    };
    assert_eq!((calls(0), calls(1)), (arguments(), json!({})));
    let finish = data.iter().find_map(|it| it["choices"][0]["finish_reason"].as_str());
    assert_eq!(finish, Some("tool_calls"));
    let usage = &data.last().unwrap()["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["total_tokens"]), (&json!(100), &json!(108)));

    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], TEXT);
    let call = &message["tool_calls"][0]["function"];
    assert_eq!(parsed(call["arguments"].as_str().unwrap()), arguments());
    assert_eq!(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 30);
}

#[test]
fn responses() {
    let (stream, whole) = both("/v1/responses", "/v1/responses");
    let data = stream.data();
    let of = |kind: &'static str| data.iter().filter(move |it| it["type"] == kind);
    assert_eq!(data[0]["type"], "response.created");
    assert_eq!(data.last().unwrap()["type"], "response.completed");
    let numbers: Vec<u64> = data.iter().map(|it| it["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one + 1 == *next));
    assert_eq!(joined(of("response.output_text.delta").map(|it| &it["delta"])), TEXT);
    let arguments_of = |index: usize| {
        let deltas = of("response.function_call_arguments.delta");
        joined(deltas.filter(|it| it["output_index"] == index).map(|it| &it["delta"]))
    };
    assert_eq!(parsed(&arguments_of(1)), arguments());
    let items: Vec<&Value> = of("response.output_item.done").map(|it| &it["item"]).collect();
    let response = &data.last().unwrap()["response"];
    assert_eq!(json!(items), response["output"]);
    assert_eq!(response["usage"]["input_tokens"], 100);

    assert_eq!(whole["output"][0]["content"][0]["text"], TEXT);
    assert_eq!(parsed(whole["output"][1]["arguments"].as_str().unwrap()), arguments());
    assert_eq!(whole["status"], "completed");
}

#[test]
fn gemini() {
    let path = "/v1beta/models/g-1";
    let (stream, whole) =
        both(&format!("{path}:streamGenerateContent?alt=sse"), &format!("{path}:generateContent"));
    let data = stream.data();
    let parts: Vec<Value> =
        data.iter().map(|it| it["candidates"][0]["content"]["parts"][0].clone()).collect();
    assert_eq!(joined(parts.iter().map(|it| &it["text"])), TEXT);
    let calls: Vec<&Value> = parts.iter().filter(|it| it["functionCall"].is_object()).collect();
    assert_eq!(calls[0]["functionCall"]["args"], arguments());
    assert_eq!(data.last().unwrap()["candidates"][0]["finishReason"], "STOP");
    assert_eq!(data.last().unwrap()["usageMetadata"]["totalTokenCount"], 108);

    let parts = &whole["candidates"][0]["content"]["parts"];
    assert_eq!(
        (&parts[0]["text"], &parts[1]["functionCall"]["args"]),
        (&json!(TEXT), &arguments())
    );
    assert_eq!(whole["modelVersion"], "g-1");
}

#[test]
fn a_turn_can_end_for_every_reason() {
    for (stop, words) in [
        (StopReason::MaxTokens, ["max_tokens", "length", "incomplete", "MAX_TOKENS"]),
        (StopReason::Refusal, ["refusal", "content_filter", "incomplete", "SAFETY"]),
        (StopReason::End, ["end_turn", "stop", "completed", "STOP"]),
    ] {
        let endpoint =
            Endpoint::start(Script::rule(move |_| Reply::text("x").with_stop(stop.clone())));
        let mut client = Client::new(&endpoint);
        let mut at = |path: &str, pointer: &str| {
            client.post(path, &json!({})).json().pointer(pointer).unwrap().clone()
        };
        let seen = [
            at("/v1/messages", "/stop_reason"),
            at("/v1/chat/completions", "/choices/0/finish_reason"),
            at("/v1/responses", "/status"),
            at("/v1beta/models/m:generateContent", "/candidates/0/finishReason"),
        ];
        assert_eq!(seen, words.map(|word| json!(word)));
    }
}

/// What every format below says.
fn neutral(protocol: Protocol, result_by: Role) -> Request {
    let message = |role, part| Message { role, parts: vec![part] };
    let call = ToolCall { group: None, name: "read".to_owned(), arguments: json!({"path": "a"}) };
    Request {
        protocol,
        model: "m".to_owned(),
        system: "be brief".to_owned(),
        messages: vec![
            message(Role::User, Part::Text("hi".to_owned())),
            message(Role::Assistant, Part::Call { id: "c1".to_owned(), call }),
            message(result_by, Part::Result { id: "c1".to_owned(), text: "the file".to_owned() }),
        ],
        tools: vec![Tool {
            group: None,
            name: "read".to_owned(),
            description: "reads".to_owned(),
            schema: json!({"type": "object"}),
        }],
        delivery: Delivery::Streamed,
    }
}

#[test]
fn every_format_has_the_same_neutral_view() {
    let schema = json!({"type": "object"});
    let tool = |key: &str| json!({"name": "read", "description": "reads", key: schema});
    let messages = json!({
        "model": "m", "stream": true,
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "the file"}]}]},
        ],
        "tools": [tool("input_schema")],
    });
    let chat = json!({
        "model": "m", "stream": true,
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "the file"},
        ],
        "tools": [{"type": "function", "function": tool("parameters")}],
    });
    let mut function = tool("parameters");
    function["type"] = json!("function");
    let responses = json!({
        "model": "m", "stream": true, "instructions": "be brief",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "the file"},
        ],
        "tools": [function],
    });
    let gemini = json!({
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "read", "response": {"output": "the file"}}}]},
        ],
        "tools": [{"functionDeclarations": [tool("parametersJsonSchema")]}],
    });
    let endpoint = Endpoint::start(Script::rule(|_| Reply::text("ok")));
    let mut client = Client::new(&endpoint);
    let gemini_path = "/v1beta/models/m:streamGenerateContent?alt=sse";
    for (path, body, protocol, result_by) in [
        ("/v1/messages", messages, Protocol::Messages, Role::User),
        ("/v1/chat/completions", chat, Protocol::Chat, Role::Tool),
        ("/v1/responses", responses, Protocol::Responses, Role::Tool),
        (gemini_path, gemini, Protocol::Gemini, Role::User),
    ] {
        client.post(path, &body);
        let seen = endpoint.requests().pop().unwrap();
        assert_eq!(seen, neutral(protocol, result_by));
        assert_eq!(seen.text(), "be brief\nhi\nthe file\nreads");
        assert_eq!(seen.results().collect::<Vec<_>>(), ["the file"]);
    }
}

#[test]
fn tools_in_groups_are_found_and_called_in_their_group() {
    let endpoint = Endpoint::start(Script::rule(|request| {
        request.tool("mcp__notes__look_up").unwrap().call(json!({})).into()
    }));
    let tool = json!({"type": "function", "name": "look_up", "description": "", "parameters": {}});
    let body = json!({"tools": [
        {"type": "web_search"},
        {"type": "namespace", "name": "mcp__notes", "tools": [tool]},
    ]});
    let answer = Client::new(&endpoint).post("/v1/responses", &body).json();
    let call = &answer["output"][0];
    assert_eq!((&call["namespace"], &call["name"]), (&json!("mcp__notes"), &json!("look_up")));
    assert_eq!(endpoint.requests()[0].tools[0].name, "web_search");
}
