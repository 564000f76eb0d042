//! `cargo agents agent …`

use agents_agent::{assign::PARTS, definition::Dialect};
use camino::Utf8PathBuf;
use clap::{Subcommand, ValueEnum, builder::PossibleValue};

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List all agents, and where each comes from
    List {
        #[command(flatten)]
        named: NamedAgents,
    },
    /// Print the definition of an agent
    Show {
        /// The agent
        agent: String,
        /// As this coding agent gets it, and what cannot be expressed there
        #[arg(long = "for", value_name = "HOST")]
        host: Option<String>,
        #[command(flatten)]
        named: NamedAgents,
    },
    /// Say which file a name means, which others it could have meant, and why
    Explain {
        /// The agent
        agent: String,
        #[command(flatten)]
        named: NamedAgents,
    },
    /// Check a definition, or all definitions in a directory
    Validate {
        /// A file or a directory
        path: Utf8PathBuf,
        /// Treat anything not understood as an error
        #[arg(long)]
        strict: bool,
    },
    /// Write a new agent
    New(NewAgentArgs),
    /// Change parts of an agent in its file; everything else there stays
    Edit(EditAgentArgs),
    /// Delete the file of an agent
    Remove {
        /// The agent
        agent: String,
        /// Only show what would be deleted
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        named: NamedAgents,
    },
    /// Write the agents of this program as files, to change them
    Unpack(UnpackArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct NewAgentArgs {
    /// Its name
    pub(crate) name: String,
    /// Other keys, such as `limits.turns=20` or `tools=read,grep`
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) changes: Vec<String>,
    /// When to use it
    #[arg(long, value_name = "TEXT", required_unless_present = "from")]
    pub(crate) description: Option<String>,
    /// Begin with a copy of this one
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: Option<String>,
    /// The file with its prompt; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_file: Option<Utf8PathBuf>,
    /// In the format and the directory of this coding agent
    #[arg(long = "for", value_name = "HOST", conflicts_with = "dialect")]
    pub(crate) host: Option<String>,
    /// In this format
    #[arg(long, value_enum, value_name = "DIALECT")]
    pub(crate) dialect: Option<DialectName>,
    /// Into your home (the default)
    #[arg(long, conflicts_with_all = ["project", "dir"])]
    pub(crate) user: bool,
    /// Into the workspace
    #[arg(long, conflicts_with = "dir")]
    pub(crate) project: bool,
    /// Into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<Utf8PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
    /// Only show what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EditAgentArgs {
    /// The agent
    pub(crate) agent: String,
    /// Keys to change, such as `limits.turns=20` or `tools=read,grep`
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) changes: Vec<String>,
    /// Remove this from the file
    #[arg(long, value_name = "KEY", value_parser = clap::builder::PossibleValuesParser::new(PARTS))]
    pub(crate) unset: Vec<String>,
    /// The file with its prompt; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_file: Option<Utf8PathBuf>,
    /// Only show what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}

/// A way to write agents down, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DialectName(pub(crate) Dialect);

impl ValueEnum for DialectName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [DialectName; 13] = {
            let mut all = [DialectName(Dialect::Ours); 13];
            let mut at = 0;
            while at < all.len() {
                all[at] = DialectName(Dialect::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.word()).help(self.0.title()))
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct NamedAgents {
    /// A definition, or a directory of them, that takes precedence
    #[arg(long, value_name = "PATH")]
    pub(crate) agents: Vec<Utf8PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UnpackArgs {
    /// Only these
    #[arg(value_name = "AGENT")]
    pub(crate) names: Vec<String>,
    /// Into the workspace instead of your home
    #[arg(long, conflicts_with = "dir")]
    pub(crate) project: bool,
    /// Into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<Utf8PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
}
