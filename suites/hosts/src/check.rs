//! What is looked at, client by client.
//!
//! The order is that of a user's life: own files, `init` and `sync`, a session in which the model calls
//! the tool, `uninstall`, another session.

use std::time::{Duration, Instant};

use agents_probe::{
    client::{Client, Place, Scope},
    dialogue::{Dialogue, PROMPT},
    left::{Files, Times, loaded_from},
    sample::{Servers, count_marks, take_marks},
    seen::{After, Evidence, Thing},
};
use agents_system::process::ending;
use agents_testkit::endpoint::{Endpoint, Reply};
use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::{client, install::Prefix, table::Verdict, tree::lost_line};

use crate::{
    beside, events,
    ground::Ground,
    occasion::{self, Occasion, Talk},
    probed::{self, Wanted},
    report::{Column, Row},
    seat::{self, PATIENCE, account},
};

/// How long a hook may live on after its client.
const LATE: Duration = Duration::from_secs(10);

/// How everything is registered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) scope: Scope,
    pub(crate) servers: Servers,
    /// The host that is configured besides.
    pub(crate) beside: Option<&'static str>,
}

/// What all clients are looked at with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) prefix: &'a Prefix,
    /// Where our programs are.
    pub(crate) built: &'a Utf8Path,
    pub(crate) network: Wanted,
    pub(crate) afterwards: Afterwards,
}

/// What becomes of home and workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Gone,
    Kept,
}

/// Brings one client everything, lets it work, and takes everything back. What keeps us from it is told in the row, so that the
/// others have theirs.
pub(crate) fn check(client: &dyn Client, manner: Manner, tools: Tools<'_>) -> Row {
    let version = tools.prefix.version(client::package(client));
    let version = version.unwrap_or_else(|_| "?".to_owned());
    let Manner { scope, servers, beside } = manner;
    let name = beside.map(|other| format!("{} beside {other}", client.host()));
    let name = name.unwrap_or_else(|| client.host().to_owned());
    let mut row = Row::new([&name, &version, scope.word(), servers.word()]);
    if let Err(error) = look(&mut row, client, manner, tools) {
        row.fail(format!("{error:#}"));
    }
    row
}

fn look(
    row: &mut Row,
    client: &dyn Client,
    Manner { scope, servers, beside }: Manner,
    Tools { prefix, built, network, afterwards }: Tools<'_>,
) -> anyhow::Result<()> {
    let mut dialogue = Dialogue::new(client, servers).with_failure(client);
    let model = Talk::new(move |request| dialogue.reply(request));
    let endpoint = Endpoint::start(model.script());
    let ground = Ground::new(built, servers)?;
    let (home, workspace) = (ground.home(), ground.workspace());
    let (program, path) =
        (prefix.program(client::package(client)), client::path(prefix, &ground.bin()));
    let (url, name) = (endpoint.url(), endpoint.model());
    let (program, path) = (program.as_path(), path.as_os_str());
    let place = Place { program, path, home: &home, workspace: &workspace, url: &url, model: name };
    let mapped = events::mapped(&ground, client.host())?;
    let mut files = client.files(&place);
    let other = beside.map(|it| agents_probe::client::of_host(it).context("no such client"));
    let other = other.transpose()?;
    if other.is_some() {
        beside::count_events(&mut files, client.host(), &mapped, &ground.happened())?;
    }
    files.extend(other.iter().flat_map(|it| it.files(&place)));
    for (path, text) in &files {
        ground.own(path, text);
    }

    let before = ground.disk()?;
    let hosts: Vec<&str> = std::iter::once(client.host()).chain(beside).collect();
    ground.sync(&hosts, scope)?;
    let synced = ground.disk()?;
    row.set(Column::Kept, kept(&home, &files, &synced.files));

    for (path, text) in client.accepted(&place) {
        ground.own(&path, &text);
    }
    let session = client.prompt(&place, PROMPT).deadline(PATIENCE).capture();
    let requests = endpoint.requests();
    let mut said = session.map_or_else(|error| error.to_string(), |done| account(&done));
    // How servers are registered makes no difference to hooks: once is enough.
    let occasions = match servers {
        Servers::One => occasion::of(client, &place),
        Servers::Each => Vec::new(),
    };
    let brought: Vec<&str> = occasions.iter().map(|it| it.event).collect();
    for Occasion { event, calls, model: mut says, seat } in occasions {
        model.becomes(move |request| says.reply(request));
        let left = || count_marks(&ground.marks()).is_ok_and(|it| it.contains_key(event));
        for call in calls {
            said += &format!("\n--- for {event}\n{}", seat::run(call, &seat, left));
        }
        // OpenCode does not wait for what is called when a session is deleted: that is still at work when the client is gone.
        let end = Instant::now() + LATE;
        while !left() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    if other.is_some() {
        let verdict = || {
            let (happened, ours) =
                (count_marks(&ground.happened())?, count_marks(&ground.marks())?);
            anyhow::Ok(beside::once(&happened, &ours))
        };
        let end = Instant::now() + LATE;
        while verdict()? != Verdict::Yes && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
        row.set(Column::Once, verdict()?);
    }
    let mapped = mapped.into_keys().collect();
    let fired = take_marks(&ground.marks())?.into_keys().collect();
    let verdict = events::judge(client.host(), &mapped, &fired, &brought);
    row.set(Column::Loaded(Thing::Events), verdict);

    let used = ground.disk()?;
    ground.agents(&["uninstall"])?;
    let after = ground.disk()?;
    let (root, loaded) = (ground.root(), loaded_from(None, &home, &workspace));
    let (root, loaded) = (root.as_path(), loaded.as_slice());
    let (before, synced, used, after) = (&before, &synced, &used, &after);
    let times = Times { root, loaded, before, synced, used, after };

    // After `uninstall` the model tries nothing any more.
    model.becomes(|_| Reply::text("Thank you, that is all."));
    endpoint.forget();
    let again = client.prompt(&place, PROMPT).deadline(PATIENCE).capture();
    let again = again.context("the second session")?;
    let trouble = (!again.status.success()).then(|| ending(again.status));
    let (later, late) = (endpoint.requests(), take_marks(&ground.marks())?.into_keys().collect());
    let after = After { clean: times.clean(), requests: &later, fired: late, trouble };

    let (tool, _) = servers.call(client);
    let evidence = Evidence {
        requests: &requests,
        workspace: &workspace,
        log: &ground.log(),
        tool: &tool,
        shell: client.shell(),
        events: &mapped,
        fired: &fired,
        after: &after,
    };
    for thing in Thing::ALL.into_iter().filter(|it| *it != Thing::Events) {
        row.set(Column::Loaded(thing), evidence.of(thing).into());
    }
    if other.is_none() {
        row.set(Column::Probed, probed::agrees(client, program, path, &ground, network)?);
    }

    if !row.is_good() {
        row.note(format!("{said}\n--- after uninstall\n{}", account(&again)));
    }
    if afterwards == Afterwards::Kept {
        row.note(format!("  left in {}", ground.keep()));
    }
    Ok(())
}

/// Nothing that the user wrote is gone: every line of every file still stands, in its order.
fn kept(home: &Utf8Path, files: &[(Utf8PathBuf, String)], synced: &Files) -> Verdict {
    for (path, text) in files {
        let bytes = synced.get(&home.join(path)).map(Vec::as_slice).unwrap_or_default();
        let now = String::from_utf8_lossy(bytes).into_owned();
        if let Some(line) = lost_line(text, &now) {
            return Verdict::No(format!("`{line}` is missing in `{path}`:\n{now}"));
        }
    }
    Verdict::Yes
}

#[cfg(test)]
mod tests;
