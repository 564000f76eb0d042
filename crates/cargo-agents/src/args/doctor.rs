//! `cargo agents doctor`

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Repair what is safe to repair, and say what was done
    #[arg(long, conflicts_with = "probe")]
    pub(crate) fix: bool,
    /// Start your coding agents with a scripted model, in a throw-away home, and see whether they load what we write
    #[arg(long)]
    pub(crate) probe: bool,
    /// Which ones to probe; by default, all that are installed
    #[arg(value_name = "HOST", requires = "probe")]
    pub(crate) hosts: Vec<String>,
    /// How long each of them may take with `--probe`
    #[arg(long, value_name = "SECONDS", requires = "probe", default_value_t = 120)]
    pub(crate) timeout: u64,
}
