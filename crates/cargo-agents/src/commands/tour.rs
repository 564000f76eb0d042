//! `cargo agents tour`: what this program does, shown on a sample workspace that is gone afterwards.
//!
//! Everything is real: the commands are run as a user would type them, in a home of their own, and the subcommand is
//! built from source by cargo. Nothing needs a network.

mod sample;

use std::{process::ExitCode, time::Duration};

use agents_system::{
    dirs::{self, Dirs},
    env,
    explain::{Code, ErrorKind},
    process::{Call, Captured, ending, this_program},
};
use agents_workspace::Workspaces;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::{failure::Failure, output::Output, settings::Settings};

/// More than any of the commands needs, on any machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// `cargo agents tour --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TourDocument {
    steps: Vec<StepView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepView {
    /// What a user would type
    command: String,
    /// What it printed
    stdout: String,
}

struct Tour<'a> {
    settings: &'a Settings,
    output: &'a Output,
    /// Holds the sample workspace, its registry and its home.
    root: &'a Utf8Path,
    steps: Vec<StepView>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    keep: Option<Utf8PathBuf>,
) -> Result<ExitCode, Failure> {
    let scratch = match keep {
        Some(dir) => Place::Kept(claim(settings.cwd.join(dir))?),
        None => Place::Gone(tempfile::tempdir().map_err(|error| broken(&error))?),
    };
    let root = scratch.root()?;
    sample::write(&root).map_err(|error| broken(&error))?;
    sample::commit_tool(&root)?;
    let mut tour = Tour { settings, output, root: &root, steps: Vec::new() };
    tour.walk(&scratch)?;
    if output.is_json() {
        output.document(&TourDocument { steps: tour.steps })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the sample lives.
enum Place {
    Kept(Utf8PathBuf),
    /// Removed when the tour ends, however it ends.
    Gone(tempfile::TempDir),
}

impl Place {
    fn root(&self) -> Result<Utf8PathBuf, Failure> {
        let path = match self {
            Self::Kept(path) => path.as_std_path(),
            Self::Gone(dir) => dir.path(),
        };
        // Canonical, so that what the commands print is what we know it by.
        let path = path.canonicalize().map_err(|error| broken(&error))?;
        Utf8PathBuf::from_path_buf(path).map_err(|path| {
            Failure::new(ErrorKind::Usage, format!("`{}` is not UTF-8", path.display()))
        })
    }
}

/// A directory of its own: the tour never writes among somebody's files.
fn claim(dir: Utf8PathBuf) -> Result<Utf8PathBuf, Failure> {
    let occupied = dir.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
    if occupied || dir.is_file() {
        return Err(Failure::new(ErrorKind::Usage, format!("`{dir}` is not empty"))
            .code(Code::AlreadyThere)
            .hint("name a directory that does not exist yet"));
    }
    fs_err::create_dir_all(&dir).map_err(|error| broken(&error))?;
    Ok(dir)
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(ErrorKind::Failure, format!("cannot make the sample workspace: {error}"))
}

impl Tour<'_> {
    fn walk(&mut self, place: &Place) -> Result<(), Failure> {
        self.say_line(&self.workspace()?)?;
        self.say("Of two plugins in the registry, one is about a crate that is used here.")?;
        self.step(&["plugin", "list"], only_first_registry)?;
        self.say(
            "It brings a command. The first run builds it from source; then it starts at once.",
        )?;
        self.step(&["sql-tables"], str::to_owned)?;
        self.say("Claude Code and Codex learn the rest. In `.mcp.json`, other people's lines stay as they are.")?;
        self.step(&["diff"], |all| only_lines(all, ".mcp.json"))?;
        self.say_line("")?;
        self.step(&["sync"], str::to_owned)?;
        self.say("Before they use a tool they ask the hooks. Claude Code wants to drop a table:")?;
        let call = ["hook", "test", "claude", "pre-tool-use", "--input", "drop.json"];
        self.step(&call, only_verdict)?;
        self.say(
            "Sub-agents run here, too. A script answers in place of a model, so this needs no key.",
        )?;
        self.step(&["task", "run", "guide", "to whom do orders belong?"], str::to_owned)?;
        self.say("Many of them are a plan. This one upgrades a crate in each member, until its tests pass.")?;
        let (mode, allow) = (["--mode", "accept-edits"], ["--allow", "bash(cargo test *)"]);
        let plan =
            ["plan", "run", "upgrade.toml", "--param", "dependency=tinysql", "--param", "to=0.4"];
        self.step(&[&plan[..], &mode, &allow].concat(), only_text)?;
        self.say("Worth typing next, in a workspace of your own:")?;
        for (command, meaning) in [
            ("cargo agents", "what its crates offer"),
            ("cargo agents init", "bring it to the coding agents that you have"),
            (
                "cargo agents task run explore \"…\"",
                "ask a sub-agent (set ANTHROPIC_API_KEY, or have a coding agent)",
            ),
        ] {
            self.say_line(&format!("  {command:33}  {meaning}"))?;
        }
        if let Place::Kept(_) = place {
            let root = self.root;
            self.say(&format!(
                "The sample is in {root}; its home is CARGO_AGENTS_HOME={root}/home"
            ))?;
        }
        Ok(())
    }

    /// What the sample is made of, in a sentence.
    fn workspace(&self) -> Result<String, Failure> {
        let home = self.root.join("home");
        let dirs = Dirs::below(&home);
        let (cargo, progress) = (&self.settings.cargo, &self.settings.progress);
        let workspaces = Workspaces { cache: &dirs.cache, cargo, progress };
        let Some(workspace) = workspaces.find(&self.root.join("orders"))? else {
            return Err(Failure::new(ErrorKind::Bug, "the sample is not a workspace"));
        };
        let members: Vec<&str> =
            workspace.members.iter().map(|member| member.name.as_str()).collect();
        let others = workspace.packages.iter().filter(|it| !members.contains(&it.name.as_str()));
        let uses: Vec<String> = others.map(|it| format!("{} {}", it.name, it.version)).collect();
        Ok(format!(
            "A sample workspace, `orders`, with the members {}. Cargo.lock says that they use {}.",
            members.join(" and "),
            uses.join(", ")
        ))
    }

    /// Runs one command as a user would, and shows the part of its output that matters here.
    fn step(&mut self, args: &[&str], part: impl Fn(&str) -> String) -> Result<(), Failure> {
        let quoted =
            |it: &&str| if it.contains(' ') { format!("\"{it}\"") } else { (*it).to_owned() };
        let words: Vec<String> = args.iter().map(quoted).collect();
        let command = format!("cargo agents {}", words.join(" "));
        let done = self.call(args)?;
        if !done.status.success() {
            return Err(Failure::new(
                ErrorKind::Failure,
                format!("`{command}` ended with {}", ending(done.status)),
            )
            .details(done.said()));
        }
        let stdout = part(&done.stdout_text()).replace(self.root.as_str(), "…");
        if !self.output.is_json() {
            // What is typed stands out from what comes back.
            let bold = anstyle::Style::new().bold();
            let typed = if self.output.colors_results() {
                format!("{bold}$ {command}{bold:#}")
            } else {
                format!("$ {command}")
            };
            self.output.line(typed)?;
            self.output.line(stdout.trim_end())?;
            self.output.flush()?;
        }
        self.steps.push(StepView { command, stdout });
        Ok(())
    }

    fn call(&self, args: &[&str]) -> Result<Captured, Failure> {
        let program = this_program().map_err(|error| broken(&error))?;
        let progress = &self.settings.progress;
        progress.begin("Building");
        let call = Call::new(program)
            .args(args.iter().copied())
            .cwd(self.root.join("orders"))
            .env(env::AGENTS_HOME.name, self.root.join("home").as_str())
            // What belongs to the user's own hosts is none of the tour's business; cargo and rustup are.
            .env(env::HOME.name, self.root.join("user").as_str())
            .env(env::CARGO_HOME.name, dirs::cargo_home()?.as_str())
            .env(env::RUSTUP_HOME.name, rustup_home()?.as_str())
            .env(env::NO_COLOR.name, "1")
            // What cargo fetches here is beside it, so that is possible offline, too.
            .env(env::CARGO_NET_OFFLINE.name, "false")
            .deadline(PATIENCE);
        let done = call.capture_watched(|line| progress.tick(line));
        progress.end();
        Failure::if_interrupted()?;
        done.map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        self.say_line("")?;
        self.say_line(text)
    }

    fn say_line(&self, text: &str) -> Result<(), Failure> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(text)?;
        self.output.flush()
    }
}

/// Where rustup keeps its toolchains; the proxies on `PATH` look there.
pub(super) fn rustup_home() -> Result<Utf8PathBuf, Failure> {
    match env::RUSTUP_HOME.absolute_path() {
        Some(path) => Ok(path),
        None => Ok(dirs::home()?.join(".rustup")),
    }
}

/// The plugins of the registry that stands first.
fn only_first_registry(list: &str) -> String {
    let plugins = list.lines().skip(1).take_while(|line| line.starts_with(' '));
    plugins.collect::<Vec<_>>().join("\n")
}

/// What changes in one file of a diff, from the line before it.
fn only_lines(diff: &str, name: &str) -> String {
    let is_head = |line: &&str| line.starts_with("--- ") && line.ends_with(name);
    let file = diff.lines().skip_while(|line| !is_head(line)).skip(3);
    let belongs = |line: &&str| line.starts_with([' ', '+', '-']) && !line.starts_with("--- ");
    let lines: Vec<&str> = file.take_while(belongs).collect();
    let is_change = |line: &&str| line.starts_with(['+', '-']);
    let first = lines.iter().position(is_change).unwrap_or(0).saturating_sub(1);
    let end = lines.iter().rposition(is_change).map_or(lines.len(), |at| at + 1);
    lines[first..end].join("\n")
}

/// What all hooks together mean; how the host is told is not for people to read.
fn only_verdict(steps: &str) -> String {
    let mut lines = steps.lines().rev();
    let means = lines.find(|line| line.trim_start().starts_with("means "));
    means.unwrap_or_default().to_owned()
}

/// A report without its headings.
fn only_text(report: &str) -> String {
    report.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}
