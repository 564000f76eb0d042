//! `cargo agents plan …`

use std::{num::NonZeroU32, time::Duration};

use agents_plan::{engine::Recall, event::Answer};
use agents_task::workplace::Settle;
use camino::Utf8PathBuf;
use clap::{Subcommand, ValueEnum};

use super::{
    agent::NamedAgents,
    task::{Mode, time},
    tool_rule,
};

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Find everything that is wrong with a plan, before anything runs
    Check {
        /// The plan: TOML, YAML or JSON
        file: Utf8PathBuf,
        #[command(flatten)]
        named: NamedAgents,
    },
    /// Have the agent `plan` draft a plan, and look at it before anything runs
    #[command(
        after_help = "The agent only looks. On a terminal you are asked whether to run what it hands in; anywhere else nothing is run."
    )]
    New(PlanNewArgs),
    /// Draw a plan, or a run of one
    Show(PlanShowArgs),
    /// Run a plan, watch it, and get its results
    #[command(
        after_help = "Ctrl-C leaves the run as it is; `plan resume` continues it, after a crash too.

The exit code is 0 if everything completed, 1 if something did not, 2 if the plan is wrong, 130 if it was interrupted or cancelled."
    )]
    Run(PlanRunArgs),
    /// Continue a run that was interrupted, suspended, paused or killed
    Resume(PlanResumeArgs),
    /// Rerun what did not complete in a run that has ended
    Retry(PlanAgainArgs),
    /// Start a new run with the results of another one
    Fork(PlanForkArgs),
    /// Add tasks to a run, even while it runs: those that the plan did not have when the run began
    Add(PlanAddArgs),
    /// List runs, the newest first
    List {
        /// How many to list at most
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        most: usize,
    },
    /// Print what happened in a run, event by event
    Logs {
        /// The run, or a unique part of its name, or `last`
        run: String,
        /// Wait for more, until the run has ended or nobody drives it
        #[arg(short, long)]
        follow: bool,
    },
    /// Look for damage in the journals of runs
    CheckJournal {
        /// The run, or a unique part of its name, or `last`; all runs by default
        run: Option<String>,
    },
    /// Start nothing more in a run; running tasks continue
    Pause {
        /// The run, or a unique part of its name, or `last`
        run: String,
    },
    /// Stop a run for good, or one task of it
    Cancel {
        /// The run, or a unique part of its name, or `last`
        run: String,
        /// Only this task
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
    },
    /// Remove old runs that have ended
    Gc {
        /// Only runs in which nothing has happened for this long
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "14d")]
        older_than: Duration,
        /// How many of the newest to keep in any case
        #[arg(long, value_name = "N", default_value_t = 50)]
        keep: usize,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanNewArgs {
    /// What is to be done
    pub(crate) goal: String,
    /// Write it to this file, and run nothing
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) manner: PlanManner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanShowArgs {
    /// The file of a plan, or a run: a unique part of its name, or `last`
    #[arg(value_name = "FILE|RUN")]
    pub(crate) what: String,
    /// A run as it was after this many events
    #[arg(long, value_name = "N")]
    pub(crate) at: Option<u64>,
    /// How it is drawn
    #[arg(long, value_enum, default_value_t = DrawingFormat::Text)]
    pub(crate) format: DrawingFormat,
    /// Write to this file instead of standard output; not with `--json`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) params: PlanParams,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

/// How a graph is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawingFormat {
    /// For a terminal
    Text,
    /// For a page that draws it
    Mermaid,
    /// For a browser
    Svg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanParams {
    /// The value of a parameter
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param)]
    pub(crate) params: Vec<(String, String)>,
}

impl PlanParams {
    /// Nothing is said.
    pub(crate) fn none() -> Self {
        Self { params: Vec::new() }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanRunArgs {
    /// The plan: TOML, YAML or JSON
    pub(crate) file: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) params: PlanParams,
    /// How many tasks run at the same time, instead of what the plan says
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<NonZeroU32>,
    #[command(flatten)]
    pub(crate) manner: PlanManner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanResumeArgs {
    /// The run, or a unique part of its name, or `last`
    pub(crate) run: String,
    /// What to do about a task that failed and asks: `retry`, `skip-dependents`, `continue` or `abort`
    #[arg(long = "answer", value_name = "TASK=ANSWER", value_parser = answer)]
    pub(crate) answers: Vec<(String, Answer)>,
    #[command(flatten)]
    pub(crate) manner: PlanManner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanAgainArgs {
    /// The run, or a unique part of its name, or `last`
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) manner: PlanManner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanForkArgs {
    /// The run, or a unique part of its name, or `last`
    pub(crate) run: String,
    /// Rerun this, and everything after it
    #[arg(long, value_name = "TASK")]
    pub(crate) from: Vec<String>,
    /// The plan as it is now: what does the same as before keeps its result
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) params: PlanParams,
    #[command(flatten)]
    pub(crate) manner: PlanManner,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanAddArgs {
    /// The run, or a unique part of its name, or `last`
    pub(crate) run: String,
    /// The plan as it is now; what was in it before must be as it was
    pub(crate) file: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

/// What the tasks of a plan may do.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanManner {
    /// What they may do without asking
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let them do this without asking, such as `edit` or `bash(cargo *)`
    #[arg(long, value_name = "TOOL", value_parser = tool_rule)]
    pub(crate) allow: Vec<String>,
    /// Give them this secret without asking, if their definitions list it
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    /// Include changes that are not committed in worktrees
    #[arg(long)]
    pub(crate) dirty: bool,
    /// Leave the changes made in worktrees on branches
    #[arg(long)]
    pub(crate) on_branch: bool,
    /// Where tasks run; a continued run stays where it was unless this says otherwise (`restate` needs the feature `restate`)
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) engine: Option<Engine>,
    /// Reuse no results of earlier runs, even if nothing they depend on has changed
    #[arg(long)]
    pub(crate) fresh: bool,
}

impl PlanManner {
    /// Where what was done in worktrees ends up.
    pub(crate) fn settle(&self) -> Settle {
        if self.on_branch { Settle::Branch } else { Settle::Apply }
    }

    /// How far results of earlier runs are used.
    pub(crate) fn recall(&self) -> Recall {
        if self.fresh { Recall::Nothing } else { Recall::Known }
    }
}

/// Where the tasks of a plan run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// In this process
    #[default]
    Local,
    /// On the workers of a Restate cluster, see `cargo agents worker` (needs the feature `restate`)
    Restate,
}

fn param(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.to_owned()));
    pair.filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "a parameter is `NAME=VALUE`".to_owned())
}

fn answer(text: &str) -> Result<(String, Answer), String> {
    let wrong = || {
        "an answer is `TASK=retry`, `TASK=skip-dependents`, `TASK=continue` or `TASK=abort`"
            .to_owned()
    };
    let (task, word) = text.rsplit_once('=').ok_or_else(wrong)?;
    let answer = match word {
        "retry" => Answer::Retry,
        "skip-dependents" => Answer::SkipDependents,
        "continue" => Answer::Continue,
        "abort" => Answer::Abort,
        _ => return Err(wrong()),
    };
    Ok((task.to_owned(), answer))
}
