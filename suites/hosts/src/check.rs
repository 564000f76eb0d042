//! What is looked at, client by client.
//!
//! The order is that of a user's life: own files, `init` and `sync`, a session in which the model calls
//! the tool, `uninstall`, another session.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agents_probe::{
    client::{Client, Place, Scope},
    dialogue::{Dialogue, PROMPT},
    sample::{HINT, SKILL, Servers, TOKEN},
    seen::{Evidence, Thing},
};
use agents_system::process::{Captured, ending};
use agents_testkit::endpoint::{Endpoint, Reply, Request, Script};
use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::{
    client,
    install::Prefix,
    table::Verdict,
    tree::{Tree, lost_line},
};

use crate::{
    events,
    ground::Ground,
    probed,
    report::{Column, Row},
};

/// More than a client needs for one session, on any machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// How everything is registered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) scope: Scope,
    pub(crate) servers: Servers,
}

/// Brings one client everything, lets it work, and takes everything back.
pub(crate) fn check(
    client: &dyn Client,
    Manner { scope, servers }: Manner,
    prefix: &Prefix,
    built: &Utf8Path,
    keep: bool,
) -> anyhow::Result<Row> {
    let version = prefix.version(client::package(client))?;
    let mut row = Row::new([client.host(), &version, scope.word(), servers.word()]);
    // After `uninstall` the model tries nothing any more.
    let silent = Arc::new(AtomicBool::new(false));
    let (is_silent, mut dialogue) =
        (Arc::clone(&silent), Dialogue::new(client, servers).with_failure(client));
    let endpoint =
        Endpoint::start(Script::rule(move |request| match is_silent.load(Ordering::Relaxed) {
            true => Reply::text("Thank you, that is all."),
            false => dialogue.reply(request),
        }));
    let ground = Ground::new(built, servers)?;
    let (home, workspace) = (ground.home(), ground.workspace());
    let (program, path) =
        (prefix.program(client::package(client)), client::path(prefix, &ground.bin()));
    let (url, model) = (endpoint.url(), endpoint.model());
    let (program, path) = (program.as_path(), path.as_os_str());
    let place = Place { program, path, home: &home, workspace: &workspace, url: &url, model };
    let files = client.files(&place);
    for (path, text) in &files {
        ground.own(path, text);
    }

    let before = ground.tree()?;
    ground.sync(client.host(), scope)?;
    let synced = ground.tree()?;
    row.set(Column::Kept, kept(&home, &files, &synced));

    for (path, text) in client.accepted(&place) {
        ground.own(&path, &text);
    }
    let session = client.prompt(&place, PROMPT).deadline(PATIENCE).capture();
    let requests = endpoint.requests();
    let said = session.map_or_else(|error| error.to_string(), |done| account(&done));
    let (tool, _) = servers.call(client);
    let (log, shell) = (ground.log(), client.shell());
    let evidence =
        Evidence { requests: &requests, workspace: &workspace, log: &log, tool: &tool, shell };
    for thing in Thing::ALL {
        row.set(Column::Loaded(thing), evidence.of(thing).into());
    }
    row.set(Column::Events, events::fired(&ground, client)?);

    let used = ground.tree()?;
    ground.agents(&["uninstall"])?;
    let after = ground.tree()?;
    row.set(Column::Clean, is_clean(&before, &synced, &used, &after));

    endpoint.forget();
    silent.store(true, Ordering::Relaxed);
    let again = client.prompt(&place, PROMPT).deadline(PATIENCE).capture();
    let again = again.context("the second session")?;
    row.set(Column::Restarts, restarted(&again, &endpoint.requests(), &tool));
    row.set(Column::Probed, probed::agrees(client, program, path, &ground)?);

    if !row.is_good() {
        row.note(format!("{said}\n--- after uninstall\n{}", account(&again)));
    }
    if keep {
        row.note(format!("  left in {}", ground.keep()));
    }
    Ok(row)
}

fn account(done: &Captured) -> String {
    format!("{}\n{}", ending(done.status), done.said())
}

/// Nothing that the user wrote is gone: every line of every file still stands, in its order.
fn kept(home: &Utf8Path, files: &[(Utf8PathBuf, String)], synced: &Tree) -> Verdict {
    for (path, text) in files {
        let bytes = synced.get(&home.join(path)).map(Vec::as_slice).unwrap_or_default();
        let now = String::from_utf8_lossy(bytes).into_owned();
        if let Some(line) = lost_line(text, &now) {
            return Verdict::No(format!("`{line}` is missing in `{path}`:\n{now}"));
        }
    }
    Verdict::Yes
}

/// What we touched is as it was before. Where the client wrote to the same file in the meantime, only its
/// own change may be left.
fn is_clean(before: &Tree, synced: &Tree, used: &Tree, after: &Tree) -> Verdict {
    // What was agreed to is the workspace's, like `Cargo.lock`, and stays.
    let is_ours = |path: &str| !path.ends_with("/agents.lock");
    let touched = synced
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes) && is_ours(path.as_ref()));
    for (path, bytes) in touched {
        let was = before.get(path);
        let is = after.get(path);
        let by_client = used.get(path) != Some(bytes);
        let text = String::from_utf8_lossy(is.map(Vec::as_slice).unwrap_or_default());
        if was != is && (!by_client || text.contains(TOKEN) || text.contains(SKILL)) {
            return Verdict::No(format!("`{path}` is not as before:\n{text}"));
        }
    }
    Verdict::Yes
}

fn restarted(again: &Captured, requests: &[Request], tool: &str) -> Verdict {
    if requests.is_empty() || !again.status.success() {
        return Verdict::No(format!("it made {} requests", requests.len()));
    }
    let ours = |request: &Request| {
        let text = request.text();
        request.tool(tool).is_some() || text.contains(SKILL) || text.contains(HINT)
    };
    Verdict::from(!requests.iter().any(ours), || {
        "it still knows the skill, the tool or the hint".to_owned()
    })
}

#[cfg(test)]
mod tests;
