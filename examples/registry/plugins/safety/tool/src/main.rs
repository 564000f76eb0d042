//! Lists unsafe code without a `SAFETY` comment above it, below the directories that are named.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

fn main() -> ExitCode {
    let mut dirs: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    if dirs.is_empty() {
        dirs.push(PathBuf::from("."));
    }
    let mut found = Vec::new();
    for dir in &dirs {
        if let Err(error) = look(dir, &mut found) {
            eprintln!("safety: {}: {error}", dir.display());
            return ExitCode::from(2);
        }
    }
    found.iter().for_each(|it| println!("{it}"));
    if found.is_empty() {
        println!("every unsafe block says why");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn look(path: &Path, found: &mut Vec<String>) -> io::Result<()> {
    if path.is_dir() {
        let mut inside =
            fs::read_dir(path)?.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?;
        inside.sort();
        let hidden = |name: &str| name == "target" || name.starts_with('.');
        let seen =
            |it: &&PathBuf| it.file_name().is_some_and(|name| !hidden(&name.to_string_lossy()));
        return inside.iter().filter(seen).try_for_each(|it| look(it, found));
    }
    if path.extension().is_some_and(|it| it == "rs") {
        let shown = path.strip_prefix(".").unwrap_or(path).display();
        found.extend(
            unexplained(&fs::read_to_string(path)?)
                .map(|(line, code)| format!("{shown}:{line}: {code}")),
        );
    }
    Ok(())
}

/// Lines that begin something unsafe, unless the comment directly above says why.
fn unexplained(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut explained = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let code = line.trim();
        let comment = code.starts_with("//");
        let here = !comment && (code.contains("unsafe {") || code.starts_with("unsafe impl"));
        let said = explained || code.contains("// SAFETY:");
        explained = comment && (explained || code.contains("SAFETY:"));
        (here && !said).then_some((at + 1, code))
    })
}

#[test]
fn a_comment_directly_above_explains() {
    let text = "// SAFETY: a\n// b\nunsafe { c() }\nd();\nlet e = unsafe { f() };\n// unsafe { g() }\n// SAFETY: h\n\nunsafe impl I for J {}\n";
    let lines: Vec<usize> = unexplained(text).map(|(line, _)| line).collect();
    assert_eq!(lines, [5, 9]);
}
