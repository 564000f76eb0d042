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
    opened(file)?.write_all(&line)
}

/// A new file is for nobody else: prompts, commands and files that were read are in it.
fn opened(file: &Utf8Path) -> io::Result<fs_err::File> {
    let mut options = fs_err::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use fs_err::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(file)
}

/// What was written down. A line that is none has its number.
pub(super) fn read(file: &Utf8Path) -> io::Result<Result<Vec<HookDocument>, (usize, String)>> {
    let text = fs_err::read_to_string(file)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines
        .map(|(at, line)| serde_json::from_str(line).map_err(|error| (at + 1, error.to_string())));
    Ok(parsed.collect())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_written_down_is_for_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(dir.path()).unwrap().join("calls.jsonl");
        opened(&file).unwrap().write_all(b"{}\n").unwrap();
        assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // One that is there stays as its owner made it.
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        opened(&file).unwrap();
        assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
