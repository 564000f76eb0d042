//! How well a few letters fit a name.

/// The lower the better; `None` if the letters are not all there in this order. Counted in tenths.
///
/// Letters in a row count for more the longer the row, letters at the beginning of a word too; skipped letters and a late
/// beginning count against it.
pub(super) fn score(letters: &str, name: &str) -> Option<i64> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    let mut total = 0_i64;
    let mut next = 0_usize;
    let mut run = 0_i64;
    for letter in letters.chars().flat_map(char::to_lowercase) {
        let found = next + name.get(next..)?.iter().position(|c| *c == letter)?;
        let skipped = i64::try_from(found - next).ok()?;
        // Before the first letter nothing is skipped: where it stands counts by itself.
        if skipped == 0 && next > 0 {
            run += 1;
            total -= 50 * run;
        } else {
            run = 0;
            total += if next > 0 { 20 * skipped } else { 0 };
        }
        if found == 0 || !name[found - 1].is_alphanumeric() {
            total -= 100;
        }
        total += i64::try_from(found).ok()?;
        next = found + 1;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_letters_must_be_there_in_order() {
        assert!(score("sonnet", "claude-sonnet-5").is_some());
        assert!(score("SNT", "claude-sonnet-5").is_some());
        assert_eq!(score("tenno", "claude-sonnet-5"), None);
        assert_eq!(score("sonnet:high", "claude-sonnet-5"), None);
        assert_eq!(score("", "anything"), Some(0));
        assert_eq!(score("a", ""), None);
    }

    #[test]
    fn rows_and_beginnings_of_words_win() {
        let better = |letters: &str, one: &str, other: &str| {
            assert!(score(letters, one) < score(letters, other), "{letters}: {one} before {other}");
        };
        better("opus", "claude-opus-5", "claude-o-p-u-s");
        better("son", "claude-sonnet", "claude-person");
        better("gpt5", "gpt-5", "xgpt-x5");
        better("mini", "gpt-mini", "gemini");
    }
}
