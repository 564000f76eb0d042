//! Who is told what happens while it happens.

use std::io::{self, IsTerminal as _, Write as _};

use agents_system::{
    tame::{Styles, tame},
    window::{Size, cut},
};

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

    /// The same for what takes long and is often read later: a pipe gets lines, too.
    pub(crate) fn of_long_work(output: &Output) -> Self {
        match Self::of(output) {
            Self::Nobody if !output.is_quiet() => Self::Log,
            reader => reader,
        }
    }

    /// Whether lines for people are shown.
    pub(crate) fn reads_lines(self) -> bool {
        matches!(self, Self::Person | Self::Log)
    }
}

/// The lines at the end of a terminal that say what is being done, drawn anew in their place.
#[derive(Debug, Default)]
pub(crate) struct StatusLine {
    /// How many of them stand on the screen.
    stands: usize,
}

impl StatusLine {
    pub(crate) fn draw(&mut self, text: &str) {
        self.draw_all(&[text.to_owned()]);
    }

    /// Several lines; none of them wraps, and there are never more than fit.
    pub(crate) fn draw_all(&mut self, lines: &[String]) {
        let Size { columns, rows } = Size::now();
        let fit = lines.len().min(rows.saturating_sub(1)).max(1);
        let shown: Vec<String> = lines
            .iter()
            .take(fit)
            .map(|it| cut(&tame(it, Styles::Shown), columns.saturating_sub(1)))
            .collect();
        // At once, so that nobody sees half of it.
        let text = format!("{}{}", self.erased(), shown.join("\n"));
        let _ = io::stderr().write_all(text.as_bytes());
        self.stands = shown.len();
    }

    /// Takes them away: somebody else wants to write.
    pub(crate) fn clear(&mut self) {
        let _ = io::stderr().write_all(self.erased().as_bytes());
        self.stands = 0;
    }

    /// What takes away what stands there.
    fn erased(&self) -> String {
        match self.stands {
            0 => String::new(),
            1 => "\r\x1b[2K".to_owned(),
            many => format!("\r\x1b[{}A\x1b[J", many - 1),
        }
    }
}
