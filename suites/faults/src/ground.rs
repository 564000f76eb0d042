//! A user with a home, workspaces and a plugin, for everything but tasks; and commands to which something happens there.

use agents_testkit::chance::Chance;
use std::{
    collections::BTreeMap,
    fmt,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
};

use agents_testkit::{
    harm::{self, Harm, Noticed, Place},
    sample::Sample,
    scratch,
    through::bound_by_modes,
};
use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};

use crate::{disk::Disk, fault::Fault, seen::Checks};

/// Megabytes that everything fits on.
const DISK: usize = 8;
/// The workspaces, all in one home.
const WORKSPACES: [&str; 3] = ["ws", "two", "three"];
const DAY: i64 = 24 * 60 * 60;

/// Where it happens. Everything that is written is below one directory, which can be a disk of its own.
#[derive(Debug)]
pub(crate) struct Ground {
    /// Let go of before the directory that it is in.
    disk: Option<Disk>,
    pub(crate) sample: Sample,
    program: Utf8PathBuf,
}

/// What became of a command to which something happened.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) output: Output,
    /// Whether it did happen.
    pub(crate) hit: bool,
    /// What happened, in a few words.
    pub(crate) how: String,
}

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File { mode: u32, bytes: Vec<u8> },
    Link(Utf8PathBuf),
}

/// Everything below a directory.
pub(crate) type Tree = BTreeMap<Utf8PathBuf, Node>;

impl Ground {
    pub(crate) fn new(program: &Utf8Path, fault: Fault) -> anyhow::Result<Self> {
        let sample = Sample::new();
        let disk = fault.needs_mounts().then(|| Disk::mount(sample.tree(), DISK)).transpose()?;
        sample.vendor().library("serde", "1.0.200", "");
        sample.vendor().library("tiny-sql", "0.3.1", "");
        for name in WORKSPACES {
            let needs = "[dependencies]\nserde = \"1\"\ntiny-sql = \"0.3\"\n";
            sample.package(&format!("../{name}"), name, "0.1.0", needs);
            sample.cargo_in(&sample.tree().join(name), &["generate-lockfile"]);
        }
        let ground = Self { disk, sample, program: program.to_owned() };
        fs_err::create_dir_all(ground.user())?;
        ground.configure("");
        Ok(ground)
    }

    pub(crate) fn tree(&self) -> Utf8PathBuf {
        self.sample.tree()
    }

    /// Our own directory.
    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.tree().join("agents-home")
    }

    /// The user's.
    pub(crate) fn user(&self) -> Utf8PathBuf {
        self.tree().join("user")
    }

    pub(crate) fn workspaces(&self) -> usize {
        WORKSPACES.len()
    }

    pub(crate) fn workspace(&self, which: usize) -> Utf8PathBuf {
        self.tree().join(WORKSPACES[which % WORKSPACES.len()])
    }

    /// The configuration, with something before and after what all of them say.
    pub(crate) fn configure(&self, more: &str) {
        let text =
            format!("# mine\n{more}\n[defaults]\nsymposium-recommendations = false # mine too\n");
        scratch::write(&self.home().join("config.toml"), text);
    }

    /// A command of the program, for which file modes count.
    pub(crate) fn command(&self, which: usize, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.workspace(which));
        let mut command = bound_by_modes(&command);
        command.env_clear();
        for name in ["PATH", "CARGO", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // Where the programs in `PATH` are those of rustup, they look below the home that we replace.
        if let (None, Some(home)) = (std::env::var_os("RUSTUP_HOME"), std::env::home_dir()) {
            command.env("RUSTUP_HOME", home.join(".rustup"));
        }
        command.env("HOME", self.user()).env("CARGO_AGENTS_HOME", self.home());
        command.env("CARGO_HOME", self.sample.home()).env("USER", "ada");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, which: usize, args: &[&str]) -> anyhow::Result<Output> {
        Ok(self.command(which, args).output()?)
    }

    /// Runs what must work before anything is broken.
    pub(crate) fn prepare(&self, which: usize, args: &[&str]) -> anyhow::Result<()> {
        let output = self.run(which, args)?;
        let said = || format!("`{}` before anything was broken: {output:?}", args.join(" "));
        output.status.success().then_some(()).with_context(said)
    }

    /// Runs something while it goes wrong, and makes it good again.
    pub(crate) fn under(
        &self,
        fault: Fault,
        mut command: Command,
        chance: &mut Chance,
    ) -> anyhow::Result<Ran> {
        let tree = self.tree();
        let place = Place::Below(&tree, "cargo-agents");
        match fault {
            Fault::Kill if chance.percent(20) => {
                let moment = chance.moment(120);
                let mut child = command.spawn()?;
                std::thread::sleep(moment);
                child.kill()?;
                Ok(Ran::of(child.wait_with_output()?, format!("killed after {moment:?}")))
            }
            Fault::Kill => {
                let step = Self::step(chance);
                let harm = if chance.percent(50) { Harm::Before(step) } else { Harm::Torn(step) };
                harm.put(place, &mut command);
                Ok(Ran::of(command.output()?, format!("{harm:?}")))
            }
            // The disk itself, or only what the program hears of it from one of its writes on.
            Fault::FullDisk if chance.percent(30) => {
                let harm = Harm::Full(Self::step(chance));
                harm.put(place, &mut command);
                self.watch(&mut command);
                self.noticed(fault, command.output()?, format!("{harm:?}"))
            }
            Fault::FullDisk => {
                // Often nothing is left, often enough for some of it.
                let leave = chance.of_any_size(18);
                let disk = self.disk.as_ref().context("there is no small disk")?;
                disk.fill(u64::try_from(leave)?)?;
                self.watch(&mut command);
                let output = command.output();
                disk.make_room()?;
                self.noticed(fault, output?, format!("{leave} bytes left"))
            }
            Fault::ReadOnly => {
                let at = command.get_current_dir().and_then(Utf8Path::from_path);
                let dir = self.some_directory(at.unwrap_or(&tree), chance);
                let modes = lock_out(&dir)?;
                self.watch(&mut command);
                let output = command.output();
                let_in(&modes)?;
                let place = dir.strip_prefix(&tree).unwrap_or(&dir);
                self.noticed(fault, output?, format!("`{place}` read-only"))
            }
            Fault::Clock => {
                let harm = Self::wrong_clock(chance, Self::early_step)?;
                harm.put(place, &mut command);
                self.watch(&mut command);
                self.noticed(fault, command.output()?, format!("{harm:?}"))
            }
            _ => Ok(Ran { output: command.output()?, hit: true, how: "alone".to_owned() }),
        }
    }

    /// Where it is noted what goes wrong, not on the small disk.
    fn noted(&self) -> Utf8PathBuf {
        self.sample.scratch().path("noted")
    }

    /// Has it noted what goes wrong for a command.
    pub(crate) fn watch(&self, command: &mut Command) {
        harm::watch(&self.tree(), command, &self.noted());
    }

    /// What became of a command that was watched: whether this really happened to it.
    pub(crate) fn noticed(&self, fault: Fault, output: Output, how: String) -> anyhow::Result<Ran> {
        let hit = fault.happened(Noticed::of(&self.noted()));
        if self.noted().exists() {
            fs_err::remove_file(self.noted())?;
        }
        Ok(Ran { output, hit, how })
    }

    /// Runs something and fills the disk under it, for a while.
    pub(crate) fn filled_while(
        &self,
        command: &mut Command,
        chance: &mut Chance,
    ) -> anyhow::Result<Ran> {
        let disk = self.disk.as_ref().context("there is no small disk")?;
        let (moment, leave) = (chance.moment(600), chance.of_any_size(18));
        self.watch(command);
        let child = command.spawn()?;
        std::thread::sleep(moment);
        disk.fill(u64::try_from(leave)?)?;
        std::thread::sleep(chance.moment(800));
        disk.make_room()?;
        let how = format!("{leave} bytes left after {moment:?}");
        self.noticed(Fault::FullDisk, child.wait_with_output()?, how)
    }

    /// Runs something while nothing can be made in a directory of ours, all the time or only at first.
    pub(crate) fn locked_while(
        &self,
        command: &mut Command,
        chance: &mut Chance,
    ) -> anyhow::Result<Ran> {
        let home = self.home();
        let dirs = [home.join("state"), home.join("cache"), home];
        let dirs: Vec<Utf8PathBuf> = dirs.into_iter().filter(|dir| dir.is_dir()).collect();
        let dir = chance.one(&dirs).context("we have no directory")?;
        let modes = lock_out(dir)?;
        self.watch(command);
        let child = command.spawn();
        if chance.percent(50) {
            std::thread::sleep(chance.moment(600));
            let_in(&modes)?;
        }
        let output = child.and_then(std::process::Child::wait_with_output);
        let_in(&modes)?;
        let place = dir.strip_prefix(self.tree()).unwrap_or(dir);
        self.noticed(Fault::ReadOnly, output?, format!("`{place}` read-only"))
    }

    /// A clock that is wrong by days or years, from the beginning or from some step on.
    pub(crate) fn wrong_clock(
        chance: &mut Chance,
        step: impl FnOnce(&mut Chance) -> usize,
    ) -> anyhow::Result<Harm> {
        let days = i64::try_from(1 + chance.below(3650))?;
        let by = if chance.percent(50) { days * DAY } else { -days * DAY };
        Ok(if chance.percent(50) { Harm::Jump { at: step(chance), by } } else { Harm::Clock(by) })
    }

    /// A step that most commands come to, after which there is still something to do.
    pub(crate) fn early_step(chance: &mut Chance) -> usize {
        1 + chance.of_any_size(3)
    }

    /// Early steps more often than late ones, of which there may be none.
    fn step(chance: &mut Chance) -> usize {
        1 + chance.of_any_size(8)
    }

    /// One that something would like to write to.
    fn some_directory(&self, workspace: &Utf8Path, chance: &mut Chance) -> Utf8PathBuf {
        let (user, home) = (self.user(), self.home());
        let mut all = vec![home.join("state"), home.join("cache"), home, user.clone()];
        all.extend([".claude", ".codex", ".gemini", ".config"].map(|dir| user.join(dir)));
        all.extend([".claude", ".agents", ".codex"].map(|dir| workspace.join(dir)));
        all.push(workspace.to_owned());
        all.retain(|dir| dir.is_dir());
        chance.one(&all).cloned().unwrap_or_else(|| self.tree())
    }

    /// Everything that is not our own, or that is, with its bytes.
    pub(crate) fn snapshot(&self) -> anyhow::Result<Tree> {
        let mut all = tree_of(&self.tree())?;
        let home = self.home();
        all.retain(|path, _| !path.starts_with(&home));
        Ok(all)
    }

    /// Keeps everything for whoever wants to know why.
    pub(crate) fn keep(&self) -> anyhow::Result<Utf8PathBuf> {
        keep(self.sample.scratch().root())
    }

    /// Unfinished files and directories, ours and those beside other people's. What is in the cache may go at any time, and lies there
    /// until it does.
    pub(crate) fn unfinished(&self) -> anyhow::Result<Vec<Utf8PathBuf>> {
        let mut all: Vec<Utf8PathBuf> = tree_of(&self.tree())?.into_keys().collect();
        let cache = self.home().join("cache");
        all.retain(|path| !path.starts_with(&cache));
        let begins = [".writing-", ".agents-building-", ".tmp"];
        all.retain(|path| {
            let name = path.file_name().unwrap_or_default();
            let beside = name.starts_with('.') && name.contains(".agents-");
            beside || begins.iter().any(|it| name.starts_with(it))
        });
        Ok(all)
    }

    /// Nothing unfinished is left, or `doctor --fix` takes it away.
    pub(crate) fn is_tidy(&self, checks: &mut Checks) -> anyhow::Result<()> {
        let mut left = self.unfinished()?;
        if !left.is_empty() {
            self.run(0, &["doctor", "--fix"])?;
            left = self.unfinished()?;
        }
        checks.must(left.is_empty(), || format!("LEFT BEHIND: {left:?}"));
        Ok(())
    }
}

impl Ran {
    pub(crate) fn of(output: Output, how: String) -> Self {
        let hit = output.status.code().is_none();
        Self { output, hit, how }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("a directory"),
            Self::File { mode, bytes } => {
                write!(f, "{mode:o} {:?}", String::from_utf8_lossy(bytes))
            }
            Self::Link(to) => write!(f, "a link to `{to}`"),
        }
    }
}

fn tree_of(root: &Utf8Path) -> anyhow::Result<Tree> {
    let mut found = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in dir.read_dir_utf8()? {
            let path = entry?.into_path();
            let data = fs_err::symlink_metadata(&path)?;
            let node = if data.is_symlink() {
                Node::Link(path.read_link_utf8()?)
            } else if data.is_dir() {
                open.push(path.clone());
                Node::Directory
            } else if data.is_file() {
                Node::File { mode: data.permissions().mode(), bytes: fs_err::read(&path)? }
            } else {
                continue;
            };
            found.insert(path, node);
        }
    }
    Ok(found)
}

/// In what two trees differ, a few of them, told shortly.
pub(crate) fn differences(before: &Tree, after: &Tree, root: &Utf8Path) -> Vec<String> {
    let name = |path: &Utf8Path| path.strip_prefix(root).unwrap_or(path).to_string();
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    let gone = gone.map(|(path, _)| format!("`{}` is gone", name(path)));
    let new = after.iter().filter(|(path, _)| !before.contains_key(*path));
    let new = new.map(|(path, _)| format!("`{}` is new", name(path)));
    let other = before.iter().filter_map(|(path, was)| {
        let is = after.get(path)?;
        (is != was).then(|| format!("`{}` was {was} and is {is}", name(path)))
    });
    gone.chain(new).chain(other).take(4).collect()
}

/// Takes the right to write away from a directory and those below it; what they had.
fn lock_out(dir: &Utf8Path) -> anyhow::Result<Vec<(Utf8PathBuf, u32)>> {
    let mut all = tree_of(dir)?;
    all.retain(|_, node| *node == Node::Directory);
    let mut modes = Vec::new();
    for path in all.into_keys().chain([dir.to_owned()]) {
        let mode = fs_err::metadata(&path)?.permissions().mode();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode & 0o555))?;
        modes.push((path, mode));
    }
    Ok(modes)
}

fn let_in(modes: &[(Utf8PathBuf, u32)]) -> anyhow::Result<()> {
    for (path, mode) in modes.iter().filter(|it| it.0.is_dir()) {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(*mode))?;
    }
    Ok(())
}

/// Keeps everything for whoever wants to know why.
pub(crate) fn keep(root: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    let name = root.file_name().unwrap_or("round").replace("agents-test-", "faults-");
    let kept = format!("/tmp/{name}");
    let copied = Command::new("cp").args(["-a", root.as_str(), &kept]).status()?;
    anyhow::ensure!(copied.success(), "cannot copy to `{kept}`");
    Ok(kept.into())
}
