//! Durable graphs of tasks: plan files, checks, scheduling, a journal, and diagrams.
//!
//! A *plan* is a file with tasks, what each of them needs, and limits for all of them. It is checked as a whole before anything runs; then a
//! scheduler without clock or disk decides what is next, a journal records each event before it is acted on, and an engine
//! runs the tasks, here or on a cluster. After a crash, a run continues without paying again for what was done.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`] | a plan as TOML, YAML or JSON, with the place of everything that is wrong |
//! | [`mod@reference`] | `${{ tasks.a.output.field }}` and conditions: parsed once, filled in later |
//! | [`mod@check`] | whether a plan makes sense, before anything runs |
//! | [`mod@expand`] | from `for-each`, sub-plans and races to plain nodes with stable names |
//! | [`graph`] | those nodes |
//! | [`mod@ground`] | what a result depends on besides what the agent is told |
//! | [`event`] | what happens to a plan, and what became of its tasks |
//! | [`schedule`] | what runs next: events in, decisions out; no clock, no I/O |
//! | [`journal`] | the events on disk, durable before anything is done about them |
//! | [`engine`] | the loop between those two and whoever runs tasks |
//! | [`draw`] | trees of text, Mermaid and SVG |
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `restate` | no | tasks on the workers of a cluster |
//!
//! The way of a plan goes through them from top to bottom:
//!
//! ```
//! use std::{collections::BTreeMap, sync::Arc};
//!
//! use agents_plan::{
//!     check::{AgentFacts, Facts},
//!     engine::{Driver, Executor, Life, Start},
//!     event::{Millis, Outcome, PlanEnding},
//!     expand::expand,
//!     file::{Bundle, PlanFile},
//!     journal::{Journals, Options, Origin},
//! };
//! use serde_json::json;
//!
//! /// Whoever runs tasks; here somebody who repeats what it is told.
//! struct Echo;
//!
//! impl Executor for Echo {
//!     async fn run(&self, start: Start, _: Life) -> Outcome {
//!         Outcome::completed(json!({ "said": start.request.prompt }))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # let plans = camino::Utf8Path::from_path(scratch.path()).unwrap().join("plans");
//! let text = r#"
//! plan = "greet"
//!
//! [[tasks]]
//! id = "hello"
//! agent = "echo"
//! prompt = "hello ${{ item }}"
//! for-each = { in = ["world", "moon"] }
//!
//! [[tasks]]
//! id = "all"
//! agent = "echo"
//! prompt = "${{ tasks.hello.output[1].said }}!"
//! "#;
//! let (file, findings) = PlanFile::parse("greet.toml".into(), text);
//! assert!(findings.is_empty());
//! let facts = Facts {
//!     agents: BTreeMap::from([("echo".to_owned(), AgentFacts::default())]),
//!     members: Vec::new(),
//! };
//! let graph = expand(&Bundle::single(file.unwrap()), &facts, &BTreeMap::new()).unwrap();
//!
//! let run = Journals::new(plans).create(&graph, Millis(0), &Origin::default(), Options::default())?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! let (ending, state) = runtime.block_on(async { Driver::new(run, Arc::new(Echo)).run().await })?;
//! assert_eq!(ending, PlanEnding::Completed);
//! let all = graph.indices().last().unwrap();
//! assert_eq!(state.outcome(all).unwrap().output, json!({ "said": "hello moon!" }));
//! # Ok(()) }
//! ```
//!
//! The scheduler decides, the journal remembers, the driver acts, in this order: a process that is killed anywhere, and started again,
//! continues with what was already paid for.

pub mod check;
pub mod draw;
pub mod engine;
pub mod event;
pub mod expand;
pub mod file;
pub mod graph;
pub mod ground;
pub mod journal;
pub mod reference;
pub mod schedule;
mod shape;

#[cfg(test)]
mod schemas;
