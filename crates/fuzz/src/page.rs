//! The page of the book that says what was fuzzed, for how long, and what came of it.
//!
//! Rows of targets that were not run stay as they are, but for what must hold.

use std::collections::BTreeMap;

use camino::Utf8Path;

use crate::targets::{TARGETS, Target};

/// Where it is.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/real-fuzz.md");

const BEFORE: &str = "\
# While fuzzing

Whatever reads other people's input must cope with any bytes. `crates/fuzz` says what that means, once for each target; `cargo test` runs it on every
input below `fuzz/seeds`, and libFuzzer on inputs that it derives from them, guided by the edges of the program that each one reaches:

<!-- not run: it takes as long as it is told -->
```console
fuzz/run                     # every target, a minute each, as many at a time as there are cores
fuzz/run 10 shell rights     # some of them, ten minutes each
fuzz/run --total 30          # every target, half an hour in all
fuzz/run 0                   # seeds and what earlier runs left in fuzz/corpus, once
```

It installs cargo-fuzz if there is none, works with any toolchain, and builds with optimisation, overflow checks and debug assertions. It fails if anything panics, takes five seconds, or takes two gigabytes.
With `--update-docs` it writes the rows of what it ran into this table; the others stay.
";
const HEAD: [&str; 8] = [
    "target",
    "what must hold",
    "runs",
    "seconds",
    "edges",
    "new inputs",
    "found",
    "when, at which commit",
];
const AFTER: &str = "\
- **runs**: how many inputs were tried in this many **seconds**, on one core of a machine that may have been busy.
- **edges**: how many branches of the program all inputs together reach. **new inputs**: how many of them reached something that no seed and no input of an earlier run did; they stay in `fuzz/corpus` on that machine.
- **found**: what ended the run. It is then fixed, and the input is kept below `fuzz/seeds` under a name that says what it shows.

What libFuzzer has found so far, all of it fixed: control characters in addresses of repositories; edits by a model that make a file grow endlessly; one invalid byte that ended the answer of an ACP agent;
JSON at the depth limit that was passed on or stored inside something else and could not be read again (hook calls, inputs and results of models, plans, definitions, TOML entries); a transcript whose last number is the largest there is.
What was found by having to write down what must hold: messages of a cluster that could name any directory of a worker, or a device; lines and frames of unbounded size; sums of tokens that overflow; runs of invisible
characters that masked each other; search results that could start new lines; host names that are patterns; numbers and escapes with a sign, invalid trace headers, and chunks longer than declared;
unknown orders that were reported as done; locations outside a workspace shown as inside it; receipts and records that point elsewhere; a swallowed Ctrl-C.
";

/// Writes it anew, with what logs of libFuzzer say: `<target>.log` in a directory, and `when` they are from.
///
/// # Errors
/// A log cannot be read, or the page cannot be written.
pub fn write(logs: &Utf8Path) -> std::io::Result<()> {
    let when = fs_err::read_to_string(logs.join("when"))?;
    let mut came = BTreeMap::new();
    for target in TARGETS {
        let log = logs.join(format!("{}.log", target.name));
        if log.exists() {
            // What a target prints may be anything.
            let log = fs_err::read(log)?;
            came.insert(
                target.name,
                row(target, &figures(&String::from_utf8_lossy(&log), when.trim())),
            );
        }
    }
    let page = fs_err::read_to_string(FILE).unwrap_or_default();
    fs_err::write(FILE, rendered(&page, &came))
}

/// The page as it must be, if nothing was run since it was written.
#[must_use]
pub fn unchanged(page: &str) -> String {
    rendered(page, &BTreeMap::new())
}

fn rendered(page: &str, came: &BTreeMap<&str, String>) -> String {
    let rows = TARGETS.iter().map(|target| match came.get(target.name) {
        Some(row) => row.clone(),
        None => row(target, &earlier(page, target.name)),
    });
    let rule = HEAD.map(|name| "-".repeat(name.len()));
    let head = [HEAD.map(str::to_owned), rule].map(|it| line(&it));
    let table: String = head.into_iter().chain(rows).collect();
    format!("{BEFORE}\n{table}\n{AFTER}")
}

/// What a run says about a target; `-` for what it does not say.
type Figures = [String; HEAD.len() - 2];

fn row(target: &Target, figures: &Figures) -> String {
    let about = [format!("`{}`", target.name), target.holds.to_owned()];
    line(&[&about[..], figures].concat())
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn unknown() -> Figures {
    std::array::from_fn(|_| "-".to_owned())
}

/// What the page says about a target.
fn earlier(page: &str, target: &str) -> Figures {
    let begins = format!("| `{target}` | ");
    let row = page.lines().find_map(|it| it.strip_prefix(&begins)?.strip_suffix(" |"));
    // Before them stands what must hold.
    let cells = row.map(|it| it.split(" | ").skip(1).map(str::to_owned).collect::<Vec<_>>());
    cells.and_then(|it| it.try_into().ok()).unwrap_or_else(unknown)
}

/// What a log of libFuzzer says.
fn figures(log: &str, when: &str) -> Figures {
    let after = |words: &str| {
        let found = log.lines().rev().find_map(|it| Some(it.split_once(words)?.1.trim()));
        let number = found.map(|it| it.split(' ').next().unwrap_or_default());
        number.unwrap_or("-").to_owned()
    };
    let found = match log.lines().find_map(|it| it.strip_prefix("SUMMARY: libFuzzer: ")) {
        Some("deadly signal") => "a panic",
        Some(words) if words.contains("timeout") => "something that takes too long",
        Some(words) if words.contains("memory") => "something that takes too much memory",
        Some(_) => "a failure",
        None => "nothing",
    };
    [
        after("stat::number_of_executed_units:"),
        after("took: "),
        after("cov: "),
        after("stat::new_units_added:"),
        found.to_owned(),
        when.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO: Running with entropic power schedule\n\
        #2\tINITED cov: 90 ft: 91 corp: 1/1b exec/s: 0 rss: 40Mb\n\
        #812\tDONE   cov: 123 ft: 456 corp: 7/99b lim: 4096 exec/s: 406 rss: 41Mb\n\
        Done 812 runs in 2 second(s)\nstat::number_of_executed_units: 812\nstat::average_exec_per_sec:     406\n\
        stat::new_units_added:          6\ntook: 3\n";

    #[test]
    fn a_log_becomes_a_row() {
        let said = ["812", "3", "123", "6", "nothing", "today, abc"];
        assert_eq!(figures(LOG, "today, abc"), said);
        let broken =
            "thread panicked\nSUMMARY: libFuzzer: deadly signal\nstat::new_units_added: 1\n";
        assert_eq!(figures(broken, "today"), ["-", "-", "-", "1", "a panic", "today"]);
        let slow = figures("SUMMARY: libFuzzer: timeout after 5 seconds", "");
        assert_eq!(slow[4], "something that takes too long");
    }

    #[test]
    fn what_was_not_run_stays() {
        let (one, other) = (&TARGETS[0], &TARGETS[1]);
        let first = rendered("", &BTreeMap::from([(one.name, row(one, &figures(LOG, "first")))]));
        let both =
            rendered(&first, &BTreeMap::from([(other.name, row(other, &figures(LOG, "then")))]));
        assert_eq!(earlier(&both, one.name), figures(LOG, "first"));
        assert_eq!(earlier(&both, other.name), figures(LOG, "then"));
        assert_eq!(earlier(&both, TARGETS[2].name), unknown());
        assert_eq!(unchanged(&both), both);
        assert!(TARGETS.iter().all(|it| !it.holds.contains('|')), "a row has its columns");
    }
}
