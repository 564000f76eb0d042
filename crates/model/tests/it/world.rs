//! A provider in front of an endpoint, and somebody who asks.

use std::{future::Future, time::Duration};

use agents_model::{
    Deadlines, Dialect, Event, HttpProvider, Message, ModelError, Problem, Provider, Request,
    RetryPolicy, Turn, Wire,
    endpoint::{Endpoint, Reply, Script},
};
use futures_util::StreamExt as _;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

pub(crate) const KEY: &str = "sk-test-0123456789abcdefghij";

/// Longer than anything here takes; who comes here hangs.
const FOREVER: Duration = Duration::from_secs(120);

pub(crate) fn provider(wire: Wire, endpoint: &Endpoint) -> HttpProvider {
    provider_at(wire, &endpoint.url())
}

pub(crate) fn provider_at(wire: Wire, url: &str) -> HttpProvider {
    let url = match wire {
        Wire::Messages | Wire::Gemini => url.to_owned(),
        Wire::Chat | Wire::Responses => format!("{url}/v1"),
    };
    HttpProvider::new("test", wire, &url)
        .unwrap()
        .with_key(&SecretString::from(KEY))
        .unwrap()
        .with_dialect(Dialect::Official)
        .with_retry(quick())
}

/// Tries often and hardly waits.
pub(crate) fn quick() -> RetryPolicy {
    RetryPolicy {
        attempts: 6,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(4),
    }
}

pub(crate) fn patient() -> Deadlines {
    Deadlines { first_token: FOREVER, idle: FOREVER, total: FOREVER }
}

pub(crate) fn request() -> Request {
    Request::new("some-model").with_message(Message::user("hi")).with_deadlines(patient())
}

/// Runs to the end, or fails when it hangs.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(FOREVER * 2, future).await.expect("it hangs") })
}

/// Everything that comes, and what ended it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) events: Vec<Event>,
    pub(crate) error: Option<ModelError>,
}

impl Outcome {
    pub(crate) fn turn(&self) -> Turn {
        self.events.iter().cloned().collect()
    }

    pub(crate) fn complete(self) -> Turn {
        assert!(self.error.is_none(), "{:?}", self.error);
        assert!(matches!(self.events.last(), Some(Event::Stopped(_))), "{:?}", self.events);
        self.turn()
    }

    pub(crate) fn problem(self) -> Problem {
        self.error.unwrap_or_else(|| panic!("it went well: {:?}", self.events)).problem
    }
}

pub(crate) async fn ask_with(
    provider: &dyn Provider,
    request: Request,
    cancel: CancellationToken,
) -> Outcome {
    let mut outcome = Outcome { events: Vec::new(), error: None };
    match provider.stream(request, cancel).await {
        Err(error) => outcome.error = Some(error),
        Ok(mut stream) => {
            while let Some(event) = stream.next().await {
                assert!(outcome.error.is_none(), "something came after an error");
                match event {
                    Ok(event) => outcome.events.push(event),
                    Err(error) => outcome.error = Some(error),
                }
            }
        }
    }
    outcome
}

pub(crate) async fn ask(provider: &dyn Provider, request: Request) -> Outcome {
    ask_with(provider, request, CancellationToken::new()).await
}

/// Asks a provider of each wire format, each in front of an endpoint of its own.
pub(crate) fn each_wire(
    replies: impl Fn() -> Vec<Reply>,
    change: impl Fn(HttpProvider) -> HttpProvider,
    request: &Request,
    check: impl Fn(Wire, Outcome, &Endpoint),
) {
    for wire in Wire::ALL {
        let endpoint = Endpoint::start(Script::of(replies()));
        let provider = change(provider(wire, &endpoint));
        let outcome = run(ask(&provider, request.clone()));
        check(wire, outcome, &endpoint);
    }
}
