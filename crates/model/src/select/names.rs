//! The names of models and of levels, taken apart.

use agents_agent::definition::Effort;

const LEVELS: [(&str, Effort); 7] = [
    ("off", Effort::Off),
    ("minimal", Effort::Minimal),
    ("low", Effort::Low),
    ("medium", Effort::Medium),
    ("high", Effort::High),
    ("xhigh", Effort::Xhigh),
    ("max", Effort::Max),
];

/// The level of effort of that name.
#[must_use]
pub fn level(word: &str) -> Option<Effort> {
    let word = word.trim();
    LEVELS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, level)| level)
}

/// The name of a level of effort.
#[must_use]
pub fn level_word(effort: Effort) -> &'static str {
    LEVELS.into_iter().find(|(_, level)| *level == effort).map_or("medium", |(name, _)| name)
}

/// What requests know: the finer levels of definitions are taken for the next one.
impl From<Effort> for crate::request::Effort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::Off => Self::None,
            Effort::Minimal | Effort::Low => Self::Low,
            Effort::Medium => Self::Medium,
            Effort::High => Self::High,
            Effort::Xhigh | Effort::Max => Self::Max,
        }
    }
}

/// What a model is called whoever sells it: the last part of its path, in lower case, without a route (`:nitro`) and without a
/// date, and with hyphens between the numbers of its version.
#[must_use]
pub fn canonical(id: &str) -> String {
    let name = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    let name = without_route(&name);
    let (name, _) = split_date(name);
    let bytes = name.as_bytes();
    let digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
    let between_digits = |at: usize| at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1));
    let plain =
        name.char_indices().map(|(at, c)| if c == '.' && between_digits(at) { '-' } else { c });
    plain.collect()
}

/// The name without what a reseller writes behind a colon, unless that is a size such as `qwen3:8b`.
pub(super) fn without_route(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((name, route))
            if !name.is_empty() && route.chars().all(|c| c.is_ascii_alphabetic()) =>
        {
            name
        }
        _ => id,
    }
}

/// The name and its date, `20250929` or `2025-09-29`.
pub(super) fn split_date(id: &str) -> (&str, Option<&str>) {
    for (length, dashes) in [(8, &[][..]), (10, &[4, 7][..])] {
        let Some(at) = id.len().checked_sub(length + 1) else { continue };
        if !id.is_char_boundary(at) || !id.is_char_boundary(at + 1) {
            continue;
        }
        let (name, tail) = id.split_at(at);
        let Some(date) = tail.strip_prefix('-') else { continue };
        let is_date = date.bytes().enumerate().all(|(at, byte)| {
            if dashes.contains(&at) { byte == b'-' } else { byte.is_ascii_digit() }
        });
        if is_date && !name.is_empty() && date.starts_with("20") {
            return (name, Some(date));
        }
    }
    (id, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resellers_dates_and_dots_do_not_change_what_a_model_is() {
        for (id, same) in [
            ("claude-sonnet-4-5", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
            ("anthropic/claude-sonnet-4.5:nitro", "claude-sonnet-4-5"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("GPT-5.1", "gpt-5-1"),
            ("models/gemini-2.5-pro", "gemini-2-5-pro"),
            ("qwen3:8b", "qwen3:8b"),
            ("20250929", "20250929"),
            ("x-20259", "x-20259"),
            ("é-20250929", "é"),
            ("", ""),
        ] {
            assert_eq!(canonical(id), same, "{id}");
        }
    }

    #[test]
    fn every_level_is_read_back() {
        for (word, effort) in LEVELS {
            assert_eq!(level(word), Some(effort));
            assert_eq!(level_word(effort), word);
        }
        assert_eq!(level("High"), Some(Effort::High));
        assert_eq!(level("med"), None);
        assert_eq!(level(""), None);
    }
}
