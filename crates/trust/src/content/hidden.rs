//! Characters that are not drawn, or that turn the text around.

use super::Suspicion;

/// Why a character is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Direction,
    ZeroWidth,
    Tag,
    Selector,
    Invisible,
    PrivateUse,
    Control,
}

impl Hidden {
    fn words(self) -> &'static str {
        match self {
            Self::Direction => "characters that turn the direction of the text",
            Self::ZeroWidth => "characters without width",
            Self::Tag => "tag characters, which spell out text that nobody sees",
            Self::Selector => "variation selectors that select nothing",
            Self::Invisible => "characters that are not drawn",
            Self::PrivateUse => "characters of private use, which mean nothing in public",
            Self::Control => "control characters",
        }
    }
}

/// Runs of hidden characters of one kind.
pub(super) fn find(text: &str) -> Vec<Suspicion> {
    let mut runs: Vec<(Hidden, std::ops::Range<usize>)> = Vec::new();
    // Most texts hold nothing beyond ASCII that would have to be looked at closely.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Vec::new();
    }
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut flag_until = 0;
    for at in 0..chars.len() {
        if at < flag_until {
            continue;
        }
        if let Some(length) = subdivision_flag(&chars[at..]) {
            flag_until = at + length;
            continue;
        }
        let (start, c) = chars[at];
        // What is hidden itself is no reason to hide something after it.
        let follows_hidden = runs.last().is_some_and(|(_, range)| range.end == start);
        let before = at.checked_sub(1).filter(|_| !follows_hidden).map(|at| chars[at].1);
        let after = chars.get(at + 1).map(|(_, c)| *c);
        let Some(kind) = kind(c, at, before, after) else { continue };
        let end = start + c.len_utf8();
        match runs.last_mut() {
            Some((last, range)) if *last == kind && range.end == start => range.end = end,
            _ => runs.push((kind, start..end)),
        }
    }
    let said = |(kind, part): (Hidden, _)| Suspicion { what: kind.words().to_owned(), part };
    runs.into_iter().map(said).collect()
}

fn kind(c: char, at: usize, before: Option<char>, after: Option<char>) -> Option<Hidden> {
    let near = |test: fn(char) -> bool| before.is_some_and(test) || after.is_some_and(test);
    let between = |test: fn(char) -> bool| before.is_some_and(test) && after.is_some_and(test);
    match c {
        '\n' | '\t' => None,
        '\r' if after == Some('\n') => None,
        c if c.is_control() => Some(Hidden::Control),
        // A byte order mark.
        '\u{feff}' if at == 0 => None,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Hidden::Direction),
        '\u{200e}' | '\u{200f}' | '\u{61c}' if near(runs_leftwards) => None,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => Some(Hidden::Direction),
        // What joins emoji, and what Persian and the scripts of India are written with.
        '\u{200d}' if before.is_some_and(ends_emoji) && after.is_some_and(is_pictograph) => None,
        '\u{200c}' | '\u{200d}' if between(joins_letters) => None,
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => Some(Hidden::ZeroWidth),
        '\u{e0000}'..='\u{e007f}' => Some(Hidden::Tag),
        '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(has_variants) => None,
        '\u{fe00}'..='\u{fe02}' if before.is_some_and(is_ideograph_or_math) => None,
        '\u{e0100}'..='\u{e01ef}' if before.is_some_and(is_ideograph_or_math) => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Some(Hidden::Selector),
        '\u{180b}'..='\u{180f}' if before.is_some_and(is_mongolian) => None,
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2061}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}' => Some(Hidden::Invisible),
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}' => {
            Some(Hidden::PrivateUse)
        }
        _ => None,
    }
}

/// The flags of England, Scotland and Wales: a black flag and its name in tag characters. No other name is in use.
fn subdivision_flag(chars: &[(usize, char)]) -> Option<usize> {
    let flags = ["gbeng", "gbsct", "gbwls"];
    if chars.first()?.1 != '\u{1f3f4}' {
        return None;
    }
    let rest = &chars[1..];
    let is_named = |name: &&str| {
        let tags = name.chars().map(|c| u32::from(c) + 0xe0000).chain([0xe007f]);
        rest.len() > name.len() && tags.zip(rest).all(|(tag, (_, c))| tag == u32::from(*c))
    };
    flags.iter().find(|name| is_named(name)).map(|name| name.len() + 2)
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn ends_emoji(c: char) -> bool {
    is_pictograph(c) || matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Characters that can be drawn as text or as emoji.
fn has_variants(c: char) -> bool {
    is_pictograph(c)
        || matches!(c, '0'..='9' | '#' | '*' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}')
        || matches!(c, '\u{2122}' | '\u{2139}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
}

fn is_ideograph_or_math(c: char) -> bool {
    matches!(c, '\u{2200}'..='\u{22ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

// The scripts below have characters without a shape of their own. They are not letters: a row of them would excuse itself.

fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1800}'..='\u{180a}' | '\u{1810}'..='\u{18af}')
}

fn runs_leftwards(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn joins_letters(c: char) -> bool {
    runs_leftwards(c)
        || matches!(c, '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}')
        || matches!(c, '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}')
}
