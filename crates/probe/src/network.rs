//! A network without anybody in it.
//!
//! Clients report versions, events and crashes home. Where the system lets us, they cannot: the program starts itself again in
//! a network namespace with nothing but loopback ([`inside`]), and names that a client would look up lead to
//! loopback too, so that nobody waits for an answer ([`settle`]).

use std::io;

use agents_system::{
    env,
    process::{Call, ProcessError, find_program},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::client;

/// Why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// We are not in one.
    #[error("this is the network of the system")]
    Outside,
    /// A program that makes one is not installed.
    #[error("`{0}` is not installed")]
    Missing(&'static str),
    /// The system does not let us make one.
    #[error("this system does not let us: {0}")]
    Refused(String),
    /// A program that makes one could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The file of names could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Not every user has these in `PATH`.
const SYSTEM: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Whether such a network can be had: makes one, and lets it go.
///
/// # Errors
/// It cannot be had.
pub fn look() -> Result<(), NetworkError> {
    let ip = program("ip")?;
    let call = inside(Call::new(ip.as_str()).args(["link", "set", "lo", "up"]))?;
    let done = call.capture()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(NetworkError::Refused(done.said().lines().next().unwrap_or("").to_owned())),
    }
}

/// The same call in such a network. What is run there calls [`settle`] first.
///
/// # Errors
/// There is no `unshare`.
pub fn inside(call: Call) -> Result<Call, NetworkError> {
    let unshare = program("unshare")?;
    // Whoever is root already stays the same user; the others become root in there only.
    let root = Call::new("id").arg("-u").capture()?.stdout_text().trim() == "0";
    let flags = ["--net", "--mount", "--map-root-user"];
    let call = call.through(unshare.as_str(), flags[..if root { 2 } else { 3 }].iter().copied());
    Ok(call.env(env::AGENTS_OUTSIDE.name, namespace()?))
}

/// Whether we were started by [`inside`].
#[must_use]
pub fn is_inside() -> bool {
    // What is in the variable may be anything; only whoever is somewhere else may touch what is mounted there.
    env::AGENTS_OUTSIDE.text().is_some_and(|outside| namespace().is_ok_and(|here| here != outside))
}

fn namespace() -> io::Result<String> {
    let link = fs_err::read_link("/proc/self/ns/mnt")?;
    Ok(link.to_string_lossy().into_owned())
}

/// Brings loopback up, and has all names that clients look up lead to it; the file that says so is made in `dir`.
///
/// # Errors
/// We are not in such a network.
pub fn settle(dir: &Utf8Path) -> Result<(), NetworkError> {
    if !is_inside() {
        return Err(NetworkError::Outside);
    }
    let names = client::all().into_iter().flat_map(|client| client.calls_home().to_vec());
    let lines = names.map(|name| format!("127.0.0.1 {name}\n"));
    let hosts = dir.join("hosts");
    fs_err::write(&hosts, "127.0.0.1 localhost\n".to_owned() + &lines.collect::<String>())?;
    let up = Call::new(program("ip")?.as_str()).args(["link", "set", "lo", "up"]);
    let bind = Call::new(program("mount")?.as_str());
    for call in [up, bind.args(["--bind", hosts.as_str(), "/etc/hosts"])] {
        let done = call.capture()?;
        if !done.status.success() {
            return Err(NetworkError::Refused(format!("`{}`: {}", call.display(), done.said())));
        }
    }
    Ok(())
}

/// What keeps clients from calling home as far as they listen to it, where there is no such network: proxies that lead
/// nowhere for everything but loopback.
#[must_use]
pub fn discouraged(call: Call) -> Call {
    let nobody = "http://127.0.0.1:9";
    let proxies =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let call = proxies.into_iter().fold(call, |call, name| call.env(name, nobody));
    let local = ["NO_PROXY", "no_proxy"];
    let call = local.into_iter().fold(call, |call, name| call.env(name, "127.0.0.1,localhost"));
    call.env("DO_NOT_TRACK", "1")
}

fn program(name: &'static str) -> Result<Utf8PathBuf, NetworkError> {
    let usual =
        || SYSTEM.map(|dir| Utf8Path::new(dir).join(name)).into_iter().find(|it| it.exists());
    find_program(name).or_else(usual).ok_or(NetworkError::Missing(name))
}
