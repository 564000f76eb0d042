//! Being the MCP server of the sample plugin that `--probe` brings to hosts: see [`agents_probe::notes`].

use std::{ffi::OsString, process::ExitCode};

use agents_probe::notes::Notes;
use agents_system::env;
use camino::Utf8PathBuf;

/// What tells this program that it is one: the first argument.
pub(super) const COMMAND: &str = "__probe-notes";

/// How it ended, if this is such a call: looked at before anything else is.
pub(crate) fn called(argv: &[OsString]) -> Option<ExitCode> {
    let [_, command, _, log] = argv else { return None };
    if command != COMMAND {
        return None;
    }
    let token = env::named_by_plugin("NOTES_TOKEN").unwrap_or_default();
    let log = Utf8PathBuf::from(log.to_string_lossy().into_owned());
    let notes = Notes { log, token: token.to_string_lossy().into_owned() };
    let served = notes.serve(std::io::stdin().lock(), std::io::stdout().lock());
    Some(if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
