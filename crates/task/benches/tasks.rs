//! What a turn costs.
//!
//! ```text
//! cargo bench -p agents-task --bench tasks
//! ```
//!
//! A turn of the whole loop (request, stream, policy, tool, transcript) over a model that takes no time, against a client that sends
//! the same bytes and reads the answer. It ends with 1 when a goal is missed. What many agents cost is in `crowd`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a measurement"
)]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_agent::{AgentDefinition, AgentName, definition::PermissionMode};
use agents_model::{
    HttpProvider, Provider, Wire,
    endpoint::{Endpoint, Reply, Script},
    select::{Available, Credentials, ModelRef},
};
use agents_task::{
    Batch, Broker, Limits, Patience, Runner, Settings, Surroundings, TaskRequest,
    event::Silent,
    runner::{Common, Equipment, Known, Opened, Unavailable, Wearer},
    transcript::{Retention, Store},
};
use agents_testkit::scratch::Scratch;
use agents_tool::{
    Area, Bypass, Catalogue, Confinement, artifacts::ArtifactDir, hooks::NoHooks, tools,
};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 15;
const TURNS: usize = 200;
/// How much more than the raw client a turn may cost.
const TURN: f64 = 3.0;

struct Place {
    root: camino::Utf8PathBuf,
    agents: Vec<Arc<AgentDefinition>>,
    provider: Arc<dyn Provider>,
}

impl Surroundings for Place {
    fn agents(&self) -> Known {
        self.agents.clone().into()
    }

    fn models(&self) -> Vec<Available> {
        vec![Available::new(ModelRef::new("it", "any"), Credentials::Ready)]
    }

    fn open(&self, _: &ModelRef, _: &Area) -> Result<Opened, Unavailable> {
        Ok(Opened { provider: Arc::clone(&self.provider), price: None, window: None })
    }

    fn area(&self) -> Result<Area, Unavailable> {
        Ok(Area::workspace(&self.root).unwrap())
    }

    fn equip<'a>(&'a self, _: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        let mut catalogue = Catalogue::default();
        tools::add_all(&mut catalogue, None).unwrap();
        let equipment = Equipment {
            catalogue,
            hooks: Arc::new(NoHooks),
            confinement: Confinement::None,
            bash: None,
        };
        Box::pin(std::future::ready(Ok(equipment)))
    }
}

fn runner(
    scratch: &Scratch,
    provider: Arc<dyn Provider>,
    concurrency: usize,
    transcripts: Option<Store>,
) -> Runner {
    let mut agent = AgentDefinition::blank(AgentName::new("worker").unwrap());
    agent.prompt = "You work.".to_owned();
    let place = Place { root: scratch.path(""), agents: vec![Arc::new(agent)], provider };
    let common = Common {
        settings: Settings { bypass: Bypass::Allowed, ..Settings::default() },
        broker: Broker::unattended(),
        sink: Arc::new(Silent),
        artifacts: Arc::new(ArtifactDir::new(&scratch.path("artifacts"))),
        transcripts,
        secrets: None,
        patience: Patience::default(),
        concurrency,
        cancel: CancellationToken::new(),
    };
    Runner::new(Arc::new(place), common)
}

/// Microseconds of one turn: of the whole loop with a transcript, and of a client that only moves the bytes.
fn turn(scratch: &Scratch) -> (f64, f64) {
    scratch.write("a.txt", "a line\n");
    // As many events as usual, and a call at the end.
    let mut reply =
        Reply::call("read", json!({"path": "a.txt"})).and_text("to be, or not. ".repeat(16));
    reply.piece = 6;
    let endpoint = Endpoint::start(Script::rule(move |_| reply.clone()));
    let provider = Arc::new(HttpProvider::new("it", Wire::Messages, &endpoint.url()).unwrap());
    let store = Store::with(&scratch.path("transcripts"), Retention::FOREVER, None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Forty kilobytes of conversation, and no more with time: old rounds are left out.
    let run = |turns: u64| {
        let runner = runner(scratch, Arc::clone(&provider) as _, 1, Some(store.clone()));
        let mode = PermissionMode::BypassPermissions;
        let mut request = TaskRequest::new("worker", "Do the work. ".repeat(40 * 1024 / 13));
        request.limits = Limits { turns: Some(turns), tokens: Some(u64::MAX), ..Limits::default() };
        let began = Instant::now();
        runtime.block_on(async {
            let started = runner.start(&Batch::from(request), &runner.user(mode, mode)).unwrap();
            for it in started {
                assert_eq!(it.outcome().await.report.turns, turns);
            }
        });
        began.elapsed()
    };
    run(5);
    let body = serde_json::to_vec(&endpoint.received().last().unwrap().json).unwrap();
    endpoint.forget();
    let (mut ours, mut raw) = (Duration::MAX, Duration::MAX);
    let mut client = Raw::new(&endpoint.url(), &body);
    for _ in 0..ROUNDS {
        // The conversation grows by a few hundred bytes each turn: few turns at a time.
        let began: Duration = (0..TURNS / 10).map(|_| run(10)).sum();
        ours = ours.min(began);
        endpoint.forget();
        let began = Instant::now();
        (0..TURNS).for_each(|_| client.turn());
        raw = raw.min(began.elapsed());
        endpoint.forget();
    }
    let each = |all: Duration| all.as_secs_f64() * 1e6 / TURNS as f64;
    (each(ours), each(raw))
}

/// Sends what was written down before, and reads up to the end of the answer.
struct Raw {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Raw {
    fn new(url: &str, body: &[u8]) -> Self {
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend(body);
        Self { stream, request, answer: vec![0; 256 * 1024] }
    }

    fn turn(&mut self) {
        self.stream.write_all(&self.request).unwrap();
        let mut end = 0;
        while !self.answer[..end].ends_with(b"\r\n0\r\n\r\n") {
            end += self.stream.read(&mut self.answer[end..]).unwrap();
        }
    }
}

fn main() -> ExitCode {
    let scratch = Scratch::new();
    let (own, raw) = turn(&scratch);
    let ratio = own / raw;
    println!(
        "a turn of the whole loop, 40 kB of conversation, with transcript: {own:.0} µs, the raw client {raw:.0} µs: {ratio:.2} times (goal {TURN})"
    );
    if ratio > TURN { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
