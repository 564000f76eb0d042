//! The provider `script`: a model without a network.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{sync::Semaphore, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    file::ScriptFile,
    play::{Asked, Player},
    reply::{Fault, Reply, Said},
};
use crate::{
    answer::{Asking, More, Source},
    error::{ModelError, Problem},
    event::Event,
    message::{ToolCall, ToolInput},
    provider::{EventStream, ModelInfo, Provider},
    request::Request,
    retry::{RetryPolicy, parse_retry_after},
    wire::said::{Said as Words, classify, in_stream},
};

/// A model that says what a script tells it to, always the same.
#[derive(Debug)]
pub struct ScriptProvider {
    name: String,
    player: Player,
    turns: AtomicUsize,
    permits: Arc<Semaphore>,
    retry: RetryPolicy,
}

impl ScriptProvider {
    /// A provider of that name that plays this script.
    #[must_use]
    pub fn new(name: &str, file: ScriptFile) -> Self {
        Self {
            name: name.to_owned(),
            player: Player::new(file),
            turns: AtomicUsize::new(0),
            permits: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            retry: RetryPolicy::default(),
        }
    }

    /// Asks again like this, when the script has something go wrong.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    fn open(&self, request: &Request) -> Result<Playing, Problem> {
        let reply = self.player.next(&Asked::from(request)).ok_or_else(|| Problem::Program {
            what: "the script has no reply to this".to_owned(),
            details: None,
        })?;
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        match &reply.fault {
            Some(Fault::Status { code, headers, message }) => {
                let wait =
                    headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
                let wait =
                    wait.and_then(|(_, value)| parse_retry_after(value, jiff::Timestamp::now()));
                let said = Words { message: message.clone(), ..Words::default() };
                Err(classify(*code, said, wait, &request.model))
            }
            Some(Fault::ContentType(kind)) => Err(Problem::Protocol {
                what: format!("`{kind}` came in place of a stream of events"),
                place: "the answer".to_owned(),
            }),
            _ => Ok(Playing {
                events: events(&reply, turn, &request.model).into(),
                sent: 0,
                wait: reply.delay,
                pace: reply.pace,
                fault: reply.fault,
            }),
        }
    }
}

impl Provider for ScriptProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        Box::pin(async move {
            let name = self.name.clone();
            let asking = Asking {
                deadlines: request.deadlines,
                cancel,
                permits: Arc::clone(&self.permits),
                retry: self.retry,
                at: move |problem: Problem| problem.at(&name),
            };
            asking.ask(|| std::future::ready(self.open(&request))).await
        })
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        // It answers for every model.
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// A reply that is being said.
struct Playing {
    events: VecDeque<Event>,
    sent: usize,
    /// Before the next event.
    wait: Duration,
    pace: Duration,
    fault: Option<Fault>,
}

impl Source for Playing {
    async fn read(&mut self, out: &mut Vec<Event>) -> Result<More, Problem> {
        if !self.wait.is_zero() {
            sleep(self.wait).await;
        }
        self.wait = self.pace;
        let broken = |kind: std::io::ErrorKind| Problem::Network {
            doing: "reading the answer",
            source: Box::new(std::io::Error::from(kind)),
        };
        match &self.fault {
            Some(Fault::Silence) => std::future::pending().await,
            Some(Fault::StallAfter(count)) if *count == self.sent => std::future::pending().await,
            Some(Fault::DropAfter(count)) if *count == self.sent => {
                return Err(broken(std::io::ErrorKind::UnexpectedEof));
            }
            Some(Fault::ResetAfter(count)) if *count == self.sent => {
                return Err(broken(std::io::ErrorKind::ConnectionReset));
            }
            Some(Fault::GarbageAfter(count) | Fault::EndlessLineAfter(count, _))
                if *count == self.sent =>
            {
                return Err(Problem::Protocol {
                    what: "the data is not JSON".to_owned(),
                    place: format!("event {}", self.sent + 1),
                });
            }
            Some(Fault::ErrorAfter(count, message)) if *count == self.sent => {
                return Err(in_stream(Words { message: message.clone(), ..Words::default() }));
            }
            _ => {}
        }
        self.sent += 1;
        out.extend(self.events.pop_front());
        Ok(if self.events.is_empty() { More::No } else { More::Yes })
    }

    fn complete(&mut self, _: &mut Vec<Event>) -> bool {
        false
    }
}

fn events(reply: &Reply, turn: usize, model: &str) -> Vec<Event> {
    let model = reply.model.clone().unwrap_or_else(|| model.to_owned());
    let mut events = vec![Event::Started { id: format!("script_{turn:04}"), model }];
    let mut calls = 0;
    let pieces =
        |text: &str| -> Vec<String> { reply.pieces(text).into_iter().map(str::to_owned).collect() };
    for said in &reply.says {
        match said {
            Said::Text(text) => events.extend(pieces(text).into_iter().map(Event::Text)),
            Said::Thinking(text) => events.extend(pieces(text).into_iter().map(Event::Thinking)),
            Said::Call(call) => {
                let (index, id) = (calls, format!("call_{turn:04}_{calls}"));
                calls += 1;
                let name = call.name.clone();
                let text = call.text();
                events.push(Event::ToolCallStarted { index, id: id.clone(), name: name.clone() });
                let deltas = pieces(&text).into_iter();
                events.extend(deltas.map(|json| Event::ToolCallDelta { index, json }));
                let input = ToolInput::parse(text);
                events.push(Event::ToolCall(ToolCall { id, name, input, signature: None }));
            }
        }
    }
    events.extend(reply.usage.map(Event::Usage));
    events.push(Event::Stopped(reply.stop_reason()));
    events
}
