//! The outside world as predicates see it, each question asked at most once per run.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ffi::OsString,
    time::{Duration, SystemTime},
};

use agents_install::Runnable;
use agents_system::{env, finding::Finding};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    answers::StoredAnswers,
    catalog::Registries,
    confine::{ConfineError, Confinement, Owner, Prepared},
    manifest::CustomPredicate,
    plugin::Plugin,
    predicate::{
        PredicateName, Probes,
        custom::{Answer, Watched, parse_output},
        evaluate::Asker,
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
    /// By the command and the plugin in whose sandbox it ran; without one it is the same for all.
    shell: RefCell<BTreeMap<(String, Option<Utf8PathBuf>), bool>>,
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

/// Where and how questions are asked.
#[derive(Debug, Clone, Copy)]
pub struct ProbePlace<'a> {
    /// The workspace root, or the current directory outside of one.
    pub dir: &'a Utf8Path,
    /// The workspace root.
    pub workspace: Option<&'a Utf8Path>,
    /// Whether missing programs are installed.
    pub acquire: Acquire,
}

/// The real outside world.
pub struct LiveProbes<'a> {
    registries: Registries<'a>,
    acquire: Acquire,
    dir: Utf8PathBuf,
    workspace: Option<&'a Utf8Path>,
    definitions: BTreeMap<PredicateName, &'a Plugin>,
    stored: StoredAnswers,
    asked: &'a Asked,
}

impl<'a> LiveProbes<'a> {
    /// Predicates are defined by `plugins`; a name that two of them define means nothing, and a finding says so.
    pub fn new(
        registries: Registries<'a>,
        place: ProbePlace<'a>,
        plugins: impl IntoIterator<Item = &'a Plugin>,
        stored: StoredAnswers,
        asked: &'a Asked,
    ) -> (Self, Vec<Finding>) {
        let (definitions, findings) = define(plugins);
        let ProbePlace { dir, workspace, acquire } = place;
        let dir = dir.to_owned();
        let probes = Self { registries, acquire, dir, workspace, definitions, stored, asked };
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
        let mut args: Vec<&str> = predicate.args.iter().map(String::as_str).collect();
        if !argument.is_empty() {
            args.push(argument);
        }
        // Several predicates may share a program, so the command line alone does not tell them apart. And who is confined
        // may come to another answer.
        let line = runnable.call().args(args.iter().copied()).display();
        let confinement = self.confinement(plugin);
        let question = format!("{}\n{name}\n{argument}\n{line}\n{confinement:?}", plugin.file);
        let program = own_files(&runnable, plugin);
        if let Some(answer) = self.stored.get(&question) {
            return answer;
        }
        let prepared = match self.prepare(plugin, &runnable) {
            Ok(prepared) => prepared,
            Err(error) => return Answer::Unanswered(error.to_string()),
        };
        let call = prepared.call.args(args).cwd(self.dir.clone()).deadline(DEADLINE);
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

    fn confinement(&self, plugin: &Plugin) -> Confinement {
        Confinement::of(self.registries.config, &plugin.name, &plugin.origin)
    }

    /// The call of a program of a plugin, confined if it is to be.
    fn prepare(&self, plugin: &Plugin, runnable: &Runnable) -> Result<Prepared, ConfineError> {
        if self.confinement(plugin) == Confinement::None {
            return Ok(Prepared::free(runnable));
        }
        let needs = plugin.manifest().map(|it| it.sandbox.clone()).unwrap_or_default();
        Owner::new(plugin, &needs, self.workspace).confine(runnable, self.registries.dirs)
    }

    fn runnable(
        &self,
        plugin: &Plugin,
        name: &PredicateName,
    ) -> Result<(Runnable, CustomPredicate), String> {
        let manifest = plugin.manifest().map_err(|finding| finding.message)?;
        let defined = manifest.predicates.iter().find(|defined| defined.name == *name);
        let predicate = defined.ok_or_else(|| format!("`{name}` is no longer defined"))?;
        let (installations, command) = (&manifest.installations, &predicate.command);
        let resolved = match self.acquire {
            Acquire::IfMissing => {
                self.registries.installer.resolve(installations, command, plugin.dir()).map(Some)
            }
            Acquire::Never => {
                self.registries.installer.resolve_cached(installations, command, plugin.dir())
            }
        };
        match resolved {
            Ok(Some(runnable)) => Ok((runnable, predicate.clone())),
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
    fn shell(&self, command: &str, asker: Asker<'_>) -> bool {
        let confined = match asker {
            Asker::Plugin(plugin) if self.confinement(plugin) == Confinement::Sandbox => {
                Some(plugin)
            }
            Asker::Plugin(_) | Asker::Other => None,
        };
        let key = (command.to_owned(), confined.map(|plugin| plugin.file.clone()));
        if let Some(known) = self.asked.shell.borrow().get(&key) {
            return *known;
        }
        let runnable = Runnable::of_user("sh", ["-c", command]);
        let prepared = match confined {
            Some(plugin) => self.prepare(plugin, &runnable),
            None => Ok(Prepared::free(&runnable)),
        };
        let holds = prepared.is_ok_and(|Prepared { call, temporary: _kept }| {
            let ended = call.cwd(self.dir.clone()).deadline(DEADLINE).status();
            ended.is_ok_and(|status| status.success())
        });
        self.asked.shell.borrow_mut().insert(key, holds);
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
