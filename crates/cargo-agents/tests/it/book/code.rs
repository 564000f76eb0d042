//! Code of Rust: what is shown is compiled, by itself or in an example of the documentation of some room.

use std::process::Command;

use agents_testkit::{
    book::{Block, blocks, root},
    scratch::Scratch,
};
/// The words after a fence with which rustdoc compiles an example.
const COMPILED: [&str; 4] = ["", "rust", "no_run", "should_panic"];

/// The examples of the rooms that rustdoc compiles, as readers see them: one list of lines for each example.
pub(super) fn documentation() -> Vec<Vec<String>> {
    let (mut files, mut waiting) = (Vec::new(), vec![root().join("crates")]);
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension() == Some("rs") && path.as_str().contains("/src/") {
                files.extend(examples(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 20, "only {} examples were found", files.len());
    files
}

fn examples(source: &str) -> Vec<Vec<String>> {
    let said = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
    });
    let said: String =
        said.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n").collect();
    let compiled = |block: &Block| {
        let info = format!("{},{}", block.language, block.info.replace(' ', ","));
        info.split(',').all(|word| COMPILED.contains(&word) || word.starts_with("edition"))
    };
    let blocks = blocks(&said).into_iter().filter(compiled);
    blocks
        .map(|it| it.text.lines().filter(|line| is_seen(line)).map(str::to_owned).collect())
        .collect()
}

/// Not one that only the compiler sees.
fn is_seen(line: &str) -> bool {
    line.trim() != "#" && !line.trim_start().starts_with("# ")
}

/// What is wrong with a block of code.
pub(super) fn complaint(documentation: &[Vec<String>], block: &Block) -> Option<String> {
    if block.text.contains("fn main()") {
        return refused(&block.text);
    }
    let lines: Vec<&str> = block.text.lines().collect();
    if lines.is_empty() {
        return Some("there is nothing in it".to_owned());
    }
    let stands_in = |example: &Vec<String>| example.windows(lines.len()).any(|it| it == lines);
    let is_compiled = documentation.iter().any(stands_in);
    (!is_compiled).then(|| "no example of any room has these lines".to_owned())
}

/// What the compiler says to a whole program.
fn refused(program: &str) -> Option<String> {
    let scratch = Scratch::new();
    let file = scratch.write("main.rs", program);
    let made = scratch.path("made");
    let args = ["--edition=2024", "--emit=metadata", file.as_str(), "-o", made.as_str()];
    let output = Command::new("rustc").args(args).output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn only_what_rustdoc_compiles_counts() {
    let source = "//! a();\n//! ```\n//! # use b;\n//! b();\n//! ```\n/// ```text\n/// c();\n/// ```\n/// ```ignore\n/// d();\n/// ```\n/// ```no_run\n/// e();\n/// ```\n";
    assert_eq!(examples(source), [["b();"], ["e();"]]);
    let block = |text: &str| Block {
        language: "rust".to_owned(),
        info: String::new(),
        text: text.to_owned(),
        line: 1,
    };
    for (text, fine) in [("b();\n", true), ("a();\n", false), ("c();\n", false), ("", false)] {
        assert_eq!(complaint(&examples(source), &block(text)).is_none(), fine, "{text}");
    }
}
