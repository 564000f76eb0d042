//! `cargo agents model …`

use camino::Utf8PathBuf;
use clap::Subcommand;

use super::agent::NamedAgents;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List providers and their models, with prices
    List {
        /// Only this provider
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
    },
    /// Ask a model one short question, and show what came back
    Test {
        /// This provider instead of the one that agents run on
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
        /// This model, or the first that matches
        #[arg(long, value_name = "PATTERN")]
        model: Option<String>,
    },
    /// Say which model an agent runs on, and why
    Explain {
        /// The agent
        agent: String,
        /// As if it were started with this model
        #[arg(long, value_name = "PATTERN")]
        model: Option<String>,
        #[command(flatten)]
        named: NamedAgents,
    },
    /// Act as a model on a local port, with answers from a file
    Serve {
        /// The file: TOML, YAML or JSON
        #[arg(long, value_name = "FILE")]
        script: Utf8PathBuf,
        /// The port; any free one by default
        #[arg(long, default_value_t = 0, hide_default_value = true)]
        port: u16,
    },
}
