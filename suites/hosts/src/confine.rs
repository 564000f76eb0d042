//! A network without anybody in it: a suite starts itself again in one. See [`agents_probe::network`].

use agents_probe::network;
use agents_system::process::Call;
use anyhow::Context as _;
use camino::Utf8Path;

use crate::install::Prefix;

/// Becomes the same command in a namespace, with `--built` in front of its arguments. Returns only if that is not possible.
///
/// # Errors
/// There is no `unshare`.
pub fn start_again(built: &Utf8Path) -> anyhow::Result<anyhow::Error> {
    let me = std::env::current_exe().context("cannot tell where this program is")?;
    let call = Call::new(me).args(["--built", built.as_str()]).args(std::env::args_os().skip(1));
    let call = network::inside(call)
        .context("a private network cannot be had; `--unconfined` runs without one")?;
    Ok(call.replace().into())
}

/// The first thing there: nobody waits for names that lead nowhere.
///
/// # Errors
/// This is no such network.
pub fn settle(prefix: &Prefix) -> anyhow::Result<()> {
    Ok(network::settle(prefix.root())?)
}
