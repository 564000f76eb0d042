//! Everything here goes over real TCP.

mod client;
mod faults;
mod wires;

use serde_json::json;

use self::client::Client;
use super::*;

fn ask() -> Value {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}]})
}

const CHAT: &str = "/v1/chat/completions";

#[test]
fn one_connection_serves_many_requests() {
    let endpoint = Endpoint::start(Script::of([Reply::text("one"), Reply::text("two")]));
    let mut client = Client::new(&endpoint);
    for word in ["one", "two"] {
        let answer = client.post(CHAT, &ask());
        assert_eq!((answer.status, answer.complete), (200, true));
        assert!(answer.text().contains(word), "{}", answer.text());
    }
    assert_eq!(endpoint.requests().len(), 2);
}

#[test]
fn a_connection_that_shall_be_closed_is_closed() {
    let endpoint = Endpoint::start(Script::of([Reply::text("one")]));
    let mut client = Client::new(&endpoint);
    let body = ask().to_string();
    let head =
        format!("POST {CHAT} HTTP/1.1\r\nConnection: Close\r\nContent-Length:{}", body.len());
    client.send(format!("{head}\r\n\r\n{body}").as_bytes());
    assert!(client.answer().complete);
    assert_eq!(client.line(), None);
}

#[test]
fn bodies_may_come_in_chunks_and_after_an_invitation() {
    let endpoint = Endpoint::start(Script::of([Reply::text("one"), Reply::text("two")]));
    let mut client = Client::new(&endpoint);
    client.send(
        format!(
            "POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        )
        .as_bytes(),
    );
    assert_eq!(client.line().as_deref(), Some("HTTP/1.1 100 Continue"));
    assert_eq!(client.line().as_deref(), Some(""));
    let body = ask().to_string();
    let (one, two) = body.split_at(7);
    let chunks = format!("{:x};name=x\r\n{one}\r\n{:X}\r\n{two}\r\n0\r\n", one.len(), two.len());
    client.send(chunks.as_bytes());
    client.send(b"Trailer: x\r\n\r\n");
    assert!(client.answer().text().contains("one"));
    assert_eq!(endpoint.received()[0].json, Some(ask()));
    assert!(client.post(CHAT, &ask()).text().contains("two"), "the next one is understood too");
}

#[test]
fn a_rule_sees_the_request_and_a_list_that_is_at_its_end_says_so() {
    let endpoint = Endpoint::start(Script::rule(|request| Reply::text(request.text())));
    assert!(Client::new(&endpoint).post(CHAT, &ask()).text().contains("\"content\":\"hi\""));
    let endpoint = Endpoint::start(Script::of([]));
    let answer = Client::new(&endpoint).post(CHAT, &ask());
    assert_eq!(answer.status, 500);
    assert!(answer.text().contains("no further turn"), "{}", answer.text());
}

#[test]
fn everything_that_arrives_is_kept_also_what_leads_nowhere() {
    let endpoint = Endpoint::start(Script::of([]));
    let mut client = Client::new(&endpoint);
    assert_eq!(client.post("/npm/thing?a=b", &json!({"x": 1})).status, 404);
    client.send(format!("POST {CHAT} HTTP/1.1\r\nContent-Length: 3\r\n\r\n{{x:").as_bytes());
    assert_eq!(client.answer().status, 400);
    client.send(b"HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(client.answer().status, 200);
    let received = endpoint.received();
    let first = &received[0];
    assert_eq!((&*first.method, &*first.path, &*first.query), ("POST", "/npm/thing", "a=b"));
    assert_eq!(first.headers.get("x-TEST"), Some("yes"));
    assert_eq!(first.json, Some(json!({"x": 1})));
    assert_eq!((received[1].json.clone(), received[2].method.as_str()), (None, "HEAD"));
    assert!(endpoint.requests().is_empty());
    endpoint.forget();
    assert!(endpoint.received().is_empty());
}

#[test]
fn models_and_tokens() {
    let endpoint = Endpoint::start(Script::of([]));
    let mut client = Client::new(&endpoint);
    assert_eq!(client.get("/v1/models").json()["data"][0]["id"], endpoint.model());
    let gemini = client.get("/v1beta/models").json();
    assert_eq!(gemini["models"][0]["name"], format!("models/{}", endpoint.model()));
    let body = json!({"messages": "x".repeat(400)});
    let count = client.post("/v1/messages/count_tokens?beta=true", &body).json();
    assert!(count["input_tokens"].as_u64().unwrap() > 100);
    let count = client.post("/v1beta/models/m:countTokens", &body).json();
    assert!(count["totalTokens"].as_u64().unwrap() > 100);
}

#[test]
fn what_is_not_http_or_too_much_is_refused_and_ends_the_connection_and_nothing_else() {
    let endpoint = Endpoint::start(Script::of([Reply::text("one")]));
    for bytes in [
        "nonsense\r\n\r\n".to_owned(),
        format!("POST {CHAT} HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"),
        format!("POST {CHAT} HTTP/1.1\r\nContent-Length: +2\r\n\r\n{{}}"),
        format!("POST {CHAT} HTTP/2\r\n\r\n"),
        format!("POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        format!("POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}} \r\n"),
    ] {
        let mut client = Client::new(&endpoint);
        client.send(bytes.as_bytes());
        let told = client.answer();
        assert!(told.status == 400 && told.text().contains("no request"), "{bytes}");
        assert_eq!(client.line(), None, "{bytes}");
    }
    assert!(endpoint.received().is_empty());
    assert_eq!(Client::new(&endpoint).post(CHAT, &ask()).status, 200);
}

#[test]
fn connections_end_with_the_endpoint() {
    let endpoint = Endpoint::start(Script::of([]));
    let mut client = Client::new(&endpoint);
    assert_eq!(client.get("/v1/models").status, 200);
    drop(endpoint);
    assert_eq!(client.line(), None);
}
