//! `cargo agents task logs ID`: the lines of a transcript, as they are written.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    process::ExitCode,
    time::Duration,
};

use agents_system::{explain::ErrorKind, finding::Finding, process};
use agents_task::transcript::{Damage, Harm, Standing};

use super::{meant, transcripts};
use crate::{failure::Failure, output::Output, settings::Settings};

/// How often it is looked whether there is more.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether to wait for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Until,
    No,
}

/// Prints whole lines only; with [`Follow::Until`] until the task has ended, or Ctrl-C.
pub(super) fn run(
    settings: &Settings,
    output: &Output,
    prefix: &str,
    follow: Follow,
) -> Result<ExitCode, Failure> {
    let store = transcripts(settings);
    let id = meant(&store, prefix)?;
    let broken = |error: std::io::Error| Failure::new(ErrorKind::Failure, error.to_string());
    let mut file = fs_err::File::open(store.path(id)).map_err(broken)?;
    process::listen_for_interrupts();
    let mut pending = String::new();
    let (mut at, mut lines) = (0, 0);
    loop {
        // Asked before reading, so that nothing which is written in between is missed.
        let lives = store.standing(&store.meta(id)?) == Standing::Running;
        file.seek(SeekFrom::Start(at)).map_err(broken)?;
        let mut bytes = Vec::new();
        at += file.read_to_end(&mut bytes).map_err(broken)? as u64;
        pending.push_str(&String::from_utf8_lossy(&bytes));
        while let Some(end) = pending.find('\n') {
            output.line(&pending[..end])?;
            pending.drain(..=end);
            lines += 1;
        }
        if !lives && !pending.is_empty() {
            end(output, lines + 1, &std::mem::take(&mut pending))?;
        }
        output.reach()?;
        if follow == Follow::No || !lives || process::interrupted() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What follows the last whole line when nobody writes any more: a record that lacks nothing but the end of its line, or one that is cut off.
fn end(output: &Output, line: usize, text: &str) -> Result<(), Failure> {
    if serde_json::from_str::<serde_json::Value>(text).is_ok() {
        return output.line(text);
    }
    output.findings(&[Finding::warning(Damage { line, harm: Harm::Torn }.told())]);
    Ok(())
}
