//! Discovery, and doing it again for nothing when nothing changed.
//!
//! Every place that was looked at is remembered as a fingerprint. Asking again costs one `stat` for each of them, and only
//! the directories in which something changed are read again.

use std::{collections::BTreeMap, sync::Arc};

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    finding::{Finding, Severity},
    fingerprint::{Fingerprint, Freshness, Inputs},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    agents::{Agents, Aside, Searched},
    bundled,
    definition::{Dialect, Source},
    order::{Order, order},
    search::{Bundled, FileKind, Search},
    shelf::{Contents, Shelf, ShelfState},
    trust::Trusted,
};

/// The family of what was named on the command line.
const NAMED_FAMILY: &str = "command line";

/// The family of what is in the program.
const BUNDLED_FAMILY: &str = "bundled";

/// Why there are no agents at all. Only what was named on the command line can be the reason.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// There is nothing.
    #[error("--agents path does not exist: `{path}`")]
    Missing {
        /// What was named.
        path: Utf8PathBuf,
    },
    /// It cannot be read, or there is no definition in it.
    #[error("`{path}`, which was named with --agents, is not a definition of an agent")]
    Invalid {
        /// The file.
        path: Utf8PathBuf,
        /// Why not.
        findings: Vec<Finding>,
    },
}

impl Explain for DiscoverError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::Missing { .. } => None,
            Self::Invalid { .. } => Some(Code::AgentInvalid),
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Missing { .. } => &[],
            Self::Invalid { findings, .. } => findings,
        }
    }
}

/// Finds all agents, once.
pub fn discover(search: &Search) -> Result<Agents, DiscoverError> {
    Finder::new().find(search).map(Arc::unwrap_or_clone)
}

/// Finds agents again and again, and reads only what changed.
///
/// ```
/// # use agents_agent::{Finder, Search};
/// # fn example(search: Search) -> Result<(), Box<dyn std::error::Error>> {
/// let mut finder = Finder::new();
/// let agents = finder.find(&search)?; // the same `Arc` as last time if nothing changed
/// let reviewer = agents.lookup("reviewer")?; // or: Unknown agent "...". Available: ...
/// # drop(reviewer);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Finder {
    /// Every directory that the last answer comes from.
    shelves: BTreeMap<Shelf, Contents>,
    trusted: Trusted,
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    search: Search,
    /// Of what decides which directories are read.
    places: Fingerprint,
    agents: Arc<Agents>,
}

impl Finder {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All agents as they are now: the same value as last time if nothing changed.
    pub fn find(&mut self, search: &Search) -> Result<Arc<Agents>, DiscoverError> {
        if let Some(mut last) = self.last.take_if(|last| last.search == *search)
            && is_fresh(&mut last.places)
            && self.shelves.values_mut().all(|it| is_fresh(&mut it.fingerprint))
        {
            let agents = Arc::clone(&last.agents);
            self.last = Some(last);
            return Ok(agents);
        }
        self.last = None;
        let mut known = std::mem::take(&mut self.shelves);
        if self.trusted != search.trusted {
            known.clear();
            self.trusted.clone_from(&search.trusted);
        }
        let mut round = Round { search, known, shelves: BTreeMap::new() };
        let mut agents = Agents::default();
        let mut inputs = Inputs::new();
        round.named(&mut agents, &mut inputs)?;
        let Order { shelves, project_dir, findings, .. } = order(search, &mut inputs);
        for (shelf, state) in shelves {
            round.shelf(shelf, state, &mut agents);
        }
        agents.project_dir = project_dir;
        agents.findings.extend(findings);
        if search.bundled == Bundled::Included {
            for definition in bundled::agents() {
                let definition = Some(definition.clone());
                agents.add(None, Source::Bundled, BUNDLED_FAMILY, definition, Vec::new(), None);
            }
        }
        self.shelves = round.shelves;
        let agents = Arc::new(agents);
        let (search, places) = (search.clone(), inputs.finish());
        self.last = Some(Last { search, places, agents: Arc::clone(&agents) });
        Ok(agents)
    }
}

/// One time that everything is gone through.
struct Round<'s> {
    search: &'s Search,
    known: BTreeMap<Shelf, Contents>,
    shelves: BTreeMap<Shelf, Contents>,
}

impl Round<'_> {
    fn named(&mut self, agents: &mut Agents, inputs: &mut Inputs) -> Result<(), DiscoverError> {
        for path in &self.search.named {
            if !inputs.exists(path) {
                return Err(DiscoverError::Missing { path: path.clone() });
            }
            let shelf = Shelf {
                path: path.clone(),
                source: Source::Named,
                family: NAMED_FAMILY.to_owned(),
                files: named_files(path),
                root: None,
            };
            let from = agents.candidates.len();
            if path.is_dir() {
                self.shelf(shelf, None, agents);
            } else {
                self.file(shelf, agents);
            }
            let wrong = agents.candidates[from..].iter().find(|it| it.definition.is_none());
            if let Some(wrong) = wrong {
                let mut findings = wrong.findings.clone();
                for finding in &mut findings {
                    finding.severity = Severity::Error;
                }
                let path = wrong.file.clone().unwrap_or_else(|| path.clone());
                return Err(DiscoverError::Invalid { path, findings });
            }
        }
        Ok(())
    }

    fn file(&mut self, shelf: Shelf, agents: &mut Agents) {
        let mut inputs = Inputs::new();
        let dialect = Dialect::of_named(&shelf.path).unwrap_or(Dialect::Ours);
        let book = shelf.open(dialect, &mut inputs);
        let contents = Contents {
            books: vec![book],
            findings: Vec::new(),
            state: ShelfState::Read(1),
            fingerprint: inputs.finish(),
        };
        self.take(shelf, contents, agents);
    }

    fn shelf(&mut self, shelf: Shelf, state: Option<ShelfState>, agents: &mut Agents) {
        if let Some(state) = state {
            return agents.searched.push(Searched { shelf, state });
        }
        let known = self.known.remove(&shelf);
        let known = known.and_then(|mut it| is_fresh(&mut it.fingerprint).then_some(it));
        let contents = known.unwrap_or_else(|| shelf.read(&self.search.trusted));
        self.take(shelf, contents, agents);
    }

    fn take(&mut self, shelf: Shelf, contents: Contents, agents: &mut Agents) {
        let Search { copies, held, .. } = self.search;
        for book in &contents.books {
            let digest = book.definition.as_ref().map(|it| &it.origin.digest);
            let aside = digest.and_then(|digest| {
                let copied = copies.origin(&book.file, digest).map(Aside::CopyOf);
                copied.or_else(|| held.holds(&book.file, digest).then_some(Aside::Held))
            });
            agents.add(
                Some(book.file.clone()),
                shelf.source.clone(),
                &shelf.family,
                book.definition.clone(),
                book.findings.clone(),
                aside,
            );
        }
        agents.findings.extend(contents.findings.iter().cloned());
        agents.searched.push(Searched { shelf: shelf.clone(), state: contents.state.clone() });
        self.shelves.insert(shelf, contents);
    }
}

/// What somebody names may be written in any way.
fn named_files(path: &Utf8Path) -> Vec<FileKind> {
    let kinds = [".md", ".agent.md", ".toml", ".json"];
    let of = |suffix: &str| {
        let dialect = Dialect::of_named(&path.join(format!("agent{suffix}")))?;
        Some(FileKind { suffix: suffix.to_owned(), dialect })
    };
    kinds.into_iter().filter_map(of).collect()
}

/// Whether it still holds; what had to be compared by content need not be next time.
fn is_fresh(fingerprint: &mut Fingerprint) -> bool {
    match fingerprint.check() {
        Freshness::Fresh => true,
        Freshness::FreshAfterReading => {
            *fingerprint = fingerprint.clone().renewed();
            true
        }
        Freshness::Stale => false,
    }
}
