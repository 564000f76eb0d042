//! How much the `search` tool costs, compared with the `rg` program on the same tree.
//!
//! `cargo bench -p agents-tool --bench search` prints the ratios of wall time. `rg` comes with `cargo install ripgrep` or the
//! package `ripgrep` of Debian; without it there is nothing to compare with, and that is said. Only ratios: how fast this machine
//! is does not matter. Both are given the same tree, filters, threads and lines to print; `rg` pays for its start, which it has to, and
//! the tool for its sorted result and for opening every file below the root.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

use std::{
    process::{Command, ExitCode, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use agents_testkit::scratch::Scratch;
use agents_tool::{
    Area, CallContext, Typed as _,
    artifacts::ArtifactDir,
    tools::{Search, SearchInput},
};

const FILES: usize = 6_000;
const LINES: usize = 150;
const ROUNDS: usize = 30;
/// What searching may cost, compared with `rg`.
const LIMIT: f64 = 1.5;

const PATTERNS: [(&str, &str); 4] = [
    ("a rare word", "needle_in_a_haystack"),
    ("a common word", "struct"),
    ("an expression", r"fn \w+_(7|42)\("),
    ("what is nowhere", "nowhere_to_be_found"),
];

fn main() -> ExitCode {
    let version = Command::new("rg").arg("--version").output();
    let Ok(version) = version else {
        println!(
            "there is no `rg` to compare with: `cargo install ripgrep`, or the package `ripgrep`"
        );
        return ExitCode::SUCCESS;
    };
    let version =
        String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_owned();
    let scratch = Scratch::in_memory();
    let bytes = fill(&scratch);
    println!(
        "{FILES} files, {} MB, {version}, medians (minima) of {ROUNDS} rounds",
        bytes / 1_000_000
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let area = Area::workspace(&scratch.path("tree")).unwrap();
    let artifacts = Arc::new(ArtifactDir::new(&scratch.path("artifacts")));
    let context = CallContext::new(area, artifacts, Duration::from_secs(600));
    let mut worst = 0.0_f64;
    for (what, pattern) in PATTERNS {
        let ours = || {
            let input = SearchInput {
                pattern: pattern.to_owned(),
                limit: Some(usize::MAX),
                ..SearchInput::default()
            };
            let output = runtime.block_on(Search::default().run(input, &context)).unwrap();
            if output.ours { 0 } else { output.text.lines().count() }
        };
        let theirs = || {
            let mut rg = Command::new("rg");
            rg.args([
                "--no-config",
                "--no-heading",
                "--line-number",
                "--color=never",
                pattern,
                ".",
            ]);
            let output =
                rg.current_dir(scratch.path("tree")).stdin(Stdio::null()).output().unwrap();
            output.stdout.iter().filter(|byte| **byte == b'\n').count()
        };
        assert_eq!(ours(), theirs(), "both must find the same");
        let mut times: [Vec<Duration>; 2] = Default::default();
        for round in 0..ROUNDS {
            // In turns, and not always in the same order.
            for at in [round % 2, (round + 1) % 2] {
                let since = Instant::now();
                let _ = if at == 0 { ours() } else { theirs() };
                times[at].push(since.elapsed());
            }
        }
        let [ours, theirs] = times.map(|mut it| {
            it.sort();
            (it[it.len() / 2].as_secs_f64(), it[0].as_secs_f64())
        });
        let ratio = ours.0 / theirs.0;
        worst = worst.max(ratio);
        println!("{what:<16} {ratio:.2} of rg ({:.2})", ours.1 / theirs.1);
    }
    if worst > LIMIT {
        println!("searching costs more than {LIMIT} times what it costs `rg`");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Files that look like sources, the same in every run.
fn fill(scratch: &Scratch) -> usize {
    let mut bytes = 0;
    for file in 0..FILES {
        let mut text = String::new();
        for line in 0..LINES {
            text.push_str(&match line % 5 {
                0 => format!("pub struct Thing{file}x{line} {{ inner: Vec<u8>, length: usize }}\n"),
                1 => format!("    fn method_{line}(&self, other: &Self) -> Option<u64> {{\n"),
                2 => format!("        let value_{line} = self.inner.iter().map(|it| u64::from(*it)).sum::<u64>();\n"),
                3 => "        // and so on, as sources do, with a line that is somewhat longer than the others\n".to_owned(),
                _ => "    }\n".to_owned(),
            });
        }
        if file % 1_000 == 7 {
            text.push_str("let needle_in_a_haystack = 1;\n");
        }
        bytes += text.len();
        scratch.write(format!("tree/crate{}/src/deep/module{file}.rs", file % 97), text);
    }
    bytes
}
