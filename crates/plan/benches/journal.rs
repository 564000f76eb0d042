//! What the journal costs, compared with SQLite alone.
//!
//! `cargo bench -p agents-plan --bench journal` prints the ratios and ends with 1 if events are written at less than half the rate of bare inserts of
//! the same size in groups of the same size, or if replaying 100,000 of them takes more than 3 times what reading their rows takes.
//! Only ratios: how fast this machine is does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_plan::{
    event::{Attempt, Event, Index, Millis, Outcome, What},
    graph::{Budget, Concurrency, Graph, Node},
    journal::{Journals, Options, Origin},
    reference::Template,
};
use agents_testkit::scratch::Scratch;
use rusqlite::{Connection, params};
use serde_json::json;

const GROUPS: usize = 100;
const GROUP: usize = 64;
const ROUNDS: usize = 20;
const REPLAYED: usize = 100_000;

fn graph(nodes: usize) -> Graph {
    let nodes = (0..nodes).map(|at| Node::agent(format!("n{at}"), "any", Template::default()));
    let limits = Concurrency { total: u32::MAX, ..Concurrency::default() };
    Graph::new("bench", nodes.collect()).unwrap().within(limits, Budget::default())
}

/// Starts and ends, with results of an ordinary size.
fn events(count: usize) -> Vec<Event> {
    let files: Vec<String> = (0..8).map(|it| format!("crates/some/src/file{it}.rs")).collect();
    let outcome = Arc::new(Outcome {
        text: "done: the code compiles and all tests pass".to_owned(),
        ..Outcome::completed(json!({ "files": files, "count": 8 }))
    });
    (0..count / 2)
        .flat_map(|at| {
            let attempt = Attempt { node: Index(u32::try_from(at).unwrap()), number: 1 };
            let started = What::Started { attempt, allowance: None };
            let ended = What::Ended { attempt, outcome: Arc::clone(&outcome) };
            [started.at(Millis(at as u64)), ended.at(Millis(at as u64))]
        })
        .collect()
}

struct Bare(Connection);

impl Bare {
    fn new(scratch: &Scratch, name: &str) -> Self {
        let connection = Connection::open(scratch.path(name)).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.pragma_update(None, "synchronous", "FULL").unwrap();
        connection
            .execute_batch("CREATE TABLE e (seq INTEGER PRIMARY KEY, at INTEGER, what TEXT, node INTEGER, attempt INTEGER, body TEXT) STRICT")
            .unwrap();
        Self(connection)
    }

    /// Rows of the same size, with nothing to be made.
    fn write(&mut self, first: usize, rows: &[(&str, Option<&str>)]) {
        let transaction = self.0.transaction().unwrap();
        {
            let mut insert =
                transaction.prepare("INSERT INTO e VALUES (?1, ?2, ?3, ?4, ?5, ?6)").unwrap();
            for (at, (what, body)) in rows.iter().enumerate() {
                let seq = i64::try_from(first + at + 1).unwrap();
                insert.execute(params![seq, seq, what, seq / 2, 1, body]).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn read(&self) -> usize {
        let mut statement = self
            .0
            .prepare("SELECT seq, at, what, node, attempt, body FROM e ORDER BY seq")
            .unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut bytes = 0;
        while let Some(row) = rows.next().unwrap() {
            let (_, _): (i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap());
            let (_, _): (i64, i64) = (row.get(3).unwrap(), row.get(4).unwrap());
            bytes += row.get::<_, String>(2).unwrap().len();
            bytes += row.get::<_, Option<String>>(5).unwrap().map_or(0, |it| it.len());
        }
        bytes
    }
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let scratch = Scratch::new();
    let journals = Journals::new(scratch.path("plans"));
    let all = events(GROUPS * GROUP);
    let bodies: Vec<Option<String>> = all
        .iter()
        .map(|it| match &it.what {
            What::Ended { outcome, .. } => Some(serde_json::to_string(outcome.as_ref()).unwrap()),
            _ => None,
        })
        .collect();
    let rows: Vec<(&str, Option<&str>)> =
        all.iter().zip(&bodies).map(|(it, body)| (it.what.word(), body.as_deref())).collect();
    // Taken in turns, so that whatever else the machine does hits all of them alike.
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut sqlite = Bare::new(&scratch, &format!("bare{round}.db"));
        let start = Instant::now();
        for group in 0..GROUPS {
            sqlite.write(group * GROUP, &rows[group * GROUP..(group + 1) * GROUP]);
        }
        bare.push(start.elapsed());
        let (journal, _) =
            journals.create(&graph(1), Millis(0), &Origin::default(), Options::default()).unwrap();
        let start = Instant::now();
        runtime.block_on(async {
            for group in 0..GROUPS {
                journal.append(all[group * GROUP..(group + 1) * GROUP].to_vec()).await.unwrap();
            }
        });
        ours.push(start.elapsed());
    }
    let (bare, ours) = (median(bare), median(ours));
    let rate = bare.as_secs_f64() / ours.as_secs_f64();
    let per_second = (GROUPS * GROUP) as f64 / ours.as_secs_f64();
    println!("{GROUPS} groups of {GROUP} events, each flushed, medians of {ROUNDS} rounds");
    println!("bare inserts  {bare:>9.2?}");
    println!(
        "journal       {ours:>9.2?}  {rate:.2} of the bare rate (at least 0.5), {per_second:.0} events/s here"
    );

    let graph = graph(REPLAYED / 2);
    let (journal, _) =
        journals.create(&graph, Millis(0), &Origin::default(), Options::default()).unwrap();
    let mut sqlite = Bare::new(&scratch, "read.db");
    let all = events(REPLAYED);
    runtime.block_on(async {
        for group in all.chunks(1000) {
            journal.append(group.to_vec()).await.unwrap();
        }
    });
    for first in (0..REPLAYED).step_by(rows.len()) {
        sqlite.write(first, &rows[..rows.len().min(REPLAYED - first)]);
    }
    let view = journals.view(journal.id()).unwrap();
    let (mut reads, mut replays) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert!(sqlite.read() > REPLAYED);
        reads.push(start.elapsed());
        let start = Instant::now();
        assert!(view.now().unwrap().ending().is_some());
        replays.push(start.elapsed());
    }
    // The graph is read again, too, and is no event.
    let mut empty = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert!(view.at(0).unwrap().ending().is_none());
        empty.push(start.elapsed());
    }
    let (read, replay, empty) = (median(reads), median(replays), median(empty));
    let events = replay.saturating_sub(empty);
    let ratio = events.as_secs_f64() / read.as_secs_f64();
    println!("{REPLAYED} events, medians of {ROUNDS} rounds");
    println!("read the rows {read:>9.2?}");
    println!(
        "replay them   {events:>9.2?}  {ratio:.2} of reading (at most 3); with the graph of {} nodes {replay:.2?}",
        REPLAYED / 2
    );
    if rate < 0.5 || ratio > 3.0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
