//! Values that are wrapped over lines: a program folds what it prints, and tools number the lines of files.

use std::ops::Range;

use aho_corasick::AhoCorasick;

/// What stands between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    /// The end of the one and the space before the other.
    Lines,
    /// The same, and a number with a tab.
    Numbers,
}

/// The text in one line.
pub(super) fn unwrapped(text: &str) -> String {
    Joined::new(text, Between::Lines).map_or_else(|| text.to_owned(), |it| it.text)
}

/// Values that stand in more than one line, each with its number.
pub(super) fn find(search: &AhoCorasick, text: &str) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    let numbered = text.contains('\t').then_some(Between::Numbers);
    for between in [Some(Between::Lines), numbered].into_iter().flatten() {
        let Some(joined) = Joined::new(text, between) else { break };
        for one in search.find_iter(&joined.text) {
            let range = joined.original(one.start())..joined.original(one.end() - 1) + 1;
            // What stands in one line has been found already.
            if range.len() > one.len() {
                found.push((range, one.pattern().as_usize()));
            }
        }
    }
    found
}

/// A text without what stands between its lines.
struct Joined {
    text: String,
    /// From here on in the joined text, so much is left out.
    gaps: Vec<(usize, usize)>,
}

impl Joined {
    /// `None` for a text of one line.
    fn new(text: &str, between: Between) -> Option<Self> {
        let mut joined = String::new();
        let (mut gaps, mut at) = (Vec::new(), 0);
        let mut from = 0;
        while let Some(next) = text[from..].find(['\n', '\\']).map(|it| from + it) {
            match gap(&text[next..], between) {
                0 => from = next + 1,
                length => {
                    // A carriage return belongs to the end of its line.
                    let line = text[at..next].trim_end_matches('\r');
                    joined.push_str(line);
                    at = next + length;
                    gaps.push((joined.len(), at - joined.len()));
                    from = at;
                }
            }
        }
        if gaps.is_empty() {
            return None;
        }
        joined.push_str(&text[at..]);
        Some(Self { text: joined, gaps })
    }

    /// Where a byte of the joined text stands in the original one.
    fn original(&self, at: usize) -> usize {
        let before = self.gaps.partition_point(|(from, _)| *from <= at);
        at + before.checked_sub(1).map_or(0, |last| self.gaps[last].1)
    }
}

/// How long the gap is that a text begins with: the end of a line, as it is or as JSON writes it, and what stands before the next one.
fn gap(text: &str, between: Between) -> usize {
    let rest = text.strip_prefix('\n').or_else(|| text.strip_prefix("\\r\\n"));
    let Some(rest) = rest.or_else(|| text.strip_prefix("\\n")) else { return 0 };
    let mut rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    if between == Between::Numbers {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if number.len() < rest.len()
            && let Some(line) = number.strip_prefix('\t')
        {
            rest = line;
        }
    }
    text.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::super::Mask;

    #[test]
    fn a_value_over_lines_is_still_the_value() {
        let mask = Mask::default();
        let value = "sk-1234567890-abcdefghij-klmnopqrst";
        mask.register("token", &SecretString::from(value));
        let (one, rest) = value.split_at(7);
        let (two, three) = rest.split_at(11);
        for text in [
            format!("{one}\n{two}\n{three}"),
            format!("{one}\r\n{two}\r\n{three}"),
            format!("  {one}\n    {two}\n\n    {three}\n"),
            format!("{{\"a\": \"{one}\\n{two}\\n{three}\"}}"),
            format!("1\t{one}\n2\t{two}\n10\t{three}\n"),
            value.chars().map(|c| format!("{c}\n")).collect(),
        ] {
            let hidden = mask.apply(&format!("before {text} after"));
            assert!(hidden.starts_with("before ") && hidden.ends_with(" after"), "{hidden}");
            assert!(hidden.contains("<SECRET:token:"), "{text:?}: {hidden}");
            assert!(!hidden.contains(two) && !hidden.contains(three), "{text:?}: {hidden}");
        }
        let other = format!("{one}\nsomething else\n{three}");
        assert_eq!(mask.apply(&other), other);
    }

    #[test]
    fn a_value_of_many_lines_is_known_by_each_of_them_and_in_one() {
        let mask = Mask::default();
        let value = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----\n";
        mask.register("cert", &SecretString::from(value));
        for text in [
            value.to_owned(),
            value.replace('\n', ""),
            value.replace('\n', "\\n"),
            value.lines().map(|it| format!("> {it}\n")).collect(),
            "grep: MIIEvQIBADANBgkqhkiG9w0B".to_owned(),
        ] {
            let hidden = mask.apply(&text);
            assert!(!hidden.contains("MIIEvQIBADAN") && !hidden.contains("AQEFAASC"), "{hidden}");
        }
    }

    #[test]
    fn an_address_does_not_show_it_either() {
        let mask = Mask::default();
        mask.register("password", &SecretString::from("p@ss/word!1"));
        let text = "cannot reach https://me:p%40ss%2Fword%211@example.com";
        assert!(!mask.apply(text).contains("p%40ss"));
    }
}
