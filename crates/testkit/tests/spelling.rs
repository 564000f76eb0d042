//! No word of the pages, comments and messages is one that people often misspell.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use unicase::UniCase;

/// Names of others that look like misspellings, and what stands in examples of what we say to a misspelling.
const RIGHT: &[&str] = &[
    "wronly",
    "exectuable",
    "fils",
    "nmae",
    "reviewr",
    "snyc",
    "carefull",
    "instalations",
    "parms",
    "promt",
];

#[test]
fn no_word_is_misspelt() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .args(["*.md", "*.rs", "*.toml", "*.html", "*.js", "*.css"])
        .current_dir(&root)
        .output()
        .unwrap();
    let mut wrong = BTreeMap::<String, String>::new();
    let mut words = 0;
    // Tests misspell on purpose: to see what is said then.
    let is_test = |file: &str| {
        file.contains("/tests/") || file.contains("/benches/") || file.ends_with("tests.rs")
    };
    let files = String::from_utf8(output.stdout).unwrap();
    for file in files.split_terminator('\0').filter(|file| !is_test(file)) {
        // Deleted and not yet committed.
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        let read = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (number, line) in read.lines().enumerate() {
            // In a literal, the end of a line is not the beginning of a word.
            for word in words_of(&line.replace("\\n", " ")) {
                words += 1;
                if let Some(better) = typos_dict::WORD.find(&UniCase::new(word))
                    && !RIGHT.contains(&word.to_lowercase().as_str())
                {
                    let place = format!("{file}:{}: {}", number + 1, better.join(", "));
                    wrong.entry(word.to_owned()).or_insert(place);
                }
            }
        }
    }
    assert!(words > 100_000, "only {words} words were looked at");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `parse_httpRequest` is `parse`, `http` and `Request`; what has digits in it is a code.
fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.contains(|it: char| it.is_ascii_digit()))
        .flat_map(humps)
        .filter(|it| it.len() > 3)
}

/// The parts of a name like `thisOne`.
fn humps(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut since = 0;
    let mut before_is_lower = false;
    for (at, it) in name.char_indices() {
        if before_is_lower && it.is_uppercase() {
            parts.push(&name[since..at]);
            since = at;
        }
        before_is_lower = it.is_lowercase();
    }
    parts.push(&name[since..]);
    parts
}

#[test]
fn names_are_taken_apart() {
    let words: Vec<&str> = words_of("let recieveAll = teh_Other(x86_64, \"recieved\")").collect();
    assert_eq!(words, ["recieve", "Other", "recieved"]);
    assert!(typos_dict::WORD.find(&UniCase::new("recieved")).is_some());
}
