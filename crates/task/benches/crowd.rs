//! What many agents cost.
//!
//! ```text
//! cargo bench -p agents-task --bench crowd
//! ```
//!
//! Three crowds, each beside as many bare tasks of the runtime that have a name, a channel and a token, and wait.
//!
//! - *waiting*: 10,000 tasks of one batch that wait for their slot.
//! - *asking*: 10,000 sub-agents of a [`SubAgentManager`], each with its own tools, in the middle of a turn whose model says nothing.
//! - *over HTTP*: 1,000 tasks with 40 kB of conversation, each in the middle of an answer over a connection of its own. Against it stands
//!   what a process of the Codex command line takes, 38.5 MB, and one of oh-my-pi, 208 MB.
//!
//! To start and to end is what the caller waits for: until all are started, and from the moment when the first one is told to end
//! until all have ended. Each measurement is a process of its own, and its memory what is resident more than before. It ends with 1
//! when a goal is missed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a measurement"
)]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agents_agent::{AgentDefinition, AgentName, definition::PermissionMode};
use agents_model::{
    EventStream, HttpProvider, ModelError, Provider, Request, Wire,
    provider::ModelInfo,
    select::{Available, Credentials, ModelRef},
};
use agents_task::{
    Batch, Broker, Limits, Patience, Runner, Running, Settings, SubAgentManager, Surroundings,
    TaskRequest,
    event::{Event, Silent, Sink, What},
    runner::{Common, Equipment, Known, Opened, Unavailable, Wearer},
    subagents::{Model, SubAgentConfig, Toolbox},
};
use agents_testkit::scratch::Scratch;
use agents_tool::{
    Area, Bypass, Catalogue, Confinement, artifacts::ArtifactDir, hooks::NoHooks, tools,
};
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

const AGENTS: usize = 10_000;
const CONNECTED: usize = 1_000;
const ROUNDS: usize = 7;
/// How much more than a bare task an agent may take, of memory and of time.
const GOAL: f64 = 3.0;
/// What a process of the Codex command line takes, and one of oh-my-pi; how many times as many of ours must have room.
const PROCESSES: [(&str, f64, f64); 2] = [("Codex", 38.5e6, 100.0), ("oh-my-pi", 208.0e6, 600.0)];

/// A model that never says anything.
#[derive(Debug, Default)]
struct Mute {
    asked: AtomicUsize,
}

impl Provider for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            cancel.cancelled().await;
            let never: std::convert::Infallible = std::future::pending().await;
            // It has the request as long as it could still answer.
            drop(request);
            match never {}
        })
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

struct Place {
    /// One for all of them: each would have a directory open otherwise.
    area: Area,
    agents: Vec<Arc<AgentDefinition>>,
    provider: Arc<dyn Provider>,
}

fn equipment() -> Equipment {
    let mut catalogue = Catalogue::default();
    tools::add_all(&mut catalogue, None).unwrap();
    Equipment { catalogue, hooks: Arc::new(NoHooks), confinement: Confinement::None, bash: None }
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
        Ok(self.area.clone())
    }

    fn equip<'a>(&'a self, _: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        Box::pin(std::future::ready(Ok(equipment())))
    }
}

impl Toolbox for Place {
    fn area(&self) -> Result<Area, Unavailable> {
        Surroundings::area(self)
    }

    fn equip(&self, _: &AgentDefinition, _: &Area) -> Result<Equipment, Unavailable> {
        Ok(equipment())
    }
}

fn definition() -> AgentDefinition {
    let mut agent = AgentDefinition::blank(AgentName::new("worker").unwrap());
    agent.prompt = "You work. ".repeat(100);
    agent
}

fn runner(
    scratch: &Scratch,
    provider: Arc<dyn Provider>,
    sink: Arc<dyn Sink>,
    concurrency: usize,
) -> Runner {
    let area = Area::workspace(&scratch.path("")).unwrap();
    let place = Place { area, agents: vec![Arc::new(definition())], provider };
    let common = Common {
        settings: Settings { bypass: Bypass::Allowed, ..Settings::default() },
        broker: Broker::unattended(),
        sink,
        artifacts: Arc::new(ArtifactDir::new(&scratch.path("artifacts"))),
        transcripts: None,
        secrets: None,
        patience: Patience::default(),
        concurrency,
        cancel: CancellationToken::new(),
    };
    Runner::new(Arc::new(place), common)
}

/// What this process has in memory, in bytes.
fn resident() -> usize {
    let text = fs_err::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Bytes for each, and seconds to start and to end each.
#[derive(Debug, Clone, Copy)]
struct Crowd {
    bytes: f64,
    start: f64,
    end: f64,
}

impl Crowd {
    const WORST: Self = Self { bytes: f64::MAX, start: f64::MAX, end: f64::MAX };

    fn of(count: usize, held: usize, start: Duration, end: impl FnOnce()) -> Self {
        let bytes = resident().saturating_sub(held) as f64 / count as f64;
        let began = Instant::now();
        end();
        let each = |time: Duration| time.as_secs_f64() / count as f64;
        Self { bytes, start: each(start), end: each(began.elapsed()) }
    }

    /// Measured by a process that has done nothing else.
    fn alone(who: &str) -> Self {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--crowd", who])
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let parts: Vec<f64> = text.split_whitespace().map(|it| it.parse().unwrap()).collect();
        Self { bytes: parts[0], start: parts[1], end: parts[2] }
    }

    fn least(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.min(other.bytes),
            start: self.start.min(other.start),
            end: self.end.min(other.end),
        }
    }
}

fn cancel_all(running: Vec<Running>) -> impl Future<Output = ()> {
    running.iter().for_each(|it| it.cancel.cancel());
    async {
        join_all(running.into_iter().map(Running::outcome)).await;
    }
}

async fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Tasks that wait for a slot.
fn waiting(runtime: &tokio::runtime::Runtime, scratch: &Scratch) -> Crowd {
    let provider = Arc::new(Mute::default());
    let runner = runner(scratch, Arc::clone(&provider) as _, Arc::new(Silent), 1);
    let mode = PermissionMode::BypassPermissions;
    let user = runner.user(mode, mode);
    let batch =
        Batch { context: None, tasks: vec![TaskRequest::new("worker", "do the work"); AGENTS] };
    let held = resident();
    let began = Instant::now();
    let running = runtime.block_on(async { runner.start(&batch, &user).unwrap() });
    let start = began.elapsed();
    // One of them has the slot, and all others have looked for it.
    runtime.block_on(until(|| provider.asked.load(Ordering::Relaxed) == 1));
    Crowd::of(AGENTS, held, start, || runtime.block_on(cancel_all(running)))
}

/// Sub-agents of a manager, each in the middle of a turn.
fn asking(runtime: &tokio::runtime::Runtime, scratch: &Scratch) -> Crowd {
    let mut manager = SubAgentManager::new(AGENTS);
    manager.definitions_mut().push(definition());
    let provider = Arc::new(Mute::default());
    let place = Arc::new(Place {
        area: Area::workspace(&scratch.path("")).unwrap(),
        agents: Vec::new(),
        provider: Arc::clone(&provider) as _,
    });
    let opened = Opened { provider: Arc::clone(&provider) as _, price: None, window: None };
    let model = Model { model: ModelRef::new("it", "any"), opened };
    let config = SubAgentConfig { transcript_enabled: false, ..SubAgentConfig::default() };
    let held = resident();
    let began = Instant::now();
    runtime.block_on(async {
        for _ in 0..AGENTS {
            let (tools, model) = (Arc::clone(&place) as Arc<dyn Toolbox>, model.clone());
            manager.spawn("worker", "do the work", model, tools, None, &config).unwrap();
        }
    });
    let start = began.elapsed();
    runtime.block_on(until(|| provider.asked.load(Ordering::Relaxed) == AGENTS));
    Crowd::of(AGENTS, held, start, || {
        manager.shutdown_all();
        assert!(runtime.block_on(manager.drained(Duration::from_secs(60))));
    })
}

fn bare(runtime: &tokio::runtime::Runtime) -> Crowd {
    let held = resident();
    let began = Instant::now();
    let root = CancellationToken::new();
    let forever = Arc::new(Notify::new());
    let begun = Arc::new(AtomicUsize::new(0));
    let one = |number: usize| {
        let name = format!("worker-{number}");
        let (token, forever) = (root.child_token(), Arc::clone(&forever));
        let (send, mut heard) = mpsc::channel::<String>(8);
        let (cancel, begun) = (token.clone(), Arc::clone(&begun));
        let task = tokio::spawn(async move {
            begun.fetch_add(1, Ordering::Relaxed);
            tokio::select! {
                biased;
                () = token.cancelled() => {}
                _ = heard.recv() => {}
                () = forever.notified() => {}
            }
            name.len()
        });
        (task, cancel, send)
    };
    let tasks: Vec<_> = runtime.block_on(async { (0..AGENTS).map(one).collect() });
    let start = began.elapsed();
    runtime.block_on(until(|| begun.load(Ordering::Relaxed) == AGENTS));
    Crowd::of(AGENTS, held, start, || {
        tasks.iter().for_each(|(_, cancel, _)| cancel.cancel());
        runtime.block_on(async {
            for (task, _, _) in tasks {
                task.await.unwrap();
            }
        });
    })
}

/// Tasks in the middle of an answer, over real connections.
fn connected(runtime: &tokio::runtime::Runtime, scratch: &Scratch) -> Crowd {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("--server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("http://{}", line.trim());
    let provider: Arc<dyn Provider> = Arc::new(
        HttpProvider::new("it", Wire::Messages, &url).unwrap().with_max_requests(CONNECTED),
    );
    let said = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&said);
    let sink = Arc::new(move |event: &Event| {
        if matches!(event.what, What::Text { .. }) {
            heard.fetch_add(1, Ordering::Relaxed);
        }
    });
    let runner = runner(scratch, provider, sink, CONNECTED);
    let mode = PermissionMode::BypassPermissions;
    let user = runner.user(mode, mode);
    let assignment = |number: usize| {
        let mut request =
            TaskRequest::new("worker", format!("{number}: do the work. ").repeat(40 * 1024 / 20));
        request.limits = Limits { time: Some(Duration::from_secs(600)), ..Limits::default() };
        request
    };
    // Assignments are part of what each has.
    let held = resident();
    let batch = Batch { context: None, tasks: (0..CONNECTED).map(assignment).collect() };
    let began = Instant::now();
    let running = runtime.block_on(async { runner.start(&batch, &user).unwrap() });
    drop(batch);
    runtime.block_on(until(|| said.load(Ordering::Relaxed) >= CONNECTED));
    let start = began.elapsed();
    let crowd = Crowd::of(CONNECTED, held, start, || runtime.block_on(cancel_all(running)));
    drop(server.stdin.take());
    server.wait().unwrap();
    crowd
}

/// Answers every request with the beginning of an answer, and no more. It ends when nobody needs it any more.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    std::io::stdout().flush().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let serving = move || {
                let (mut buffer, mut seen) = (vec![0; 64 * 1024], Vec::new());
                let length = loop {
                    let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
                    seen.extend_from_slice(&buffer[..read]);
                    let Some(head) = seen.windows(4).position(|it| it == b"\r\n\r\n") else {
                        continue;
                    };
                    let text = String::from_utf8_lossy(&seen[..head]).to_lowercase();
                    let length = text.split("content-length: ").nth(1).unwrap();
                    let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
                    break head + 4 + length;
                };
                while seen.len() < length {
                    let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
                    seen.extend_from_slice(&buffer[..read]);
                }
                let events = [
                    r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"any","stop_reason":null,"usage":{"input_tokens":10000,"output_tokens":1}}}"#,
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"To be"}}"#,
                ];
                let mut answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
                for event in events {
                    let name = event.split('"').nth(3).unwrap();
                    let event = format!("event: {name}\ndata: {event}\n\n");
                    answer.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
                }
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.read(&mut buffer);
            };
            std::thread::Builder::new().stack_size(256 * 1024).spawn(serving).unwrap();
        }
    });
    let _ = std::io::stdin().read(&mut [0]);
}

/// One crowd, measured in this process.
fn measure(who: &str) -> Crowd {
    let scratch = Scratch::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .build()
        .unwrap();
    match who {
        "waiting" => waiting(&runtime, &scratch),
        "asking" => asking(&runtime, &scratch),
        "connected" => connected(&runtime, &scratch),
        _ => bare(&runtime),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|it| it == "--server") {
        serve();
        return ExitCode::SUCCESS;
    }
    if let Some(at) = args.iter().position(|it| it == "--crowd") {
        let Crowd { bytes, start, end } = measure(&args[at + 1]);
        println!("{bytes} {start} {end}");
        return ExitCode::SUCCESS;
    }
    let kinds = ["bare", "waiting", "asking", "connected"];
    let mut least = [Crowd::WORST; 4];
    for _ in 0..ROUNDS {
        for (kind, least) in kinds.iter().zip(&mut least) {
            *least = least.least(Crowd::alone(kind));
        }
    }
    let [bare, waiting, asking, connected] = least;
    let mut missed = false;
    println!("least of {ROUNDS} rounds; bare tasks: {AGENTS}");
    println!(
        "bare       {:>7.0} bytes  start {:>6.2} µs ({:.0} a second)  end {:>6.2} µs",
        bare.bytes,
        bare.start * 1e6,
        1.0 / bare.start,
        bare.end * 1e6
    );
    for (name, crowd) in [("waiting", waiting), ("asking", asking)] {
        let ratios = [crowd.bytes / bare.bytes, crowd.start / bare.start, crowd.end / bare.end];
        missed |= ratios.iter().any(|it| *it > GOAL);
        println!(
            "{name:<10} {:>7.0} bytes  start {:>6.2} µs ({:.0} a second)  end {:>6.2} µs: {:.1}, {:.1}, {:.1} times (goal {GOAL})",
            crowd.bytes,
            crowd.start * 1e6,
            1.0 / crowd.start,
            crowd.end * 1e6,
            ratios[0],
            ratios[1],
            ratios[2]
        );
    }
    println!(
        "over HTTP  {:>7.0} bytes each of {CONNECTED}, {:.0} per GiB; from the start to the first word {:.0} µs, end {:.0} µs",
        connected.bytes,
        f64::from(1 << 30) / connected.bytes,
        connected.start * 1e6,
        connected.end * 1e6
    );
    for (name, process, goal) in PROCESSES {
        let ratio = process / connected.bytes;
        missed |= ratio < goal;
        println!(
            "           {ratio:.0} times as many per GiB as {name} processes (goal {goal:.0})"
        );
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
