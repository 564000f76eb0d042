//! Words, signs and literals.

use std::ops::Range;

use serde_json::{Number, Value};

use super::{Operator, Reference, ReferenceError, Root, Side, Step};

/// The deepest nesting of an expression.
const MAX_DEPTH: usize = 32;

pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    end: usize,
    depth: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, span: Range<usize>) -> Self {
        Self { text, at: span.start, end: span.end, depth: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.end - self.rest().trim_start().len();
    }

    pub(super) fn error<T>(
        &self,
        span: Range<usize>,
        what: impl Into<String>,
    ) -> Result<T, ReferenceError> {
        Err(ReferenceError { what: what.into(), span })
    }

    /// One level deeper, if that is not too deep.
    pub(super) fn descend<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ReferenceError>,
    ) -> Result<T, ReferenceError> {
        if self.depth == MAX_DEPTH {
            return self.error(self.at..self.at + 1, "too many parentheses");
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    pub(super) fn end(&mut self) -> Result<(), ReferenceError> {
        self.skip_space();
        if self.at < self.end {
            let rest = self.rest().trim_end();
            return self.error(self.at..self.at + rest.len(), format!("`{rest}` is too much"));
        }
        Ok(())
    }

    /// Takes a sign if it comes next.
    pub(super) fn sign(&mut self, sign: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Takes this word if it comes next.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(word)
            && !self.rest()[word.len()..].starts_with(|c| is_word(c) || c == '.');
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn word(&mut self) -> Result<(&'t str, Range<usize>), ReferenceError> {
        let rest = self.rest();
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let span = self.at..self.at + length;
        if length == 0 {
            let what = match rest.chars().next() {
                Some(c) if !c.is_whitespace() => format!("a name is missing before `{c}`"),
                _ => "a name is missing".to_owned(),
            };
            return self.error(span.start..span.start + 1, what);
        }
        self.at = span.end;
        Ok((&rest[..length], span))
    }

    fn dot(&mut self, after: &str) -> Result<(), ReferenceError> {
        if self.rest().starts_with('.') {
            self.at += 1;
            return Ok(());
        }
        self.error(
            self.at.max(1) - 1..self.at,
            format!("`{after}` needs a `.` and a name after it"),
        )
    }

    pub(super) fn reference(&mut self) -> Result<(Reference, Range<usize>), ReferenceError> {
        self.skip_space();
        let start = self.at;
        let (word, span) = self.word()?;
        let root = match word {
            "item" => Root::Item,
            "params" => {
                self.dot("params")?;
                Root::Param(self.word()?.0.to_owned())
            }
            "tasks" => {
                self.dot("tasks")?;
                let id = self.word()?.0;
                self.dot(&format!("tasks.{id}"))?;
                let (side, span) = self.word()?;
                let Some((_, side)) = Side::ALL.iter().find(|(word, _)| *word == side) else {
                    let what = format!(
                        "a task has no `{side}`: only `output`, `text`, `ending` and `items`"
                    );
                    return self.error(span, what);
                };
                Root::Task(id.to_owned(), *side)
            }
            other => {
                return self.error(span, format!("`{other}` is nothing that can be referred to"));
            }
        };
        let mut path = Vec::new();
        loop {
            if self.rest().starts_with('.') {
                self.at += 1;
                path.push(Step::Key(self.word()?.0.to_owned()));
            } else if self.rest().starts_with('[') {
                self.at += 1;
                let (digits, span) = self.word()?;
                let Ok(at) = digits.parse() else {
                    return self.error(span, format!("`{digits}` is no position in a list"));
                };
                if !self.sign("]") {
                    return self.error(span, "`[` without `]`");
                }
                path.push(Step::At(at));
            } else {
                break;
            }
        }
        Ok((Reference { root, path }, start..self.at))
    }

    /// A text, a number, `true`, `false` or `null`, if that comes next.
    pub(super) fn literal(&mut self) -> Result<Option<Value>, ReferenceError> {
        self.skip_space();
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if self.keyword(word) {
                return Ok(Some(value));
            }
        }
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let Some(length) = rest[1..].find(quote) else {
                return self
                    .error(self.at..self.end, format!("the text after `{quote}` does not end"));
            };
            self.at += length + 2;
            return Ok(Some(Value::String(rest[1..=length].to_owned())));
        }
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let length = rest
                .find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | 'E' | '-' | '+'))
                .unwrap_or(rest.len());
            let Ok(number) = serde_json::from_str::<Number>(&rest[..length]) else {
                let what = format!("`{}` is no number", &rest[..length]);
                return self.error(self.at..self.at + length.max(1), what);
            };
            self.at += length;
            return Ok(Some(Value::Number(number)));
        }
        Ok(None)
    }

    pub(super) fn operator(&mut self) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| self.sign(operator.sign()))
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }
}
