//! Code of Rust: what is shown is compiled, by itself or in an example of the documentation of some room.

use std::process::Command;

use agents_testkit::{
    book::{Block, root},
    scratch::Scratch,
};
use camino::Utf8PathBuf;

/// What the rooms say about themselves, as readers see it: one list of lines for each file.
pub(super) fn documentation() -> Vec<Vec<String>> {
    let (mut files, mut waiting) = (Vec::new(), vec![root().join("crates")]);
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension() == Some("rs") && path.as_str().contains("/src/") {
                files.push(shown(&path));
            }
        }
    }
    assert!(files.len() > 200, "only {} files were found", files.len());
    files
}

fn shown(file: &Utf8PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let said = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
    });
    let said = said.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned());
    // Lines that only the compiler sees.
    said.filter(|line| line != "#" && !line.starts_with("# ")).collect()
}

/// What is wrong with a block of code.
pub(super) fn complaint(documentation: &[Vec<String>], block: &Block) -> Option<String> {
    if block.text.contains("fn main()") {
        return refused(&block.text);
    }
    let lines: Vec<&str> = block.text.lines().collect();
    let stands_in = |file: &Vec<String>| file.windows(lines.len()).any(|it| it == lines);
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
