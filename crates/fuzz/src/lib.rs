//! What must hold for any bytes that other people's files may consist of.
//!
//! Each function here takes the bytes of one input and panics if a parser breaks its promise. They are run twice: by
//! libFuzzer on random inputs (`fuzz/run`, which needs a nightly), and by an ordinary test of this room on every file below
//! `fuzz/seeds`, so that what the fuzzer once found stays found.
//!
//! | target | what it reads |
//! |---|---|
//! | `json`, `toml`, `yaml` | settings of hosts, with edits made to them: see [`edits`] |
//! | `markdown` | a managed block in `AGENTS.md` |
//! | `skill` | the header of a `SKILL.md` |
//! | `manifest`, `crate_metadata` | `SYMPOSIUM.toml` and `[package.metadata.symposium]` |
//! | `predicate` | `crates` and `predicates` |
//! | `hosts` | the user's `hosts.toml` |
//! | `ledger` | the record of what we own |
//! | `agent_…` | definitions of agents, one target for each dialect: see [`agents`] |
//! | `lockfile` | `Cargo.lock`, which we read without a TOML parser |
//! | `shell` | a command that a model wants to run, judged by `bash(cargo *)` |
//! | `answer_…` | the answer of a model, one target for each wire format: see [`wires`] |
//! | `hook_input`, `hook_output` | what hosts tell hooks and hooks tell hosts, from each format to all others |
//! | `plan`, `script`, `reference` | plans, scripted models, and what stands in `${{ }}` and conditions |
//! | `config` | `config.toml`, as every room reads it |
//! | `agents_lock` | `agents.lock`, also with conflicts in it, and records of audits |
//! | `transcript`, `journal` | records of tasks and plans |
//! | `cargo_files` | `Cargo.toml`, `.cargo/config.toml` and `Cargo.lock`, read without cargo |
//! | `git_address`, `predicate_output` | addresses of repositories, and what programs that are predicates print |
//! | `sse` | a stream of events, without any wire format |
//! | `request` | a conversation, to every wire format and back |
//! | `program_answer` | what hosts and ACP agents say when they answer as a model |
//! | `edit_tool`, `web_page` | what a model wants to change, and what it reads |
//! | `rights`, `matcher` | rules for tools, ours and those of hosts |
//! | `mask` | secrets in what is shown |
//! | `mcp_server`, `mcp_http`, `acp_server` | what clients and editors say to our own servers: see [`doors`] |
//! | `dashboard` | requests of browsers |
//! | `mcp_client`, `acp_client`, `lsp`, `script_frames` | what programs that we start say to us: see [`peers`] |
//! | `outline` | source files that a model wants to see without reading them |
//! | `own_hooks`, `command_file` | hooks of agents, and commands that people type |
//! | `schema`, `values` | what a result must look like; times, amounts, dates and ids: see [`values`] |
//! | `engine_wire` | what drivers and workers of a cluster say to each other |
//! | `otlp` | events of tasks, as a collector is told them |
//! | `content` | skills and definitions of others, before anybody reads them |
//! | `tool_input` | what a model gives to tools, batches of tasks included |
//! | `web_address`, `web_search` | what a model wants to read of the web, and what it finds there |
//! | `provider_error`, `provider_models` | what providers say besides answers: see [`providers`] |
//! | `endpoint`, `endpoint_request` | clients of `model serve`: their HTTP, and what is asked in it |
//! | `cargo_metadata`, `git_output`, `keys` | what cargo and git print, and what is typed: see [`programs`] |
//! | `cache_file`, `receipt`, `kept` | small files that we write ourselves: see [`kept`] |
//! | `batch_file`, `assignment` | many tasks in a file, and changes of a definition by `KEY=VALUE` |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "test support: a failure here is a failed test"
)]

use agents_agent::definition::Dialect;
use agents_model::wire::Wire;
use agents_system::edit::Format;

pub mod agents;
pub mod calls;
pub mod commands;
pub mod content;
pub mod doors;
pub mod edits;
pub mod files;
pub mod kept;
pub mod peers;
pub mod plans;
pub mod programs;
pub mod providers;
pub mod records;
pub mod settings;
mod streams;
pub mod tools;
pub mod values;
pub mod web;
pub mod wires;

/// A target: its name, which is also that of its directory of seeds, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("json", |data| text(data, |text| edits::check(Format::Json, text))),
    ("toml", |data| text(data, |text| edits::check(Format::Toml, text))),
    ("yaml", |data| text(data, |text| edits::check(Format::Yaml, text))),
    ("markdown", |data| text(data, edits::check_markdown)),
    ("skill", |data| text(data, files::skill)),
    ("manifest", |data| text(data, files::manifest)),
    ("crate_metadata", |data| text(data, files::crate_metadata)),
    ("predicate", |data| text(data, files::predicate)),
    ("hosts", |data| text(data, files::hosts)),
    ("ledger", files::ledger),
    ("lockfile", |data| text(data, files::lockfile)),
    ("agent_ours", |data| agents::check(Dialect::Ours, data)),
    ("agent_claude", |data| agents::check(Dialect::Claude, data)),
    ("agent_zeph", |data| agents::check(Dialect::Zeph, data)),
    ("agent_oh_my_pi", |data| agents::check(Dialect::OhMyPi, data)),
    ("agent_agentsdk", |data| agents::check(Dialect::AgentSdk, data)),
    ("agent_codex", |data| agents::check(Dialect::Codex, data)),
    ("agent_copilot", |data| agents::check(Dialect::Copilot, data)),
    ("agent_gemini", |data| agents::check(Dialect::Gemini, data)),
    ("agent_opencode", |data| agents::check(Dialect::OpenCode, data)),
    ("agent_cursor", |data| agents::check(Dialect::Cursor, data)),
    ("agent_kiro", |data| agents::check(Dialect::Kiro, data)),
    ("agent_qwen", |data| agents::check(Dialect::Qwen, data)),
    ("agent_factory", |data| agents::check(Dialect::Factory, data)),
    ("shell", |data| text(data, commands::shell)),
    ("answer_messages", |data| wires::answer(Wire::Messages, data)),
    ("answer_chat", |data| wires::answer(Wire::Chat, data)),
    ("answer_responses", |data| wires::answer(Wire::Responses, data)),
    ("answer_gemini", |data| wires::answer(Wire::Gemini, data)),
    ("hook_input", wires::hook_input),
    ("hook_output", |data| text(data, wires::hook_output)),
    ("plan", |data| text(data, plans::plan)),
    ("script", |data| text(data, plans::script)),
    ("reference", |data| text(data, plans::reference)),
    ("config", |data| text(data, settings::config)),
    ("agents_lock", |data| text(data, records::agents_lock)),
    ("transcript", records::transcript),
    ("journal", records::journal),
    ("cargo_files", |data| text(data, files::cargo_files)),
    ("git_address", |data| text(data, files::git_address)),
    ("predicate_output", files::predicate_output),
    ("sse", wires::sse),
    ("request", |data| text(data, wires::request)),
    ("program_answer", |data| text(data, wires::program_answer)),
    ("edit_tool", |data| text(data, tools::edit_tool)),
    ("web_page", tools::web_page),
    ("rights", |data| text(data, tools::rights)),
    ("matcher", |data| text(data, tools::matcher)),
    ("mask", |data| text(data, tools::mask)),
    ("mcp_server", doors::mcp_server),
    ("mcp_http", doors::mcp_http),
    ("acp_server", doors::acp_server),
    ("dashboard", doors::dashboard),
    ("mcp_client", peers::mcp_client),
    ("acp_client", peers::acp_client),
    ("lsp", peers::lsp),
    ("script_frames", peers::script_frames),
    ("outline", |data| text(data, tools::outline)),
    ("own_hooks", agents::own_hooks),
    ("command_file", |data| text(data, agents::command_file)),
    ("schema", |data| text(data, values::schema)),
    ("values", |data| text(data, values::values)),
    ("engine_wire", records::engine_wire),
    ("otlp", |data| text(data, records::otlp)),
    ("content", |data| text(data, content::content)),
    ("web_address", |data| text(data, web::web_address)),
    ("web_search", web::web_search),
    ("tool_input", |data| text(data, calls::tool_input)),
    ("provider_error", providers::provider_error),
    ("provider_models", providers::provider_models),
    ("endpoint_request", |data| text(data, providers::endpoint_request)),
    ("endpoint", providers::endpoint),
    ("cargo_metadata", programs::cargo_metadata),
    ("git_output", programs::git_output),
    ("keys", programs::keys),
    ("cache_file", kept::cache_file),
    ("receipt", |data| text(data, kept::receipt)),
    ("kept", kept::kept),
    ("batch_file", |data| text(data, plans::batch_file)),
    ("assignment", |data| text(data, agents::assignment)),
];

/// Runs the target of that name.
pub fn run(target: &str, data: &[u8]) {
    let (_, check) = TARGETS.iter().find(|(name, _)| *name == target).expect("a known target");
    check(data);
}

/// Bytes that are not UTF-8 are refused before any of our parsers sees them.
fn text(data: &[u8], check: impl Fn(&str)) {
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
}
