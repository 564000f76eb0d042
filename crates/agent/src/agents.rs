//! All agents that were found, who wins each name, and who lost it.

use std::collections::BTreeMap;

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    finding::{Finding, Place, Severity},
    nearest::{nearest, quoted_list},
};
use camino::Utf8PathBuf;

use crate::{
    definition::{AgentDefinition, Source},
    shelf::{Shelf, ShelfState},
};

/// What a discovery found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agents {
    /// Every file that should be a definition, in order of precedence.
    pub candidates: Vec<Candidate>,
    /// The nearest project directory of the first family that has one.
    pub project_dir: Option<Utf8PathBuf>,
    /// Every place that was looked at, in order.
    pub searched: Vec<Searched>,
    /// What there is to say that belongs to no file.
    pub findings: Vec<Finding>,
    /// Who wins each name.
    winners: BTreeMap<String, usize>,
}

/// A file that should be a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The file; `None` for what is in the program.
    pub file: Option<Utf8PathBuf>,
    /// Who put it there.
    pub source: Source,
    /// Whose way of keeping agents it is.
    pub family: String,
    /// What it says.
    pub definition: Option<AgentDefinition>,
    /// What became of it.
    pub standing: Standing,
    /// What there is to say about it.
    pub findings: Vec<Finding>,
    /// Of what it is a copy, in words.
    pub copy_of: Option<String>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its name means it.
    Wins,
    /// Its name means the candidate at this place.
    ShadowedBy(usize),
    /// It is a copy of an agent that comes from elsewhere, written for a host.
    Copy,
    /// It waits for somebody's word.
    Held,
    /// It is no definition.
    Invalid,
}

/// What keeps a definition from being anybody's agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aside<'a> {
    /// It is a copy of this.
    CopyOf(&'a str),
    /// It waits for somebody's word.
    Held,
}

/// A place that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// The directory, or the file.
    pub shelf: Shelf,
    /// What became of it.
    pub state: ShelfState,
}

/// There is no agent of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Unknown agent \"{name}\". Available: {}", available_or_none(available))]
pub struct UnknownAgent {
    /// The name that was asked for.
    pub name: String,
    /// Those that there are, in order of precedence.
    pub available: Vec<String>,
}

fn available_or_none(available: &[String]) -> String {
    if available.is_empty() { "none".to_owned() } else { available.join(", ") }
}

impl UnknownAgent {
    /// The names that were probably meant, the nearest first.
    #[must_use]
    pub fn nearest(&self) -> Vec<&str> {
        nearest(&self.name, self.available.iter().map(String::as_str))
    }
}

impl Explain for UnknownAgent {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        Some(Code::UnknownAgent)
    }

    fn hint(&self) -> Option<String> {
        let near = self.nearest();
        (!near.is_empty()).then(|| format!("did you mean {}?", quoted_list(&near, "or")))
    }
}

impl Agents {
    /// Adds the next candidate; the first of each name wins.
    pub(crate) fn add(
        &mut self,
        file: Option<Utf8PathBuf>,
        source: Source,
        family: &str,
        definition: Option<AgentDefinition>,
        findings: Vec<Finding>,
        aside: Option<Aside<'_>>,
    ) {
        let at = self.candidates.len();
        let standing = match &definition {
            None => Standing::Invalid,
            Some(_) if let Some(Aside::CopyOf(_)) = aside => Standing::Copy,
            Some(_) if let Some(Aside::Held) = aside => Standing::Held,
            Some(definition) => match self.winners.get(definition.name.as_str()) {
                Some(winner) => Standing::ShadowedBy(*winner),
                None => {
                    self.winners.insert(definition.name.to_string(), at);
                    Standing::Wins
                }
            },
        };
        self.candidates.push(Candidate {
            file,
            source,
            family: family.to_owned(),
            definition,
            standing,
            findings,
            copy_of: match aside {
                Some(Aside::CopyOf(it)) => Some(it.to_owned()),
                Some(Aside::Held) | None => None,
            },
        });
    }

    /// The agents that there are, in order of precedence.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        let winning = self.candidates.iter().filter(|it| it.standing == Standing::Wins);
        winning.filter_map(|it| it.definition.as_ref())
    }

    /// The agent of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.candidates.get(*self.winners.get(name)?)?.definition.as_ref()
    }

    /// The agent of exactly this name, or which there are.
    pub fn lookup(&self, name: &str) -> Result<&AgentDefinition, UnknownAgent> {
        self.get(name).ok_or_else(|| UnknownAgent {
            name: name.to_owned(),
            available: self.iter().map(|it| it.name.to_string()).collect(),
        })
    }

    /// Every candidate for a name, in order of precedence: those that say it, and files called like it that say nothing.
    pub fn chain(&self, name: &str) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(move |it| match &it.definition {
            Some(definition) => definition.name.as_str() == name,
            None => it.file.as_ref().is_some_and(|file| {
                file.file_name().and_then(|it| it.split('.').next()) == Some(name)
            }),
        })
    }

    /// Everything that there is to say, shadowed names included.
    #[must_use]
    pub fn all_findings(&self) -> Vec<Finding> {
        let mut all = self.findings.clone();
        for candidate in &self.candidates {
            all.extend(candidate.findings.iter().cloned());
            all.extend(self.shadowing(candidate));
        }
        all
    }

    /// That a candidate is shadowed, as a finding. Nothing is wrong with hiding an agent of the program.
    #[must_use]
    pub fn shadowing(&self, candidate: &Candidate) -> Option<Finding> {
        let Standing::ShadowedBy(winner) = candidate.standing else { return None };
        let (definition, winner) = (candidate.definition.as_ref()?, self.candidates.get(winner)?);
        let message = format!("agent `{}` is shadowed by {}", definition.name, winner.place());
        let finding = Finding::new(Severity::Note, message);
        Some(match &candidate.file {
            Some(file) => finding.at(Place::file(file)),
            None => finding,
        })
    }
}

impl Candidate {
    /// Where it is, in words.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.file {
            Some(file) => format!("`{file}`"),
            None => "the program's own".to_owned(),
        }
    }
}
