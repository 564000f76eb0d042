//! The table of this suite.

use hosts_suite::table;

/// One call of a tool.
pub(crate) type Row = table::Row<Client>;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    Inspector,
    Python,
}

impl table::Column for Client {
    const SUBJECT: &'static [&'static str] = &["tool", "is given", "must"];
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Inspector, "inspector"), (Self::Python, "Python")];
}

/// What stands before the table; `versions` are those of the clients.
pub(crate) fn before(versions: &[String; 2]) -> String {
    let [inspector, python] = versions;
    format!(
        "# With real MCP clients\n\n\
         Written by `cargo run -p mcp-suite -- --update-docs`. The official inspector ({inspector}) and the official client for Python ({python}) call every tool of the real\n\
         `cargo agents mcp`, with a scripted model and with another server of ours behind it. What the tools are for is in [mcp.md](mcp.md).\n"
    )
}

/// What its columns mean.
pub(crate) const AFTER: &str = "\
    - **inspector** starts a server for each call, **Python** makes all calls to one.\n\
    - **must**: what the text of the result must have in it; where it must fail, the text of the error. Results must be structured, as their schemas say.\n";
