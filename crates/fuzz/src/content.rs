//! What a machine finds in a text before a person reads it.

use agents_trust::content::{Reading, inspect, reveal};

/// More of one file is not told.
const MOST: usize = 20;

/// What is suspicious is a part of the text, told in order; nothing that is hidden stays hidden when it is shown; and what hides a text
/// from people (tags, directions, characters without width) is found wherever it stands, also in a program.
pub fn content(text: &str) {
    for reading in [Reading::Prose, Reading::Code] {
        let found = inspect(text, reading);
        assert!(found.len() <= MOST && found.is_sorted_by_key(|it| it.part.start), "{found:?}");
        for it in &found {
            assert!(text.get(it.part.clone()).is_some() && !it.what.is_empty(), "{it:?}");
        }
    }
    let (code, prose) = (inspect(text, Reading::Code), inspect(text, Reading::Prose));
    assert!(prose.len() >= code.len().min(MOST), "reading it as prose finds no less");
    let shown = reveal(text);
    assert_eq!(inspect(&shown, Reading::Code), [], "{shown:?}");
    assert_eq!(reveal(&shown), shown);
    let is_telling = |it: char| matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2060}' | '\u{200b}');
    assert!(!shown.contains(is_telling), "{shown:?}");
    // The flags of three countries are written with tags, and nothing else is.
    let tags = |it: &str| it.chars().filter(|it| matches!(it, '\u{e0000}'..='\u{e007f}')).count();
    let flags = text.matches('\u{1f3f4}').count();
    assert!(tags(&shown) <= 6 * flags, "{shown:?}");
}
