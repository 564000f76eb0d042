//! The terminal without line editing, and a question drawn in place on it.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use rustix::{
    stdio::stdin,
    termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    },
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    AskError, Colors, Withdrawal,
    input::{self, Typed},
    key::{Decoded, Key, decode},
    menu::{Line, Menu, Step, Tone},
};
use crate::window::{Size, cut};

/// How long the bytes of one key may take to arrive; an escape byte alone is the escape key after that.
const ONE_KEY: Duration = Duration::from_millis(100);
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

pub(super) fn ask(
    mut menu: Menu<'_>,
    colors: Colors,
    withdrawal: &Withdrawal,
) -> Result<Vec<usize>, AskError> {
    input::listen();
    let raw = Raw::enter()?;
    let mut drawing = Drawing { colors, drawn: Vec::new(), size: Size::now() };
    let answer = answer(&mut menu, &mut drawing, withdrawal);
    let left = match &answer {
        Ok(picked) => cut(&menu.answered(picked), drawing.size.columns.saturating_sub(1)),
        Err(_) => String::new(),
    };
    let erased = drawing.erase_and(&left);
    drop(raw);
    erased?;
    answer
}

fn answer(
    menu: &mut Menu<'_>,
    drawing: &mut Drawing,
    withdrawal: &Withdrawal,
) -> Result<Vec<usize>, AskError> {
    let mut typed: Vec<u8> = Vec::new();
    drawing.draw(menu)?;
    loop {
        let key = match decode(&typed) {
            Decoded::Key(key, length) => {
                typed.drain(..length);
                key
            }
            Decoded::Incomplete => {
                let patience = (!typed.is_empty()).then_some(ONE_KEY);
                match input::wait(patience, withdrawal)? {
                    Typed::Bytes(bytes) => {
                        typed.extend(bytes);
                        continue;
                    }
                    Typed::Nothing if typed == b"\x1b" => Key::Cancel,
                    Typed::Nothing => {
                        typed.clear();
                        if drawing.size != Size::now() {
                            drawing.draw(menu)?;
                        }
                        continue;
                    }
                }
            }
        };
        match menu.press(key) {
            Step::Stay | Step::Refused(_) => drawing.draw(menu)?,
            Step::Done(picked) => return Ok(picked),
            Step::Cancel => return Err(AskError::Cancelled),
            Step::Interrupt => return Err(AskError::Interrupted),
        }
    }
}

/// The terminal gives us every key at once and shows none of them, until this is dropped.
struct Raw {
    before: Termios,
}

impl Raw {
    fn enter() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes -= InputModes::ICRNL | InputModes::IXON;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before the question was seen is no answer to it.
        tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
        let raw = Self { before };
        write!(io::stderr(), "{HIDE_CURSOR}")?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs neither.
        let _ = write!(io::stderr(), "{SHOW_CURSOR}");
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
    }
}

/// What is on the screen because of us.
struct Drawing {
    colors: Colors,
    drawn: Vec<Line>,
    size: Size,
}

impl Drawing {
    fn draw(&mut self, menu: &Menu<'_>) -> io::Result<()> {
        self.size = Size::now();
        let lines = menu.frame(self.size);
        let mut text = self.erasing();
        for line in &lines {
            text += &self.styled(line);
            text += "\n";
        }
        self.drawn = lines;
        // One write, so that nobody sees a half-drawn question.
        io::stderr().write_all(text.as_bytes())
    }

    /// Takes the question away; `left` stays in its place.
    fn erase_and(&mut self, left: &str) -> io::Result<()> {
        let mut text = self.erasing();
        if !left.is_empty() {
            text += left;
            text += "\n";
        }
        self.drawn.clear();
        io::stderr().write_all(text.as_bytes())
    }

    /// Back to where the question begins, with everything below gone. In a window that has become narrower each line
    /// takes several rows.
    fn erasing(&self) -> String {
        let columns = Size::now().columns.max(1);
        let rows: usize =
            self.drawn.iter().map(|line| line.text.width().div_ceil(columns).max(1)).sum();
        match rows {
            0 => String::new(),
            rows => format!("\r\x1b[{rows}A\x1b[J"),
        }
    }

    fn styled(&self, line: &Line) -> String {
        let code = match (self.colors, line.tone) {
            (Colors::Off, _) | (_, Tone::Plain) => return line.text.clone(),
            (_, Tone::Question) => "1",
            (_, Tone::UnderCursor) => "36",
            (_, Tone::Help) => "2",
        };
        format!("\x1b[{code}m{}\x1b[0m", line.text)
    }
}
