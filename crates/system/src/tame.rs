//! Text of plugins, crates and child processes must not steer the terminal: no title is set, no line is overwritten,
//! nothing is hidden or turned around.
//!
//! ```
//! use agents_system::tame::{Styles, tame};
//! assert_eq!(tame("\u{1b}[2Jgone\r", Styles::Shown), "␛[2Jgone␍");
//! ```

use std::borrow::Cow;

/// Whether our own colours are in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Styles {
    /// They are, and stay.
    Kept,
    /// They are not: a colour sequence is somebody else's and is made visible.
    Shown,
}

/// The text with everything that a terminal would obey made visible instead; lines, tabs and, if they are kept,
/// colours stay.
#[must_use]
pub fn tame(text: &str, styles: Styles) -> Cow<'_, str> {
    let is_wild = |c: char| c != '\n' && c != '\t' && (c.is_control() || turns_text(c));
    // Most text is plain, and that is found out many bytes at a time.
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if text.bytes().fold(true, |all, byte| all & is_plain(byte)) || !text.contains(is_wild) {
        return Cow::Borrowed(text);
    }
    let mut tamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_wild) {
        let (before, wild) = rest.split_at(at);
        tamed.push_str(before);
        let kept = match styles {
            _ if wild.starts_with("\r\n") => 2,
            Styles::Kept => style_length(wild),
            Styles::Shown => 0,
        };
        tamed.push_str(&wild[..kept]);
        let mut left = wild[kept..].chars();
        if kept == 0 {
            tamed.extend(left.next().map(visible));
        }
        rest = left.as_str();
    }
    tamed.push_str(rest);
    Cow::Owned(tamed)
}

/// The length of the colour sequence (`ESC [ 1 ; 31 m`) at the start, 0 if there is none.
fn style_length(text: &str) -> usize {
    let Some(inner) = text.strip_prefix("\u{1b}[") else { return 0 };
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(inner.len());
    if inner[end..].starts_with('m') { 2 + end + 1 } else { 0 }
}

/// Characters that change the direction of the text after them.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn visible(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_visible() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\r\nb", "a\r\nb"),
            ("safe\rover", "safe␍over"),
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("\u{1b}[2J\u{7f}", "␛[2J␡"),
            ("\u{9b}31m", "\u{fffd}31m"),
            ("\u{202e}txt.exe", "\u{fffd}txt.exe"),
            ("grüße 漢字 🦀", "grüße 漢字 🦀"),
        ] {
            assert_eq!(tame(text, Styles::Shown), expected);
            assert_eq!(tame(text, Styles::Kept), expected);
        }
    }

    #[test]
    fn colours_stay_only_where_there_are_colours() {
        let text = "\u{1b}[1;31merror:\u{1b}[0m \u{1b}[m \u{1b}[3";
        assert_eq!(tame(text, Styles::Kept), "\u{1b}[1;31merror:\u{1b}[0m \u{1b}[m ␛[3");
        assert_eq!(tame(text, Styles::Shown), "␛[1;31merror:␛[0m ␛[m ␛[3");
    }
}
