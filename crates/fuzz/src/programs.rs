//! What programs print that we run for ourselves, and what comes from a keyboard.

use agents_system::ask::read_keys;
use agents_task::isolate::read_printed;
use agents_workspace::{CrateName, Details, read_metadata};

/// The answer of `cargo metadata`: everything in order, edges only between members, and the same again after it was kept.
pub fn cargo_metadata(data: &[u8]) {
    let (members, direct, details) = match read_metadata(data) {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(members.is_sorted() && direct.is_sorted());
    assert!(details.packages.is_sorted() && details.edges.is_sorted());
    assert!(details.packages.iter().all(|it| it.features.is_sorted()));
    for edge in &details.edges {
        let is_member = |name: &CrateName| members.iter().any(|it| it.name == *name);
        assert!(is_member(&edge.from) && is_member(&edge.to), "{edge:?}");
    }
    let kept = serde_json::to_string(&details).expect("it can be kept");
    assert_eq!(serde_json::from_str::<Details>(&kept).ok(), Some(details));
}

/// What git prints: no file without a name, no more of anything than there are parts, and a submodule whose commit is one word.
pub fn git_output(data: &[u8]) {
    let (files, commits, links) = read_printed(data);
    let parts = data.split(|it| *it == 0).filter(|it| !it.is_empty()).count();
    assert!(
        files.iter().all(|it| !it.path.is_empty()) && 2 * files.len() <= parts + 1,
        "{files:?}"
    );
    let text = String::from_utf8_lossy(data);
    assert_eq!(commits.len(), text.lines().count());
    assert!(commits.iter().all(|it| !it.id.contains([' ', '\n'])), "{commits:?}");
    assert!(links.len() <= parts);
    for (commit, path) in links {
        let digits = |it: u8| it.is_ascii_hexdigit();
        assert!(!commit.is_empty() && commit.bytes().all(digits), "{commit:?}");
        assert!(!path.is_empty() && !path.contains(&0), "{path:?}");
    }
}

/// Keys: each of them takes something of what was typed and all of them no more than that, the same keys come wherever it is cut, and
/// whoever wants it to end is always heard.
pub fn keys(data: &[u8]) {
    let whole = read_keys(data);
    let taken: usize = whole.iter().map(|(_, length)| length).sum();
    assert!(taken <= data.len() && whole.iter().all(|(_, length)| *length > 0), "{whole:?}");
    // No key begins with more than this.
    assert!(data.len() - taken <= 2 + 64, "{} bytes are waited for", data.len() - taken);
    let asked = data[..taken].iter().filter(|it| matches!(it, 0x03 | 0x04)).count();
    let heard = whole.iter().filter(|(key, _)| key == "Interrupt").count();
    assert_eq!(heard, asked, "{whole:?}");
    let mut at = 0;
    for (key, length) in &whole {
        let alone = read_keys(&data[at..at + length]);
        // What is only ended by the next key has only begun without it; an escape may be a key by itself.
        let is_same = alone == [(key.clone(), *length)];
        assert!(is_same || alone.is_empty(), "{key} is {alone:?} by itself");
        at += length;
    }
}
