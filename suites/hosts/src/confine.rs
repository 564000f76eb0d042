//! A network without anybody in it: a suite starts itself again in one. See [`agents_probe::network`].

use agents_probe::network;
use agents_system::process::Call;
use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};

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

/// Shows a directory at a place that looks good in pictures, in here only; where we are not confined, it stays where it is.
///
/// # Errors
/// It cannot be mounted there.
pub fn show_at(dir: &Utf8Path, place: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    if !network::is_inside() {
        return Ok(dir.to_owned());
    }
    let above = place.parent().context("a place is in a directory")?;
    let mount = |args: &[&str]| {
        let call = Call::new("mount").args(args.iter().copied());
        let done = call.capture()?;
        anyhow::ensure!(done.status.success(), "`{}`: {}", call.display(), done.said());
        anyhow::Ok(())
    };
    mount(&["-t", "tmpfs", "none", above.as_str()])?;
    fs_err::create_dir(place)?;
    mount(&["--bind", dir.as_str(), place.as_str()])?;
    Ok(place.to_owned())
}
