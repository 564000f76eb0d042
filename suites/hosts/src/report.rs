//! The table.

use std::io::Write as _;

use camino::Utf8PathBuf;

use hosts_suite::{client::Scope, say};

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
    Clean,
    Restarts,
}

impl Column {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Kept, "own files kept"),
        (Self::Skill, "skill listed"),
        (Self::Offered, "MCP tool offered"),
        (Self::Called, "MCP tool called"),
        (Self::Hint, "context told"),
        (Self::Denied, "deny blocks"),
        (Self::Reason, "reason told"),
        (Self::Others, "others run"),
        (Self::Clean, "clean after uninstall"),
        (Self::Restarts, "starts without us"),
    ];
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As it should be.
    Yes,
    /// Something else.
    No(String),
}

impl Verdict {
    pub(crate) fn from(good: bool, otherwise: impl FnOnce() -> String) -> Self {
        if good { Self::Yes } else { Self::No(otherwise()) }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No(_) => "NO",
        }
    }
}

/// One client with one scope.
#[derive(Debug)]
pub(crate) struct Row {
    host: &'static str,
    version: String,
    scope: Scope,
    seen: Vec<(Column, Verdict)>,
    /// What the client said, if something is not as it should be.
    pub(crate) account: String,
    /// Where home and workspace were left.
    pub(crate) kept_at: Option<Utf8PathBuf>,
}

impl Row {
    pub(crate) fn new(host: &'static str, version: String, scope: Scope) -> Self {
        Self { host, version, scope, seen: Vec::new(), account: String::new(), kept_at: None }
    }

    pub(crate) fn set(&mut self, column: Column, verdict: Verdict) {
        self.seen.push((column, verdict));
    }

    /// Whether everything is as it should be.
    pub(crate) fn is_good(&self) -> bool {
        self.seen.iter().all(|(_, verdict)| *verdict == Verdict::Yes)
    }

    fn cells(&self) -> Vec<String> {
        let first = [self.host.to_owned(), self.version.clone(), self.scope.word().to_owned()];
        let words = Column::ALL.iter().map(|(column, _)| {
            let seen = self.seen.iter().find(|(it, _)| it == column);
            seen.map_or("-", |(_, verdict)| verdict.word()).to_owned()
        });
        first.into_iter().chain(words).collect()
    }
}

/// What a row came to, as soon as it is known.
pub(crate) fn progress(row: &Row) {
    let word = if row.is_good() { "good" } else { "NOT GOOD" };
    say(&format!("{} {} ({}): {word}", row.host, row.version, row.scope.word()));
    for (column, verdict) in &row.seen {
        if let Verdict::No(why) = verdict {
            say(&format!("  {column:?}: {why}"));
        }
    }
    if !row.account.is_empty() {
        say(&row.account);
    }
    if let Some(dir) = &row.kept_at {
        say(&format!("  left in {dir}"));
    }
}

fn table(rows: &[Row]) -> String {
    let first = ["host", "version", "scope"].into_iter();
    let head: Vec<String> =
        first.chain(Column::ALL.iter().map(|(_, name)| *name)).map(str::to_owned).collect();
    let rule = head.iter().map(|name| "-".repeat(name.len())).collect();
    let lines = [head, rule].into_iter().chain(rows.iter().map(Row::cells));
    lines.map(|cells| format!("| {} |\n", cells.join(" | "))).collect()
}

/// The table, on standard output.
pub(crate) fn print(rows: &[Row]) -> anyhow::Result<()> {
    write!(std::io::stdout(), "{}", table(rows))?;
    Ok(())
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/real-hosts.md");

/// The page with the table.
pub(crate) fn write_page(rows: &[Row]) -> anyhow::Result<()> {
    let page = format!(
        "# Seen in real hosts\n\n\
         Written by `cargo run -p hosts-suite -- --update-docs`. Each row is a real client, installed from npm, in a scratch home and a network\n\
         without anybody in it, talking to a scripted model. `scope` is `hook-scope`: where MCP servers and hooks are registered.\n\n\
         {}\n\
         - **own files kept**: after `sync` every line that the user wrote still stands, comments included, and a second `sync` has nothing to do.\n\
         - **skill listed**: name and description of the plugin's skill are in what the client sent to the model.\n\
         - **MCP tool offered**, **called**: the tool of the plugin's MCP server is offered to the model; when the model calls it, the server's answer is in the next request.\n\
         - **context told**: what we say at the start of a session is in what the client sent to the model.\n\
         - **deny blocks**: the command that the plugin's hook denies was tried and left no file; **reason told**: the model got the hook's own words; **others run**: the next command made its file.\n\
         - **clean after uninstall**: every file that `sync` touched is as it was, except for what the client wrote itself and for `agents.lock`, which is the workspace's.\n\
         - **starts without us**: the client works afterwards, and knows neither the skill nor the tool any more.\n",
        table(rows)
    );
    fs_err::write(PAGE, page)?;
    Ok(())
}
