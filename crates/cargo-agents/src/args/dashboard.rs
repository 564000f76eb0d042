//! `cargo agents dashboard`

#[derive(Debug, clap::Args)]
pub(crate) struct DashboardArgs {
    /// The port of this machine; any that is free if none is named
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Open it in your browser
    #[arg(long)]
    pub(crate) open: bool,
}
