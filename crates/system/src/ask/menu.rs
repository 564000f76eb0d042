//! What is asked, and what a key or a typed line does to it. No terminal in here.

use unicode_width::UnicodeWidthStr as _;

use super::{Choice, Start, key::Key};
use crate::{
    tame::{Styles, tame},
    window::{Size, cut},
};

/// A question with its choices, and how far the answer has come.
#[derive(Debug, Clone)]
pub(super) struct Menu<'q> {
    question: &'q str,
    choices: &'q [Choice],
    how: How,
    /// Where the cursor is.
    at: usize,
    picked: Vec<usize>,
}

/// How many choices may be picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    One { preferred: usize },
    Many,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The question stands.
    Stay,
    /// These were picked.
    Done(Vec<usize>),
    /// There will be no answer.
    Cancel,
    /// Nor to anything else.
    Interrupt,
    /// What was typed means nothing here.
    Refused(String),
}

/// A line of the drawn question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Question,
    Plain,
    UnderCursor,
    Help,
}

impl<'q> Menu<'q> {
    pub(super) fn new(question: &'q str, choices: &'q [Choice], how: How) -> Self {
        let last = choices.len().saturating_sub(1);
        let (at, picked) = match how {
            How::One { preferred } => (preferred.min(last), Vec::new()),
            How::Many => {
                let all = choices.iter().enumerate();
                let picked = all.filter(|(_, choice)| choice.start == Start::Picked);
                (0, picked.map(|(index, _)| index).collect())
            }
        };
        Self { question, choices, how, at, picked }
    }

    pub(super) fn press(&mut self, key: Key) -> Step {
        let last = self.choices.len().saturating_sub(1);
        match (key, self.how) {
            (Key::Cancel, _) => return Step::Cancel,
            (Key::Interrupt, _) => return Step::Interrupt,
            (Key::Enter, _) => return self.done(),
            (Key::Up, _) => self.at = self.at.checked_sub(1).unwrap_or(last),
            (Key::Down, _) => self.at = if self.at >= last { 0 } else { self.at + 1 },
            (Key::First, _) => self.at = 0,
            (Key::Last, _) => self.at = last,
            (Key::Char(' '), How::Many) => self.toggle(self.at),
            (Key::Char('a'), How::Many) => self.toggle_all(),
            (Key::Char(typed), How::One { .. }) => {
                if let Some(at) = self.with_key(typed) {
                    self.at = at;
                    return self.done();
                }
            }
            (Key::Char(_) | Key::Unknown, _) => {}
        }
        Step::Stay
    }

    /// A whole line, where single keys cannot be seen: numbers counted from 1, or a choice's key. Nothing accepts.
    pub(super) fn enter_line(&mut self, line: &str) -> Step {
        if line.is_empty() {
            return self.done();
        }
        let words = line.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        let meant: Result<Vec<usize>, String> = words.map(|word| self.meant_by(word)).collect();
        match (meant, self.how) {
            (_, How::Many) if line == "a" => self.toggle_all(),
            (Err(word), _) => {
                return Step::Refused(format!(
                    "`{word}` is not a number from 1 to {}",
                    self.choices.len()
                ));
            }
            (Ok(meant), How::Many) => meant.into_iter().for_each(|index| self.toggle(index)),
            (Ok(meant), How::One { .. }) => match meant[..] {
                [at] => {
                    self.at = at;
                    return self.done();
                }
                _ => return Step::Refused("only one can be chosen".to_owned()),
            },
        }
        Step::Stay
    }

    fn meant_by(&self, word: &str) -> Result<usize, String> {
        let mut chars = word.chars();
        if let (How::One { .. }, Some(only), None) = (self.how, chars.next(), chars.next())
            && let Some(at) = self.with_key(only)
        {
            return Ok(at);
        }
        let number = word.parse().ok().and_then(|number: usize| number.checked_sub(1));
        let index = number.filter(|index| *index < self.choices.len());
        index.ok_or_else(|| one_line(word))
    }

    fn with_key(&self, typed: char) -> Option<usize> {
        let typed = typed.to_ascii_lowercase();
        self.choices.iter().position(|choice| choice.key == Some(typed))
    }

    fn done(&self) -> Step {
        match self.how {
            How::One { .. } if self.choices.is_empty() => Step::Cancel,
            How::One { .. } => Step::Done(vec![self.at]),
            How::Many => {
                let mut picked = self.picked.clone();
                picked.sort_unstable();
                Step::Done(picked)
            }
        }
    }

    fn toggle(&mut self, index: usize) {
        match self.picked.iter().position(|picked| *picked == index) {
            Some(at) => {
                self.picked.swap_remove(at);
            }
            None if index < self.choices.len() => self.picked.push(index),
            None => {}
        }
    }

    fn toggle_all(&mut self) {
        let all = self.choices.len();
        self.picked = if self.picked.len() == all { Vec::new() } else { (0..all).collect() };
    }

    /// The question as it stands, no line wider and not more lines than fit. Choices around the cursor are shown
    /// when there is no room for all of them.
    pub(super) fn frame(&self, size: Size) -> Vec<Line> {
        // The last column and the last row stay free, or the terminal would scroll or wrap.
        let columns = size.columns.saturating_sub(1).max(1);
        let room = size.rows.saturating_sub(3).max(1);
        let count = self.choices.len();
        let first = self.at.saturating_sub(room / 2).min(count.saturating_sub(room));
        let shown = first..count.min(first + room);
        let position = match shown.len() < count {
            true => format!("{}/{count}  ", self.at + 1),
            false => String::new(),
        };
        let line = |text: String, tone| Line { text: cut(&text, columns), tone };
        let mut lines = vec![line(one_line(self.question), Tone::Question)];
        lines.extend(shown.map(|index| {
            let (mark, tone) = match index == self.at {
                true => ('>', Tone::UnderCursor),
                false => (' ', Tone::Plain),
            };
            line(format!("{mark} {}", self.row(index)), tone)
        }));
        let help = match self.how {
            How::Many => "space: change, a: all, enter: accept, esc: cancel",
            How::One { .. } => "enter: accept, esc: cancel",
        };
        lines.push(line(format!("{position}{help}"), Tone::Help));
        lines
    }

    /// The question with numbers, and what to type.
    pub(super) fn numbered(&self) -> (Vec<String>, String) {
        let mut lines = vec![one_line(self.question)];
        let rows = (0..self.choices.len()).map(|index| {
            let preferred = matches!(self.how, How::One { .. }) && index == self.at;
            let mark = if preferred { '>' } else { ' ' };
            format!("{mark}{:>3}  {}", index + 1, self.row(index))
        });
        lines.extend(rows);
        let prompt = match self.how {
            How::Many => "numbers to change, `a` for all, or enter to accept: ".to_owned(),
            How::One { .. } => format!("a number, or enter for {}: ", self.at + 1),
        };
        (lines, prompt)
    }

    fn row(&self, index: usize) -> String {
        let Some(choice) = self.choices.get(index) else { return String::new() };
        let label = one_line(&choice.label);
        let shown = match (self.how, choice.key) {
            (How::Many, _) if self.picked.contains(&index) => format!("[x] {label}"),
            (How::Many, _) => format!("[ ] {label}"),
            (How::One { .. }, None) => label,
            (How::One { .. }, Some(key)) => match label.strip_prefix(key) {
                Some(rest) => format!("[{key}]{rest}"),
                None => format!("[{key}] {label}"),
            },
        };
        if choice.note.is_empty() {
            return shown;
        }
        let widths = self.choices.iter().map(|it| one_line(&it.label).width());
        let widest = widths.max().unwrap_or(0);
        let pad = widest.saturating_sub(one_line(&choice.label).width());
        format!("{shown}{:pad$}  {}", "", one_line(&choice.note))
    }

    /// What stays on the screen when it has been answered.
    pub(super) fn answered(&self, picked: &[usize]) -> String {
        let labels = picked.iter().filter_map(|index| self.choices.get(*index));
        let labels: Vec<String> = labels.map(|choice| one_line(&choice.label)).collect();
        let labels = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        format!("{}  {labels}", one_line(self.question))
    }
}

/// Without anything that a terminal would obey, line ends included.
fn one_line(text: &str) -> String {
    tame(text, Styles::Shown).replace(['\n', '\t', '\r'], " ")
}

#[cfg(test)]
mod tests;
