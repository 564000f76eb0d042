//! `cargo agents acp`

use super::{agent::NamedAgents, task::Mode, tool_rule};

#[derive(Debug, clap::Args)]
pub(crate) struct AcpArgs {
    /// The agent that sessions are with; by default `general-purpose`, on whichever model there is
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The most that it may do without asking
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let it do this without asking, such as `edit` or `bash(cargo *)`
    #[arg(long, value_name = "TOOL", value_parser = tool_rule)]
    pub(crate) allow: Vec<String>,
    /// Give it this secret without asking, if its definition lists it
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}
