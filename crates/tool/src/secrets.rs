//! Secrets must not be seen: every known value is replaced before anybody reads a result.

mod wrapped;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::Range,
    sync::{RwLock, RwLockReadGuard},
};

use agents_system::digits;
use aho_corasick::{AhoCorasick, MatchKind};
use secrecy::{ExposeSecret as _, SecretString};

/// Shorter values would replace half of what is said.
const SHORTEST: usize = 8;
/// Lines of a value that has several are masked by themselves from this length on: shorter ones may be anything.
const SHORTEST_LINE: usize = 16;
/// What is held back of text that comes in pieces, besides twice the longest value: a value may be wrapped over lines.
const HELD_BACK: usize = 64;

/// The values that must not be seen, each with what is shown instead: `<SECRET:kind:nonce:number>`.
///
/// A value is also known where it is wrapped over lines (with or without their numbers), quoted as JSON, or written into an address. What a program made
/// of it otherwise, an encoding or a hash, is not known.
#[derive(Debug)]
pub struct Mask {
    nonce: u64,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    values: BTreeMap<String, String>,
    search: Option<(AhoCorasick, Vec<String>)>,
    longest: usize,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.values.len())
    }
}

/// Whether a value is masked from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masked {
    /// It is.
    Yes,
    /// It is too short: whoever grants it has to know.
    TooShort,
}

impl Default for Mask {
    fn default() -> Self {
        Self { nonce: crate::random(), known: RwLock::default() }
    }
}

impl Mask {
    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Masks a value from now on. The same value keeps what is shown for it.
    pub fn register(&self, key: &str, value: &SecretString) -> Masked {
        let value = value.expose_secret();
        if value.len() < SHORTEST {
            return Masked::TooShort;
        }
        let mut known = self.known.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.values.contains_key(value) {
            return Masked::Yes;
        }
        // Programs like to quote what they print.
        let quoted = serde_json::to_string(value).unwrap_or_default();
        let lines = value.lines().map(str::trim).filter(|it| it.len() >= SHORTEST_LINE);
        let forms = [
            value.to_owned(),
            quoted.trim_matches('"').to_owned(),
            value.trim().to_owned(),
            in_address(value),
            wrapped::unwrapped(value.trim()),
        ];
        let index = known.values.len();
        let shown = format!("<SECRET:{}:{:016x}:{index}>", kind(key), self.nonce);
        for form in forms.into_iter().chain(lines.map(str::to_owned)) {
            if form.len() >= SHORTEST {
                known.values.entry(form).or_insert_with(|| shown.clone());
            }
        }
        known.rebuild();
        Masked::Yes
    }

    /// Whether there is nothing to hide.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known().search.is_none()
    }

    /// The text without any known value. Where values overlap, the longest one counts.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.hide(text).into_owned()
    }

    /// The same, without a copy where there is nothing to hide.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known();
        let found = known.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let at = known.replace(text, &found, text.len(), &mut out);
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// For text that comes in pieces: a value may be cut anywhere.
    #[must_use]
    pub fn stream(&self) -> MaskStream<'_> {
        MaskStream { mask: self, held: Held::default() }
    }
}

impl Known {
    fn rebuild(&mut self) {
        let (values, shown): (Vec<&String>, Vec<String>) =
            self.values.iter().map(|(value, shown)| (value, shown.clone())).unzip();
        self.longest = values.iter().map(|it| it.len()).max().unwrap_or(0);
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
        // Values are short and few: this cannot fail, and if it did, what was known stays known.
        if let Ok(search) = search {
            self.search = Some((search, shown));
        }
    }

    /// Where values stand, in order, none over another, each with what is shown for it.
    fn find(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let Some((search, _)) = &self.search else { return Vec::new() };
        let exact = search.find_iter(text).map(|it| (it.range(), it.pattern().as_usize()));
        let mut found: Vec<(Range<usize>, usize)> = exact.collect();
        let over_lines = wrapped::find(search, text);
        if over_lines.is_empty() {
            return found;
        }
        found.extend(over_lines);
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        found.dedup_by(|next, kept| {
            let overlaps = next.0.start < kept.0.end;
            if overlaps {
                kept.0.end = kept.0.end.max(next.0.end);
            }
            overlaps
        });
        found
    }

    /// Writes the text up to the last value that begins before `end`, without values, and tells how far that is.
    fn replace(
        &self,
        text: &str,
        found: &[(Range<usize>, usize)],
        end: usize,
        out: &mut String,
    ) -> usize {
        let Some((_, shown)) = &self.search else { return 0 };
        let mut at = 0;
        for (range, pattern) in found.iter().take_while(|(range, _)| range.start < end) {
            out.push_str(&text[at..range.start]);
            out.push_str(&shown[*pattern]);
            at = range.end;
        }
        at
    }
}

/// What is held back of a text that comes in pieces.
#[derive(Debug, Default)]
pub struct Held(String);

impl Held {
    /// One more piece; gives out what is certain by now.
    pub fn push(&mut self, piece: &str, mask: &Mask) -> String {
        self.0.push_str(piece);
        let known = mask.known();
        if known.search.is_none() {
            return std::mem::take(&mut self.0);
        }
        // A value that begins before here is whole.
        let mut safe = self.0.len().saturating_sub(2 * known.longest + HELD_BACK);
        while !self.0.is_char_boundary(safe) {
            safe -= 1;
        }
        let found = known.find(&self.0);
        let mut out = String::new();
        // A longer one may still begin where one does that begins later.
        let at = known.replace(&self.0, &found, safe, &mut out);
        let end = safe.max(at);
        out.push_str(&self.0[at..end]);
        self.0.drain(..end);
        out
    }

    /// The rest, after which it holds nothing.
    pub fn finish(&mut self, mask: &Mask) -> String {
        mask.apply(&std::mem::take(&mut self.0))
    }
}

/// Masks text that comes in pieces.
#[derive(Debug)]
pub struct MaskStream<'m> {
    mask: &'m Mask,
    held: Held,
}

impl MaskStream<'_> {
    /// One more piece; gives out what is certain by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push(piece, self.mask)
    }

    /// The rest.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.held.finish(self.mask)
    }
}

/// The value as it stands in an address.
fn in_address(value: &str) -> String {
    digits::escaped(value, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// What kind of secret a name speaks of.
fn kind(key: &str) -> &'static str {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let has = |words: &[&str]| words.iter().any(|word| key.contains(word));
    if has(&["api_key", "apikey"]) {
        "api_key"
    } else if has(&["token"]) {
        "token"
    } else if has(&["password", "passwd"]) {
        "password"
    } else if has(&["cert"]) {
        "certificate"
    } else if has(&["webhook"]) {
        "webhook"
    } else {
        "generic"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mask(values: &[(&str, &str)]) -> Mask {
        let mask = Mask::default();
        for (key, value) in values {
            mask.register(key, &SecretString::from(*value));
        }
        mask
    }

    #[test]
    fn values_become_what_is_shown_for_them() {
        let mask = mask(&[("API-KEY", "abcdefgh"), ("x_token", "abcdefghij"), ("pw", "short")]);
        let nonce = mask.nonce;
        assert_eq!(
            mask.apply("abcdefghij abcdefgh short"),
            format!("<SECRET:token:{nonce:016x}:1> <SECRET:api_key:{nonce:016x}:0> short"),
            "the longest one counts, and short ones stay"
        );
        assert_eq!(mask.register("pw", &SecretString::from("short")), Masked::TooShort);
        let again = mask.apply("abcdefgh");
        mask.register("other", &SecretString::from("abcdefgh"));
        assert_eq!(mask.apply("abcdefgh"), again);
        assert_eq!(mask.hide("abcdefgh"), again);
        assert!(matches!(mask.hide("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_quoted_value_is_still_the_value() {
        let mask = mask(&[("key", "line one\n\"two\"")]);
        assert!(!mask.apply(r#"{"key": "line one\n\"two\""}"#).contains("two"));
    }

    #[test]
    fn nothing_is_shown_by_debugging() {
        assert!(!format!("{:?}", mask(&[("k", "abcdefgh")])).contains("abcdefgh"));
    }

    proptest! {
        /// Wherever a text is cut, no value and no other text comes out.
        #[test]
        fn cut_anywhere(words in proptest::collection::vec(
            proptest::sample::select(vec!["secret-one", "secret-one-longer", "secret", "-one-", "ä", "x", "-longer"]), 0..12),
            cuts in proptest::collection::vec(0_usize..80, 0..6),
        ) {
            let mask = mask(&[("a", "secret-one"), ("b", "secret-one-longer")]);
            let text = words.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|it| it.min(text.len())).filter(|it| text.is_char_boundary(*it)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut stream = mask.stream();
            let mut out: String = cuts.windows(2).map(|pair| stream.push(&text[pair[0]..pair[1]])).collect();
            out.push_str(&stream.finish());
            prop_assert_eq!(out, mask.apply(&text));
        }
    }
}
