//! What is typed, and where.

use std::process::Command;

use agents_testkit::terminal::{Size, Terminal};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::svg;

/// One picture.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// The example in whose copy it plays; none for what brings its own.
    example: Option<&'static str>,
    /// Where in that copy.
    dir: &'static str,
    /// What was done before, out of sight.
    before: &'static [&'static str],
    /// What is typed, without `cargo agents`.
    typed: &'static str,
    columns: u16,
}

pub(crate) const SCENES: &[Scene] = &[
    Scene { name: "tour", example: None, dir: ".", before: &[], typed: "tour", columns: 128 },
    Scene {
        name: "sync",
        example: Some("crate"),
        dir: "shop",
        before: &["use coinage", "init --yes --add-agent claude --add-agent codex"],
        typed: "sync --dry-run",
        columns: 100,
    },
    Scene {
        name: "task",
        example: Some("team"),
        dir: ".",
        before: &[],
        typed: "task run critic \"Look for input that nobody checked in src/lib.rs.\"",
        columns: 100,
    },
    Scene {
        name: "plan",
        example: Some("team"),
        dir: ".",
        before: &[],
        typed: "plan run plans/harden.toml --mode accept-edits --allow \"bash(cargo test *)\"",
        columns: 100,
    },
];

/// As high as the longest of them; what stays empty is cut off.
const ROWS: u16 = 160;

impl Scene {
    /// The picture of a run.
    pub(crate) fn taken(&self, root: &Utf8Path, built: &Utf8Path) -> anyhow::Result<String> {
        let scratch = TempDir::new()?;
        let scratch = Utf8PathBuf::try_from(scratch.path().canonicalize()?)?;
        let place = scratch.join("src");
        fs_err::create_dir_all(&place)?;
        if let Some(example) = self.example {
            copy(&root.join("examples").join(example), &place)?;
        }
        let run = |typed: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec cargo agents {typed}")]);
            self.around(&mut command, &scratch, built);
            command
        };
        for typed in self.before {
            let output = run(typed).output()?;
            if !output.status.success() {
                bail!("`cargo agents {typed}`: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
        let size = Size { columns: self.columns, rows: ROWS };
        let ended = Terminal::start(&run(self.typed), size).end();
        if ended.code != Some(0) {
            bail!("`cargo agents {}` ended with {:?}:\n{}", self.typed, ended.code, ended.screen);
        }
        let shown = String::from_utf8_lossy(&ended.bytes).replace(scratch.as_str(), "~");
        Ok(svg::picture(&format!("cargo agents {}", self.typed), &shown, self.columns, ROWS))
    }

    /// A user who has Rust and nothing else.
    fn around(&self, command: &mut Command, scratch: &Utf8Path, built: &Utf8Path) {
        let place = scratch.join("src").join(self.dir);
        let var = |name: &str| std::env::var(name).ok();
        let own = |name: &str, below: &str| {
            var(name).or_else(|| Some(format!("{}/{below}", var("HOME")?))).unwrap_or_default()
        };
        let path = format!("{built}:{}", var("PATH").unwrap_or_default());
        command.current_dir(&place).env_clear().env("PATH", path).env("HOME", scratch);
        command.env("CARGO_HOME", own("CARGO_HOME", ".cargo"));
        command.env("RUSTUP_HOME", own("RUSTUP_HOME", ".rustup"));
        command.env("TERM", "xterm-256color");
        if place.join("home/config.toml").exists() {
            command.env("CARGO_AGENTS_HOME", place.join("home"));
        }
    }
}

/// What is committed of an example, as somebody has it who has copied it.
fn copy(from: &Utf8Path, to: &Utf8Path) -> anyhow::Result<()> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(from).output()?;
    for file in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let target = to.join(file);
        fs_err::create_dir_all(target.parent().context("a file is in a directory")?)?;
        fs_err::copy(from.join(file), target)?;
    }
    let made = Command::new("git").args(["init", "-q"]).current_dir(to).status()?;
    anyhow::ensure!(made.success(), "`git init` in {to}");
    Ok(())
}
