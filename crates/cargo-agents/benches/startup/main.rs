//! What one start costs, against an empty Rust program that is started the same way.
//!
//! ```text
//! cargo bench -p cargo-agents --bench startup -- [--hook | --task] [--rounds <n>] [--program <label>=<path>]... [--pause]
//! ```
//!
//! Everything is measured in one run, in random order in every round, so that a noisy machine hurts all of
//! it alike. `--hook` measures what hosts call instead of what people type, `--task`
//! the time from the start to the first request that a model gets. Nothing fails because of a time. `--program` puts other builds beside this one,
//! `--pause` leaves time to look at them with a profiler before everything is cleaned up.
//! `docs/performance.md` says what was found with it.

#![cfg_attr(
    unix,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::disallowed_methods,
        reason = "a benchmark: it prints, starts programs and may stop when it cannot go on"
    )
)]

#[cfg(unix)]
mod ground;
#[cfg(unix)]
mod hook;
#[cfg(unix)]
mod measure;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod start;
#[cfg(unix)]
mod task;

/// The number of the case that everything is compared with.
#[cfg(unix)]
const FLOOR: usize = 0;
/// The number of the case that a command which only runs another program is compared with.
#[cfg(unix)]
const TARGET: usize = 1;
/// The number of the case that a first sync is compared with, where people's commands are measured.
#[cfg(unix)]
const COPY: usize = 2;

#[cfg(unix)]
fn main() {
    start::main();
}

#[cfg(not(unix))]
fn main() {}
