//! Which version a program says that it is.

use std::time::Duration;

use agents_system::process::Call;
use camino::Utf8Path;
use semver::Version;

/// Some hosts start a JavaScript engine to say it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `<program> --version` says; `None` if it says nothing of the kind, or not in time.
pub(super) fn version_of(program: &Utf8Path) -> Option<Version> {
    version_by(Call::new(program.as_str()))
}

/// The same for a program that is called in its own way.
pub(super) fn version_by(call: Call) -> Option<Version> {
    let said = call.arg("--version").deadline(PATIENCE).capture().ok()?;
    version_in(&said.stdout_text())
}

/// The first word that is a version.
fn version_in(text: &str) -> Option<Version> {
    let words = text.split(|c: char| c.is_whitespace() || "(),:".contains(c));
    let mut versions = words.filter_map(|word| {
        let word = word.rsplit(['/', '@']).next().unwrap_or(word).trim_end_matches('.');
        Version::parse(word.strip_prefix('v').unwrap_or(word)).ok()
    });
    versions.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (text, version) in [
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("kiro-cli v3.0.1", Some("3.0.1")),
            (
                "GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.",
                Some("1.0.102"),
            ),
            ("opencode/1.18.33 linux-x64 node-v24.1.0", Some("1.18.33")),
            ("1.0.102-beta.1", Some("1.0.102-beta.1")),
            ("usage: claude 7", None),
            ("", None),
        ] {
            assert_eq!(version_in(text).map(|it| it.to_string()).as_deref(), version, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_version_that_is_found_was_said(text in r"([v0-9./@(),:+\-a ]|\PC){0,60}") {
            if let Some(version) = version_in(&text) {
                proptest::prop_assert!(text.contains(&version.to_string()));
            }
        }
    }
}
