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

/// Runs it as the user of `ground` would, who has the client on the path.
pub(crate) fn agrees(
    client: &dyn Client,
    program: &Utf8Path,
    path: &OsStr,
    ground: &Ground,
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
    Ok(Verdict::from(done.status.success() && told["network"]["own"] == true, said))
}
