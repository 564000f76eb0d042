//! What somebody does who reads a page.
//!
//! Remarks that readers do not see say what the text tells in words, before the block that they are about:
//!
//! | remark | then |
//! |---|---|
//! | `file: PATH`, `append: PATH` | the block is written there, or added to what is there |
//! | `in: DIR` | commands are typed there from now on |
//! | `copy: PATH` | a file of the repository is copied there |
//! | `do: COMMAND` | that is done, and succeeds |
//! | `port: NUMBER` | that port stands for one that is free: others may use this one |
//! | `stays: WHY` | the commands of the block go on, each in a terminal of its own, until the page ends |
//! | `answer: KEY` | its commands are typed at a terminal, and this key answers what each asks |
//! | `not run: WHY` | the block is left out; if a command in backquotes stands before the reason, what begins with it |
//! | `with: FEATURE`, `without: FEATURE` | the block is for those who have this, or do not |
//!
//! Pages in `docs/start` have no `in`, `copy` or `do`: whoever types what they show gets everywhere.
//!
//! Paths begin in `~/src`, unless they begin with `~/`.

use super::blocks::{Block, blocks};

/// What the reader of a page does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Goes to a directory.
    In(String),
    /// Takes another port wherever this one is named.
    Port(String),
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
    /// The same in a terminal of its own, where it goes on.
    Start(String, Vec<String>),
    /// The same at a terminal, with an answer to what it asks.
    Answer(String, Vec<String>, String),
}

/// What is said about the block that follows.
#[derive(Default)]
struct Notes<'p> {
    /// Where it is written.
    file: Option<&'p str>,
    /// What it is added to.
    append: Option<&'p str>,
    is_left_out: bool,
    left_out: Vec<&'p str>,
    stays: bool,
    answer: Option<&'p str>,
    /// The first of them, of whatever kind.
    word: Option<&'p str>,
}

impl<'p> Notes<'p> {
    fn add(&mut self, word: &'p str, text: &'p str, features: &[&str]) {
        self.word.get_or_insert(word);
        let command = text.strip_prefix('`').and_then(|it| it.split('`').next());
        match (word, command) {
            ("file", _) => self.file = Some(text),
            ("append", _) => self.append = Some(text),
            ("not run", Some(command)) => self.left_out.push(command),
            ("not run", None) => self.is_left_out = true,
            ("with", _) => self.is_left_out |= !features.contains(&text),
            ("without", _) => self.is_left_out |= features.contains(&text),
            ("stays", _) => self.stays = true,
            ("answer", _) => self.answer = Some(text),
            _ => panic!("nobody knows what `<!-- {word}: {text} -->` means"),
        }
    }

    fn steps(self, block: Block) -> Vec<Step> {
        if let Some(path) = self.file {
            return vec![Step::Write(path.to_owned(), block.text)];
        }
        if let Some(path) = self.append {
            return vec![Step::Append(path.to_owned(), block.text)];
        }
        if block.language != "console" {
            assert!(self.word.is_none_or(|it| it == "not run"), "line {}: no commands", block.line);
            return Vec::new();
        }
        if self.is_left_out {
            return Vec::new();
        }
        let mut steps = commands(&block);
        for command in &self.left_out {
            let before = steps.len();
            steps.retain(|it| it.typed().is_none_or(|it| !it.starts_with(command)));
            assert!(steps.len() < before, "line {}: nothing is called `{command}`", block.line);
        }
        let how = |step: Step| match (step, self.answer) {
            (Step::Type(command, printed), None) if self.stays => Step::Start(command, printed),
            // Of a list, whatever they say.
            (Step::Do(command), None) if self.stays => Step::Start(command, vec!["…".to_owned()]),
            (Step::Type(command, printed), Some(key)) => {
                Step::Answer(command, printed, key.to_owned())
            }
            (step, _) => step,
        };
        steps.into_iter().map(how).collect()
    }
}

pub(super) fn steps(page: &str, features: &[&str]) -> Vec<Step> {
    let mut blocks = blocks(page).into_iter().peekable();
    let (mut steps, mut notes) = (Vec::new(), Notes::default());
    for (number, line) in page.lines().enumerate() {
        match remark(line) {
            Some(("in", dir)) => steps.push(Step::In(dir.to_owned())),
            Some(("port", number)) => steps.push(Step::Port(number.to_owned())),
            Some(("do", command)) => steps.push(Step::Do(command.to_owned())),
            Some(("copy", path)) => steps.push(Step::Copy(path.to_owned())),
            Some((word, text)) => notes.add(word, text, features),
            None => {}
        }
        if let Some(block) = blocks.next_if(|block| block.line == number + 1) {
            steps.extend(std::mem::take(&mut notes).steps(block));
        }
    }
    steps
}

/// What a remark says: its word, and the rest.
fn remark(line: &str) -> Option<(&str, &str)> {
    line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(": ")
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

#[test]
fn commands_stay_or_are_answered_if_that_is_said() {
    let page = "<!-- port: 8081 -->\n<!-- with: s -->\n<!-- stays: there -->\n```console\n$ a\nb\n```\n<!-- answer: y -->\n```console\n$ c\n```\n";
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let (port, answered) =
        (Step::Port("8081".to_owned()), Step::Answer("c".to_owned(), Vec::new(), "y".to_owned()));
    let stays = Step::Start("a".to_owned(), words(&["b"]));
    assert_eq!(steps(page, &["s"]), [port, stays, answered]);
    assert_eq!(steps(page, &[]).len(), 2);
}

#[test]
#[should_panic(expected = "nothing is called `b`")]
fn what_is_left_out_must_be_there() {
    let _ = steps("<!-- not run: `b`: why -->\n```console\na\n```\n", &[]);
}
