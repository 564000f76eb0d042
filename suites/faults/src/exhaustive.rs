//! The crash tests of single rooms that are too long for `cargo test`: not at random points, but at every one.

use std::time::Duration;

use agents_system::{
    env,
    process::{Call, ProcessError},
};
use anyhow::bail;

use crate::{area::Area, fault::Fault, seen::Seen};

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Test {
    package: &'static str,
    pub(crate) name: &'static str,
}

/// All of them: the ignored tests that are no halves of others.
pub(crate) const TESTS: [Test; 4] = [
    Test {
        package: "agents-sync",
        name: "crashes::a_sync_killed_at_every_write_and_hundreds_of_other_moments_converges",
    },
    Test {
        package: "agents-sync",
        name: "crashes::many_random_histories_with_crashes_lose_nothing_and_converge",
    },
    Test { package: "cargo-agents", name: "plans::crash::killed_at_every_write" },
    Test { package: "cargo-agents", name: "plans::crash::torn_at_every_write" },
];

fn cargo(test: Test) -> Call {
    Call::new(env::CARGO.get().unwrap_or_else(|| "cargo".into()))
        .args(["test", "--locked", "-p", test.package, "--test", "it"])
        .cwd(env!("CARGO_MANIFEST_DIR"))
}

/// Builds them, which is no part of the time that they have.
pub(crate) fn build() -> anyhow::Result<()> {
    for test in TESTS {
        let call = cargo(test).arg("--no-run").deadline(Duration::from_secs(3600));
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
    }
    Ok(())
}

impl Test {
    /// Runs it; nothing, if it does not come to its end in this time.
    pub(crate) fn run(self, time: Duration) -> anyhow::Result<Option<Seen>> {
        let args = ["--", "--ignored", "--nocapture", "--exact", self.name];
        match cargo(self).args(args).deadline(time).capture() {
            Ok(done) => Ok(Some(self.seen(&done.said()))),
            Err(ProcessError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What it said came of it. A test that is not there passes, too, as none of none.
    fn seen(self, said: &str) -> Seen {
        let kills = kills(said);
        let good = said.contains("test result: ok. 1 passed") && kills > 0;
        let tail: Vec<&str> = said.lines().rev().take(12).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Seen {
            area: Area::Exhaustive,
            fault: Fault::Kill,
            hit: kills > 0,
            runs: kills,
            checked: kills,
            problems: if good { Vec::new() } else { vec![tail.join("\n     ")] },
            happened: self.name.to_owned(),
            kept: None,
        }
    }
}

/// How many times it killed something, as it says itself.
fn kills(said: &str) -> usize {
    let lines = said.lines().filter_map(|line| line.trim_end().strip_suffix(" kills"));
    lines.filter_map(|rest| rest.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use camino::{Utf8Path, Utf8PathBuf};

    use super::*;

    #[test]
    fn a_test_that_failed_is_not_there_or_killed_nothing_is_no_proof() {
        let good = |said: &str| TESTS[0].seen(said).problems.is_empty();
        let passed = "test result: ok. 1 passed; 0 failed";
        assert!(good(&format!("New: 90 system calls; 12 kills\nOther: 5 kills\n{passed}")));
        assert_eq!(TESTS[0].seen(&format!("a; 12 kills\nb, 5 kills\n{passed}")).runs, 17);
        assert!(!good(passed), "nothing was killed");
        assert!(!good("12 kills\ntest result: ok. 0 passed; 0 failed"));
        assert!(!good("12 kills\ntest result: FAILED. 0 passed; 1 failed"));
    }

    /// Whoever writes another one puts it into the list.
    #[test]
    fn every_test_that_takes_minutes_is_in_the_list() {
        let mut found = Vec::new();
        let crates = Utf8Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates"));
        let mut open: Vec<Utf8PathBuf> = vec![crates.to_owned()];
        while let Some(dir) = open.pop() {
            for entry in dir.read_dir_utf8().unwrap() {
                let path = entry.unwrap().into_path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension() == Some("rs") {
                    let text = fs_err::read_to_string(&path).unwrap();
                    let mut rest = text.split("#[ignore = \"takes ");
                    rest.next();
                    let name =
                        |it: &str| Some(it.split("fn ").nth(1)?.split('(').next()?.to_owned());
                    found.extend(rest.filter_map(name));
                }
            }
        }
        let mut listed: Vec<String> = TESTS
            .iter()
            .map(|it| it.name.rsplit("::").next().unwrap_or_default().to_owned())
            .collect();
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
    }
}
