//! Reading definitions.

use std::path::{Path, PathBuf};

use agents_agent::{
    AgentDefinition, DiscoverError, Search,
    definition::Dialect,
    discover,
    search::{Climb, Family, FileKind},
};
use agents_plugin::agents::AgentDirs;
use agents_system::{dirs, finding::Finding};
use camino::{Utf8Path, Utf8PathBuf};

use super::{SubAgentError, SubAgentManager};

/// What was read.
#[derive(Default)]
pub(super) struct Read {
    pub(super) definitions: Vec<AgentDefinition>,
    /// Files that are not definitions, each with what is wrong with it.
    pub(super) skipped: Vec<(Utf8PathBuf, Vec<Finding>)>,
}

/// Who put definitions somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// They were named: each must be right.
    Named,
    /// The project that we are in.
    Project,
    /// The user.
    User,
}

/// Adds what is at a path. The first of a name wins; a path where nothing is adds nothing.
pub(super) fn add(read: &mut Read, path: &Utf8Path, scope: Scope) -> Result<(), SubAgentError> {
    if !path.exists() {
        return Ok(());
    }
    let cwd = dirs::current().map_err(|error| SubAgentError::Invalid(error.to_string()))?;
    let home = dirs::home().unwrap_or_else(|_| Utf8PathBuf::from("/"));
    let mut search = Search::plugins_only(&cwd, &home, &AgentDirs::default());
    search.climb = Climb::Nowhere;
    // What somebody names as a file is theirs.
    if scope == Scope::Named || path.is_file() {
        search.named.push(path.to_owned());
    } else {
        search.families.push(family(path, &cwd, scope));
    }
    let found = match discover(&search) {
        Ok(found) => found,
        Err(DiscoverError::Invalid { path, findings }) if scope == Scope::Named => {
            return Err(SubAgentError::Parse { path, findings });
        }
        Err(DiscoverError::Invalid { path, findings }) => {
            read.skipped.push((path, findings));
            return Ok(());
        }
        // It was there a moment ago.
        Err(DiscoverError::Missing { .. }) => return Ok(()),
    };
    for candidate in &found.candidates {
        match (&candidate.definition, &candidate.file) {
            (None, Some(file)) => read.skipped.push((file.clone(), candidate.findings.clone())),
            (Some(definition), _)
                if !read.definitions.iter().any(|it| it.name == definition.name) =>
            {
                read.definitions.push(definition.clone());
            }
            _ => {}
        }
    }
    Ok(())
}

fn family(path: &Utf8Path, cwd: &Utf8Path, scope: Scope) -> Family {
    let dialect = Dialect::of_named(&path.join("agent.md")).unwrap_or(Dialect::Ours);
    let files = vec![FileKind { suffix: ".md".to_owned(), dialect }];
    let (project, user) = match scope {
        Scope::Project => {
            let inside = path.strip_prefix(cwd).unwrap_or(path);
            (Some(inside.to_owned()), None)
        }
        Scope::Named | Scope::User => (None, Some(cwd.join(path))),
    };
    Family { name: "sub-agents".to_owned(), project, user, files }
}

impl SubAgentManager {
    /// Reads all definitions of these directories, the first one of a name wins. Directories that do not exist are skipped.
    ///
    /// # Errors
    /// A file is not a definition; then those that were known stay.
    pub fn load_definitions(&mut self, dirs: &[PathBuf]) -> Result<(), SubAgentError> {
        let mut read = Read::default();
        for dir in dirs {
            add(&mut read, utf8(dir)?, scope_of(dir))?;
        }
        if !read.skipped.is_empty() {
            let (path, findings) = read.skipped.swap_remove(0);
            return Err(SubAgentError::Parse { path, findings });
        }
        self.know(read);
        Ok(())
    }

    /// Reads the definitions of these paths in this order. Those that were named on the command line must be right; of the others, what is
    /// not a definition is [skipped](Self::skipped). What comes from the project says no more than a project may.
    ///
    /// # Errors
    /// A file that was named is not a definition; then those that were known stay.
    pub fn load_definitions_with_sources(
        &mut self,
        ordered_paths: &[PathBuf],
        cli_agents: &[PathBuf],
        config_user_dir: Option<&PathBuf>,
        extra_dirs: &[PathBuf],
    ) -> Result<(), SubAgentError> {
        let mut read = Read::default();
        for path in ordered_paths {
            let scope = if cli_agents.iter().any(|it| path.starts_with(it)) {
                Scope::Named
            } else if config_user_dir == Some(path) || extra_dirs.contains(path) {
                Scope::User
            } else {
                scope_of(path)
            };
            add(&mut read, utf8(path)?, scope)?;
        }
        self.know(read);
        Ok(())
    }

    fn know(&mut self, read: Read) {
        self.shared.forget();
        (self.definitions, self.skipped) = (read.definitions, read.skipped);
    }

    /// Files that were skipped the last time that definitions were read, with what is wrong with them.
    #[must_use]
    pub fn skipped(&self) -> &[(Utf8PathBuf, Vec<Finding>)] {
        &self.skipped
    }
}

fn utf8(path: &Path) -> Result<&Utf8Path, SubAgentError> {
    let not = || SubAgentError::Invalid(format!("`{}` is not valid UTF-8", path.display()));
    Utf8Path::from_path(path).ok_or_else(not)
}

/// What is in the project that we stand in is the project's; everything else the user's.
fn scope_of(path: &Path) -> Scope {
    let inside = path.is_relative() || dirs::current().is_ok_and(|cwd| path.starts_with(&cwd));
    if inside { Scope::Project } else { Scope::User }
}
