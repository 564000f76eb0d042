//! Every target, and what must hold for it.

use agents_agent::definition::Dialect;
use agents_model::wire::Wire;
use agents_system::edit::Format;

use crate::{
    agents, calls, choices, commands, content, doors, edits, files, hooks, kept, peers, plans,
    probes, programs, providers, records, settings, tools, values, web, wires,
};

/// What is run on any bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its directory of seeds.
    pub name: &'static str,
    /// What must hold, in a sentence: the page of the book shows it.
    pub holds: &'static str,
    /// Panics if it does not.
    pub check: fn(&[u8]),
}

const fn target(name: &'static str, holds: &'static str, check: fn(&[u8])) -> Target {
    Target { name, holds, check }
}

const DIALECT: &str = "the same in another dialect";
const WIRE: &str = "the same in another wire format";

/// All of them.
pub const TARGETS: &[Target] = &[
    target(
        "json",
        "settings of a host are edited as asked or left alone; the second time changes nothing, and taking it back gives the original bytes",
        |data| text(data, |text| edits::check(Format::Json, text)),
    ),
    target("toml", "the same in TOML", |data| text(data, |text| edits::check(Format::Toml, text))),
    target("yaml", "the same in YAML", |data| text(data, |text| edits::check(Format::Yaml, text))),
    target(
        "markdown",
        "a block of ours in `AGENTS.md` is written once, and taking it back gives the original bytes",
        |data| text(data, edits::check_markdown),
    ),
    target(
        "skill",
        "a `SKILL.md` has a header or a finding says why not; its name leads nowhere else; alone in a registry it is a plugin",
        |data| text(data, files::skill),
    ),
    target(
        "manifest",
        "a `SYMPOSIUM.toml` is a plugin or a finding says where it is wrong; its gates mean what they print",
        |data| text(data, files::manifest),
    ),
    target(
        "crate_metadata",
        "the same for `[package.metadata.symposium]` of any `Cargo.toml`",
        |data| text(data, files::crate_metadata),
    ),
    target(
        "predicate",
        "`crates` and `predicates` are understood as they are printed, or refused with a hint",
        |data| text(data, files::predicate),
    ),
    target("hosts", "every host survives the user's `hosts.toml`", |data| {
        text(data, files::hosts);
    }),
    target("ledger", "a ledger that can be read is written again without a loss", files::ledger),
    target(
        "lockfile",
        "a `Cargo.lock` that our own reader understands is what a TOML parser reads",
        |data| text(data, files::lockfile),
    ),
    target(
        "agent_ours",
        "a file is a definition or a finding says why not; every other dialect reads what we write in it as the writer said; changing nothing changes no byte",
        |data| agents::check(Dialect::Ours, data),
    ),
    target("agent_claude", DIALECT, |data| agents::check(Dialect::Claude, data)),
    target("agent_zeph", DIALECT, |data| agents::check(Dialect::Zeph, data)),
    target("agent_oh_my_pi", DIALECT, |data| agents::check(Dialect::OhMyPi, data)),
    target("agent_agentsdk", DIALECT, |data| agents::check(Dialect::AgentSdk, data)),
    target("agent_codex", DIALECT, |data| agents::check(Dialect::Codex, data)),
    target("agent_copilot", DIALECT, |data| agents::check(Dialect::Copilot, data)),
    target("agent_gemini", DIALECT, |data| agents::check(Dialect::Gemini, data)),
    target("agent_opencode", DIALECT, |data| agents::check(Dialect::OpenCode, data)),
    target("agent_cursor", DIALECT, |data| agents::check(Dialect::Cursor, data)),
    target("agent_kiro", DIALECT, |data| agents::check(Dialect::Kiro, data)),
    target("agent_qwen", DIALECT, |data| agents::check(Dialect::Qwen, data)),
    target("agent_factory", DIALECT, |data| agents::check(Dialect::Factory, data)),
    target(
        "shell",
        "a command that `bash(cargo *)` allows names no other program; two rules together allow what both do",
        |data| text(data, commands::shell),
    ),
    target(
        "answer_messages",
        "the answer of a model is the same events wherever it is cut, and no more is kept of it than was agreed",
        |data| wires::answer(Wire::Messages, data),
    ),
    target("answer_chat", WIRE, |data| wires::answer(Wire::Chat, data)),
    target("answer_responses", WIRE, |data| wires::answer(Wire::Responses, data)),
    target("answer_gemini", WIRE, |data| wires::answer(Wire::Gemini, data)),
    target(
        "hook_input",
        "whatever one host tells means the same to handlers of all others and to our own, but for what they cannot be told; Claude Code is not taken for Copilot",
        hooks::hook_input,
    ),
    target(
        "hook_output",
        "a denial in any format is one in all others, or it is said that it cannot be; nobody says yes for whom nobody did",
        hooks::hook_output,
    ),
    target(
        "plan",
        "a plan in each format is read or a finding says where it is wrong; one that is sound can be laid out, and kept as it is",
        |data| text(data, plans::plan),
    ),
    target("script", "a script of a model is read or refused in words", |data| {
        text(data, plans::script);
    }),
    target(
        "reference",
        "references and conditions of plans are understood as they are printed, and point into the text",
        |data| text(data, plans::reference),
    ),
    target(
        "config",
        "every room reads its tables of `config.toml` or says where they are wrong, and shows no secret",
        |data| text(data, settings::config),
    ),
    target(
        "telemetry",
        "variables for OpenTelemetry: a value is what it decodes to, a trace is one only as W3C writes it, and no header is shown",
        |data| text(data, settings::telemetry),
    ),
    target(
        "agents_lock",
        "`agents.lock` and records of audits are written again without a loss, also out of a conflict that git left",
        |data| text(data, records::agents_lock),
    ),
    target(
        "transcript",
        "a transcript of any bytes can be read, followed in pieces and shown, and nothing in it becomes a part of the page",
        records::transcript,
    ),
    target("journal", "events and graphs of a journal are kept as they are", records::journal),
    target(
        "cargo_files",
        "`Cargo.toml`, `.cargo/config.toml` and `Cargo.lock` are a workspace, none, or a reason to ask cargo",
        |data| text(data, files::cargo_files),
    ),
    target(
        "git_address",
        "an address of a repository is no option of git, runs no program and shows no password",
        |data| text(data, files::git_address),
    ),
    target(
        "predicate_output",
        "what a program that is a predicate prints is understood or refused in words",
        files::predicate_output,
    ),
    target(
        "sse",
        "a stream of events is the same wherever it is cut, and no more is kept of it than was agreed",
        wires::sse,
    ),
    target(
        "request",
        "a conversation survives every wire format, and so does what is answered in it",
        |data| text(data, wires::request),
    ),
    target("program_answer", "what hosts and ACP agents print as an answer begins once", |data| {
        text(data, wires::program_answer);
    }),
    target(
        "edit_tool",
        "all edits of a model are made or none, and the text does not grow without an end",
        |data| text(data, tools::edit_tool),
    ),
    target("web_page", "the text of a page is no longer than the page", tools::web_page),
    target(
        "rights",
        "two lists of rules together allow what both do, and taking one away allows no more",
        |data| text(data, tools::rights),
    ),
    target(
        "matcher",
        "a pattern for tools is understood or refused in words, for each host",
        |data| {
            text(data, tools::matcher);
        },
    ),
    target("mask", "no secret is in what is shown, however it is cut", |data| {
        text(data, tools::mask);
    }),
    target(
        "mcp_server",
        "our MCP server answers each request once, with its id, wherever what it is told is cut, and ends when nobody is there",
        doors::mcp_server,
    ),
    target(
        "notes_server",
        "the MCP server of a probe answers each request once, with its id, whatever else it is told",
        probes::notes_server,
    ),
    target(
        "mcp_http",
        "over HTTP it answers with messages that were asked for, and never with an error of its own",
        doors::mcp_http,
    ),
    target("acp_server", "the same for an editor and our ACP agent", doors::acp_server),
    target(
        "dashboard",
        "a browser is shown nothing without the token, and does nothing without saying where it comes from",
        doors::dashboard,
    ),
    target(
        "mcp_client",
        "tools of a server can be shown to models, and what it answers is the same wherever it is cut",
        peers::mcp_client,
    ),
    target(
        "acp_client",
        "what an agent says begins once and ends once; one that may only read is asked nothing before it does no more",
        peers::acp_client,
    ),
    target(
        "lsp",
        "answers of a language server are the same wherever they are cut, and can be shown",
        peers::lsp,
    ),
    target(
        "script_frames",
        "an interpreter that somebody has taken over makes no more calls than a script may, and its end is told in bounded words",
        peers::script_frames,
    ),
    target("outline", "an outline of a file has lines that are there, none of them long", |data| {
        text(data, tools::outline);
    }),
    target(
        "own_hooks",
        "hooks of a definition are understood or a finding says why not, in every dialect",
        agents::own_hooks,
    ),
    target(
        "command_file",
        "a command that people type is one or a finding says why not, and what is typed after it stands where it belongs",
        |data| text(data, agents::command_file),
    ),
    target(
        "schema",
        "a result fits its schema, or what is wrong is told in bounded words",
        |data| text(data, values::schema),
    ),
    target(
        "values",
        "times, amounts, dates and ids are written as they are understood, and what becomes a file is in its directory",
        |data| text(data, values::values),
    ),
    target(
        "model_choice",
        "what is chosen is a model that there is, for a reason that is told; otherwise it is said why none is",
        |data| text(data, choices::model_choice),
    ),
    target(
        "evidence",
        "each claim of a result is judged once, and none of them by a file outside of the workspace",
        |data| text(data, choices::evidence),
    ),
    target(
        "engine_wire",
        "what drivers and workers of a cluster say is kept as it is, and names nothing outside of a worker's directories",
        records::engine_wire,
    ),
    target("otlp", "whatever tasks tell is OTLP/JSON to a collector", |data| {
        text(data, records::otlp);
    }),
    target("content", "nothing that is hidden in a text stays hidden", |data| {
        text(data, content::content);
    }),
    target(
        "web_address",
        "a model reads only hosts that it may, and no machine of ours is taken for one of the public network",
        |data| text(data, web::web_address),
    ),
    target(
        "web_search",
        "no more results than were asked for, in bounded words without lines",
        web::web_search,
    ),
    target(
        "tool_input",
        "what is judged is what is called, nothing outside of the workspace is seen, and tasks have ids of their own",
        |data| text(data, calls::tool_input),
    ),
    target(
        "provider_error",
        "an error of a provider is told on one bounded line that steers no terminal",
        providers::provider_error,
    ),
    target(
        "provider_models",
        "a list of models has those that are in it, in its order, or why it is none",
        providers::provider_models,
    ),
    target(
        "endpoint_request",
        "what is read of a request to `model serve` is in it, and no more than that",
        |data| text(data, providers::endpoint_request),
    ),
    target(
        "endpoint",
        "each request to `model serve` is answered once, wherever it is cut; what is none is refused",
        providers::endpoint,
    ),
    target(
        "cargo_metadata",
        "what cargo prints is in order, with edges only between members, and the same after it was kept",
        programs::cargo_metadata,
    ),
    target(
        "git_output",
        "what git prints has no file without a name, and submodules whose commit is one word",
        programs::git_output,
    ),
    target(
        "keys",
        "the same keys come wherever what is typed is cut, and whoever wants it to end is heard",
        programs::keys,
    ),
    target(
        "cache_file",
        "bytes that we did not seal are no cache, and what is sealed is the same after it was stored again",
        kept::cache_file,
    ),
    target(
        "receipt",
        "what says what was installed names nothing but what is in its own place",
        |data| text(data, kept::receipt),
    ),
    target(
        "kept",
        "what is kept of tasks, worktrees and conversations is believed only if it is about what it is kept for",
        kept::kept,
    ),
    target(
        "batch_file",
        "a batch has its tasks in their order, each with what it says itself before what all of them say",
        |data| text(data, plans::batch_file),
    ),
    target(
        "assignment",
        "changes of a definition are all made or none, and twice the same is once",
        |data| text(data, agents::assignment),
    ),
];

/// Runs the target of that name.
pub fn run(target: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|it| it.name == target);
    (target.expect("a known target").check)(data);
}

/// Bytes that are not UTF-8 are refused before any of our parsers sees them.
fn text(data: &[u8], check: impl Fn(&str)) {
    if let Ok(text) = std::str::from_utf8(data) {
        check(text);
    }
}
