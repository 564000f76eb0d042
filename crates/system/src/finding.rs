//! Diagnostics as values: loading never prints.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::explain::{Code, Explain};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something will not work as its author expects.
    Warning,
    /// Something does not work.
    Error,
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: Utf8PathBuf,
    /// The spot inside it, when there is one.
    pub spot: Option<Spot>,
}

/// A part of one line, with the line itself so that it can be shown without reading the file again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// Counted from 1.
    pub line: u32,
    /// Counted in characters from 1.
    pub column: u32,
    /// The text of the line; nothing of one that is too long to be shown.
    pub text: String,
    /// The part that is meant, as bytes of `text`.
    pub part: std::ops::Range<u32>,
}

impl Place {
    /// A whole file.
    #[must_use]
    pub fn file(file: impl Into<Utf8PathBuf>) -> Self {
        Self { file: file.into(), spot: None }
    }

    /// The bytes `span` of `content`, which was read from `file`. A span over several lines is cut at
    /// the end of its first one.
    #[must_use]
    pub fn span(file: impl Into<Utf8PathBuf>, content: &str, span: std::ops::Range<usize>) -> Self {
        Self { file: file.into(), spot: Some(Spot::new(content, span)) }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.spot {
            Some(spot) => write!(f, "{}:{}:{}", self.file, spot.line, spot.column),
            None => write!(f, "{}", self.file),
        }
    }
}

impl Spot {
    fn new(content: &str, span: std::ops::Range<usize>) -> Self {
        let start = floor(content, span.start.min(content.len()));
        let end = floor(content, span.end.clamp(start, content.len()));
        let line_start = content[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = content[start..].find('\n').map_or(content.len(), |at| start + at);
        let text = content[line_start..line_end].trim_end_matches('\r');
        // Every finding has its own copy, and there may be thousands in one line.
        let text = if text.len() > MAX_LINE { "" } else { text };
        let clip = |at: usize| u32::try_from(at.min(line_start + text.len()) - line_start);
        Self {
            line: count(content[..start].matches('\n').count() + 1),
            column: count(content[line_start..start].chars().count() + 1),
            part: clip(start).unwrap_or(0)..clip(end).unwrap_or(0),
            text: text.to_owned(),
        }
    }
}

/// The longest line that is shown, in bytes.
const MAX_LINE: usize = 2000;

fn floor(content: &str, mut at: usize) -> usize {
    while !content.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Whether something is called like a secret.
#[must_use]
pub fn sounds_secret(name: &str) -> bool {
    let words = ["key", "token", "secret", "password", "auth", "credential"];
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// One diagnostic: how much it matters, where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What, as a lower-case fragment.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// Said right at the spot.
    pub label: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The page that explains it, for what could as well have been an error. What is kept for later needs none.
    #[serde(skip)]
    pub code: Option<Code>,
}

impl Finding {
    /// A finding without a place.
    #[must_use]
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self { severity, message: message.into(), place: None, label: None, hint: None, code: None }
    }

    /// Shorthand for an error.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// Shorthand for a warning.
    #[must_use]
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// At this place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The same without what stands behind the `=` of the line that it shows, which may be a secret.
    #[must_use]
    pub fn without_value(mut self) -> Self {
        if let Some(spot) = self.place.as_mut().and_then(|place| place.spot.as_mut())
            && let Some(at) = spot.text.find('=')
        {
            spot.text.truncate(at + 1);
            spot.text.push_str(" …");
            // Not into the middle of the last character.
            let end = spot.part.end.min(u32::try_from(at + 1).unwrap_or(0));
            spot.part = spot.part.start.min(end)..end;
        }
        self
    }

    /// Whether the line that it shows is about a secret, by its words.
    #[must_use]
    pub fn is_about_secret(&self) -> bool {
        let spot = self.place.as_ref().and_then(|place| place.spot.as_ref());
        spot.is_some_and(|spot| sounds_secret(&spot.text))
    }

    /// With these words at the spot.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// With what an error says about what to do, and the page that explains it.
    #[must_use]
    pub fn advised_by(mut self, error: &impl Explain) -> Self {
        self.hint = error.hint();
        self.code = error.code();
        self
    }

    /// With the page that explains it.
    #[must_use]
    pub fn explained_by(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// With this next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_becomes_line_column_and_part() {
        let text = "a = 1\nbé = \"x\"\n";
        let at = text.find('"').unwrap();
        let place = Place::span("f.toml", text, at..at + 3);
        assert_eq!(place.to_string(), "f.toml:2:6");
        let spot = place.spot.unwrap();
        assert_eq!(&spot.text[spot.part.start as usize..spot.part.end as usize], "\"x\"");
    }

    #[test]
    fn spans_outside_the_text_or_inside_a_character_do_not_panic() {
        for (start, end) in [(0, 99), (50, 60), (1, 2), (3, 1), (2, 2)] {
            let spot = Place::span("f", "éé\r\n", start..end).spot.unwrap();
            assert!(spot.part.end as usize <= spot.text.len());
        }
    }

    #[test]
    fn a_line_that_is_too_long_keeps_its_place_and_loses_its_text() {
        let text = format!("a\n{}b", " ".repeat(MAX_LINE));
        let place = Place::span("f", &text, text.len() - 1..text.len());
        assert_eq!(place.to_string(), format!("f:2:{}", MAX_LINE + 1));
        let spot = place.spot.unwrap();
        assert_eq!((spot.text.as_str(), spot.part), ("", 0..0));
    }

    #[test]
    fn without_its_value_a_line_shows_its_name_and_the_part_stays_inside() {
        let text = "key = \"sk-1\"\n";
        for span in [0..3, 6..12, 4..5, 12..12] {
            let finding = Finding::error("x").at(Place::span("f", text, span)).without_value();
            let spot = finding.place.unwrap().spot.unwrap();
            assert_eq!(spot.text, "key = …");
            assert!(spot.text.get(spot.part.start as usize..spot.part.end as usize).is_some());
        }
    }

    #[test]
    fn a_span_over_lines_is_cut_at_its_first() {
        let spot = Place::span("f", "[a]\nb = 1\n", 0..9).spot.unwrap();
        assert_eq!((spot.text.as_str(), spot.part), ("[a]", 0..3));
    }
}
