//! The outside world as predicates see it, each question asked at most once per run.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ffi::OsString,
    time::{Duration, SystemTime},
};

use agents_install::{Installer, Runnable};
use agents_system::{env, finding::Finding, process::Call};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    answers::StoredAnswers,
    manifest::CustomPredicate,
    plugin::Plugin,
    predicate::{
        PredicateName, Probes,
        custom::{Answer, Watched, parse_output},
    },
};

/// How long a shell command or a predicate program may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Whether programs that are not installed yet may be installed to answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquire {
    /// They may.
    IfMissing,
    /// They may not; the question stays unanswered.
    Never,
}

/// What has been asked in this run, and the answers: nothing is asked twice.
#[derive(Debug, Default)]
pub struct Asked {
    shell: RefCell<BTreeMap<String, bool>>,
    custom: RefCell<BTreeMap<(PredicateName, String), Answer>>,
    lacks_programs: Cell<bool>,
}

impl Asked {
    /// Whether some question stayed open because its program is not installed.
    #[must_use]
    pub fn lacks_programs(&self) -> bool {
        self.lacks_programs.get()
    }
}

/// The real outside world.
pub struct LiveProbes<'a> {
    installer: &'a Installer<'a>,
    acquire: Acquire,
    dir: Utf8PathBuf,
    definitions: BTreeMap<PredicateName, &'a Plugin>,
    stored: StoredAnswers,
    asked: &'a Asked,
}

impl<'a> LiveProbes<'a> {
    /// Questions are asked in `dir` (the workspace root, or the current directory outside of one).
    /// Predicates are defined by `plugins`; a name that two of them define means nothing, and a finding says so.
    pub fn new(
        installer: &'a Installer<'a>,
        acquire: Acquire,
        dir: &Utf8Path,
        plugins: impl IntoIterator<Item = &'a Plugin>,
        stored: StoredAnswers,
        asked: &'a Asked,
    ) -> (Self, Vec<Finding>) {
        let (definitions, findings) = define(plugins);
        let probes = Self { installer, acquire, dir: dir.to_owned(), definitions, stored, asked };
        (probes, findings)
    }

    fn ask(&self, name: &PredicateName, argument: &str) -> Answer {
        let Some(plugin) = self.definitions.get(name) else {
            return Answer::Unanswered(format!("no plugin defines the predicate `{name}`"));
        };
        let (runnable, predicate) = match self.runnable(plugin, name) {
            Ok(found) => found,
            Err(why) => return Answer::Unanswered(why),
        };
        let mut call = runnable.call().args(predicate.args.iter().map(String::as_str));
        if !argument.is_empty() {
            call = call.arg(argument);
        }
        let call = call.cwd(self.dir.clone()).deadline(DEADLINE);
        // Several predicates may share a program, so the command line alone does not tell them apart.
        let question = format!("{}\n{name}\n{argument}\n{}", plugin.file, call.display());
        let program = own_files(&runnable, plugin);
        if let Some(answer) = self.stored.get(&question) {
            return answer;
        }
        let started = SystemTime::now();
        let store = |answer: &Answer, watched: &Watched| {
            self.stored.put(&question, &self.dir, started, answer, watched, &program);
        };
        match call.capture() {
            Err(error) => Answer::Unanswered(error.to_string()),
            Ok(done) if !done.status.success() => {
                // A failing program may still have said what its answer depends on.
                let watched = parse_output(&done.stdout).map(|(_, watched)| watched);
                let watched = watched.unwrap_or_default();
                store(&Answer::Fails, &watched);
                Answer::Fails
            }
            Ok(done) => match parse_output(&done.stdout) {
                Err(why) => Answer::Unanswered(why),
                Ok((crates, watched)) => {
                    let answer = Answer::Holds(crates);
                    store(&answer, &watched);
                    answer
                }
            },
        }
    }

    fn runnable(
        &self,
        plugin: &Plugin,
        name: &PredicateName,
    ) -> Result<(Runnable, CustomPredicate), String> {
        let manifest = plugin.manifest().map_err(|finding| finding.message)?;
        let defined = manifest.predicates.into_iter().find(|defined| defined.name == *name);
        let predicate = defined.ok_or_else(|| format!("`{name}` is no longer defined"))?;
        let (installations, command) = (&manifest.installations, &predicate.command);
        let resolved = match self.acquire {
            Acquire::IfMissing => {
                self.installer.resolve(installations, command, plugin.dir()).map(Some)
            }
            Acquire::Never => self.installer.resolve_cached(installations, command, plugin.dir()),
        };
        match resolved {
            Ok(Some(runnable)) => Ok((runnable, predicate)),
            Ok(None) => {
                self.asked.lacks_programs.set(true);
                Err(format!(
                    "the program of `{name}` is not installed; `cargo agents plugin sync` installs it"
                ))
            }
            Err(error) => Err(format!("the program of `{name}` cannot be had: {error}")),
        }
    }
}

/// The files of the plugin that are run: unlike what is installed, they may be edited at any time.
fn own_files(runnable: &Runnable, plugin: &Plugin) -> Vec<Utf8PathBuf> {
    let words =
        std::iter::once(runnable.program.as_str()).chain(runnable.args.iter().map(String::as_str));
    words.map(Utf8PathBuf::from).filter(|word| word.starts_with(plugin.dir())).collect()
}

/// Who defines which predicate. Names that are defined twice are dropped, with one finding each.
fn define<'a>(
    plugins: impl IntoIterator<Item = &'a Plugin>,
) -> (BTreeMap<PredicateName, &'a Plugin>, Vec<Finding>) {
    let mut all: BTreeMap<PredicateName, Vec<&Plugin>> = BTreeMap::new();
    for plugin in plugins {
        for name in &plugin.predicates {
            all.entry(name.clone()).or_default().push(plugin);
        }
    }
    let (mut definitions, mut findings) = (BTreeMap::new(), Vec::new());
    for (name, definers) in all {
        if let [only] = definers[..] {
            definitions.insert(name, only);
            continue;
        }
        let who: Vec<String> =
            definers.iter().map(|plugin| format!("`{}` ({})", plugin.name, plugin.file)).collect();
        findings.push(
            Finding::warning(format!(
                "the predicate `{name}` is defined by {}, so none of the definitions counts",
                who.join(" and ")
            ))
            .hint("rename or remove one of them"),
        );
    }
    (definitions, findings)
}

impl Probes for LiveProbes<'_> {
    fn shell(&self, command: &str) -> bool {
        if let Some(known) = self.asked.shell.borrow().get(command) {
            return *known;
        }
        let call = Call::new("sh").arg("-c").arg(command).cwd(self.dir.clone()).deadline(DEADLINE);
        let holds = call.status().is_ok_and(|status| status.success());
        self.asked.shell.borrow_mut().insert(command.to_owned(), holds);
        holds
    }

    fn path_exists(&self, path: &str) -> bool {
        let is_bare = !path.contains(['/', std::path::MAIN_SEPARATOR]);
        !path.is_empty() && (self.dir.join(path).exists() || is_bare && is_on_path(path))
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        env::named_by_plugin(name)
    }

    fn custom(&self, name: &PredicateName, argument: &str) -> Answer {
        let key = (name.clone(), argument.to_owned());
        if let Some(known) = self.asked.custom.borrow().get(&key) {
            return known.clone();
        }
        let answer = self.ask(name, argument);
        self.asked.custom.borrow_mut().insert(key, answer.clone());
        answer
    }
}

fn is_on_path(name: &str) -> bool {
    let path = env::PATH.get().unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).exists())
}
