//! The table of this suite.

use hosts_suite::table::{self, Page};

/// One client with one scope.
pub(crate) type Row = table::Row<Column>;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Kept,
    Skill,
    Offered,
    Called,
    Hint,
    Denied,
    Reason,
    Others,
    Agent,
    Delegated,
    Clean,
    Restarts,
}

impl table::Column for Column {
    const SUBJECT: &'static [&'static str] = &["host", "version", "scope"];
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Kept, "own files kept"),
        (Self::Skill, "skill listed"),
        (Self::Offered, "MCP tool offered"),
        (Self::Called, "MCP tool called"),
        (Self::Hint, "context told"),
        (Self::Denied, "deny blocks"),
        (Self::Reason, "reason told"),
        (Self::Others, "others run"),
        (Self::Agent, "agent offered"),
        (Self::Delegated, "agent runs"),
        (Self::Clean, "clean after uninstall"),
        (Self::Restarts, "starts without us"),
    ];
}

/// The page with the table.
pub(crate) const PAGE: Page<'static> = Page {
    name: "real-hosts.md",
    before: "# Seen in real hosts\n\n\
    Written by `cargo run -p hosts-suite -- --update-docs`. Each row is a real client, installed from npm, in a scratch home and a network\n\
    without anybody in it, talking to a scripted model. `scope` is `hook-scope`: where MCP servers and hooks are registered.\n",
    after: "\
    - **own files kept**: after `sync` every line that the user wrote still stands, comments included, and a second `sync` has nothing to do.\n\
    - **skill listed**: name and description of the plugin's skill are in what the client sent to the model.\n\
    - **MCP tool offered**, **called**: the tool of the plugin's MCP server is offered to the model; when the model calls it, the server's answer is in the next request.\n\
    - **context told**: what we say at the start of a session is in what the client sent to the model.\n\
    - **deny blocks**: the command that the plugin's hook denies was tried and left no file; **reason told**: the model got the hook's own words; **others run**: the next command made its file.\n\
    - **agent offered**: name and description of the plugin's agent are in what the client sent to the model; **agent runs**: when the model hands it a task, the agent asks the model with its own prompt, and the session hears its answer.\n\
    - **clean after uninstall**: every file that `sync` touched is as it was, except for what the client wrote itself and for `agents.lock`, which is the workspace's.\n\
    - **starts without us**: the client works afterwards, and knows neither the skill nor the tool any more.\n",
};
