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
use agents_workspace::{PackageSource, Workspaces};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::{failure::Failure, help::AGENTS, output::Output, settings::Settings};

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
        self.show_workspace()?;
        self.say(
            "Two plugins are in the registry; one of them is about a crate that is used here.",
        )?;
        self.step(&["plugin", "list"], str::to_owned)?;
        self.say("So the help (here its second half) has a command more than elsewhere:")?;
        self.step(&["--help"], only_commands)?;
        self.say("Its first run builds it from source; from then on it starts at once.")?;
        self.step(&["sql-tables"], str::to_owned)?;
        self.say("Claude Code and Codex learn the rest. Other people's lines stay as they are:")?;
        self.step(&["diff"], |all| only_file(all, ".mcp.json"))?;
        self.step(&["sync"], str::to_owned)?;
        self.say("Before they use a tool they ask the hooks. What Claude Code gets when it wants to drop a table:")?;
        let call = ["hook", "test", "claude", "pre-tool-use", "--input", "drop.json"];
        self.step(&call, only_verdict)?;
        self.say("Sub-agents run here, too. This one asks a script instead of a model, so it needs no key:")?;
        self.step(&["task", "run", "guide", "to whom do orders belong?"], str::to_owned)?;
        self.step(&["task", "show", "last"], only_turns)?;
        self.say("Many of them are a plan. This one upgrades a crate in each member, after those that it depends on, until its tests pass:")?;
        let (mode, allow) = (["--mode", "accept-edits"], ["--allow", "bash(cargo test *)"]);
        let plan =
            ["plan", "run", "upgrade.toml", "--param", "dependency=tinysql", "--param", "to=0.4"];
        self.step(&[&plan[..], &mode, &allow].concat(), str::to_owned)?;
        self.say("Worth typing next, in a workspace of your own:")?;
        for (command, meaning) in [
            ("cargo agents", "what its crates offer"),
            ("cargo agents init", "configure the coding agents that you have"),
            (
                "cargo agents task run explore \"…\"",
                "run a sub-agent (set ANTHROPIC_API_KEY, or have a coding agent)",
            ),
            ("cargo agents plugin explain <plugin>", "why something is active, or not"),
        ] {
            self.say_line(&format!("  {command:36}  {meaning}"))?;
        }
        if let Place::Kept(_) = place {
            let root = self.root;
            self.say(&format!(
                "The sample is in {root}; its home is CARGO_AGENTS_HOME={root}/home"
            ))?;
        }
        Ok(())
    }

    fn show_workspace(&mut self) -> Result<(), Failure> {
        let home = self.root.join("home");
        let dirs = Dirs::below(&home);
        let (cargo, progress) = (&self.settings.cargo, &self.settings.progress);
        let workspaces = Workspaces { cache: &dirs.cache, cargo, progress };
        let orders = self.root.join("orders");
        let Some(workspace) = workspaces.find(&orders)? else {
            return Err(Failure::new(ErrorKind::Bug, "the sample is not a workspace"));
        };
        let members: Vec<&str> =
            workspace.members.iter().map(|member| member.name.as_str()).collect();
        self.say(&format!(
            "A sample workspace, `orders`, with the members {}.",
            members.join(" and ")
        ))?;
        self.say_line("Cargo.lock says what they depend on directly:")?;
        for package in &workspace.packages {
            let source = match &package.source {
                PackageSource::Path { dir } => format!("path {}", relative(dir, self.root)),
                PackageSource::Registry { id } | PackageSource::Git { id } => id.clone(),
            };
            self.say_line(&format!(
                "  {:10} {:8} {source}",
                package.name,
                package.version.to_string()
            ))?;
        }
        Ok(())
    }

    /// Runs one command as a user would, and shows the part of its output that matters here.
    fn step(&mut self, args: &[&str], part: impl Fn(&str) -> String) -> Result<(), Failure> {
        let command = match args {
            ["--help"] => "cargo agents".to_owned(),
            args => {
                let quoted = |it: &&str| {
                    if it.contains(' ') { format!("\"{it}\"") } else { (*it).to_owned() }
                };
                let words: Vec<String> = args.iter().map(quoted).collect();
                format!("cargo agents {}", words.join(" "))
            }
        };
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
                format!("\n{bold}$ {command}{bold:#}")
            } else {
                format!("\n$ {command}")
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

fn relative<'p>(path: &'p Utf8Path, root: &Utf8Path) -> &'p Utf8Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// Where rustup keeps its toolchains; the proxies on `PATH` look there.
pub(super) fn rustup_home() -> Result<Utf8PathBuf, Failure> {
    match env::RUSTUP_HOME.absolute_path() {
        Some(path) => Ok(path),
        None => Ok(dirs::home()?.join(".rustup")),
    }
}

/// The part of a diff that is about one file.
fn only_file(diff: &str, name: &str) -> String {
    let mut parts = diff
        .split_inclusive('\n')
        .skip_while(|line| !(line.starts_with("--- ") && line.trim_end().ends_with(name)));
    let first: Vec<&str> = parts.by_ref().take(2).collect();
    let rest = parts
        .take_while(|line| line.starts_with(['@', ' ', '+', '-']) && !line.starts_with("--- "));
    first.into_iter().chain(rest).collect()
}

/// What the host sees in the end.
fn only_verdict(steps: &str) -> String {
    steps[steps.rfind("\n\n").map_or(0, |at| at + 2)..].to_owned()
}

/// What an agent thought and called; what it said in the end is above.
fn only_turns(page: &str) -> String {
    let turns = page.find("--- turn").unwrap_or(0);
    let lines = page[turns..].lines().filter(|it| it.starts_with(['~', '[']));
    lines.collect::<Vec<_>>().join("\n")
}

/// The commands for agents, without what stands around them.
fn only_commands(help: &str) -> String {
    let start = help.find(AGENTS).unwrap_or(0);
    let end = help.find("\nOptions:").unwrap_or(help.len());
    help[start..end].to_owned()
}
