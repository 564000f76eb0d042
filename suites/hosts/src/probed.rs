//! Whether `cargo agents doctor --probe` sees the same in a host as this suite.

use std::{
    ffi::{OsStr, OsString},
    time::Duration,
};

use agents_probe::client::Client;
use agents_system::env;
use camino::Utf8Path;
use hosts_suite::table::Verdict;
use serde_json::Value;

use crate::ground::Ground;

/// In which network the probe must have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// In one with nobody in it.
    Own,
    /// In any: one of its own may not be had here.
    Any,
}

/// Runs it as the user of `ground` would, who has the client on the path.
pub(crate) fn agrees(
    client: &dyn Client,
    program: &Utf8Path,
    path: &OsStr,
    ground: &Ground,
    network: Wanted,
) -> anyhow::Result<Verdict> {
    let mut dirs: OsString = program.parent().unwrap_or(program).as_os_str().to_owned();
    for more in [Some(path.to_owned()), env::PATH.get()].into_iter().flatten() {
        dirs.push(":");
        dirs.push(more);
    }
    let call = ground
        .call(&["doctor", "--probe", client.host(), "--json"])
        .env(env::PATH.name, dirs)
        .deadline(Duration::from_secs(300));
    let done = call.capture()?;
    let told: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let said = || format!("{}\n{:#}", done.said(), told["hosts"]);
    Ok(Verdict::from(done.status.success() && is_in(network, &told), said))
}

/// Whether what it told was seen in such a network.
fn is_in(network: Wanted, told: &Value) -> bool {
    match network {
        Wanted::Own => told["network"]["own"] == true,
        Wanted::Any => told["network"]["own"].is_boolean(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_network_of_its_own_is_demanded_only_where_it_can_be_had() {
        let told = |own: bool| json!({"network": {"own": own}});
        assert!(is_in(Wanted::Own, &told(true)) && is_in(Wanted::Any, &told(true)));
        assert!(is_in(Wanted::Any, &told(false)) && !is_in(Wanted::Own, &told(false)));
        assert!(!is_in(Wanted::Any, &json!({})), "it was not told");
    }
}
