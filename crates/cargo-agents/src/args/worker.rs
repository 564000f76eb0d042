//! `cargo agents worker`

use std::{net::SocketAddr, time::Duration};

use super::task::{Mode, time};

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// Where the server reaches this worker
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,
    /// The worker's address as the server sees it, if it differs: `http://HOST:PORT`
    #[arg(long, value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// What this worker is called; the same after a restart. By default, the machine and the port
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How many tasks it takes at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) slots: u16,
    /// The most that tasks may do without asking
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Where tasks are submitted, instead of what the configuration says
    #[arg(long, value_name = "URL")]
    pub(crate) ingress: Option<String>,
    /// Where the server is administered, instead of what the configuration says
    #[arg(long, value_name = "URL")]
    pub(crate) admin: Option<String>,
    /// The public key of the server; required if other machines reach the worker
    #[arg(long, value_name = "KEY")]
    pub(crate) identity_key: Option<String>,
    /// How long a task keeps running after the server stops asking for it
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1m")]
    pub(crate) patience: Duration,
}
