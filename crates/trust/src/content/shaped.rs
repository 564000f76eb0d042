//! The usual shapes of prompt injection. The list is short on purpose: every line must be worth a person's look, and
//! `docs/trust.md` says the same in words.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::Suspicion;

/// The shortest blob of base64 that can hold a command worth hiding.
const MIN_BLOB: usize = 40;

/// Prose beyond this is not looked through, and that is said.
const MAX_TEXT: usize = 1024 * 1024;

/// More of a comment is not looked at, and more of a text is not listed.
const MAX_COMMENT: usize = 4096;
const ENOUGH: usize = 100;

/// One shape: what it means, the words without which it cannot be there, and how it looks. Case never counts; what is a sentence
/// may go over several lines, what is a command may not.
struct Shape {
    what: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape {
        what: "it asks to ignore other instructions",
        words: &["ignore", "disregard", "forget", "override", "bypass"],
        pattern: r"\b(ignore|disregard|forget|override|bypass)\b[^.]{0,40}\b(previous|prior|above|earlier|preceding|existing|system|all other|your)\b[^.]{0,30}\b(instructions?|prompts?|guidelines|directives|constraints)\b",
    },
    Shape {
        what: "it asks to keep something from the user",
        words: &["tell", "inform", "mention", "reveal", "notify", "alert"],
        pattern: r"\b(do not|don't|never|without)\s+(\w+\s+){0,3}(tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting)\b[^.]{0,40}\b(the user|the human|the developer|them|anyone)\b",
    },
    Shape {
        what: "it imitates the marks between the turns of a conversation",
        words: &["<|", "inst]", "sys>>", "<system", "</system"],
        pattern: r"<\|(im_start|im_end|system|assistant|user|endoftext)\|>|\[/?INST\]|<</?SYS>>|^\s*</?(system|system-reminder|system_prompt)>",
    },
    Shape {
        what: "it sends keys, secrets or the environment somewhere",
        words: &[".ssh", "id_rsa", "id_ed25519", "credentials", ".netrc", "env", "/etc/passwd"],
        pattern: r"\b(send|post|upload|transmit|exfiltrate|curl|wget|nc|fetch|forward|paste|append|include)\b[^\n]{0,120}(\.ssh\b|\bid_(rsa|ed25519)\b|\.aws/credentials|\.netrc\b|\.cargo/credentials|\$\(env\)|\bprintenv\b|\benvironment variables\b[^\n]{0,40}\bto\b|/etc/passwd)",
    },
    Shape {
        what: "it sends keys, secrets or the environment somewhere",
        words: &["send", "post", "upload", "transmit", "exfiltrate", "forward"],
        pattern: r"(\.ssh/|\bid_(rsa|ed25519)\b|\.aws/credentials|\.netrc\b|\.cargo/credentials|\bprintenv\b|\benv\s*\||\b(api keys?|private keys?|access tokens?|secrets|credentials)\b)[^\n]{0,100}\b(send|post|upload|transmit|exfiltrate|forward)\b[^\n]{0,60}(https?://|\bto\s+(this|the following|our|my)\s+(url|server|endpoint|webhook|address))",
    },
    Shape {
        what: "it runs what it downloads",
        words: &["curl", "wget", "iex", "invoke-expression"],
        pattern: r"\b(curl|wget)\b[^\n|]{0,200}\|\s*(sudo\s+)?(env\s+)?(ba|z|da|k)?sh\b|\b(iex|invoke-expression)\b[^\n]{0,80}\b(iwr|irm|invoke-webrequest|downloadstring)\b|\b(ba|z)?sh\s+(-c\s+)?[\x22']?(<\(|\$\()\s*(curl|wget)\b",
    },
    Shape {
        what: "it runs what it decodes",
        words: &["base64", "atob", "b64decode"],
        pattern: r"\bbase64\s+(-d|--decode)\b[^\n]{0,80}\|\s*(sudo\s+)?(ba|z|da)?sh\b|\beval\b[^\n]{0,40}\b(base64|atob|b64decode)\b",
    },
    Shape {
        what: "it takes instructions from the network",
        words: &["instruction"],
        pattern: r"\b(fetch|download|load|retrieve|follow|obey|execute)\b[^.]{0,40}\binstructions?\b[^\n]{0,40}https?://|\bhttps?://\S+[^.]{0,40}\b(follow|obey|execute)\b[^.]{0,30}\binstructions?\b",
    },
];

const COMMENT: &str = "a comment that is not shown speaks to the agent";
const SPEAKS: &str = r"\b(you must|you should|ignore|disregard|do not tell|always run|never mention|execute|instructions? (to|for) (the )?(agent|assistant|model|ai)|(agent|assistant|ai|llm|claude|codex)\s*[:,])";

/// Words that a blob decodes to when it is a command or an instruction.
const TELLING: &[&str] = &[
    "curl ",
    "wget ",
    "bash",
    "/bin/sh",
    "sh -c",
    "eval",
    "http://",
    "https://",
    "import os",
    "ignore ",
];

/// The patterns of the shapes, and the last one for comments.
static COMPILED: LazyLock<(Vec<Option<Regex>>, Option<Regex>)> = LazyLock::new(|| {
    let compile = |pattern: &str| Regex::new(&format!("(?im){pattern}")).ok();
    (SHAPES.iter().map(|shape| compile(shape.pattern)).collect(), compile(SPEAKS))
});

pub(super) fn find(text: &str) -> Vec<Suspicion> {
    let mut found: Vec<Suspicion> = Vec::new();
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() {
        let what = "it is too long to be looked through".to_owned();
        found.push(Suspicion { what, part: end..end });
    }
    let text = &text[..end];
    let lower = text.to_ascii_lowercase();
    let mut start = 0;
    for paragraph in lower.split_inclusive("\n\n") {
        let range = start..start + paragraph.len();
        start = range.end;
        for (shape, pattern) in SHAPES.iter().zip(&COMPILED.0) {
            if !shape.words.iter().any(|word| paragraph.contains(word)) {
                continue;
            }
            let parts = pattern.iter().flat_map(|it| it.find_iter(&text[range.clone()]));
            for part in parts {
                let part = range.start + part.start()..range.start + part.end();
                let known = |it: &Suspicion| it.what == shape.what && it.part.contains(&part.start);
                if found.len() < ENOUGH && !found.iter().any(known) {
                    found.push(Suspicion { what: shape.what.to_owned(), part });
                }
            }
        }
    }
    found.extend(comments(text));
    found.extend(blobs(text));
    found
}

/// Comments of HTML, which no reader of the rendered text sees, with words for the agent in them.
fn comments(text: &str) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("<!--").take(10 * ENOUGH) {
        let mut end = text.len().min(start + MAX_COMMENT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let part = start..text[start..end].find("-->").map_or(end, |at| start + at + 3);
        if COMPILED.1.as_ref().is_some_and(|it| it.is_match(&text[part.clone()])) {
            found.push(Suspicion { what: COMMENT.to_owned(), part });
        }
    }
    found
}

/// Runs of base64 that hold a command or an instruction.
fn blobs(text: &str) -> Vec<Suspicion> {
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(|c: char| !is_digit(c)) {
        let blob = word.trim_end_matches(|c: char| !is_digit(c));
        if blob.len() >= MIN_BLOB {
            let decoded = String::from_utf8(decode(blob)).unwrap_or_default().to_ascii_lowercase();
            if TELLING.iter().any(|word| decoded.contains(word)) {
                let what = "it hides a command or an instruction in base64".to_owned();
                found.push(Suspicion { what, part: at..at + blob.len() });
            }
        }
        at += word.len();
    }
    found
}

/// What whole groups of the blob stand for; nothing after the first character that is no digit.
fn decode(blob: &str) -> Vec<u8> {
    let value = |byte: u8| -> Option<u32> {
        Some(u32::from(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }))
    };
    let digits: Vec<u32> = blob.bytes().map_while(value).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        let whole = bits.to_be_bytes();
        bytes.extend_from_slice(&whole[1..group.len().max(1)]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(COMPILED.0.iter().all(Option::is_some) && COMPILED.1.is_some());
    }

    #[test]
    fn base64_is_decoded() {
        for (blob, text) in [("aGk=", "hi"), ("aGV5", "hey"), ("aA", "h"), ("", ""), ("?", "")] {
            assert_eq!(decode(blob), text.as_bytes(), "{blob}");
        }
    }
}
