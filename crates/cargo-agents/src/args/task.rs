//! `cargo agents task …`

use std::{str::FromStr, time::Duration};

use agents_agent::definition::PermissionMode;
use agents_model::cost::MicroDollars;
use agents_system::span;
use camino::Utf8PathBuf;
use clap::{Subcommand, ValueEnum};

use super::{agent::NamedAgents, tool_rule};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Give an agent something to do, watch it, and get its result
    #[command(
        allow_missing_positional = true,
        after_help = "The exit code is 0 if the task completed, 1 if it failed or ran out of something, 3 if a rule forbade it,
4 if the model could not be reached, 130 if it was cancelled."
    )]
    Run(RunArgs),
    /// Give agents many things to do, as many at a time as you like
    #[command(after_help = "The file is TOML, YAML or JSON:

  agent = \"explore\"                 # of every task that names none
  context = \"the crate is new\"      # for all of them
  [[tasks]]
  name = \"errors\"
  prompt = \"where are errors made?\"

A task may also say `agent`, `schema`, `tools`, `model`, `isolated`, `done-when`, `max-turns`, `max-time` and `max-cost`.
All of them start, or none. Results are in the order of the file.")]
    Batch(BatchArgs),
    /// List tasks that ran or run, the newest first
    List {
        /// How many to list at most
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        most: usize,
    },
    /// Read what a task did: its turns, tools and cost
    Show {
        /// Its id or a unique part of it, or `last`
        id: String,
        /// How it is written
        #[arg(long, value_enum, default_value_t = PageFormat::Text)]
        format: PageFormat,
        /// Write to this file instead of standard output; not with `--json`
        #[arg(short, long, value_name = "FILE")]
        output: Option<Utf8PathBuf>,
    },
    /// Print the transcript of a task, one record of JSON a line
    Logs {
        /// Its id or a unique part of it, or `last`
        id: String,
        /// Keep printing while it runs
        #[arg(short, long)]
        follow: bool,
    },
    /// Watch a task that runs in the background, from its beginning, and answer its questions
    ///
    /// When it has ended, its result is printed as `task run` does. Ctrl-C stops watching; the task keeps running.
    Attach {
        /// The beginning of its id
        id: String,
    },
    /// Wait until tasks have ended
    ///
    /// The exit code is 0 if all of them completed, and otherwise that of `task run` for the worst of them.
    Wait {
        /// The beginnings of their ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Wait until a task has ended, and print its result as `task run` does
    Collect {
        /// The beginning of its id
        id: String,
    },
    /// End a task that runs in the background, with everything that it started
    Cancel {
        /// The beginnings of their ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// List the unanswered questions of background tasks
    Asks,
    /// Say yes to a question of a background task
    Approve {
        /// The question, as `task asks` shows it
        ask: String,
        /// How long the answer holds
        #[arg(long = "for", value_enum, value_name = "HOW-LONG", default_value_t = Lasting::Once)]
        lasting: Lasting,
    },
    /// Say no to a question of a background task
    Deny {
        /// The question, as `task asks` shows it
        ask: String,
    },
    /// Show the process that looks after background tasks, or end it
    Supervisor {
        /// End it, if nothing runs
        #[arg(long)]
        stop: bool,
        /// Cancel what runs first
        #[arg(long, requires = "stop")]
        cancel: bool,
    },
    /// Continue a task that has ended or was killed
    Resume(ResumeArgs),
    /// Clean up after tasks that were killed; their work is saved to branches first
    Gc {
        /// Only what is older, such as `2h` or `7d`
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
        older_than: Duration,
        /// Only show what would be done
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Who does it; by default, the agent that fits best
    pub(crate) agent: Option<String>,
    /// What is to be done; `-` reads it from standard input
    pub(crate) prompt: String,
    /// What the result must look like: a JSON Schema, or a file that holds one
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) schema: Option<String>,
    /// Additional context: a text, or `@` and a file
    #[arg(long, value_name = "TEXT")]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BatchArgs {
    /// The file; `-` for standard input
    pub(crate) file: Utf8PathBuf,
    /// How many run at the same time
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<usize>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// Its id or a unique part of it, or `last`
    pub(crate) id: String,
    /// What is to be done now; `-` reads it from standard input
    #[arg(default_value = "Go on where you stopped.")]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) manner: Manner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

impl RunArgs {
    /// Whether what is to be done stands on standard input.
    pub(crate) fn reads_input(&self) -> bool {
        self.prompt == "-"
    }
}

impl BatchArgs {
    /// The same.
    pub(crate) fn reads_input(&self) -> bool {
        self.file == "-"
    }
}

impl ResumeArgs {
    /// The same.
    pub(crate) fn reads_input(&self) -> bool {
        self.prompt == "-"
    }
}

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lasting {
    /// This time
    Once,
    /// Whenever this task asks for it
    Task,
    /// Whenever any task that was started with it asks for it
    Tree,
}

/// How a transcript is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// For a terminal
    Text,
    /// For a page or a ticket
    Markdown,
    /// For a browser, in one file
    Html,
}

/// How tasks are run.
#[derive(Debug, clap::Args)]
pub(crate) struct Manner {
    /// Only these of the tools it would have
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', value_parser = tool_rule)]
    pub(crate) tools: Vec<String>,
    /// Acceptable models, best first
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub(crate) model: Vec<String>,
    /// What it may do without asking
    #[arg(long, value_enum, value_name = "MODE", conflicts_with = "plan")]
    pub(crate) mode: Option<Mode>,
    /// Only look and plan: change nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// Let it do this without asking, such as `edit` or `bash(cargo *)`
    #[arg(long, value_name = "TOOL", value_parser = tool_rule)]
    pub(crate) allow: Vec<String>,
    /// Give it this secret without asking, if its definition lists it
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    /// Work in its own git worktree; the changes come back when the task completes
    #[arg(long)]
    pub(crate) isolated: bool,
    /// Include changes that are not committed
    #[arg(long, requires = "isolated")]
    pub(crate) dirty: bool,
    /// Leave the changes on a branch instead
    #[arg(long, requires = "isolated")]
    pub(crate) on_branch: bool,
    /// A command that must succeed before it is done
    #[arg(long, value_name = "COMMAND")]
    pub(crate) done_when: Vec<String>,
    /// The maximum number of model calls
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    /// The time limit, such as `90s` or `10m`
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) max_time: Option<Duration>,
    /// The cost limit, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<MicroDollars>,
    /// Print its id and return; see `task attach`, `wait`, `collect` and `cancel`
    #[arg(long)]
    pub(crate) background: bool,
}

/// The permission modes that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Look; ask before anything else
    Default,
    /// Edit files in the workspace; ask before anything else
    AcceptEdits,
    /// Look, do what `--allow` says, and refuse the rest
    DontAsk,
    /// Look, and change nothing
    Plan,
    /// Everything, if `tasks.allow-bypass-permissions` is set
    BypassPermissions,
}

impl From<Mode> for PermissionMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Default => Self::Default,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::DontAsk => Self::DontAsk,
            Mode::Plan => Self::Plan,
            Mode::BypassPermissions => Self::BypassPermissions,
        }
    }
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time = span::parse(text.trim(), Duration::from_secs(1));
    time.ok_or_else(|| "a time is `90s`, `10m` or `2h`".to_owned())
}

fn dollars(text: &str) -> Result<MicroDollars, String> {
    MicroDollars::parse(text).ok_or_else(|| "an amount is `0.50` or `2`".to_owned())
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        <Self as ValueEnum>::from_str(text, false)
    }
}
