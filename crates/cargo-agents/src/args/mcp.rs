//! `cargo agents mcp`

use super::{agent::NamedAgents, task::Mode, tool_rule};

#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    /// The most that tasks may do without asking
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let tasks do this without asking, such as `edit` or `bash(cargo *)`
    #[arg(long, value_name = "TOOL", value_parser = tool_rule)]
    pub(crate) allow: Vec<String>,
    /// Give tasks this secret without asking, if their definitions list it
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    /// How many tasks run at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) concurrency: Option<u16>,
    /// Serve streamable HTTP on this machine instead, at this port; any free one by default
    #[cfg(feature = "http")]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub(crate) http: Option<u16>,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}
