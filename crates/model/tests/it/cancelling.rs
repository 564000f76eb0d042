//! Stopping at any point.

use std::time::Duration;

use agents_model::{
    Event, Problem, Provider as _, RetryPolicy, Wire,
    endpoint::{Endpoint, Fault, Reply, Script},
};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;

use crate::world::{ask_with, provider, request, run};

#[test]
fn before_it_began() {
    let endpoint = Endpoint::start(Script::of([Reply::text("never")]));
    let cancel = CancellationToken::new();
    cancel.cancel();
    for wire in Wire::ALL {
        let outcome = run(ask_with(&provider(wire, &endpoint), request(), cancel.clone()));
        assert!(matches!(outcome.problem(), Problem::Cancelled));
    }
    assert!(endpoint.received().is_empty());
}

#[test]
fn while_nothing_comes() {
    for wire in Wire::ALL {
        for fault in [Fault::Silence, Fault::StallAfter(0)] {
            let endpoint = Endpoint::start(Script::of([Reply::text("x").with_fault(fault)]));
            let cancel = CancellationToken::new();
            let outcome = run(async {
                let stop = async {
                    while endpoint.received().is_empty() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    cancel.cancel();
                };
                let provider = provider(wire, &endpoint);
                tokio::join!(ask_with(&provider, request(), cancel.clone()), stop).0
            });
            assert!(matches!(outcome.problem(), Problem::Cancelled), "{wire}");
        }
    }
}

#[test]
fn while_it_waits_to_try_again() {
    let endpoint = Endpoint::start(Script::rule(|_| Reply::retry_after(429, 50)));
    let provider = provider(Wire::Messages, &endpoint).with_retry(RetryPolicy::default());
    let cancel = CancellationToken::new();
    let outcome = run(async {
        let stop = async {
            while endpoint.received().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        tokio::join!(ask_with(&provider, request(), cancel.clone()), stop).0
    });
    assert!(matches!(outcome.problem(), Problem::Cancelled));
    assert_eq!(endpoint.received().len(), 1);
}

#[test]
fn in_the_middle_and_the_connection_is_gone() {
    for wire in Wire::ALL {
        let mut reply = Reply::text("x".repeat(4_000)).with_pace(Duration::from_millis(2));
        reply.piece = 1;
        let endpoint = Endpoint::start(Script::of([reply]));
        let provider = provider(wire, &endpoint);
        let cancel = CancellationToken::new();
        run(async {
            let mut stream = provider.stream(request(), cancel.clone()).await.unwrap();
            let mut texts = 0;
            let error = loop {
                match stream.next().await.unwrap() {
                    Ok(Event::Text(_)) => texts += 1,
                    Ok(_) => {}
                    Err(error) => break error,
                }
                if texts == 10 {
                    cancel.cancel();
                }
            };
            assert!(matches!(error.problem, Problem::Cancelled), "{wire}: {error:?}");
            assert!(stream.next().await.is_none());
            // The endpoint writes until nobody reads any more.
            drop(stream);
            while endpoint.open_connections() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    }
}
