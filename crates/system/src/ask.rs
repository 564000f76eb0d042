//! Questions to the person at the terminal, and nobody else.
//!
//! An [`Asker`] exists only where somebody can answer: standard input and standard error are terminals and no CI
//! is running us. Everywhere else there is none, and the caller goes on with what flags and files say. A question
//! is drawn on standard error and is one line when it has been answered. Escape is [`AskError::Cancelled`]; Ctrl-C,
//! Ctrl-D, a signal and the end of the terminal are [`AskError::Interrupted`]; the terminal is as it was before then.
//! Whoever asks may find out meanwhile that no answer is needed any more: a [`Withdrawal`] takes the question back.
//!
//! | module | holds |
//! |---|---|
//! | `menu` | what is asked and what a key does to it: no terminal in there |
//! | `key` | from bytes to keys |
//! | `screen` | the terminal without line editing, drawn in place |
//! | `lines` | the same questions by numbered lines, for terminals that cannot move the cursor |
//!
//! ```no_run
//! use agents_system::ask::{Asker, Choice, Colors};
//! let Some(asker) = Asker::on_terminal(Colors::Off) else { return Ok(()) };
//! let choices = [Choice::new("once").key('o'), Choice::new("never").key('n')];
//! let picked = asker.one("Run it?", &choices, 1)?;
//! # Ok::<(), agents_system::ask::AskError>(())
//! ```

use std::{
    io::{self, IsTerminal as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    env,
    explain::{Code, ErrorKind, Explain},
};

mod input;
mod key;
mod lines;
mod menu;
#[cfg(unix)]
mod screen;

use menu::{How, Menu};

/// The keys in what was typed, in words, each with its length.
#[doc(hidden)]
#[must_use]
pub fn read_keys(typed: &[u8]) -> Vec<(String, usize)> {
    key::keys(typed)
}

/// Somebody who can be asked.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    manner: Manner,
    colors: Colors,
}

/// Whether questions are coloured. They can be read without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colors {
    /// They are.
    On,
    /// They are not.
    Off,
}

/// Takes a question back before it is answered. All clones are about the same one.
#[derive(Debug, Clone, Default)]
pub struct Withdrawal(Arc<AtomicBool>);

impl Withdrawal {
    /// Nobody needs the answer any more: the question is gone in a moment, with [`AskError::Withdrawn`]. Where the system cannot
    /// wait for a terminal and something else, that is after the next line which is typed.
    pub fn withdraw(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_withdrawn(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One of several answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    label: String,
    note: String,
    key: Option<char>,
    start: Start,
}

/// Whether a choice is picked before anybody has pressed a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// It is.
    Picked,
    /// It is not.
    Free,
}

/// The answer to [`Asker::yes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The person would rather not answer this one: escape.
    #[error("cancelled")]
    Cancelled,
    /// The person wants all of it to end, or is gone: Ctrl-C, Ctrl-D, a signal, the end of the terminal.
    #[error("interrupted")]
    Interrupted,
    /// Whoever asked took the question back.
    #[error("nobody needs the answer any more")]
    Withdrawn,
    /// The terminal does not work.
    #[error("cannot ask a question on this terminal")]
    Io(#[from] io::Error),
}

impl Explain for AskError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Cancelled | Self::Interrupted | Self::Withdrawn => ErrorKind::Cancelled,
            Self::Io(_) => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Cancelled | Self::Interrupted | Self::Withdrawn => None,
            Self::Io(_) => Some(Code::NobodyToAsk),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Drawn in place.
    #[cfg(unix)]
    Screen,
    /// Line by line.
    Lines,
}

impl Choice {
    /// This one, not picked.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), note: String::new(), key: None, start: Start::Free }
    }

    /// With a few words beside it.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Picked at once by this key, where one of several is asked for.
    #[must_use]
    pub fn key(mut self, key: char) -> Self {
        self.key = Some(key);
        self
    }

    /// Picked from the start or not, where any number of several is asked for.
    #[must_use]
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }
}

impl Asker {
    /// Whoever sits at the terminal. `None` if there is nobody: standard input or standard error is something else,
    /// or `CI` is set.
    #[must_use]
    pub fn on_terminal(colors: Colors) -> Option<Self> {
        let somebody = io::stdin().is_terminal() && io::stderr().is_terminal();
        let in_ci = env::CI.get().is_some_and(|value| value != "false");
        (somebody && !in_ci).then(|| Self { manner: manner(), colors })
    }

    /// Any number of choices: the positions of those that are picked in the end.
    pub fn many(&self, question: &str, choices: &[Choice]) -> Result<Vec<usize>, AskError> {
        self.ask(Menu::new(question, choices, How::Many), &Withdrawal::default())
    }

    /// Exactly one choice, of at least one: its position. The cursor starts at `preferred`.
    pub fn one(
        &self,
        question: &str,
        choices: &[Choice],
        preferred: usize,
    ) -> Result<usize, AskError> {
        self.one_until(question, choices, preferred, &Withdrawal::default())
    }

    /// The same for a question that may be taken back from another thread.
    pub fn one_until(
        &self,
        question: &str,
        choices: &[Choice],
        preferred: usize,
        withdrawal: &Withdrawal,
    ) -> Result<usize, AskError> {
        let menu = Menu::new(question, choices, How::One { preferred });
        let picked = self.ask(menu, withdrawal)?;
        picked.first().copied().ok_or(AskError::Cancelled)
    }

    /// Yes or no.
    pub fn yes(&self, question: &str, preferred: Answer) -> Result<Answer, AskError> {
        let choices = [Choice::new("yes").key('y'), Choice::new("no").key('n')];
        let preferred = usize::from(preferred == Answer::No);
        Ok(match self.one(question, &choices, preferred)? {
            0 => Answer::Yes,
            _ => Answer::No,
        })
    }

    fn ask(&self, menu: Menu<'_>, withdrawal: &Withdrawal) -> Result<Vec<usize>, AskError> {
        match self.manner {
            #[cfg(unix)]
            Manner::Screen => screen::ask(menu, self.colors, withdrawal),
            Manner::Lines => lines::ask(menu, withdrawal),
        }
    }
}

fn manner() -> Manner {
    #[cfg(unix)]
    if env::TERM.get().is_some_and(|terminal| terminal != "dumb") {
        return Manner::Screen;
    }
    Manner::Lines
}
