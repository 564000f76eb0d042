//! A page as a terminal shows it.

/// Where the pages are read by those who have only the program.
const BOOK: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs");

/// Without what only tests read.
pub(super) fn without_remarks(page: &str) -> String {
    let kept = page.lines().filter(|line| !line.trim_start().starts_with("<!--"));
    let mut text = String::new();
    for line in kept {
        // What stood between two empty lines leaves one of them.
        if !(line.is_empty() && (text.is_empty() || text.ends_with("\n\n"))) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Without fences and links: blocks are indented, and a link says where it leads.
pub(super) fn plain(page: &str) -> String {
    let (mut text, mut within) = (String::new(), false);
    for line in without_remarks(page).lines() {
        if line.starts_with("```") {
            within = !within;
        } else if within && !line.is_empty() {
            text.push_str(&format!("    {line}\n"));
        } else {
            text.push_str(&unlinked(line));
            text.push('\n');
        }
    }
    text
}

/// `[words](page.md)` as `words (https://…/docs/page.md)`.
fn unlinked(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, words, target, after)) = link(rest) {
        text.push_str(&format!("{before}{words} ({BOOK}/{target})"));
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The first link: what stands before it, its words, where it leads, and what follows.
fn link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, from_words) = line.split_once('[')?;
    let (words, from_target) = from_words.split_once("](")?;
    let (target, after) = from_target.split_once(')')?;
    let is_page = !words.contains('[') && target.split('#').next()?.ends_with(".md");
    is_page.then_some((before, words, target, after))
}

/// What a heading is called in links.
#[cfg(test)]
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter_map(|it| match it {
        ' ' => Some('-'),
        it if it.is_alphanumeric() || it == '-' || it == '_' => Some(it),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_sees_neither_fences_nor_remarks_nor_links() {
        let page = "A.\n\n<!-- do: x -->\n<!-- file: y -->\n```text\n# y\n\nz\n```\n\nMore: [the b](c.md#d), `[sandbox]`.\n";
        let expected = "A.\n\n    # y\n\n    z\n\nMore: the b (BOOK/c.md#d), `[sandbox]`.\n";
        assert_eq!(plain(page), expected.replace("BOOK", BOOK));
        assert!(BOOK.starts_with("https://"), "{BOOK}");
        assert_eq!(
            without_remarks("A.\n\n<!-- do: x -->\n\n```text\nb\n```\n"),
            "A.\n\n```text\nb\n```\n"
        );
    }
}
