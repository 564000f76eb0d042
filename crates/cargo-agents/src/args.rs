//! What can be typed.

mod acp;
mod agent;
#[cfg(test)]
mod book;
#[cfg(feature = "http")]
mod dashboard;
mod doctor;
mod examples;
mod later;
mod mcp;
mod model;
mod parse;
mod plan;
mod secret;
mod task;
mod tool_rule;
mod worker;

use std::ffi::OsString;

use agents_plugin::{config::Registration, manifest::Audience};
use camino::Utf8PathBuf;
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

pub(crate) use acp::AcpArgs;
pub(crate) use agent::{AgentCommand, EditAgentArgs, NewAgentArgs, UnpackArgs};
#[cfg(feature = "http")]
pub(crate) use dashboard::DashboardArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use examples::{as_typed, manual, typed_name, with_examples};
pub(crate) use later::Later;
pub(crate) use mcp::McpArgs;
pub(crate) use model::ModelCommand;
pub(crate) use parse::{overview, parse};
pub(crate) use plan::{
    DrawingFormat, Engine, PlanAddArgs, PlanAgainArgs, PlanCommand, PlanForkArgs, PlanManner,
    PlanNewArgs, PlanParams, PlanResumeArgs, PlanRunArgs, PlanShowArgs,
};
pub(crate) use secret::SecretCommand;
pub(crate) use task::{
    BatchArgs, Lasting, Manner, Mode, PageFormat, ResumeArgs, RunArgs, TaskCommand,
};
pub(crate) use tool_rule::{PLUGIN, tool_rule};
pub(crate) use worker::WorkerArgs;

/// Skills, hooks, tools and sub-agents from the crates in your workspace
#[derive(Debug, Parser)]
#[command(
    name = "cargo-agents",
    bin_name = "cargo agents",
    display_name = "cargo-agents",
    version,
    disable_help_flag = true,
    disable_help_subcommand = true,
    allow_external_subcommands = true
)]
pub(crate) struct Typed<C: Subcommand> {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(subcommand)]
    pub(crate) command: Option<C>,
}

pub(crate) type Args = Typed<Command>;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Flags {
    /// Print JSON: one document, or one event a line from commands that run tasks
    #[arg(long, global = true, display_order = 901)]
    pub(crate) json: bool,
    /// Print results and errors only
    #[arg(short, long, global = true, display_order = 902, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also print what is merely worth knowing
    #[arg(short, long, global = true, display_order = 903)]
    pub(crate) verbose: bool,
    /// Never use the network
    #[arg(long, global = true, display_order = 904)]
    pub(crate) offline: bool,
    /// Fail where `agents.lock` would change
    #[arg(long, global = true, display_order = 905)]
    pub(crate) locked: bool,
    /// The same, and never use the network
    #[arg(long, global = true, display_order = 906)]
    pub(crate) frozen: bool,
    /// How fresh git registries and installed tools must be
    #[arg(
        long,
        global = true,
        display_order = 907,
        value_enum,
        default_value_t,
        value_name = "LEVEL"
    )]
    pub(crate) update: UpdateLevel,
    /// When to use colours
    #[arg(
        long,
        global = true,
        display_order = 908,
        value_enum,
        default_value_t,
        value_name = "WHEN"
    )]
    pub(crate) color: ColorWhen,
    /// Print help
    #[arg(short, long, global = true, display_order = 909)]
    pub(crate) help: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UpdateLevel {
    /// Use what is there
    #[default]
    None,
    /// Ask whether there is something newer
    Check,
    /// Fetch everything again
    Fetch,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Choose the coding agents that you use
    Init(InitArgs),
    /// Bring your coding agents what this workspace's crates offer
    Sync {
        /// Only show what would be done
        #[arg(long, conflicts_with = "check")]
        dry_run: bool,
        /// Only check whether anything would be done; exit with 1 if so
        #[arg(long)]
        check: bool,
        /// Also replace what was edited after we wrote it
        #[arg(long)]
        overwrite: bool,
        /// Refuse content that nobody has reviewed, see `audit record`
        #[arg(long)]
        require_audit: bool,
    },
    /// Show what `sync` would change, line by line
    Diff {
        /// Only this skill, agent or MCP server, or `events` for hooks
        name: Option<String>,
    },
    /// Show what changed in the crates whose plugins you use, and accept it
    Update {
        /// Only this skill, plugin or crate
        name: Option<String>,
        /// Only show it
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Accept it without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// See everything that is active here: who it is from, what it may do, and who has reviewed it
    Audit {
        /// Print a CycloneDX document
        #[arg(long)]
        sbom: bool,
        #[command(subcommand)]
        command: Option<Later<AuditCommand>>,
    },
    /// What is active here and why, and whether your coding agents have it
    Status,
    /// Turn a plugin on, here or everywhere
    Use {
        /// The plugin, or the crate that embeds it
        name: String,
        /// In every workspace
        #[arg(long)]
        global: bool,
        /// Undo an earlier `use`
        #[arg(long)]
        remove: bool,
    },
    /// Turn a plugin off, whatever turns it on
    Disable {
        /// The plugin, or the crate that embeds it
        name: String,
        /// Undo an earlier `disable`
        #[arg(long)]
        remove: bool,
    },
    /// Find plugins in your registries, in the crates of this workspace and on crates.io
    Search {
        /// A part of a name or of a description
        query: String,
    },
    /// Install the newest version of this program
    SelfUpdate,
    /// Take back everything that `sync` ever wrote
    Uninstall {
        /// Also remove what was edited after we wrote it
        #[arg(long)]
        overwrite: bool,
        /// Also remove your configuration, transcripts, journals, notes and the cache
        #[arg(long)]
        purge: bool,
        /// Do not ask before purging
        #[arg(long, requires = "purge")]
        yes: bool,
        /// Only show what would be taken back
        #[arg(long)]
        dry_run: bool,
    },
    /// Find out what is wrong on this machine, and what to do about it
    Doctor(DoctorArgs),
    /// See which coding agents are known, and where their files are
    Host {
        #[command(subcommand)]
        command: Later<HostCommand>,
    },
    /// See the effective settings, and where they come from
    Config {
        #[command(subcommand)]
        command: Later<ConfigCommand>,
    },
    /// See, check and fetch plugins
    Plugin {
        #[command(subcommand)]
        command: Later<PluginCommand>,
    },
    /// See, check, write and unpack agents, wherever they come from
    Agent {
        #[command(subcommand)]
        command: Later<AgentCommand>,
    },
    /// See which models there are, test them, and find out which one an agent runs on
    Model {
        #[command(subcommand)]
        command: Later<ModelCommand>,
    },
    /// See which secrets agents may be given, and where they come from
    Secret {
        #[command(subcommand)]
        command: Later<SecretCommand>,
    },
    /// Run a sub-agent, or many of them
    Task {
        #[command(subcommand)]
        command: Later<TaskCommand>,
    },
    /// Run a graph of sub-agents that survives crashes, and see what became of it
    Plan {
        #[command(subcommand)]
        command: Later<PlanCommand>,
    },
    /// Offer sub-agents, skills and the MCP servers of plugins to coding agents, as one MCP server
    #[command(
        after_help = "A coding agent starts it and talks to it over standard input and output:
  claude mcp add cargo-agents -- cargo agents mcp
  codex mcp add cargo-agents -- cargo agents mcp --mode accept-edits

What sub-agents may do without asking is set here, and callers cannot widen it."
    )]
    Mcp(McpArgs),
    /// See tasks, plans, questions and plugins in your browser, and answer questions there
    #[cfg(feature = "http")]
    #[command(
        after_help = "Only this machine can reach it, and only with its address, which is new each time."
    )]
    Dashboard(DashboardArgs),
    /// Run tasks of plans for a Restate cluster, until Ctrl-C (needs the feature `restate`)
    #[command(
        after_help = "Model keys are those of this machine and stay here. `[engine.restate]` in the configuration says where the server is."
    )]
    Worker(WorkerArgs),
    /// Be a coding agent in an editor that speaks the Agent Client Protocol
    #[command(
        after_help = "An editor starts it and talks to it over standard input and output. In Zed's settings.json:
  \"agent_servers\": { \"cargo-agents\": { \"command\": \"cargo\", \"args\": [\"agents\", \"acp\"] } }"
    )]
    Acp(AcpArgs),
    /// See the workflow commands of your coding agents
    #[command(name = "command")]
    Workflow {
        #[command(subcommand)]
        command: Later<WorkflowCommand>,
    },
    /// See what hooks do when a coding agent calls them
    // Hosts call it; among the commands for people it would only be in the way.
    #[command(hide = true)]
    Hook {
        #[command(subcommand)]
        command: Option<Later<HookCommand>>,
    },
    /// See what an error means and how to fix it, by its code
    Explain {
        /// As it is printed: `E0042`, or a finding of `doctor` such as `config-broken`; all by default
        code: Option<String>,
    },
    /// Read or install the manual pages
    #[command(
        after_help = "A page is printed as it is (roff), with `--json`, too; `--dir DIR --json` lists what was written."
    )]
    Man {
        /// Write the pages of all commands into this directory
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        dir: Option<Utf8PathBuf>,
        /// The command that the page is about, as `task run`
        command: Vec<String>,
    },
    /// Print a completion script for a shell
    #[command(after_help = "The script is printed as it is, with `--json`, too.
In bash and fish it also completes `cargo agents`, if they read it when they start; in zsh, cargo's own completion leads to it.")]
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// See what this program does, in a throw-away sample workspace
    Tour {
        /// Leave the sample workspace and its home in this directory
        #[arg(long, value_name = "DIR")]
        keep: Option<Utf8PathBuf>,
    },
    /// Find a crate's sources, at the version this workspace uses
    #[command(
        name = "__crate-info",
        override_usage = "cargo agents crate-info [OPTIONS] <NAME>",
        hide = true
    )]
    CrateInfo(WantedCrate),
    /// A command that a plugin brings
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Add this one
    #[arg(long, value_name = "HOST")]
    pub(crate) add_agent: Vec<String>,
    /// Remove this one; the next `sync` takes back what it had
    #[arg(long, value_name = "HOST")]
    pub(crate) remove_agent: Vec<String>,
    /// Where hooks and MCP servers are registered
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) hook_scope: Option<HookScope>,
    /// Ask nothing: keep those that are configured, or take those that are installed
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookScope {
    /// In your own files
    Global,
    /// In the workspace
    Project,
}

impl From<HookScope> for Registration {
    fn from(scope: HookScope) -> Self {
        match scope {
            HookScope::Global => Self::User,
            HookScope::Project => Self::Project,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Record that you have reviewed something as it is now
    Record {
        /// The skill or the plugin
        name: String,
        /// What you found
        #[arg(long, value_name = "TEXT")]
        note: String,
        /// Keep the record in your configuration, not in the workspace
        #[arg(long)]
        user: bool,
    },
    /// Import somebody else's records
    Import {
        /// A file, or the address of a git repository with an `agents-audits.toml`
        from: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every effective setting, as a configuration file
    Show {
        /// Show where each one comes from
        #[arg(long)]
        origin: bool,
    },
    /// Print where the configuration file is
    Path,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// List the coding agents that are known
    List,
    /// Show where the files of one are
    Show {
        /// Which one
        host: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Call the hooks as a coding agent would, and show every step
    Test {
        /// The coding agent
        host: String,
        /// The event, as `pre-tool-use`
        event: String,
        /// What the coding agent sends, as JSON in its own format; standard input by default
        #[arg(long, value_name = "FILE")]
        input: Option<Utf8PathBuf>,
        /// Append what happened to this file, one line of JSON per call
        #[arg(long, value_name = "FILE")]
        record: Option<Utf8PathBuf>,
    },
    /// Repeat recorded calls, and exit with 1 if an answer differs
    Replay {
        /// What `hook test --record` or `CARGO_AGENTS_HOOK_TRACE` wrote
        file: Utf8PathBuf,
    },
    /// Show what a coding agent tells hooks and what it can be told
    Explain {
        /// The coding agent
        host: String,
        /// Only this event
        event: Option<String>,
    },
    /// A coding agent's own call: its name and the event
    #[command(external_subcommand)]
    Called(Vec<String>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List all commands, and where each comes from
    List,
    /// Print what a command tells an agent
    Show {
        /// The command
        command: String,
        /// What would be typed after it
        #[arg(trailing_var_arg = true)]
        input: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct WantedCrate {
    /// The crate
    pub(crate) name: String,
    /// A version requirement as in `Cargo.toml`; by default, the version that the workspace uses
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) version: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List registries and their plugins, and which of them are active here
    List,
    /// Print a plugin's manifest
    Show {
        /// The plugin
        plugin: String,
    },
    /// Say why a plugin is active here, or why not
    Explain {
        /// The plugin
        plugin: String,
    },
    /// Check a manifest, a plugin's directory or a whole registry
    Validate {
        /// A `SYMPOSIUM.toml`, a `SKILL.md`, a `Cargo.toml` or a directory
        path: Utf8PathBuf,
        /// Also ask cargo whether the crates that are named exist
        #[arg(long, overrides_with = "no_check_crates")]
        check_crates: bool,
        /// Do not ask cargo (the default)
        #[arg(long)]
        no_check_crates: bool,
    },
    /// Fetch git registries, and what plugins need to decide whether they apply
    Sync {
        /// Only this registry
        registry: Option<String>,
    },
    /// See and clean up what was installed for plugins
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List installed tools and checkouts
    List,
    /// Remove what is superseded or half-finished
    Prune {
        /// Remove everything, even what is in use
        #[arg(long)]
        all: bool,
        /// Also remove what has not been used for this many days
        #[arg(long, value_name = "DAYS", conflicts_with = "all")]
        unused_for: Option<u32>,
        /// Only show what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

/// In which section of the help a built-in command stands; `None` keeps it out of sight.
pub(crate) fn builtin_audience(name: &str) -> Option<Audience> {
    match name {
        #[cfg(feature = "http")]
        "dashboard" => Some(Audience::Humans),
        "acp" | "agent" | "audit" | "command" | "completions" | "config" | "diff" | "disable"
        | "doctor" | "explain" | "host" | "init" | "man" | "mcp" | "model" | "plan" | "plugin"
        | "search" | "secret" | "self-update" | "status" | "sync" | "task" | "tour"
        | "uninstall" | "update" | "use" | "worker" => Some(Audience::Humans),
        _ => None,
    }
}

/// Whether it is a built-in command, also one that is out of sight.
fn is_built_in(name: &str) -> bool {
    builtin_audience(name).is_some() || matches!(name, "hook" | "__crate-info")
}

/// `cargo agents …` starts us as `cargo-agents agents …`.
pub(crate) fn without_cargo(mut argv: Vec<OsString>) -> Vec<OsString> {
    if argv.get(1).is_some_and(|first| first == "agents") {
        argv.remove(1);
    }
    argv
}

/// How to talk about a command line that cannot be understood as a whole: what was clearly typed counts.
pub(crate) fn flags_of(argv: &[OsString]) -> Flags {
    let words: Vec<&str> = argv.iter().filter_map(|word| word.to_str()).collect();
    let has = |flag: &str| words.contains(&flag);
    let color =
        words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--color") {
            Some("") => words.get(at + 1).copied(),
            Some(value) => value.strip_prefix('='),
            None => None,
        });
    let color = color.and_then(|when| ColorWhen::from_str(when, false).ok()).unwrap_or_default();
    Flags { json: has("--json"), quiet: has("-q") || has("--quiet"), color, ..Flags::default() }
}

/// The whole grammar, ready to render help.
pub(crate) fn grammar() -> clap::Command {
    let mut command = Args::command();
    command.build();
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents_plugin::manifest::RESERVED;

    #[test]
    fn clap_finds_no_fault() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_built_in_name_is_reserved() {
        for command in Args::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            assert!(RESERVED.contains(&command.get_name()), "{}", command.get_name());
        }
    }

    #[test]
    fn what_is_built_in_is_known_without_the_grammar() {
        let grammar = Args::command();
        let known: Vec<&str> = grammar.get_subcommands().map(clap::Command::get_name).collect();
        assert!(known.iter().all(|it| is_built_in(it)));
        assert!(RESERVED.iter().all(|it| !is_built_in(it) || known.contains(it)));
    }

    #[test]
    fn every_visible_built_in_has_an_audience() {
        for command in Args::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            assert!(builtin_audience(command.get_name()).is_some(), "{}", command.get_name());
        }
    }

    #[test]
    fn flags_survive_a_command_line_that_does_not_parse() {
        let argv = ["cargo-agents", "--json", "--nonsense", "--color", "never"];
        let flags = flags_of(&argv.map(OsString::from));
        assert_eq!((flags.json, flags.quiet, flags.color), (true, false, ColorWhen::Never));
    }
}
