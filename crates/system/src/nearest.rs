//! "Did you mean".

/// Nobody misspells a longer name; it comes from a file that wants to keep us busy.
const MAX_LENGTH: usize = 256;

/// The candidates that `typed` was probably meant to be, nearest first, at most three.
///
/// ```
/// use agents_system::nearest::nearest;
/// assert_eq!(nearest("exectuable", ["args", "executable"]), ["executable"]);
/// assert!(nearest("zzz", ["args"]).is_empty());
/// ```
#[must_use]
pub fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace('_', "-");
    let wanted = fold(typed);
    let length = wanted.chars().count();
    // Comparing takes time and space for each pair of letters.
    if length > MAX_LENGTH {
        return Vec::new();
    }
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate);
            let distance = strsim::damerau_levenshtein(&wanted, &folded);
            let longer = length.max(folded.chars().count());
            let extends = wanted.len() >= 3 && folded.starts_with(&wanted);
            let near = extends || distance <= (longer / 3).max(1) && distance < longer;
            near.then_some((distance, candidate))
        })
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// `` `a` ``, `` `a` or `b` ``, `` `a`, `b` or `c` ``.
#[must_use]
pub fn quoted_list<S: AsRef<str>>(names: &[S], last_word: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} {last_word} {last}", init.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_a_third_of_the_longer_name_or_its_beginning() {
        assert_eq!(nearest("instalations", ["installations", "skills"]), ["installations"]);
        assert_eq!(nearest("pre", ["predicates", "name"]), ["predicates"]);
        assert_eq!(nearest("ab", ["a", "b", "abc"]), ["a", "abc", "b"]);
        assert!(nearest("a", ["b"]).is_empty());
    }

    #[test]
    fn an_endless_name_is_near_nothing() {
        let endless = "x".repeat(5_000_000);
        assert!(nearest(&endless, ["executable", "x"]).is_empty());
    }
}
