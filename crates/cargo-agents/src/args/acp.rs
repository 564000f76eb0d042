//! `cargo agents acp`

use super::{agent::NamedAgents, task::Mode};

#[derive(Debug, clap::Args)]
pub(crate) struct AcpArgs {
    /// The agent that sessions are with
    #[arg(long, value_name = "NAME", default_value = "general-purpose")]
    pub(crate) agent: String,
    /// The most that it may do without asking
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Let it do this without asking, such as `edit` or `bash(cargo *)`
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    #[command(flatten)]
    pub(crate) named: NamedAgents,
}
