//! Calls written down, one line of JSON each.

use std::io::{self, Write as _};

use agents_system::env::{self, Variable};
use camino::{Utf8Path, Utf8PathBuf};

use super::account::HookDocument;

/// The file that the environment names, if any.
pub(super) fn wanted() -> Option<Utf8PathBuf> {
    [env::AGENTS_HOOK_TRACE, env::SYMPOSIUM_HOOK_TRACE]
        .into_iter()
        .find_map(Variable::absolute_path)
}

/// Appends a line. It is written at once, so that calls at the same time do not mix.
pub(super) fn append(file: &Utf8Path, document: &HookDocument) -> io::Result<()> {
    let mut line = serde_json::to_vec(document).map_err(io::Error::other)?;
    line.push(b'\n');
    fs_err::OpenOptions::new().create(true).append(true).open(file)?.write_all(&line)
}

/// What was written down. A line that is none has its number.
pub(super) fn read(file: &Utf8Path) -> io::Result<Result<Vec<HookDocument>, (usize, String)>> {
    let text = fs_err::read_to_string(file)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| (at + 1, error.to_string())));
    Ok(parsed.collect())
}
