//! The table of this suite.

use agents_probe::{client::Client, seen::Thing};
use camino::Utf8Path;
use hosts_suite::{
    client,
    install::Prefix,
    table::{self, Page},
};

/// One client with one scope.
pub(crate) type Row = table::Row<Column>;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Kept,
    Loaded(Thing),
    Once,
    Probed,
}

impl table::Column for Column {
    const SUBJECT: &'static [&'static str] = &["host", "version", "scope", "servers"];
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Kept, "own files kept"),
        (Self::Loaded(Thing::Skill), Thing::Skill.words()),
        (Self::Loaded(Thing::Offered), Thing::Offered.words()),
        (Self::Loaded(Thing::Answered), Thing::Answered.words()),
        (Self::Loaded(Thing::Context), Thing::Context.words()),
        (Self::Loaded(Thing::Denied), Thing::Denied.words()),
        (Self::Loaded(Thing::Reason), Thing::Reason.words()),
        (Self::Loaded(Thing::Others), Thing::Others.words()),
        (Self::Loaded(Thing::Agent), Thing::Agent.words()),
        (Self::Loaded(Thing::Delegated), Thing::Delegated.words()),
        (Self::Loaded(Thing::Events), Thing::Events.words()),
        (Self::Once, "and once"),
        (Self::Loaded(Thing::Clean), Thing::Clean.words()),
        (Self::Loaded(Thing::Alone), Thing::Alone.words()),
        (Self::Probed, "`doctor --probe` agrees"),
    ];
}

/// The page with the table.
pub(crate) const PAGE: Page<'static> = Page { name: "real-hosts.md", before: BEFORE, after: AFTER };

/// Writes down which versions everything was seen in, for whoever probes another one.
pub(crate) fn write_proven(clients: &[Box<dyn Client>], prefix: &Prefix) -> anyhow::Result<()> {
    let mut lines = String::new();
    for client in clients {
        let version = prefix.version(client::package(client.as_ref()))?;
        lines += &format!("{} {version}\n", client.host());
    }
    let probe = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/probe/src"));
    Ok(fs_err::write(probe.join("client/proven.txt"), lines)?)
}

const BEFORE: &str = "# In real hosts\n\n\
    Written by `cargo run -p hosts-suite -- --update-docs`. Each row is a real client, installed from npm, in a scratch home and a network\n\
    without anybody in it, talking to a scripted model. `scope` is `hook-scope`: where MCP servers and hooks are registered;\n\
    `servers` is `mcp-register`: as what MCP servers are registered.\n";

const AFTER: &str = "\
    - **own files kept**: after `sync` every line that the user wrote still stands, comments included, and a second `sync` has nothing to do.\n\
    - **skill listed**: name and description of the plugin's skill are in what the client sent to the model.\n\
    - **MCP tool offered**, **called**: the tool of the plugin's MCP server is offered to the model; when the model calls it, the server's answer is in the next request.\n\
    - **context told**: what we say at the start of a session is in what the client sent to the model.\n\
    - **deny blocks**: the command that the plugin's hook denies was tried and left no file; **reason told**: the model got the hook's own words; **others run**: the next command made its file.\n\
    - **agent offered**: name and description of the plugin's agent are in what the client sent to the model; **agent runs**: when the model hands it a task, the agent asks the model with its own prompt, and the session hears its answer.\n\
    - **every event fires**: a hook for every event of the host's description was run in that session, or (in the rows with `one`) in one of its own: with a conversation that is too long, a tool that needs permission, a command in the background, a session that is deleted, somebody at a terminal who is asked or quits.\n\
    - **and once**: two hosts are configured in one workspace, of which one also runs the hooks of the other's file. A hook of the user's own counted the events of the host, and each of them reached the plugin's hook once.\n\
    - **clean after uninstall**: every file that `sync` touched is as it was, except for what the client wrote itself, which has none of our names in it, and for `agents.lock`, which is the workspace's; no directory that `sync` made is left empty; and nothing that came during the session names us anywhere in the workspace, or in the home where any host would load it.\n\
    - **starts without us**: the client works afterwards, knows neither the skill nor the tool, the agent or the hint any more, and runs no hook of ours.\n\
    - **`doctor --probe` agrees**: [`cargo agents doctor --probe`](doctor.md) says yes to all that it looks at, with the same settings.\n";

#[cfg(test)]
mod tests {
    use hosts_suite::client;

    #[test]
    fn the_versions_that_probes_speak_of_are_those_of_the_page() {
        let page = include_str!("../../../docs/real-hosts.md");
        for client in client::all() {
            let row = format!("| {} | {} |", client.host(), client.proven());
            assert!(page.contains(&row), "no `{row}`");
        }
    }
}
