//! Secrets must not be seen: every known value is replaced before anybody reads a result.

use std::{borrow::Cow, collections::BTreeMap, sync::RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use secrecy::{ExposeSecret as _, SecretString};

/// Shorter values would replace half of what is said.
const SHORTEST: usize = 8;

/// The values that must not be seen, each with what is shown instead: `<SECRET:kind:nonce:number>`.
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
    /// Masks a value from now on. The same value keeps what is shown for it.
    pub fn register(&self, key: &str, value: &SecretString) -> Masked {
        let value = value.expose_secret();
        if value.len() < SHORTEST {
            return Masked::TooShort;
        }
        let mut known = self.known.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Programs like to quote what they print.
        let quoted = serde_json::to_string(value).unwrap_or_default();
        let quoted = quoted.trim_matches('"');
        let index = known.values.len();
        let shown = format!("<SECRET:{}:{:016x}:{index}>", kind(key), self.nonce);
        let shown = known.values.get(value).cloned().unwrap_or(shown);
        for form in [value, quoted, value.trim()] {
            if form.len() >= SHORTEST {
                known.values.entry(form.to_owned()).or_insert_with(|| shown.clone());
            }
        }
        known.rebuild();
        Masked::Yes
    }

    /// The text without any known value. Where values overlap, the longest one counts.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let known = self.known.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &known.search {
            Some((search, shown)) => search.replace_all(text, shown),
            None => text.to_owned(),
        }
    }

    /// The same, without a copy where there is nothing to hide.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.known.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &known.search {
            Some((search, shown)) if search.is_match(text) => {
                Cow::Owned(search.replace_all(text, shown))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// For text that comes in pieces: a value may be cut anywhere.
    #[must_use]
    pub fn stream(&self) -> MaskStream<'_> {
        MaskStream { mask: self, held: String::new() }
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
}

/// Masks text that comes in pieces.
#[derive(Debug)]
pub struct MaskStream<'m> {
    mask: &'m Mask,
    held: String,
}

impl MaskStream<'_> {
    /// One more piece; gives out what is certain by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let known = self.mask.known.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some((search, shown)) = &known.search else { return std::mem::take(&mut self.held) };
        // A value that begins before here is whole.
        let mut safe = self.held.len().saturating_sub(known.longest.saturating_sub(1));
        while !self.held.is_char_boundary(safe) {
            safe -= 1;
        }
        let mut out = String::new();
        let mut at = 0;
        for found in search.find_iter(&self.held) {
            // A longer one may still begin where this one does.
            if found.start() >= safe {
                break;
            }
            out.push_str(&self.held[at..found.start()]);
            out.push_str(&shown[found.pattern().as_usize()]);
            at = found.end();
        }
        let end = safe.max(at);
        out.push_str(&self.held[at..end]);
        self.held.drain(..end);
        out
    }

    /// The rest.
    #[must_use]
    pub fn finish(self) -> String {
        self.mask.apply(&self.held)
    }
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
