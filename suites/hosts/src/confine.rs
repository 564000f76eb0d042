//! A network without anybody in it.
//!
//! Clients report versions, events and crashes home. Here they cannot: the suite starts itself again in
//! a network namespace with nothing but loopback, and names that a client would look up lead to
//! loopback too, so that nobody waits for an answer.

use agents_system::process::{Call, find_program};
use anyhow::{Context as _, bail};
use camino::Utf8Path;

use crate::{client, install::Prefix};

/// Run in the namespace, with the file of host names and then our own command line as arguments. Not every
/// user has the directory of `ip` in `PATH`.
const ENTER: &str = r#"PATH="$PATH:/usr/sbin:/sbin"; ip link set lo up && mount --bind "$1" /etc/hosts && shift && exec "$@""#;

/// Becomes the same command in a namespace, with `--built` in front of its arguments. Returns only if that is not possible.
///
/// # Errors
/// There is no `unshare`, or the names cannot be written down.
pub fn start_again(prefix: &Prefix, built: &Utf8Path) -> anyhow::Result<anyhow::Error> {
    if find_program("unshare").is_none() {
        bail!("`unshare` is needed for a private network; `--unconfined` runs without one");
    }
    let hosts = prefix.root().join("hosts");
    let names = client::all().into_iter().flat_map(|client| client.calls_home().to_vec());
    let lines = names.map(|name| format!("127.0.0.1 {name}\n"));
    let text = "127.0.0.1 localhost\n".to_owned() + &lines.collect::<String>();
    fs_err::write(&hosts, text)?;
    let me = std::env::current_exe().context("cannot tell where this program is")?;
    let call = Call::new("unshare")
        // Whoever is root already stays the same user; the others become root in there only.
        .args(["--net", "--mount"])
        .args(if is_root()? { &[][..] } else { &["--map-root-user"][..] })
        .args(["--", "sh", "-c", ENTER, "sh", hosts.as_str()])
        .arg(me)
        .args(["--built", built.as_str()])
        .args(std::env::args_os().skip(1));
    Ok(call.replace().into())
}

fn is_root() -> anyhow::Result<bool> {
    Ok(Call::new("id").arg("-u").capture()?.stdout_text().trim() == "0")
}
