//! Streams that are cut anywhere.

use agents_model::{
    StopReason, Usage, Wire,
    endpoint::{Endpoint, Reply, Script},
};
use serde_json::json;

use crate::world::{ask, provider, request, run};

fn reply() -> Reply {
    Reply::default()
        .and_thinking("hm … \"quoted\" \\ and 思考")
        .and_text("Grüße, 😀! \u{1F469}\u{200D}\u{1F680} \"{}\" \\u0041 \n\t ende")
        .and_call("read", json!({"path": "src/ö.rs", "lines": [1, 2], "text": "a\"b\\c\n"}))
        .and_call("list", json!({}))
        .by_model("served-model")
        .with_usage(Usage { input: 70, output: 9, cache_read: 30, ..Usage::default() })
}

#[test]
fn every_size_of_fragments_gives_the_same_answer() {
    for wire in Wire::ALL {
        let sizes: Vec<usize> = (1..=96).chain([500, 1000, 5000]).collect();
        let whole = std::iter::once(reply());
        let cut = sizes.iter().map(|size| reply().in_fragments_of(*size));
        let endpoint = Endpoint::start(Script::of(whole.chain(cut)));
        let provider = provider(wire, &endpoint);
        run(async {
            let expected = ask(&provider, request()).await.complete();
            assert_eq!(expected.model, "served-model");
            assert_eq!(expected.stop, Some(StopReason::ToolCalls));
            assert_eq!(expected.usage, reply().usage);
            for size in sizes {
                let mut turn = ask(&provider, request()).await.complete();
                assert_eq!(turn.message.text(), expected.message.text(), "{wire} in {size}");
                let names = |turn: &agents_model::Turn| -> Vec<_> {
                    let calls = turn.message.tool_calls();
                    calls.map(|it| (it.name.clone(), it.input.clone())).collect()
                };
                assert_eq!(names(&turn), names(&expected), "{wire} in {size}");
                // The endpoint counts its turns in what it gives names to.
                turn.id.clone_from(&expected.id);
                turn.message.clone_from(&expected.message);
                assert_eq!(turn, expected, "{wire} in {size}");
            }
        });
    }
}

#[test]
fn a_slow_drip_is_read_to_its_end() {
    for wire in Wire::ALL {
        let pace = std::time::Duration::from_millis(2);
        let endpoint = Endpoint::start(Script::of([reply().in_fragments_of(7).with_pace(pace)]));
        let turn = run(ask(&provider(wire, &endpoint), request())).complete();
        assert!(turn.message.text().ends_with("ende"), "{wire}");
    }
}

#[test]
fn one_connection_serves_one_turn_after_the_other() {
    let endpoint = Endpoint::start(Script::rule(|_| reply()));
    let provider = provider(Wire::Messages, &endpoint);
    run(async {
        for _ in 0..20 {
            ask(&provider, request()).await.complete();
        }
    });
    assert_eq!(endpoint.requests().len(), 20);
}
