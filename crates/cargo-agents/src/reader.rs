//! Who is told what happens while it happens.

use std::io::{self, IsTerminal as _, Write as _};

use agents_system::tame::{Styles, tame};

use crate::output::Output;

/// Who is told what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody at a terminal.
    Person,
    /// The same, who wants to read it later.
    Log,
    /// A program that reads lines of JSON.
    Program,
    Nobody,
}

impl Reader {
    /// Lines of JSON if they are wanted; else lines for whoever sits at a terminal, or asked for them. A pipe gets results only.
    pub(crate) fn of(output: &Output) -> Self {
        if output.is_json() {
            Self::Program
        } else if output.is_quiet() {
            Self::Nobody
        } else if io::stderr().is_terminal() {
            Self::Person
        } else if output.is_verbose() {
            Self::Log
        } else {
            Self::Nobody
        }
    }

    /// Whether lines for people are shown.
    pub(crate) fn reads_lines(self) -> bool {
        matches!(self, Self::Person | Self::Log)
    }
}

/// The line on a terminal that says what is being done, drawn anew in its place.
#[derive(Debug, Default)]
pub(crate) struct StatusLine {
    /// Whether it stands on the screen.
    stands: bool,
}

impl StatusLine {
    pub(crate) fn draw(&mut self, text: &str) {
        let _ = write!(io::stderr(), "\r\x1b[2K{}", tame(text, Styles::Shown));
        self.stands = true;
    }

    /// Takes it away: somebody else wants to write.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.stands) {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}
