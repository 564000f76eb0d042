//! Everything that can go wrong with an answer, and what comes of it.

use std::{net::TcpListener, time::Duration};

use agents_model::{
    Event, Problem, Wire,
    endpoint::{Endpoint, Fault, Reply, Script},
    error::Deadline,
};
use agents_system::explain::{ErrorKind, Explain as _};

use crate::world::{ask, each_wire, provider, provider_at, request, run};

fn once(fault: Fault) -> impl Fn() -> Vec<Reply> {
    move || vec![Reply::text("a text that has several pieces").with_fault(fault.clone())]
}

/// A storm of this, then an answer.
fn storm(fault: Fault) -> impl Fn() -> Vec<Reply> {
    move || {
        let bad = std::iter::repeat_n(Reply::text("never").with_fault(fault.clone()), 4);
        bad.chain([Reply::text("at last")]).collect()
    }
}

fn status(code: u16, message: &str) -> Fault {
    Fault::Status { code, headers: Vec::new(), message: message.to_owned() }
}

#[test]
fn storms_are_weathered() {
    let faults = [
        status(429, "slow down"),
        status(500, "oops"),
        status(502, ""),
        status(503, "busy"),
        status(529, "overloaded"),
        Fault::DropAfter(0),
        Fault::ResetAfter(0),
        Fault::ErrorAfter(0, "overloaded".to_owned()),
        // The answer has begun, but nothing of what the model says has come.
        Fault::ErrorAfter(1, "overloaded".to_owned()),
        Fault::DropAfter(1),
    ];
    for fault in faults {
        each_wire(
            storm(fault.clone()),
            |it| it,
            &request(),
            |wire, outcome, endpoint| {
                // In two formats, the second event is already something that the model says.
                let said = fault_is_late(&fault, wire);
                if said {
                    assert!(outcome.error.is_some(), "{wire} {fault:?}");
                    return;
                }
                let turn = outcome.complete();
                assert_eq!(turn.message.text(), "at last", "{wire} {fault:?}");
                assert_eq!(endpoint.requests().len(), 5, "{wire} {fault:?}");
            },
        );
    }
}

fn fault_is_late(fault: &Fault, wire: Wire) -> bool {
    matches!(fault, Fault::ErrorAfter(1, _) | Fault::DropAfter(1)) && wire == Wire::Gemini
}

#[test]
fn a_storm_that_does_not_end_is_reported_as_what_it_is() {
    let endless = || std::iter::repeat_n(Reply::status(429, "slow down"), 50).collect();
    each_wire(
        endless,
        |it| it,
        &request(),
        |wire, outcome, endpoint| {
            assert_eq!(endpoint.requests().len(), 6, "{wire}");
            let error = outcome.error.unwrap();
            assert_eq!(error.to_string(), "`test`: too many requests: slow down");
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Network, true));
        },
    );
}

#[test]
fn what_the_provider_asks_for_is_not_waited_for_when_there_is_no_time() {
    let mut request = request();
    request.deadlines.total = Duration::from_secs(60);
    each_wire(
        || vec![Reply::retry_after(429, 600)],
        |it| it,
        &request,
        |wire, outcome, endpoint| {
            assert_eq!(endpoint.requests().len(), 1, "{wire}");
            match outcome.problem() {
                Problem::RateLimited { retry_after, .. } => {
                    assert_eq!(retry_after, Some(Duration::from_secs(600)));
                }
                other => panic!("{wire}: {other:?}"),
            }
        },
    );
}

#[test]
fn what_will_not_get_better_is_not_tried_again() {
    type Is = fn(&Problem) -> bool;
    let table: [(u16, &str, Is); 8] = [
        (400, "what is this", |it| matches!(it, Problem::BadRequest { status: 400, .. })),
        (400, "prompt is too long: 9 > 8", |it| matches!(it, Problem::ContextTooLong { .. })),
        (401, "who are you", |it| matches!(it, Problem::Unauthorized { status: 401, .. })),
        (403, "not you", |it| matches!(it, Problem::Unauthorized { status: 403, .. })),
        (402, "pay", |it| matches!(it, Problem::OutOfCredit { .. })),
        (429, "You exceeded your current quota", |it| matches!(it, Problem::OutOfCredit { .. })),
        (
            404,
            "no such model",
            |it| matches!(it, Problem::UnknownModel { model, .. } if model == "some-model"),
        ),
        (413, "too much", |it| matches!(it, Problem::ContextTooLong { .. })),
    ];
    for (code, message, is) in table {
        each_wire(
            once(status(code, message)),
            |it| it,
            &request(),
            |wire, outcome, endpoint| {
                assert_eq!(endpoint.requests().len(), 1, "{wire} {code}");
                let problem = outcome.problem();
                assert!(is(&problem), "{wire} {code}: {problem:?}");
                assert!(!problem.is_retryable());
            },
        );
    }
}

/// After that, each of the formats has said something, and none has said everything.
const MIDDLE: [usize; 4] = [4, 2, 5, 1];

fn middles(fault: impl Fn(usize) -> Fault, is: impl Fn(&Problem) -> bool + Copy) {
    let mut request = request();
    request.deadlines.idle = Duration::from_millis(100);
    for (wire, count) in Wire::ALL.into_iter().zip(MIDDLE) {
        let endpoint = Endpoint::start(Script::of(once(fault(count))()));
        let outcome = run(ask(&provider(wire, &endpoint), request.clone()));
        let said = outcome.turn().message.text();
        let stopped = outcome.events.iter().any(|it| matches!(it, Event::Stopped(_)));
        let problem = outcome.problem();
        assert!(is(&problem), "{wire}: {problem:?}");
        assert!(!stopped, "{wire}");
        // A reset may take with it what was on its way.
        if !matches!(fault(0), Fault::ResetAfter(_)) {
            assert!(
                "a text that has several pieces".starts_with(&said) && !said.is_empty(),
                "{wire}"
            );
            assert_eq!(endpoint.requests().len(), 1, "{wire}");
        }
    }
}

#[test]
fn a_connection_that_breaks_in_the_middle() {
    let is_network = |it: &Problem| matches!(it, Problem::Network { .. });
    middles(Fault::DropAfter, is_network);
}

#[test]
fn a_connection_that_is_reset_in_the_middle() {
    for (wire, count) in Wire::ALL.into_iter().zip(MIDDLE) {
        let replies = || std::iter::repeat_n(once(Fault::ResetAfter(count))().remove(0), 10);
        let endpoint = Endpoint::start(Script::of(replies()));
        let problem = run(ask(&provider(wire, &endpoint), request())).problem();
        assert!(matches!(problem, Problem::Network { .. }), "{wire}: {problem:?}");
    }
}

#[test]
fn a_stream_that_stalls_in_the_middle() {
    middles(Fault::StallAfter, |it| {
        matches!(it, Problem::Timeout { deadline: Deadline::Idle, .. })
    });
}

#[test]
fn events_that_are_not_what_they_should_be() {
    middles(
        Fault::GarbageAfter,
        |it| matches!(it, Problem::Protocol { place, .. } if place.starts_with("event ")),
    );
}

#[test]
fn a_provider_that_fails_in_the_middle() {
    middles(
        |count| Fault::ErrorAfter(count, "overloaded".to_owned()),
        |it| matches!(it, Problem::Overloaded { status: None, said, .. } if said == "overloaded"),
    );
}

#[test]
fn something_else_than_a_stream() {
    let page = Fault::ContentType("text/html; charset=utf-8".to_owned());
    each_wire(
        once(page),
        |it| it,
        &request(),
        |wire, outcome, endpoint| {
            assert_eq!(endpoint.requests().len(), 1, "{wire}");
            match outcome.problem() {
                Problem::Protocol { what, place } => {
                    assert_eq!(
                        what,
                        "`text/html; charset=utf-8` came in place of a stream of events"
                    );
                    assert_eq!(place, "the answer");
                }
                other => panic!("{wire}: {other:?}"),
            }
        },
    );
}

#[test]
fn silence_is_tried_again_and_then_reported() {
    let mut request = request();
    request.deadlines.first_token = Duration::from_millis(40);
    for fault in [Fault::Silence, Fault::StallAfter(0), Fault::StallAfter(1)] {
        for wire in Wire::ALL {
            // In this format, the first event is already something that the model says.
            if fault == Fault::StallAfter(1) && wire == Wire::Gemini {
                continue;
            }
            let fault = fault.clone();
            let silent = move |_: &_| Reply::text("x").with_fault(fault.clone());
            let endpoint = Endpoint::start(Script::rule(silent));
            let problem = run(ask(&provider(wire, &endpoint), request.clone())).problem();
            let is_first =
                matches!(problem, Problem::Timeout { deadline: Deadline::FirstToken, .. });
            assert!(is_first, "{wire}: {problem:?}");
            // On a busy machine the time may be over before a request has arrived.
            assert!((2..=6).contains(&endpoint.requests().len()), "{wire}");
        }
    }
}

#[test]
fn the_whole_takes_no_longer_than_it_may() {
    let mut request = request();
    request.deadlines.total = Duration::from_millis(300);
    let slow = || {
        let mut reply = Reply::text("x".repeat(4_000)).with_pace(Duration::from_millis(3));
        reply.piece = 1;
        vec![reply]
    };
    each_wire(
        slow,
        |it| it,
        &request,
        |wire, outcome, _| {
            let problem = outcome.problem();
            let is_total = matches!(problem, Problem::Timeout { deadline: Deadline::Total, .. });
            assert!(is_total, "{wire}: {problem:?}");
        },
    );
}

#[test]
fn nobody_there() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for wire in Wire::ALL {
        let provider = provider_at(wire, &format!("http://127.0.0.1:{port}"));
        let error = run(ask(&provider, request())).error.unwrap();
        assert_eq!(error.to_string(), "`test`: sending the request failed");
        assert!(error.hint().is_some() && error.kind() == ErrorKind::Network);
        let mut causes = std::iter::successors(std::error::Error::source(&error), |it| it.source());
        assert!(causes.any(|it| it.to_string().contains("refused")));
    }
}

#[test]
fn a_redirect_does_not_take_the_key_along() {
    let elsewhere = Endpoint::start(Script::of([Reply::text("thanks for the key")]));
    let headers = vec![("location".to_owned(), format!("{}/v1/messages", elsewhere.url()))];
    let fault = Fault::Status { code: 307, headers, message: String::new() };
    each_wire(
        once(fault),
        |it| it,
        &request(),
        |wire, outcome, _| {
            assert!(matches!(outcome.problem(), Problem::Settings { .. }), "{wire}");
        },
    );
    assert!(elsewhere.received().is_empty());
}

#[test]
fn an_answer_that_is_complete_stays_one_when_its_stream_does_not_end() {
    // Two formats end with the stream. Here it does not, after everything was said.
    let mut request = request();
    request.deadlines.idle = Duration::from_millis(100);
    for (wire, events) in [(Wire::Chat, 5), (Wire::Gemini, 3)] {
        for fault in [Fault::StallAfter(events), Fault::DropAfter(events)] {
            let endpoint = Endpoint::start(Script::of([Reply::text("sixteen letters, and more")
                .without_usage()
                .with_fault(fault.clone())]));
            let outcome = run(ask(&provider(wire, &endpoint), request.clone()));
            // Gemini says the reason with its last event, after which there is nothing to stall.
            let turn = outcome.complete();
            assert_eq!(turn.message.text(), "sixteen letters, and more", "{wire} {fault:?}");
        }
    }
}
