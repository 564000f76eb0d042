//! `cargo agents dashboard`

#[derive(Debug, clap::Args)]
pub(crate) struct DashboardArgs {
    /// The port on this machine; any free one by default
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Open it in your browser
    #[arg(long)]
    pub(crate) open: bool,
}
