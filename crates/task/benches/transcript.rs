//! What writing a record into a transcript costs, compared with serialising it alone.
//!
//! `cargo bench -p agents-task --bench transcript` prints the ratio of wall time. Only the ratio: how fast this machine is does not
//! matter. Nothing is synced within the time that is measured: another thread does that.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use agents_model::{Message, ToolResult, message::ToolStatus};
use agents_task::{
    Recorder as _, TaskId, TaskPath,
    transcript::{ChainKey, Opening, Retention, Store},
};
use agents_testkit::scratch::Scratch;

const RECORDS: u32 = 2_000;
const ROUNDS: usize = 15;
/// What an append may cost, compared with serialising alone.
const LIMIT: f64 = 6.0;

/// What a tool answers on an average day.
fn message() -> Message {
    let content =
        "    let found = parse(&line).map_err(|error| Failure::at(\"line\", error))?;\n".repeat(50);
    let result = ToolResult {
        id: "call_01".to_owned(),
        name: "read".to_owned(),
        content,
        status: ToolStatus::Done,
    };
    Message::results([result])
}

fn opening() -> Opening {
    Opening {
        id: TaskId::new(),
        agent: "worker".to_owned(),
        path: TaskPath::root(),
        parent: None,
        resumed_from: None,
        model: "script/any".to_owned(),
        mask: std::sync::Arc::default(),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn appending(store: &Store, message: &Message) -> Duration {
    let rounds = (0..ROUNDS).map(|_| {
        let mut writer = store.begin(opening());
        let since = Instant::now();
        for _ in 0..RECORDS {
            writer.message(black_box(message));
        }
        since.elapsed()
    });
    median(rounds.collect())
}

fn main() -> ExitCode {
    let message = message();
    let serialising = median(
        (0..ROUNDS)
            .map(|_| {
                let mut line = Vec::new();
                let since = Instant::now();
                for _ in 0..RECORDS {
                    line.clear();
                    serde_json::to_writer(&mut line, black_box(&message)).unwrap();
                    black_box(&line);
                }
                since.elapsed()
            })
            .collect(),
    );
    let scratch = Scratch::new();
    let plain = appending(&Store::new(&scratch.path("plain")), &message);
    let key = Some(ChainKey::new([7; 32]));
    let chained =
        appending(&Store::with(&scratch.path("chained"), Retention::FOREVER, key), &message);
    let ratio = |time: Duration| time.as_secs_f64() / serialising.as_secs_f64();
    let bytes = serde_json::to_vec(&message).unwrap().len();
    println!("a record of {bytes} bytes, medians of {ROUNDS} rounds of {RECORDS}");
    println!("serialising alone   1.0 ({:?} each)", serialising / RECORDS);
    println!("appending           {:.1} (limit {LIMIT})", ratio(plain));
    println!("appending, chained  {:.1}", ratio(chained));
    if ratio(plain) > LIMIT { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
