//! The MCP server of the sample plugin, as a program of its own.

use agents_probe::notes::Notes;
use agents_system::env;
use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip_while(|arg| arg != "--log");
    let log = args.nth(1).context("`--log <file>` is missing")?;
    let token = env::named_by_plugin("NOTES_TOKEN").context("`NOTES_TOKEN` is not set")?;
    let notes = Notes { log: log.into(), token: token.to_string_lossy().into_owned() };
    Ok(notes.serve(std::io::stdin().lock(), std::io::stdout().lock())?)
}
