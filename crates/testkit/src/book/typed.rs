//! Pages that are typed: every command of a page is run, in order, in a home of its own, and must print what the page says.
//!
//! Remarks that readers do not see say the rest: `<!-- file: PATH -->` and `<!-- append: PATH -->` before a block write it,
//! `<!-- in: DIR -->` changes the directory, `<!-- copy: PATH -->` takes a file from the repository there, `<!-- do: COMMAND -->` does what
//! the text tells in words, and `<!-- not run: WHY -->` leaves a block out, or what begins with the command that stands before the reason
//! in backquotes. `<!-- with: FEATURE -->` and `<!-- without: FEATURE -->` leave a block to those who have such a program. Paths begin in
//! `~/src`, unless they begin with `~/`.

use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use super::blocks::{Block, blocks};
use crate::scratch::{self, Scratch};

/// What the home is called in pages.
const SHOWN_HOME: &str = "/home/ann";

/// What the reader of a page does.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Goes to a directory.
    In(String),
    /// Does this, and it succeeds: what is not shown, or one of a list of commands.
    Do(String),
    /// Takes a file from the repository.
    Copy(String),
    /// Writes a file.
    Write(String, String),
    /// Adds to a file.
    Append(String, String),
    /// Types a command, and sees this.
    Type(String, Vec<String>),
}

fn steps(page: &str, features: &[&str]) -> Vec<Step> {
    let mut blocks = blocks(page).into_iter().peekable();
    let (mut steps, mut notes) = (Vec::new(), Vec::new());
    for (number, line) in page.lines().enumerate() {
        match remark(line) {
            Some(("in", dir)) => steps.push(Step::In(dir.to_owned())),
            Some(("do", command)) => steps.push(Step::Do(command.to_owned())),
            Some(("copy", path)) => steps.push(Step::Copy(path.to_owned())),
            Some(about_a_block) => notes.push(about_a_block),
            None => {}
        }
        let Some(block) = blocks.next_if(|block| block.line == number + 1) else { continue };
        let notes = std::mem::take(&mut notes);
        match notes.as_slice() {
            [("file", path)] => steps.push(Step::Write((*path).to_owned(), block.text)),
            [("append", path)] => steps.push(Step::Append((*path).to_owned(), block.text)),
            [("not run", why)] if !why.starts_with('`') => {}
            [("with", feature)] if !features.contains(feature) => {}
            [("without", feature)] if features.contains(feature) => {}
            [("with" | "without", _)] => steps.extend(commands(&block)),
            notes if block.language == "console" => {
                let left_out: Vec<&str> = notes.iter().map(|note| left_out(*note)).collect();
                let is_left_out = |it: &Step| {
                    left_out
                        .iter()
                        .any(|command| it.typed().is_some_and(|it| it.starts_with(command)))
                };
                steps.extend(commands(&block).into_iter().filter(|it| !is_left_out(it)));
            }
            [] => {}
            [(word, _), ..] => panic!("nobody knows what `<!-- {word}: … -->` means here"),
        }
    }
    steps
}

/// What a remark says: its word, and the rest.
fn remark(line: &str) -> Option<(&str, &str)> {
    line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(": ")
}

/// The command of a block that a remark leaves out.
fn left_out<'p>((word, text): (&str, &'p str)) -> &'p str {
    let command = text.strip_prefix('`').and_then(|it| it.split('`').next());
    match (word, command) {
        ("not run", Some(command)) => command,
        _ => panic!("nobody knows what `<!-- {word}: {text} -->` means before commands"),
    }
}

/// The commands of a block: with what they print, or a list of them.
fn commands(block: &Block) -> Vec<Step> {
    let lines = || block.text.lines().filter(|line| !line.trim().is_empty());
    if !lines().any(|line| line.starts_with("$ ")) {
        return lines().map(|line| Step::Do(line.to_owned())).collect();
    }
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

impl Step {
    fn typed(&self) -> Option<&str> {
        match self {
            Self::Do(command) | Self::Type(command, _) => Some(command),
            _ => None,
        }
    }
}

/// Somebody at an empty machine, with cargo, git and one program.
pub struct Reader {
    scratch: Scratch,
    /// Where the program is.
    programs: Utf8PathBuf,
    /// What it was built with, besides the usual.
    features: Vec<&'static str>,
    /// What was said with `export`.
    exported: Vec<(String, String)>,
    at: Utf8PathBuf,
}

impl Reader {
    /// With this program, whose name is what is typed. Its directory is all that is known besides cargo and the system.
    #[must_use]
    pub fn with(program: &str) -> Self {
        let scratch = Scratch::new();
        let user =
            "[user]\nname = Ann Author\nemail = ann@example.com\n[init]\ndefaultBranch = main\n";
        scratch.write("home/.gitconfig", user);
        let at = scratch.path("home/src");
        fs_err::create_dir_all(&at).unwrap();
        Self { scratch, programs: beside(program), features: Vec::new(), exported: Vec::new(), at }
    }

    /// The program was built with these features, which are not there by default.
    #[must_use]
    pub fn having(mut self, features: &[&'static str]) -> Self {
        self.features = features.to_vec();
        self
    }

    /// Copies a directory to `~/src`, without what was built in it, and goes there.
    pub fn copy(&mut self, dir: &Utf8Path) {
        let root = self.place(dir.file_name().unwrap());
        let mut waiting = vec![Utf8PathBuf::new()];
        while let Some(inside) = waiting.pop() {
            fs_err::create_dir_all(root.join(&inside)).unwrap();
            for entry in dir.join(&inside).read_dir_utf8().unwrap() {
                let entry = entry.unwrap();
                let path = inside.join(entry.file_name());
                if !entry.file_type().unwrap().is_dir() {
                    fs_err::copy(entry.path(), root.join(path)).unwrap();
                } else if entry.file_name() != "target" {
                    waiting.push(path);
                }
            }
        }
        self.at = root;
    }

    /// Does what a page says, and returns what is different from what it says.
    #[must_use]
    pub fn follow(&mut self, page: &str) -> Vec<String> {
        steps(page, &self.features).into_iter().filter_map(|step| self.take(step)).collect()
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
            Step::Copy(path) => {
                let from = super::root().join(path);
                fs_err::copy(&from, self.at.join(from.file_name().unwrap())).unwrap();
            }
            Step::Write(path, text) => drop(scratch::write(&self.place(&path), text)),
            Step::Append(path, text) => {
                let path = self.place(&path);
                let before = fs_err::read_to_string(&path).unwrap_or_default();
                scratch::write(&path, before + &text);
            }
            // Commands run in shells of their own; this is meant for all that follow.
            Step::Do(command) | Step::Type(command, _) if command.starts_with("export ") => {
                let assignment = command.trim_start_matches("export ");
                let (name, _) = assignment.split_once('=').unwrap();
                let (_, value) = self.run(&format!("{command}; printf %s \"${name}\""));
                // As it is, not as it is shown.
                let home = self.scratch.path("home");
                self.exported.push((name.to_owned(), value.replace(SHOWN_HOME, home.as_str())));
            }
            Step::Do(command) => {
                let (succeeded, printed) = self.run(&command);
                return (!succeeded).then(|| format!("`{command}` failed:\n{printed}"));
            }
            Step::Type(command, expected) => {
                let (succeeded, printed) = self.run(&command);
                // Where nothing is compared, only this tells that something went wrong.
                if !succeeded && says_nothing(&expected) {
                    return Some(format!("`{command}` failed:\n{printed}"));
                }
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
        let (ours, cargo) = (&self.programs, beside(&std::env::var("CARGO").unwrap()));
        // The sandbox lets agents use the toolchains that rustup has, so it must know where.
        let rustup = cargo.ancestors().find(|it| it.join("toolchains").is_dir());
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(&self.at)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", format!("{ours}:{home}/.cargo/bin:{cargo}:/usr/local/bin:/usr/bin:/bin"))
            .env("HOME", &home)
            .env("CARGO_HOME", home.join(".cargo"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_AGENTS_SUPERVISOR_IDLE", "1")
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .envs(rustup.map(|it| ("RUSTUP_HOME", it)))
            .envs(self.exported.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).replace(home.as_str(), SHOWN_HOME);
        (output.status.success(), printed)
    }
}

fn beside(program: &str) -> Utf8PathBuf {
    Utf8Path::new(program).parent().unwrap().to_owned()
}

/// Whether a page leaves out everything that is printed.
fn says_nothing(expected: &[String]) -> bool {
    expected.iter().all(|line| ["", "…"].contains(&line.trim()))
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
fn what_fails_is_shown_to_fail() {
    let page = |lines: &str| format!("```console\n{lines}\n```\n");
    for (lines, complaints) in [
        ("$ echo no; false\nno", 0),
        ("$ echo no; false\n…", 1),
        ("$ false", 1),
        ("$ echo yes\n…", 0),
        ("false", 1),
    ] {
        let said = Reader::with("/usr/bin/true").follow(&page(lines));
        assert_eq!(said.len(), complaints, "{lines}: {said:?}");
    }
}

#[test]
fn remarks_say_what_happens_to_the_next_block() {
    let page = "<!-- in: shop -->\n<!-- file: a/b.toml -->\n```toml\nc = 1\n```\n<!-- not run: why -->\n```console\n$ d\n```\n```console\n$ e\nf\n$ g\n```\n<!-- not run: `i`: why -->\n```console\nh  # one\ni j\n```\n<!-- with: k -->\n```console\nl\n```\n<!-- without: k -->\n```console\nm\n```\n";
    let (shop, file) =
        ("shop".to_owned(), Step::Write("a/b.toml".to_owned(), "c = 1\n".to_owned()));
    let typed = |command: &str, printed: &[&str]| {
        Step::Type(command.to_owned(), printed.iter().map(|it| (*it).to_owned()).collect())
    };
    let listed = |command: &str| Step::Do(command.to_owned());
    let most = [Step::In(shop), file, typed("e", &["f"]), typed("g", &[]), listed("h  # one")];
    for (features, last) in [([].as_slice(), "m"), (&["k"], "l")] {
        let (end, before) = steps(page, features)
            .split_last()
            .map(|(end, it)| (end.typed().map(str::to_owned), it == most))
            .unwrap();
        assert_eq!((end.as_deref(), before), (Some(last), true));
    }
}
