//! Definitions from files.

use std::{fmt, sync::Arc};

use agents_agent::{
    AgentDefinition,
    definition::{Dialect, Source},
    load::{Boundary, load as load_file},
    parse::Strictness,
    tools::ToolPattern,
    trust::{self, ProjectTrust},
};
use agents_system::finding::{Finding, Severity};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value, json};

use super::{AgentHandler, Context, Definition, DispatchError, Dispatcher};
use crate::runner::Runner;

/// Where the configuration of a project is, unless somebody says something else.
const CONFIG_ROOT: &str = ".claude";
/// More directories inside of each other than anybody has.
const MAX_DEPTH: usize = 16;

/// Where definitions are looked for: in `agents` below the configuration of a project. Those of the user are not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoaderOptions {
    /// The project; blank for where we stand.
    pub project_root: Utf8PathBuf,
    /// Its configuration; blank for `.claude`. A relative one is inside of the project.
    pub config_root: Utf8PathBuf,
}

impl LoaderOptions {
    /// Those of a project.
    #[must_use]
    pub fn of(project_root: &Utf8Path) -> Self {
        Self { project_root: project_root.to_owned(), ..Self::default() }
    }

    /// The directory with the definitions.
    #[must_use]
    pub fn dir(&self) -> Utf8PathBuf {
        let (project, config) =
            (self.project_root.as_str().trim(), self.config_root.as_str().trim());
        let config = if config.is_empty() { CONFIG_ROOT } else { config };
        // An absolute one replaces what it is joined to.
        Utf8Path::new(project).join(config).join("agents")
    }
}

/// A definition that was loaded.
#[derive(Debug, Clone)]
pub struct Registration {
    /// For a [`Dispatcher`].
    pub definition: Definition,
    /// All that the file says, as far as a project may say it.
    pub agent: Arc<AgentDefinition>,
    /// What is odd about the file, and what was taken out.
    pub findings: Vec<Finding>,
}

impl Registration {
    /// Registers it, with a runner that runs it.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn register(&self, dispatcher: &Dispatcher, runner: &Runner) -> Result<(), DispatchError> {
        let handler = AgentHandler::new(runner.clone(), Arc::clone(&self.agent));
        dispatcher.register(self.definition.clone(), handler)
    }
}

/// What is wrong with a file, or a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// Which.
    pub path: Utf8PathBuf,
    /// What, one thing after the other.
    pub why: Vec<String>,
}

impl LoadError {
    fn new(path: &Utf8Path, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), why: vec![why.into()] }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path, self.why.join("; "))
    }
}

impl std::error::Error for LoadError {}

/// Loads all definitions, by name, and tells everything that is wrong: one bad file keeps no other one from being loaded. Of two with
/// the same name, the one whose path comes first counts. A directory that is not there holds nothing.
#[must_use]
pub fn load(options: &LoaderOptions) -> (Vec<Registration>, Vec<LoadError>) {
    let dir = options.dir();
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    match fs_err::metadata(&dir) {
        Ok(it) if it.is_dir() => walk(&dir, MAX_DEPTH, &mut files, &mut errors),
        Ok(_) => errors.push(LoadError::new(&dir, "it is not a directory")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => errors.push(LoadError::new(&dir, error.to_string())),
    }
    let mut loaded: Vec<Registration> = Vec::new();
    for file in files {
        match read(&file, &dir) {
            Ok(new) => match loaded.iter().find(|it| it.definition.name == new.definition.name) {
                Some(old) => {
                    let name = &new.definition.name;
                    let first = old.agent.origin.file.as_deref().unwrap_or(&dir);
                    let why = format!("there is a subagent `{name}` already, in `{first}`");
                    errors.push(LoadError::new(&file, why));
                }
                None => loaded.push(new),
            },
            Err(error) => errors.push(error),
        }
    }
    loaded.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
    (loaded, errors)
}

/// All files of definitions below a directory, in the order of their paths. Links to directories are not followed.
fn walk(dir: &Utf8Path, depth: usize, files: &mut Vec<Utf8PathBuf>, errors: &mut Vec<LoadError>) {
    let entries = match dir.read_dir_utf8() {
        Ok(entries) => entries,
        Err(error) => return errors.push(LoadError::new(dir, error.to_string())),
    };
    let mut found: Vec<camino::Utf8DirEntry> = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => found.push(entry),
            Err(error) => errors.push(LoadError::new(dir, error.to_string())),
        }
    }
    found.sort_by(|one, other| one.file_name().cmp(other.file_name()));
    for entry in found {
        let path = entry.path();
        let is_markdown = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth == 0 => {
                errors.push(LoadError::new(path, "it is too deep"));
            }
            Ok(kind) if kind.is_dir() => walk(path, depth - 1, files, errors),
            Ok(_) if is_markdown => files.push(path.to_owned()),
            Ok(_) => {}
            Err(error) => errors.push(LoadError::new(path, error.to_string())),
        }
    }
}

fn read(file: &Utf8Path, dir: &Utf8Path) -> Result<Registration, LoadError> {
    let (boundary, dialect) = (Boundary::Within(dir), Dialect::AgentSdk);
    let (agent, findings) =
        load_file(file, boundary, dialect, Source::Project, Strictness::Lenient);
    let Some(mut agent) = agent else {
        let wrong = findings.iter().filter(|it| it.severity == Severity::Error);
        let why: Vec<String> = wrong.map(|it: &Finding| it.message.clone()).collect();
        return Err(LoadError { path: file.to_owned(), why });
    };
    if agent.description.trim().is_empty() {
        return Err(LoadError::new(file, "it has no description"));
    }
    // Whoever says how much an agent may do, and is not understood, is not taken to have said nothing.
    let about_mode = |it: &&Finding| it.message.contains("permission mode");
    if agent.permission_mode.is_none()
        && let Some(finding) = findings.iter().find(about_mode)
    {
        return Err(LoadError::new(file, finding.message.clone()));
    }
    // What a project says is no more than a project may.
    let mut findings = findings;
    findings.extend(trust::confine(&mut agent, ProjectTrust::Untrusted));
    let definition = definition(&agent, file);
    definition.validate().map_err(|error| LoadError::new(file, error.to_string()))?;
    Ok(Registration { definition, agent: Arc::new(agent), findings })
}

/// What a dispatcher goes by.
fn definition(agent: &AgentDefinition, file: &Utf8Path) -> Definition {
    let model = agent.model.iter().find(|it| !it.is_inherit());
    let model = model.map(|it| it.0.trim().to_lowercase()).unwrap_or_default();
    let tools: Option<Vec<&str>> = agent.tools.allow.as_ref().map(|allow| {
        let mut tools: Vec<&str> = allow.iter().map(ToolPattern::as_str).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    });
    let mut metadata = Map::new();
    let mut know = |key: &str, value: Value| drop(metadata.insert(key.to_owned(), value));
    if let Some(tools) = tools.as_ref().filter(|it| !it.is_empty()) {
        know("tools", json!(tools));
    }
    if !model.is_empty() {
        know("model", json!(model));
    }
    if let Some(mode) = agent.permission_mode {
        know("permission-mode", json!(mode));
    }
    if !agent.skills.include.is_empty() {
        know("skills", json!(agent.skills.include));
    }
    know("source", json!(file.as_str()));
    let base = Context { metadata, model: model.clone(), ..Context::default() };
    Definition {
        description: agent.description.trim().to_owned(),
        base: base.restrict_tools(tools.unwrap_or_default()),
        default_model: model,
        ..Definition::new(agent.name.as_str())
    }
}
