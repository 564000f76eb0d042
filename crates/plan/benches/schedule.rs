//! What scheduling costs, compared with sorting the same graph so that everything comes after what it needs.
//!
//! `cargo bench -p agents-plan --bench schedule` prints the ratios and ends with 1 if scheduling costs more than 10 times what sorting does, or
//! grows faster than n log n. Only ratios: how fast this machine is does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

use std::{
    collections::VecDeque,
    hint::black_box,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_plan::{
    event::{Action, Attempt, Event, Millis, Outcome, What},
    graph::{Budget, Concurrency, Graph, Node},
    reference::Template,
    schedule::Scheduler,
};
use serde_json::Value;

const SIZES: [usize; 3] = [100, 10_000, 100_000];
const ROUNDS: usize = 21;
/// How many nodes run at once.
const TOTAL: u32 = 64;
const LIMIT: f64 = 10.0;
/// How much more one node may cost in the largest graph than in the smallest, besides the logarithm: memory is slower than caches.
const GROWTH: f64 = 4.0;

fn graph(shape: &str, size: usize) -> Graph {
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = |sides: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        usize::try_from(dice % sides as u64).unwrap()
    };
    let nodes = (0..size).map(|at| {
        let needs: Vec<String> = match shape {
            "chain" if at > 0 => vec![format!("n{}", at - 1)],
            // One, then all others, then the last.
            "fan" if at == size - 1 => (1..at).map(|it| format!("n{it}")).collect(),
            "fan" if at > 0 => vec!["n0".to_owned()],
            "random" if at > 0 => {
                let mut needs: Vec<usize> = (0..roll(4)).map(|_| roll(at)).collect();
                needs.sort_unstable();
                needs.dedup();
                needs.into_iter().map(|it| format!("n{it}")).collect()
            }
            _ => Vec::new(),
        };
        let mut node = Node::agent(format!("n{at}"), "any", Template::default()).needs(needs);
        node.priority = i32::try_from(at % 3).unwrap();
        node
    });
    let limits = Concurrency { total: TOTAL, ..Concurrency::default() };
    Graph::new(shape, nodes.collect()).unwrap().within(limits, Budget::default())
}

/// What a driver has for as long as it drives.
struct Desk {
    running: VecDeque<Attempt>,
    decided: Vec<Event>,
    /// What executors will hand over, one for each node: making them is not the scheduler's work.
    outcomes: Vec<Arc<Outcome>>,
}

/// Everything from the first start to the end, as a driver would: what starts ends, in the same order.
fn schedule(scheduler: &mut Scheduler, desk: &mut Desk) -> usize {
    let Desk { running, decided, outcomes } = desk;
    let mut started = 0;
    while scheduler.ending().is_none() {
        decided.clear();
        scheduler.advance(Millis(1), black_box(decided));
        for action in scheduler.actions() {
            if let Action::Start { attempt, .. } = action {
                running.push_back(attempt);
                started += 1;
            }
        }
        // A driver takes in all that has ended before it looks again.
        while let Some(attempt) = running.pop_front() {
            let what = What::Ended { attempt, outcome: outcomes.pop().unwrap() };
            scheduler.accept(what.at(Millis(1))).unwrap();
        }
    }
    started
}

fn main() -> ExitCode {
    let mut desk = Desk {
        running: VecDeque::with_capacity(TOTAL as usize),
        decided: Vec::with_capacity(TOTAL as usize),
        outcomes: Vec::new(),
    };
    let outcome = Arc::new(Outcome::completed(Value::Null));
    let mut good = true;
    println!(
        "medians of {ROUNDS} rounds; the ratio is scheduling (starts and ends) to sorting the same graph"
    );
    for shape in ["chain", "fan", "random"] {
        let mut per_node = Vec::new();
        for size in SIZES {
            let graph = graph(shape, size);
            let (mut sorts, mut runs) = (Vec::new(), Vec::new());
            let rounds = if size > 1000 { ROUNDS } else { ROUNDS * 20 };
            for _ in 0..rounds {
                let start = Instant::now();
                assert_eq!(black_box(graph.order()).len(), size);
                sorts.push(start.elapsed());
                let mut scheduler = Scheduler::new(graph.clone());
                desk.outcomes.resize(size, Arc::clone(&outcome));
                let start = Instant::now();
                assert_eq!(schedule(&mut scheduler, &mut desk), size);
                runs.push(start.elapsed());
            }
            let (sort, run) = (median(sorts), median(runs));
            let ratio = run.as_secs_f64() / sort.as_secs_f64();
            let each = run.as_secs_f64() / size as f64;
            per_node.push(each / (size as f64).log2());
            println!(
                "{shape:>7} {size:>7}  sort {sort:>9.2?}  schedule {run:>9.2?}  ratio {ratio:>5.2}  per node {:.0} ns",
                each * 1e9
            );
            if ratio > LIMIT {
                println!("        more than {LIMIT} times the sort");
                good = false;
            }
        }
        let growth = per_node[2] / per_node[0];
        println!(
            "{shape:>7} cost per node and log n, {} nodes to {}: {growth:.2}",
            SIZES[2], SIZES[0]
        );
        good &= growth < GROWTH;
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
