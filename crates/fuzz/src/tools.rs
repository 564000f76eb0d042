//! What a model wants of tools, and what must not be seen of what they say.

use agents_hook::{Matcher, wire::Wire};
use agents_host::Event;
use agents_tool::{
    Rights, Subject, Tool as _,
    secrets::{Mask, Masked},
    tools::{Outline, Replacement, apply_edits, web::readable},
};
use serde_json::json;

use crate::{files::in_scratch, peers::context, streams::in_runtime};

/// What separates the parts of an input.
const SEPARATOR: &str = "\n%%\n";

/// A text, then pairs of what is there and what is to be there: all edits are made or none, and the text never grows without an end.
pub fn edit_tool(input: &str) {
    let mut parts = input.split(SEPARATOR);
    let text = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.take(16).collect();
    let edits: Vec<Replacement> = rest
        .chunks(2)
        .map(|pair| Replacement {
            old: pair[0].trim_start_matches('*').to_owned(),
            new: pair.get(1).copied().unwrap_or_default().to_owned(),
            all: pair[0].starts_with('*'),
        })
        .collect();
    let Ok((changed, places)) = apply_edits(text, &edits) else { return };
    assert!(places >= edits.len());
    if let [edit] = &edits[..]
        && !text.contains('\r')
    {
        let most = if edit.all { usize::MAX } else { 1 };
        assert_eq!(changed, text.replacen(&edit.old, &edit.new, most));
    }
}

/// Rules on the lines of an input, the last of which is what is wanted: two rules together allow what both do, and taking one away
/// allows no more than before.
pub fn rights(input: &str) {
    let mut lines: Vec<&str> = input.lines().take(12).collect();
    let wanted = lines.pop().unwrap_or_default();
    let (one, other) = lines.split_at(lines.len() / 2);
    let (first, second) = (Rights::only(one), Rights::only(other));
    let both = first.meet(&second);
    let tools = ["bash", "read", "write", "task", "mcp__notes__look_up"];
    let subjects = [
        Subject::Nothing,
        Subject::Command(wanted.to_owned()),
        Subject::Paths(vec![wanted.into()]),
        Subject::Tree,
        Subject::Text(wanted.to_owned()),
    ];
    for tool in tools.into_iter().chain([wanted]) {
        assert!(!both.allows(tool) || (first.allows(tool) && second.allows(tool)), "{tool}");
        for subject in &subjects {
            let [a, b, meet] = [&first, &second, &both].map(|it| it.cover(tool, subject).is_ok());
            assert_eq!(meet, a && b, "{tool} {subject:?}");
            let less = first.clone().without(other).cover(tool, subject).is_ok();
            assert!(!less || a, "{tool} {subject:?}: taking away gives");
        }
    }
}

/// Secrets on the first lines, up to a line `%%`, then a text: no secret is in what is shown, however the text is cut.
pub fn mask(input: &str) {
    let (secrets, text) = input.split_once(SEPARATOR).unwrap_or((input, input));
    let mask = Mask::default();
    let known: Vec<&str> = secrets
        .lines()
        .take(6)
        .filter(|it| mask.register("key", &(*it).to_owned().into()) == Masked::Yes)
        .collect();
    let shown = mask.apply(text);
    for secret in &known {
        // What stands for a secret is made of a few words and digits, which could be part of one.
        let ours = "<SECRET:key:".contains(secret) || secret.contains("<SECRET:");
        assert!(ours || !shown.contains(secret), "{secret:?} in {shown:?}");
    }
    for size in [1, 7, 64] {
        let mut stream = mask.stream();
        let mut pieces = String::new();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            pieces.push_str(&stream.push(&piece.iter().collect::<String>()));
        }
        pieces.push_str(&stream.finish());
        for secret in &known {
            let ours = "<SECRET:key:".contains(secret) || secret.contains("<SECRET:");
            assert!(ours || !pieces.contains(secret), "{secret:?} in {pieces:?}, {size} at a time");
        }
    }
}

/// A page is text without tags, no longer than what it is made of allows.
pub fn web_page(data: &[u8]) {
    for kind in ["text/html", "text/plain; charset=utf-8", ""] {
        let Some(text) = readable(kind, data) else { continue };
        assert!(text.len() <= 3 * data.len() + 16, "{} of {}", text.len(), data.len());
    }
}

/// A pattern for tools, as each host reads it, and names that it is for.
pub fn matcher(input: &str) {
    let (pattern, name) = input.split_once('\n').unwrap_or((input, "Bash"));
    for wire in Wire::ALL {
        for event in [Event::PreToolUse, Event::SessionStart] {
            match Matcher::parse(wire, event, Some(pattern)) {
                Ok(matcher) => drop(matcher.matches_name(name)),
                Err(error) => assert!(!error.finding("hook").message.is_empty()),
            }
        }
    }
}

/// A file of each kind: an outline has lines that are there, none of them long.
pub fn outline(text: &str) {
    for name in ["outline/it.rs", "outline/it.py", "outline/it.md", "outline/it.toml"] {
        in_scratch(name, text.as_bytes(), |file| {
            let context = context(file.parent().expect("a directory"));
            let input = json!({ "path": file.file_name().expect("a name") });
            let Ok(shown) = in_runtime(Outline.call(input, &context)) else { return };
            let lines = text.split('\n').count();
            for line in
                shown.text.lines().filter(|it| it.starts_with(|it: char| it.is_ascii_digit()))
            {
                assert!(line.chars().count() <= 400, "{line}");
                let number = line.split(|it: char| !it.is_ascii_digit()).next().unwrap_or_default();
                assert!(number.parse::<usize>().is_ok_and(|it| it >= 1 && it <= lines), "{line}");
            }
        });
    }
}
