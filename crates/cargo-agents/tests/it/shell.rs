//! `cargo agents completions` and `cargo agents man`: what a shell and `man` make of them.

use std::process::Command;

use agents_testkit::scratch;
use camino::Utf8PathBuf;

use crate::world::World;

#[test]
fn completions_know_the_built_ins() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.ok(&["completions", shell]);
        for word in [
            "cargo-agents",
            "plugin",
            "validate",
            "completions",
            "tour",
            "check-crates",
            "crate-info",
        ] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(
            !script.replace("__subcmd__", " ").contains("__crate-info"),
            "{shell}: nobody types that"
        );
    }
    let run = world.agents(&["completions", "tcsh"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("[possible values: bash"), "{run:?}");
}

/// A bash that has read the script after something else.
struct Bash(World);

impl Bash {
    fn new(before: &str) -> Self {
        let world = World::new();
        let script = world.ok(&["completions", "bash"]);
        let bash = Self(world);
        scratch::write(&bash.file(), format!("{before}\n{script}"));
        bash
    }

    /// What it has read.
    fn file(&self) -> Utf8PathBuf {
        self.0.user().join("rc")
    }

    /// What it prints when it is told more.
    fn says(&self, more: &str) -> String {
        let told = format!("source {}\n{more}", self.file());
        let output = Command::new("bash").args(["-c", &told]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.is_empty(), "{more}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// What it offers for the last of these words, from the function that is registered for the first.
    fn completes(&self, typed: &str) -> String {
        let words: Vec<&str> = typed.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let (command, at) = (words[0], words.len() - 1);
        self.says(&format!(
            "[[ $(complete -p {command}) =~ ' -F '([^ ]+) ]]\nCOMP_WORDS=({typed}); COMP_CWORD={at}\n\
             \"${{BASH_REMATCH[1]}}\" {command} '{last}' '{before}'; echo \"${{COMPREPLY[*]}}\""
        ))
    }
}

#[test]
fn bash_completes_at_every_depth() {
    let bash = Bash::new("");
    for (typed, completed) in [
        ("plu", "plugin"),
        ("plugin val", "validate"),
        ("plugin validate --ch", "--check-crates"),
        ("plugin cache prune --dr", "--dry-run"),
        ("crate-info --vers", "--version"),
    ] {
        assert_eq!(bash.completes(&format!("cargo-agents {typed}")), completed);
        assert_eq!(bash.completes(&format!("cargo agents {typed}")), completed);
        assert_eq!(bash.completes(&format!("cargo +nightly --offline agents {typed}")), completed);
    }
}

/// What somebody else completes `cargo` with.
const THEIRS: &str = "_theirs() { COMPREPLY=(theirs: \"$@\"); }";

#[test]
fn bash_completes_the_rest_of_cargo_as_before() {
    let registered = "complete -o nospace -F _theirs cargo";
    let bash = Bash::new(&format!("{THEIRS}; {registered}"));
    assert_eq!(bash.completes("cargo build --rel"), "theirs: cargo --rel build");
    assert_eq!(bash.completes("cargo agen"), "theirs: cargo agen cargo");
    assert_eq!(bash.completes("cargo test agents plu"), "theirs: cargo plu agents");
    assert_eq!(bash.completes("cargo agents plu"), "plugin");
    let ours = registered.replace("_theirs", "_cargo__agents_after_cargo");
    assert_eq!(bash.says("complete -p cargo"), ours, "its options stay");
    // Whoever reads the script again does not have it call itself.
    let twice = Bash::new(&format!("source {}", bash.file()));
    assert_eq!(twice.completes("cargo build --rel"), "theirs: cargo --rel build");
    // There is no function that could be called for the rest.
    let words = Bash::new("complete -W 'build test' cargo");
    assert_eq!(words.says("complete -p cargo"), "complete -W 'build test' cargo");
    assert_eq!(Bash::new("").completes("cargo build --rel"), "");
}

/// As bash-completion does it: nothing is known of a command before it is first typed.
#[cfg(target_os = "linux")]
#[test]
fn bash_loads_what_completes_cargo_when_it_is_needed() {
    use agents_testkit::terminal::{Size, Terminal};
    /// Empties the line.
    const CTRL_U: &str = "\x15";
    let bash = Bash::new(
        "_theirs() { COMPREPLY=(theirs); }; PS1='ready> '
         _load() { complete -F _theirs \"$1\"; return 124; }; complete -D -F _load",
    );
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--rcfile", bash.file().as_str(), "-i"]);
    command.env("HOME", bash.0.user()).env("TERM", "xterm");
    let mut terminal = Terminal::start(&command, Size::USUAL);
    terminal.wait_for("ready>");
    terminal.press(["cargo agents plu\t"]);
    terminal.wait_for("cargo agents plugin");
    terminal.press(["val\t"]);
    terminal.wait_for("cargo agents plugin validate");
    terminal.press([CTRL_U, "cargo the\t"]);
    terminal.wait_for("cargo theirs");
    terminal.press([CTRL_U, "cargo agents --off\t"]);
    terminal.wait_for("cargo agents --offline");
}

#[test]
fn manual_pages_are_written_and_listed() {
    let world = World::new();
    let told = world.json(&["man", "--dir", "pages"]);
    let dir = world.sample.root().join("pages");
    assert_eq!(told["dir"], dir.as_str());
    let pages = told["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap());
    let pages: Vec<&str> = pages.collect();
    assert!(pages.contains(&"cargo-agents-task-run.1") && pages.len() > 60, "{pages:?}");
    assert!(pages.iter().all(|page| dir.join(page).is_file()));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), pages.len());
    let said = world.ok(&["man", "--dir", "pages"]);
    assert_eq!(said, format!("{} manual pages in `{dir}`\n", pages.len()));
}

#[test]
fn scripts_and_pages_are_printed_as_they_are() {
    let world = World::new();
    for args in [&["completions", "bash"][..], &["man", "task", "run"]] {
        let json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        assert_eq!(world.ok(&json), world.ok(args));
        let help: Vec<&str> = args[..1].iter().copied().chain(["--help"]).collect();
        assert!(world.ok(&help).contains("printed as it is"), "{args:?}");
    }
}
