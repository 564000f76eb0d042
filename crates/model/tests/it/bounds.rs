//! However much comes, no more than so much is kept.

use agents_model::{
    Problem, Wire,
    endpoint::{Endpoint, Fault, Reply, Script},
    wire::WireDecoder,
};
use tokio_util::sync::CancellationToken;

use crate::world::{ask, ask_with, each_wire, provider, request, run};

const GIGABYTE: u64 = 1 << 30;

#[test]
fn a_line_without_end_is_left_at_the_limit() {
    let endless = || vec![Reply::text("x").with_fault(Fault::EndlessLineAfter(0, GIGABYTE))];
    each_wire(
        endless,
        |it| it,
        &request(),
        |wire, outcome, _| match outcome.problem() {
            Problem::Protocol { what, .. } => {
                assert_eq!(what, "an event is larger than 8388608 bytes", "{wire}");
            }
            other => panic!("{wire}: {other:?}"),
        },
    );
}

#[test]
fn the_decoder_never_holds_more_than_its_limit() {
    const LIMIT: usize = 1 << 20;
    let block = [b'x'; 64 * 1024];
    for wire in Wire::ALL {
        let mut decoder = WireDecoder::new(wire, LIMIT);
        let mut events = Vec::new();
        decoder.feed(b"data: \"", &mut events).unwrap();
        let mut most = 0;
        let blocks = GIGABYTE / block.len() as u64;
        let end = (0..blocks).find(|_| {
            let outcome = decoder.feed(&block, &mut events);
            most = most.max(decoder.held());
            outcome.is_err()
        });
        assert!(end.is_some_and(|fed| fed <= LIMIT as u64 / block.len() as u64), "{wire}");
        assert!(most <= 2 * LIMIT, "{wire} held {most}");
    }
}

#[test]
fn a_long_error_is_quoted_in_short() {
    let long = || vec![Reply::status(400, "long ".repeat(100_000))];
    each_wire(
        long,
        |it| it,
        &request(),
        |wire, outcome, _| {
            let text = outcome.error.unwrap().to_string();
            assert!(text.len() < 700 && text.ends_with('…'), "{wire}: {} bytes", text.len());
        },
    );
}

#[test]
fn no_more_requests_at_a_time_than_there_are_permits() {
    let endpoint = Endpoint::start(Script::rule(|_| Reply::text("yes")));
    let provider = provider(Wire::Chat, &endpoint).with_max_requests(2);
    run(async {
        use futures_util::StreamExt as _;
        let hold = || provider_stream(&provider);
        let (one, two) = (hold().await, hold().await);
        // The third waits for a permit, and can be told to stop.
        let cancel = CancellationToken::new();
        let third = ask_with(&provider, request(), cancel.clone());
        let (third, ()) = tokio::join!(third, async {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        });
        assert!(matches!(third.problem(), Problem::Cancelled));
        assert_eq!(endpoint.requests().len(), 2, "it was not sent");
        // One that was read to its end gives its permit back, and so does one that is dropped.
        let _: Vec<_> = one.collect().await;
        ask(&provider, request()).await.complete();
        drop(two);
        let (three, four) = (hold().await, hold().await);
        drop((three, four));
    });
}

async fn provider_stream(provider: &agents_model::HttpProvider) -> agents_model::EventStream {
    use agents_model::Provider as _;
    provider.stream(request(), CancellationToken::new()).await.unwrap()
}
