//! What a page says that is printed, against what is printed.

/// Whether a page leaves out everything that is printed.
pub(super) fn says_nothing(expected: &[String]) -> bool {
    expected.iter().all(|line| ["", "…"].contains(&line.trim()))
}

/// Whether this was printed: line by line, with anything where the page has `…`, by itself or at the end of a line.
pub(super) fn is_as_told(expected: &[&str], printed: &[&str]) -> bool {
    let tamed = |lines: &[&str]| lines.iter().map(|line| tame(line)).collect::<Vec<String>>();
    let blank_at_the_end = expected.iter().rev().take_while(|line| line.trim().is_empty()).count();
    let expected = &expected[..expected.len() - blank_at_the_end];
    let printed = tamed(printed);
    let parts: Vec<Vec<String>> = expected.split(|line| line.trim() == "…").map(tamed).collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return parts.first().is_some_and(|all| fits(all, &printed));
    };
    let Some((begins, mut rest)) = printed.split_at_checked(first.len()) else { return false };
    if !fits(first, begins) {
        return false;
    }
    for part in between.iter().filter(|part| !part.is_empty()) {
        let found = rest.windows(part.len()).position(|lines| fits(part, lines));
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    let end = rest.len().checked_sub(last.len());
    end.is_some_and(|at| fits(last, &rest[at..]))
}

/// Line by line.
fn fits(expected: &[String], printed: &[String]) -> bool {
    let line = |(expected, printed): (&String, &String)| match expected.strip_suffix('…') {
        Some(beginning) => printed.starts_with(beginning),
        None => expected == printed,
    };
    expected.len() == printed.len() && expected.iter().zip(printed).all(line)
}

/// A line without what differs from run to run: ids, moments, how long something took, and how wide columns are.
#[must_use]
pub fn tame(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let takes_time = |at: usize| {
        let unit = words.get(at + 1).map(|next| next.trim_end_matches(['.', ',', ':', ')']));
        unit.is_some_and(|unit| ["s", "ms", "m"].contains(&unit))
    };
    let tamed = words.iter().enumerate().map(|(at, word)| {
        let bare = word.trim_matches(['`', ':', ',', '.', '(', ')']);
        let end = bare.rsplit('-').next().unwrap_or(bare);
        let is_hex = |text: &str| text.chars().all(|it| it.is_ascii_hexdigit() || it == '-');
        let is_number = !bare.is_empty() && bare.chars().all(|it| it.is_ascii_digit() || it == '.');
        if (end.len() == 8 && is_hex(end)) || (bare.len() == 36 && is_hex(bare)) {
            "ID"
        } else if bare.as_bytes().get(10) == Some(&b'T') && bare.starts_with("20") {
            "MOMENT"
        } else if is_number && takes_time(at) {
            "SOME"
        } else {
            *word
        }
    });
    tamed.collect::<Vec<&str>>().join(" ")
}

#[test]
fn what_is_left_out_may_be_anything() {
    let printed = ["a  0.1 s", "b", "c", "d review-0a1b2c3d:"];
    for (expected, is_so) in [
        (vec!["a 7 s", "b", "c", "d review-ffffffff:"], true),
        (vec!["a 7 s", "…"], true),
        (vec!["…", "c", "…"], true),
        (vec!["…", "d review-00000000:", ""], true),
        (vec!["a…", "b", "…"], true),
        (vec!["a…"], false),
        (vec!["b…", "b", "…"], false),
        (vec!["…", "c"], false),
        (vec!["b", "…"], false),
        (vec!["…", "c", "…", "b", "…"], false),
        (vec!["a 7 s"], false),
        (vec![], false),
    ] {
        assert_eq!(is_as_told(&expected, &printed), is_so, "{expected:?}");
    }
    assert!(is_as_told(&[], &[]));
}
