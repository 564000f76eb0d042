//! What must hold for any bytes that other people's files may consist of.
//!
//! Each function here takes the bytes of one input and panics if a parser breaks its promise. They are run twice: by
//! libFuzzer on random inputs (`fuzz/run`), and by an ordinary test of this room on every file below `fuzz/seeds`, so that what the fuzzer
//! once found stays found.
//!
//! | module | what is read |
//! |---|---|
//! | [`targets`] | the table of all targets, with what must hold for each |
//! | [`edits`] | settings of hosts, with edits made to them |
//! | [`files`] | skills, manifests, predicates, lock files and what else is read as a whole |
//! | [`agents`] | definitions of agents in every dialect, their hooks, and commands that people type |
//! | [`settings`] | the configuration, and variables of the environment |
//! | [`commands`], [`tools`], [`calls`] | what a model wants to run, to change and to give to tools, and the rules for that |
//! | [`choices`] | the model that an agent wants, and what a result rests on |
//! | [`wires`], [`providers`] | what models and providers say |
//! | [`hooks`] | what hosts and hooks tell each other |
//! | [`web`], [`content`] | what is found on the web, and what is hidden in a text |
//! | [`plans`], [`values`] | plans, scripts, batches, schemas, times, amounts, dates and ids |
//! | [`records`], [`kept`] | what we wrote ourselves, and may find torn, edited, or from another version |
//! | [`programs`], [`peers`] | what cargo, git, servers, agents and interpreters say to us, and what is typed |
//! | [`doors`] | what clients, editors and browsers say to our own servers |
//! | [`probes`] | what hosts say to the parts of a probe |
//! | [`mutate`] | inputs that are changed as what they are, for libFuzzer |
//! | [`page`] | the page of the book that says what was fuzzed |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "test support: a failure here is a failed test"
)]

pub mod agents;
pub mod calls;
pub mod choices;
pub mod commands;
pub mod content;
pub mod doors;
pub mod edits;
pub mod files;
pub mod hooks;
pub mod kept;
pub mod mutate;
pub mod page;
pub mod peers;
pub mod plans;
pub mod probes;
pub mod programs;
pub mod providers;
pub mod records;
pub mod settings;
mod streams;
pub mod targets;
pub mod tools;
pub mod values;
pub mod web;
pub mod wires;
