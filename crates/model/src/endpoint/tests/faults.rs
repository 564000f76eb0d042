//! Things that go wrong on demand.

use std::time::Duration;

use serde_json::json;

use super::{CHAT, ask, client::Client};
use crate::endpoint::{Endpoint, Fault, Reply, Script};

fn once(fault: Fault) -> Endpoint {
    Endpoint::start(Script::of([
        Reply::text("a long enough answer to have several pieces").with_fault(fault),
        Reply::text("fine"),
    ]))
}

#[test]
fn a_status_comes_with_its_headers_in_the_words_of_the_protocol() {
    for (path, at) in [
        (CHAT, "/error/type"),
        ("/v1/responses", "/error/type"),
        ("/v1/messages", "/error/type"),
        ("/v1beta/models/m:generateContent", "/error/status"),
    ] {
        let endpoint = Endpoint::start(Script::of([Reply::retry_after(429, 7), Reply::text("ok")]));
        let mut client = Client::new(&endpoint);
        let answer = client.post(path, &ask());
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after").as_deref(), Some("7"));
        let body = answer.json();
        let word = body.pointer(at).unwrap().as_str().unwrap();
        assert!(["rate_limit_error", "RESOURCE_EXHAUSTED"].contains(&word), "{path}: {word}");
        assert_eq!(client.post(path, &ask()).status, 200, "the next turn is served");
    }
}

#[test]
fn a_connection_dropped_in_the_middle_has_no_proper_end() {
    let endpoint = once(Fault::DropAfter(2));
    let mut client = Client::new(&endpoint);
    let answer = client.post(CHAT, &ask());
    assert_eq!((answer.data().len(), answer.complete), (2, false));
    assert_eq!(client.line(), None);
    let answer = Client::new(&endpoint).post(CHAT, &ask());
    assert!(answer.complete);
}

#[test]
fn a_stall_leaves_the_connection_open_until_somebody_gives_up() {
    for (fault, events) in [(Fault::StallAfter(0), 0), (Fault::StallAfter(2), 2)] {
        let endpoint = once(fault);
        let mut client = Client::new(&endpoint);
        client.patience(Duration::from_millis(300));
        let answer = client.post(CHAT, &ask());
        assert_eq!((answer.status, answer.data().len(), answer.complete), (200, events, false));
        client.patience(Duration::from_secs(20));
        drop(endpoint);
        assert_eq!(client.line(), None, "it ends with the endpoint");
    }
    let endpoint = once(Fault::Silence);
    let mut client = Client::new(&endpoint);
    client.patience(Duration::from_millis(300));
    assert_eq!(client.post(CHAT, &ask()).status, 0);
    assert_eq!(endpoint.requests().len(), 1, "it was heard");
}

#[test]
fn garbage_is_one_event_more() {
    let good = Endpoint::start(Script::of([Reply::text("fine")]));
    let good = Client::new(&good).post(CHAT, &ask());
    let bad = Endpoint::start(Script::of([Reply::text("fine").with_fault(Fault::GarbageAfter(1))]));
    let bad = Client::new(&bad).post(CHAT, &ask());
    assert_eq!(bad.events().len(), good.events().len() + 1);
    assert_eq!(bad.data(), good.data());
    assert!(bad.complete);
}

#[test]
fn a_provider_can_fail_in_the_middle() {
    for (path, name, at) in [
        (CHAT, "", "/error/message"),
        ("/v1/messages", "error", "/error/message"),
        ("/v1/responses", "response.failed", "/response/error/message"),
        ("/v1beta/models/m:streamGenerateContent", "", "/error/message"),
    ] {
        let endpoint = once(Fault::ErrorAfter(1, "overloaded".to_owned()));
        let answer = Client::new(&endpoint).post(path, &ask());
        assert_eq!((answer.events().len(), answer.complete), (2, true), "{path}");
        assert_eq!(answer.events()[1].0, name);
        assert_eq!(answer.data()[1].pointer(at).unwrap(), "overloaded");
    }
}

#[test]
fn replies_in_one_piece_go_wrong_as_well() {
    let body = json!({"model": "m", "messages": []});
    let post = |fault| Client::new(&once(fault)).post(CHAT, &body);
    assert!(!post(Fault::DropAfter(0)).complete);
    let garbage = post(Fault::GarbageAfter(0));
    assert!(
        garbage.complete && serde_json::from_slice::<serde_json::Value>(&garbage.body).is_err()
    );
    assert_eq!(post(Fault::ErrorAfter(0, "x".to_owned())).status, 500);
    assert_eq!(post(Fault::DropAfter(1)).json()["choices"][0]["finish_reason"], "stop");
}

#[test]
fn bytes_can_be_cut_in_the_middle_of_a_character() {
    let endpoint = Endpoint::start(Script::of([Reply::text("Grüße, 世界").in_fragments_of(1)]));
    let answer = Client::new(&endpoint).post(CHAT, &ask());
    assert!(answer.complete && answer.chunks.iter().all(|size| *size == 1));
    assert!(answer.text().contains("Grüße, 世界"), "{}", answer.text());
}
