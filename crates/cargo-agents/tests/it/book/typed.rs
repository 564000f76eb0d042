//! Pages that are typed: every command of `docs/start` and `docs/guides` is run, in order, in a home of its own, and must print
//! what the page says.
//!
//! Remarks that readers do not see say the rest: `<!-- file: PATH -->` and `<!-- append: PATH -->` before a block write it,
//! `<!-- in: DIR -->` changes the directory, `<!-- set: NAME=VALUE -->` sets a variable, `<!-- do: COMMAND -->` does what the text tells in words, and `<!-- not run: WHY -->`
//! leaves a block out. Paths begin in `~/src`, unless they begin with `~/`.

use std::process::{Command, Stdio};

use agents_testkit::scratch::{self, Scratch};
use camino::{Utf8Path, Utf8PathBuf};

use super::blocks::{Block, blocks};

/// What the reader of a page does.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Goes to a directory.
    In(String),
    /// Has a variable from now on.
    Set(String, String),
    /// Does what is not shown.
    Do(String),
    /// Writes a file.
    Write(String, String),
    /// Adds to a file.
    Append(String, String),
    /// Types a command, and sees this.
    Type(String, Vec<String>),
}

/// Does what a page says, and returns what is different from what it says.
pub(super) fn follow(page: &str) -> Vec<String> {
    let mut reader = Reader::new();
    steps(page).into_iter().filter_map(|step| reader.take(step)).collect()
}

fn steps(page: &str) -> Vec<Step> {
    let mut blocks = blocks(page).into_iter().peekable();
    let (mut steps, mut note) = (Vec::new(), None);
    for (number, line) in page.lines().enumerate() {
        match remark(line) {
            Some(("in", dir)) => steps.push(Step::In(dir.to_owned())),
            Some(("set", variable)) => {
                let (name, value) = variable.split_once('=').unwrap();
                steps.push(Step::Set(name.to_owned(), value.to_owned()));
            }
            Some(("do", command)) => steps.push(Step::Do(command.to_owned())),
            Some(about_a_block) => note = Some(about_a_block),
            None => {}
        }
        let Some(block) = blocks.next_if(|block| block.line == number + 1) else { continue };
        match note.take() {
            Some(("file", path)) => steps.push(Step::Write(path.to_owned(), block.text)),
            Some(("append", path)) => steps.push(Step::Append(path.to_owned(), block.text)),
            Some(("not run", _)) => {}
            Some((word, _)) => panic!("nobody knows what `<!-- {word}: … -->` means"),
            None if block.language == "console" => steps.extend(commands(&block)),
            None => {}
        }
    }
    steps
}

/// What a remark says: its word, and the rest.
fn remark(line: &str) -> Option<(&str, &str)> {
    line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(": ")
}

/// The commands of a block with what they print.
fn commands(block: &Block) -> Vec<Step> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            found.push((command.to_owned(), Vec::new()));
        } else if let Some((_, printed)) = found.last_mut() {
            printed.push(line.to_owned());
        } else {
            panic!("line {}: nothing was typed before `{line}`", block.line);
        }
    }
    found.into_iter().map(|(command, printed)| Step::Type(command, printed)).collect()
}

/// Somebody at an empty machine.
struct Reader {
    scratch: Scratch,
    at: Utf8PathBuf,
    variables: Vec<(String, String)>,
}

impl Reader {
    fn new() -> Self {
        let scratch = Scratch::new();
        let user =
            "[user]\nname = Ann Author\nemail = ann@example.com\n[init]\ndefaultBranch = main\n";
        scratch.write("home/.gitconfig", user);
        let at = scratch.path("home/src");
        fs_err::create_dir_all(&at).unwrap();
        Self { scratch, at, variables: Vec::new() }
    }

    fn place(&self, path: &str) -> Utf8PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.scratch.path("home").join(rest),
            None => self.scratch.path("home/src").join(path),
        }
    }

    /// Takes a step; what is not as the page says is returned.
    fn take(&mut self, step: Step) -> Option<String> {
        match step {
            Step::In(dir) => self.at = self.place(&dir),
            Step::Set(name, value) => self.variables.push((name, value)),
            Step::Write(path, text) => drop(scratch::write(&self.place(&path), text)),
            Step::Append(path, text) => {
                let path = self.place(&path);
                let before = fs_err::read_to_string(&path).unwrap_or_default();
                scratch::write(&path, before + &text);
            }
            Step::Do(command) => {
                let (succeeded, printed) = self.run(&command);
                return (!succeeded).then(|| format!("`{command}` failed:\n{printed}"));
            }
            Step::Type(command, expected) => {
                let (_, printed) = self.run(&command);
                let lines: Vec<&str> = printed.trim_end().lines().collect();
                let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
                let told = || {
                    format!(
                        "$ {command}\n--- the page\n{}\n--- now\n{printed}",
                        expected.join("\n")
                    )
                };
                return (!is_as_told(&expected, &lines)).then(told);
            }
        }
        None
    }

    /// Whether it succeeded, and what it printed, in the order in which it did.
    fn run(&self, command: &str) -> (bool, String) {
        let home = self.scratch.path("home");
        let beside = |program: &str| Utf8Path::new(program).parent().unwrap().to_owned();
        let ours = beside(env!("CARGO_BIN_EXE_cargo-agents"));
        let cargo = beside(&std::env::var("CARGO").unwrap());
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(&self.at)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", format!("{ours}:{cargo}:/usr/local/bin:/usr/bin:/bin"))
            .env("HOME", &home)
            .env("CARGO_HOME", home.join(".cargo"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_AGENTS_SUPERVISOR_IDLE", "1")
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).replace(home.as_str(), "/home/ann");
        (output.status.success(), printed)
    }
}

/// Whether this was printed: line by line, with anything where the page has `…`.
fn is_as_told(expected: &[&str], printed: &[&str]) -> bool {
    let tamed = |lines: &[&str]| lines.iter().map(|line| tame(line)).collect::<Vec<String>>();
    let blank_at_the_end = expected.iter().rev().take_while(|line| line.trim().is_empty()).count();
    let expected = &expected[..expected.len() - blank_at_the_end];
    let printed = tamed(printed);
    let parts: Vec<Vec<String>> = expected.split(|line| line.trim() == "…").map(tamed).collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return parts.first().is_some_and(|all| *all == printed);
    };
    let Some(mut rest) = printed.strip_prefix(first.as_slice()) else { return false };
    for part in between.iter().filter(|part| !part.is_empty()) {
        let found = rest.windows(part.len()).position(|lines| lines == part.as_slice());
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A line without what differs from run to run: ids, moments, how long something took, and how wide columns are.
fn tame(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let takes_time = |at: usize| {
        let unit = words.get(at + 1).map(|next| next.trim_end_matches(['.', ',', ':', ')']));
        unit.is_some_and(|unit| ["s", "ms", "m"].contains(&unit))
    };
    let tamed = words.iter().enumerate().map(|(at, word)| {
        let bare = word.trim_matches(['`', ':', ',', '.', '(', ')']);
        let end = bare.rsplit('-').next().unwrap_or(bare);
        let is_hex = |text: &str| text.chars().all(|it| it.is_ascii_hexdigit() || it == '-');
        let is_number = !bare.is_empty() && bare.chars().all(|it| it.is_ascii_digit() || it == '.');
        if (end.len() == 8 && is_hex(end)) || (bare.len() == 36 && is_hex(bare)) {
            "ID"
        } else if bare.as_bytes().get(10) == Some(&b'T') && bare.starts_with("20") {
            "MOMENT"
        } else if is_number && takes_time(at) {
            "SOME"
        } else {
            *word
        }
    });
    tamed.collect::<Vec<&str>>().join(" ")
}

#[test]
fn what_is_left_out_may_be_anything() {
    let printed = ["a  0.1 s", "b", "c", "d review-0a1b2c3d:"];
    for (expected, fits) in [
        (vec!["a 7 s", "b", "c", "d review-ffffffff:"], true),
        (vec!["a 7 s", "…"], true),
        (vec!["…", "c", "…"], true),
        (vec!["…", "d review-00000000:", ""], true),
        (vec!["…", "c"], false),
        (vec!["b", "…"], false),
        (vec!["…", "c", "…", "b", "…"], false),
        (vec!["a 7 s"], false),
        (vec![], false),
    ] {
        assert_eq!(is_as_told(&expected, &printed), fits, "{expected:?}");
    }
    assert!(is_as_told(&[], &[]));
}

#[test]
fn remarks_say_what_happens_to_the_next_block() {
    let page = "<!-- in: shop -->\n<!-- file: a/b.toml -->\n```toml\nc = 1\n```\n<!-- not run: why -->\n```console\n$ d\n```\n```console\n$ e\nf\n$ g\n```\n";
    let (shop, file) =
        ("shop".to_owned(), Step::Write("a/b.toml".to_owned(), "c = 1\n".to_owned()));
    let typed = |command: &str, printed: &[&str]| {
        Step::Type(command.to_owned(), printed.iter().map(|it| (*it).to_owned()).collect())
    };
    assert_eq!(steps(page), [Step::In(shop), file, typed("e", &["f"]), typed("g", &[])]);
}
