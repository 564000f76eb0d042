//! `cargo agents secret …`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// List the secrets that agents may be given, and where each comes from; never what they are
    List,
    /// Read secrets as a task would, and say whether that works; never what they are
    Check {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}
