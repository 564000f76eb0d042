//! Patterns over text of which a part may be unknown.
//!
//! What stands in the parentheses of `bash(cargo *)` is compared with the words of a command. A word may hold what only the
//! shell will know (`$NAME`, `*.rs`), so there are two questions: does the pattern match *for certain*, which is what an
//! allowance needs, and could it *possibly* match, which is enough for a denial.

/// One piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A known character.
    Char(char),
    /// The border between two words; a space inside of a word is a [`Symbol::Char`].
    Gap,
    /// Any text, any number of words.
    Unknown,
}

/// The symbols of a text without borders.
pub(crate) fn plain(text: &str) -> Vec<Symbol> {
    text.chars().map(Symbol::Char).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    Gap,
    Any,
}

/// A pattern: `*` stands for anything, blanks for the border between words. One that ends in ` *` (or `:*`, as some hosts
/// write it) also matches where nothing follows: `cargo *` is `cargo` with any arguments, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<Token>);

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_suffix(":*").map_or_else(|| text.to_owned(), |it| format!("{it} *"));
        let mut tokens = Vec::new();
        for c in text.chars() {
            let token = match c {
                '*' => Token::Any,
                c if c.is_whitespace() => Token::Gap,
                c => Token::Char(c),
            };
            let repeats = tokens.last() == Some(&token);
            if !(repeats && matches!(token, Token::Any | Token::Gap)) {
                tokens.push(token);
            }
        }
        Self(tokens)
    }

    /// Whether it matches whatever the unknown parts are.
    pub(crate) fn certainly(&self, text: &[Symbol]) -> bool {
        self.alternatives().any(|tokens| matches(tokens, text, Unknown::IsItself))
    }

    /// Whether the unknown parts could be such that it matches.
    pub(crate) fn possibly(&self, text: &[Symbol]) -> bool {
        self.alternatives().any(|tokens| matches(tokens, text, Unknown::IsAnything))
    }

    fn alternatives(&self) -> impl Iterator<Item = &[Token]> {
        let bare = self.0.strip_suffix(&[Token::Gap, Token::Any]);
        [Some(self.0.as_slice()), bare].into_iter().flatten()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// Only `*` takes it.
    IsItself,
    /// Any part of the pattern takes it.
    IsAnything,
}

/// One row of reachable places in the pattern per symbol: the time is the product of both lengths, whatever they hold.
fn matches(tokens: &[Token], text: &[Symbol], unknown: Unknown) -> bool {
    let mut reached = vec![false; tokens.len() + 1];
    reached[0] = true;
    skip_any(tokens, &mut reached);
    for symbol in text {
        if *symbol == Symbol::Unknown && unknown == Unknown::IsAnything {
            // It may be nothing, or as much of the pattern as there is.
            if let Some(first) = reached.iter().position(|it| *it) {
                reached[first..].fill(true);
            }
            continue;
        }
        let mut next = vec![false; tokens.len() + 1];
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match (token, symbol) {
                (Token::Any, _) => next[at] = true,
                (Token::Char(one), Symbol::Char(other)) if one == other => next[at + 1] = true,
                (Token::Gap, Symbol::Gap) => next[at + 1] = true,
                _ => {}
            }
        }
        skip_any(tokens, &mut next);
        reached = next;
    }
    reached[tokens.len()]
}

/// `*` may stand for nothing.
fn skip_any(tokens: &[Token], reached: &mut [bool]) {
    for (at, token) in tokens.iter().enumerate() {
        if reached[at] && *token == Token::Any {
            reached[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `_` is a border, `?` is unknown.
    fn symbols(text: &str) -> Vec<Symbol> {
        let symbol = |c| match c {
            '_' => Symbol::Gap,
            '?' => Symbol::Unknown,
            c => Symbol::Char(c),
        };
        text.chars().map(symbol).collect()
    }

    #[test]
    fn what_is_certain_and_what_is_possible() {
        for (pattern, text, certain, possible) in [
            ("cargo *", "cargo_test", true, true),
            ("cargo *", "cargo", true, true),
            ("cargo:*", "cargo_test", true, true),
            ("cargo *", "cargo test", false, false),
            ("cargo *", "cargox", false, false),
            ("cargo*", "cargox", true, true),
            ("cargo", "cargo_test", false, false),
            ("cargo test *", "cargo_?", false, true),
            ("cargo *", "cargo_?", true, true),
            ("cargo publish *", "cargo_te?", false, false),
            ("cargo publish *", "cargo_pub?", false, true),
            ("cargo publish", "cargo_?ish_--now", false, false),
            ("* --force *", "git_push_--force_x", true, true),
            ("* --force *", "git_push_--force", true, true),
            ("rm *", "?", false, true),
            ("a*b*c", "aXbYc", true, true),
            ("a*b*c", "aXcYb", false, false),
            ("", "", true, true),
        ] {
            let (pattern, text) = (Pattern::new(pattern), symbols(text));
            assert_eq!(pattern.certainly(&text), certain, "{pattern:?} {text:?}");
            assert_eq!(pattern.possibly(&text), possible, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let pattern = Pattern::new(&"*a".repeat(200));
        assert!(!pattern.certainly(&symbols(&"a".repeat(150))));
        assert!(pattern.possibly(&symbols(&format!("{}?", "a".repeat(150)))));
    }
}
