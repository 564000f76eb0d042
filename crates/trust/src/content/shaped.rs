//! The usual shapes of prompt injection. The list is short on purpose: every line must be worth a person's look, and
//! `docs/trust.md` says the same in words.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::Suspicion;

/// The shortest blob of base64 that can hold a command worth hiding.
const MIN_BLOB: usize = 40;

struct Shape {
    what: &'static str,
    pattern: Regex,
}

/// What each line looks for; all ignore case, and `.` ends with the line unless a pattern says otherwise.
const SHAPES: &[(&str, &str)] = &[
    (
        "it asks to ignore other instructions",
        r"\b(ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}\b(previous|prior|above|earlier|preceding|existing|system|all other|your)\b[^.\n]{0,30}\b(instructions?|prompts?|guidelines|directives|constraints)\b",
    ),
    (
        "it asks to keep something from the user",
        r"\b(do not|don't|never|without)\s+(\w+\s+){0,3}(tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting)\b[^.\n]{0,40}\b(the user|the human|the developer|them|anyone)\b",
    ),
    (
        "it imitates the marks between the turns of a conversation",
        r"<\|(im_start|im_end|system|assistant|user|endoftext)\|>|\[/?INST\]|<</?SYS>>|^\s*</?(system|system-reminder|system_prompt)>",
    ),
    (
        "it sends keys, secrets or the environment somewhere",
        r"\b(send|post|upload|transmit|exfiltrate|curl|wget|nc|fetch|forward|paste|append|include)\b[^\n]{0,120}(\.ssh\b|\bid_(rsa|ed25519)\b|\.aws/credentials|\.netrc\b|\.cargo/credentials|\$\(env\)|\bprintenv\b|\benvironment variables\b[^\n]{0,40}\bto\b|/etc/passwd)",
    ),
    (
        "it sends keys, secrets or the environment somewhere",
        r"(\.ssh/|\bid_(rsa|ed25519)\b|\.aws/credentials|\.netrc\b|\.cargo/credentials|\bprintenv\b|\benv\s*\||\b(api keys?|private keys?|access tokens?|secrets|credentials)\b)[^\n]{0,100}\b(send|post|upload|transmit|exfiltrate|forward)\b[^\n]{0,60}(https?://|\bto\s+(this|the following|our|my)\s+(url|server|endpoint|webhook|address))",
    ),
    (
        "it runs what it downloads",
        r"\b(curl|wget)\b[^\n|]{0,200}\|\s*(sudo\s+)?(env\s+)?(ba|z|da|k)?sh\b|\b(iex|invoke-expression)\b[^\n]{0,80}\b(iwr|irm|invoke-webrequest|downloadstring)\b|\b(ba|z)?sh\s+(-c\s+)?[\x22']?(<\(|\$\()\s*(curl|wget)\b",
    ),
    (
        "it runs what it decodes",
        r"\bbase64\s+(-d|-D|--decode)\b[^\n]{0,80}\|\s*(sudo\s+)?(ba|z|da)?sh\b|\beval\b[^\n]{0,40}\b(base64|atob|b64decode)\b",
    ),
    (
        "it takes instructions from the network",
        r"\b(fetch|download|load|retrieve|follow|obey|execute)\b[^.\n]{0,40}\binstructions?\b[^\n]{0,40}https?://|\bhttps?://\S+[^.\n]{0,40}\b(follow|obey|execute)\b[^.\n]{0,30}\binstructions?\b",
    ),
    (
        "a comment that is not shown speaks to the agent",
        r"(?s)<!--(?:[^-]|-[^-])*?\b(you must|you should|ignore|disregard|do not tell|always run|never mention|execute|instructions? (to|for) (the )?(agent|assistant|model|ai)|(agent|assistant|ai|llm|claude|codex)\s*[:,])(?:[^-]|-[^-])*?-->",
    ),
];

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

static COMPILED: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let compiled = SHAPES.iter().filter_map(|(what, pattern)| {
        let pattern = Regex::new(&format!("(?im){pattern}")).ok()?;
        Some(Shape { what, pattern })
    });
    compiled.collect()
});

pub(super) fn find(text: &str) -> Vec<Suspicion> {
    let mut found: Vec<Suspicion> = Vec::new();
    for shape in COMPILED.iter() {
        for part in shape.pattern.find_iter(text) {
            let part = part.range();
            let known = |it: &Suspicion| it.what == shape.what && it.part.contains(&part.start);
            if !found.iter().any(known) {
                found.push(Suspicion { what: shape.what.to_owned(), part });
            }
        }
    }
    found.extend(blobs(text));
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
        assert_eq!(COMPILED.len(), SHAPES.len());
    }

    #[test]
    fn base64_is_decoded() {
        for (blob, text) in [("aGk=", "hi"), ("aGV5", "hey"), ("aA", "h"), ("", ""), ("?", "")] {
            assert_eq!(decode(blob), text.as_bytes(), "{blob}");
        }
    }
}
