//! A command line that is ready to run.

use agents_system::{
    finding::Finding,
    process::{Call, path_with},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    entry::{By, Origin, Target},
    recipe::InstallationName,
    slot::Slot,
};

/// What to run, with everything that it needs around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runnable {
    /// The program.
    pub program: Utf8PathBuf,
    /// Its first arguments; those of the caller come after them.
    pub args: Vec<String>,
    /// `SYMPOSIUM_...` variables: where the installation and its requirements are.
    pub env: Vec<(String, String)>,
    /// Directories that come first in `PATH`.
    pub path_front: Vec<Utf8PathBuf>,
    /// The installed version, when it has one.
    pub version: Option<String>,
    /// The commit it comes from, when it comes from git.
    pub commit: Option<String>,
    /// What the user should know about it.
    pub findings: Vec<Finding>,
}

impl Runnable {
    /// A program that the user has, with these arguments.
    #[must_use]
    pub fn of_user<'a>(program: &str, args: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(str::to_owned).collect(),
            env: Vec::new(),
            path_front: Vec::new(),
            version: None,
            commit: None,
            findings: Vec::new(),
        }
    }

    /// The child process to be, with `PATH` and variables set.
    #[must_use]
    pub fn call(&self) -> Call {
        let call = Call::new(self.program.as_str()).args(self.args.iter().map(String::as_str));
        with_environment(call, &self.env, &self.path_front)
    }
}

/// What is installed of one installation, as far as it is the same on every machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// Its version, when it has one.
    pub version: Option<String>,
    /// The commit it comes from, when it comes from git.
    pub commit: Option<String>,
    /// The hash of a fetched tree as it was before install commands were run in it. What cargo built has none.
    pub tree: Option<String>,
}

/// One installation that is there.
#[derive(Debug, Clone)]
pub(crate) struct Acquired {
    pub(crate) name: InstallationName,
    /// Our directory with it.
    pub(crate) dir: Option<Utf8PathBuf>,
    pub(crate) target: Option<Target>,
    /// Programs of it that are found through `PATH` although none of them is the one to run.
    pub(crate) bin: Option<Utf8PathBuf>,
    pub(crate) version: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) tree: Option<String>,
    /// Where it is kept, if something newer may take its place.
    pub(crate) slot: Option<Slot>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) tells: Tells,
}

/// Whether others are told where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tells {
    Everything,
    /// It is among the user's own programs.
    Nothing,
}

impl Acquired {
    fn on_path(&self) -> Option<&Utf8Path> {
        let ours = self.target.as_ref().filter(|target| target.origin == Origin::Ours);
        ours.and_then(|target| target.path.parent()).or(self.bin.as_deref())
    }
}

/// What a child is told about `acquired`, in the order in which they were acquired.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) env: Vec<(String, String)>,
    pub(crate) path_front: Vec<Utf8PathBuf>,
}

impl Environment {
    /// The last one acquired is the command, and comes first.
    pub(crate) fn of<'a>(acquired: impl DoubleEndedIterator<Item = &'a Acquired>) -> Self {
        let mut environment = Self::default();
        for one in acquired.rev().filter(|one| one.tells == Tells::Everything) {
            let name = variable_part(one.name.as_str());
            if let Some(dir) = &one.dir {
                environment.env.push((format!("SYMPOSIUM_DIR_{name}"), dir.to_string()));
            }
            if let Some(target) = &one.target {
                environment.env.push((format!("SYMPOSIUM_{name}"), target.path.to_string()));
            }
            if let Some(dir) = one.on_path()
                && !environment.path_front.iter().any(|known| known == dir)
            {
                environment.path_front.push(dir.to_owned());
            }
        }
        environment
    }

    pub(crate) fn apply(&self, call: Call) -> Call {
        with_environment(call, &self.env, &self.path_front)
    }
}

/// The command line for the last of `acquired`, which has `args`.
pub(crate) fn assemble(acquired: &[Acquired], target: &Target, args: &[String]) -> Runnable {
    let Environment { env, path_front } = Environment::of(acquired.iter());
    let (program, script) = match target.by {
        By::Itself => (target.path.clone(), None),
        By::Shell => ("sh".into(), Some(target.path.to_string())),
    };
    let last = acquired.last();
    Runnable {
        program,
        args: script.into_iter().chain(args.iter().cloned()).collect(),
        env,
        path_front,
        version: last.and_then(|last| last.version.clone()),
        commit: last.and_then(|last| last.commit.clone()),
        findings: acquired.iter().flat_map(|one| one.findings.iter().cloned()).collect(),
    }
}

fn with_environment(call: Call, env: &[(String, String)], path_front: &[Utf8PathBuf]) -> Call {
    let call = env.iter().fold(call, |call, (name, value)| call.env(name, value));
    match path_front {
        [] => call,
        front => call.env("PATH", path_with(front.iter().map(Utf8PathBuf::as_path))),
    }
}

/// `my-tool` becomes `my_tool`: what a shell can read.
fn variable_part(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
