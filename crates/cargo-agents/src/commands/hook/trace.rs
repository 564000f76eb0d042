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

#[cfg(test)]
mod tests {
    use agents_hook::{HookOutput, Wire};
    use agents_host::Event;
    use proptest::{prelude::*, sample::select};
    use serde_json::{Value, json};

    use super::{super::account::Account, *};

    fn scratch() -> (tempfile::TempDir, Utf8PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(dir.path()).unwrap().join("calls.jsonl");
        (dir, file)
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_down_is_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_dir, file) = scratch();
        opened(&file).unwrap().write_all(b"{}\n").unwrap();
        assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // One that is there stays as its owner made it.
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        opened(&file).unwrap();
        assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }

    /// As deep as a reader of JSON goes.
    fn deep() -> impl Strategy<Value = Value> {
        (".{0,8}", 0..126_usize).prop_map(|(text, levels)| {
            (0..levels).fold(json!(text), |it, level| {
                if level % 2 == 0 { json!([it]) } else { json!({ "a": it }) }
            })
        })
    }

    fn raw() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            deep().prop_map(|it| json!({ "tool_input": it }).to_string().into_bytes()),
            prop::collection::vec(any::<u8>(), 0..24),
        ]
    }

    proptest! {
        /// Whatever hosts send and hooks answer: one call that is written down does not make the others unreadable.
        #[test]
        fn what_was_written_down_can_be_read(
            calls in prop::collection::vec((select(&Wire::ALL[..]), select(&Event::ALL[..]), raw(), deep()), 1..4),
        ) {
            let (_dir, file) = scratch();
            let documents = calls.into_iter().map(|(wire, event, raw, input)| {
                let cwd = Utf8PathBuf::from("/somewhere\n");
                Account::ours(wire, event, cwd, HookOutput::update_input(input)).document(wire, event, &raw)
            });
            let documents: Vec<HookDocument> = documents.collect();
            documents.iter().for_each(|it| append(&file, it).unwrap());
            let read = read(&file).unwrap();
            let read = read.map_err(|(line, why)| TestCaseError::fail(format!("line {line}: {why}")))?;
            let told = |it: &[HookDocument]| serde_json::to_string(it).unwrap();
            prop_assert_eq!(told(&read), told(&documents));
        }

        #[test]
        fn a_line_that_is_none_has_its_number(before in 0..3_usize, line in "[{}\\[\\]a\":1]{1,12}") {
            let (_dir, file) = scratch();
            fs_err::write(&file, format!("{}{line}", "\n".repeat(before))).unwrap();
            let read = read(&file).unwrap();
            prop_assert_eq!(read.map_err(|it| it.0).err(), Some(before + 1));
        }
    }
}
