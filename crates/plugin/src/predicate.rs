//! Predicates: the gates that say whether something applies here.
//!
//! A [`Gate`] is a list of [`Predicate`]s that must all hold. Manifests write it in two fields, `crates`
//! (or `depends-on`), a list of which one must match, and `predicates`, function calls that must all hold.

pub mod custom;
pub mod evaluate;
mod parse;

use std::fmt;

use agents_workspace::CrateName;
use semver::VersionReq;
use serde::{Deserialize, Serialize};

pub use custom::PredicateName;
pub use evaluate::{Evaluation, Matched, Probes, Step, Surroundings};
pub use parse::{PredicateError, parse_atoms, parse_predicates};

/// Names of predicates that cannot be defined by a plugin.
pub const BUILT_IN: &[&str] = &[
    "crate",
    "depends-on",
    "depends_on",
    "shell",
    "path_exists",
    "env",
    "workspace-member",
    "workspace_member",
    "not",
    "any",
    "all",
];

/// What must hold for something to apply. The empty gate always does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// What `crates` says, as one predicate: the only atom, or `any` of them.
    crates: Option<Predicate>,
    /// What `predicates` says.
    conditions: Vec<Predicate>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Predicate {
    /// The workspace depends directly on a crate.
    DependsOn(Atom),
    /// A shell command succeeds.
    Shell(String),
    /// A path exists, or a program of that name is on `PATH`.
    PathExists(String),
    /// An environment variable is set, or has a certain value.
    Env {
        /// Which variable.
        name: String,
        /// Which value; `None` means any.
        value: Option<String>,
    },
    /// The plugin comes from the workspace itself.
    WorkspaceMember,
    /// Not this.
    Not(Box<Predicate>),
    /// At least one of these.
    Any(Vec<Predicate>),
    /// All of these.
    All(Vec<Predicate>),
    /// A program that a plugin defines decides.
    Custom {
        /// Its name.
        name: PredicateName,
        /// What stands between the parentheses.
        argument: String,
    },
}

/// A crate, perhaps with a version requirement, or `*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Atom {
    /// `*`: everywhere, also outside a workspace.
    Everywhere,
    /// This crate.
    Crate {
        /// Its name.
        name: CrateName,
        /// Which versions; `None` means any.
        requirement: Option<Requirement>,
    },
}

/// A version requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Requirement(pub VersionReq);

impl Gate {
    /// Always holds.
    #[must_use]
    pub fn open() -> Self {
        Self::default()
    }

    /// `crates` and `predicates` of a manifest as one gate.
    #[must_use]
    pub fn new(atoms: Vec<Atom>, conditions: Vec<Predicate>) -> Self {
        Self { crates: any_of(atoms.into_iter().map(Predicate::DependsOn).collect()), conditions }
    }

    /// The predicates that must all hold.
    pub fn iter(&self) -> impl Iterator<Item = &Predicate> {
        self.crates.iter().chain(&self.conditions)
    }

    /// Both gates as one: the crates of either will do, the conditions of both must hold.
    #[must_use]
    pub fn joined_with(self, other: Self) -> Self {
        let alternatives =
            [self.crates, other.crates].into_iter().flatten().flat_map(|crates| match crates {
                Predicate::Any(alternatives) => alternatives,
                only => vec![only],
            });
        let crates = any_of(alternatives.collect());
        let conditions = self.conditions.into_iter().chain(other.conditions).collect();
        Self { crates, conditions }
    }

    /// Every predicate in it, however deep, with whether it stands beneath a `not`.
    fn visit<'g>(&'g self, see: &mut impl FnMut(&'g Predicate, Negated)) {
        self.iter().for_each(|predicate| predicate.visit(Negated::No, see));
    }

    /// Whether it names a crate or `*` anywhere: what makes a registry plugin active by itself.
    #[must_use]
    pub fn mentions_crate(&self) -> bool {
        let mut found = false;
        self.visit(&mut |predicate, _| found |= matches!(predicate, Predicate::DependsOn(_)));
        found
    }

    /// Whether a custom predicate decides at its top level.
    #[must_use]
    pub fn has_custom_at_top(&self) -> bool {
        self.iter().any(|predicate| matches!(predicate, Predicate::Custom { .. }))
    }

    /// Whether asking it runs a program: a shell command, or what a plugin ships.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        let mut found = false;
        self.visit(&mut |predicate, _| {
            found |= matches!(predicate, Predicate::Shell(_) | Predicate::Custom { .. });
        });
        found
    }

    /// Whether the packages of the workspace alone decide about it, not files, variables or programs.
    #[must_use]
    pub fn is_decided_by_packages(&self) -> bool {
        let mut decided = true;
        self.visit(&mut |predicate, _| match predicate {
            Predicate::Shell(_)
            | Predicate::PathExists(_)
            | Predicate::Env { .. }
            | Predicate::Custom { .. } => decided = false,
            Predicate::DependsOn(_)
            | Predicate::WorkspaceMember
            | Predicate::Not(_)
            | Predicate::Any(_)
            | Predicate::All(_) => {}
        });
        decided
    }

    /// Whether it can name a crate whose sources could be fetched: a concrete one that is not
    /// beneath `not(...)`, or a custom predicate, which may name one when it runs.
    #[must_use]
    pub fn can_name_a_crate(&self) -> bool {
        let mut found = false;
        self.visit(&mut |predicate, negated| {
            found |= negated == Negated::No
                && matches!(
                    predicate,
                    Predicate::DependsOn(Atom::Crate { .. }) | Predicate::Custom { .. }
                );
        });
        found
    }

    /// The concrete crates that it names, in order, each once.
    #[must_use]
    pub fn crates(&self) -> Vec<&CrateName> {
        let mut names: Vec<&CrateName> = Vec::new();
        self.visit(&mut |predicate, _| {
            if let Predicate::DependsOn(Atom::Crate { name, .. }) = predicate
                && !names.contains(&name)
            {
                names.push(name);
            }
        });
        names
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Negated {
    No,
    Yes,
}

impl Predicate {
    fn visit<'p>(&'p self, negated: Negated, see: &mut impl FnMut(&'p Self, Negated)) {
        see(self, negated);
        match self {
            Self::Not(inner) => inner.visit(Negated::Yes, see),
            Self::Any(inner) | Self::All(inner) => {
                inner.iter().for_each(|predicate| predicate.visit(negated, see));
            }
            _ => {}
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.iter())
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, name: &str, inner: &[Self]| {
            write!(f, "{name}(")?;
            write_list(f, inner.iter())?;
            f.write_str(")")
        };
        match self {
            Self::DependsOn(atom) => write!(f, "depends-on({atom})"),
            Self::Shell(command) => write!(f, "shell({command})"),
            Self::PathExists(path) => write!(f, "path_exists({path})"),
            Self::Env { name, value: Some(value) } => write!(f, "env({name}={value})"),
            Self::Env { name, value: None } => write!(f, "env({name})"),
            Self::WorkspaceMember => f.write_str("workspace-member()"),
            Self::Not(inner) => write!(f, "not({inner})"),
            Self::Any(inner) => list(f, "any", inner),
            Self::All(inner) => list(f, "all", inner),
            Self::Custom { name, argument } => write!(f, "{name}({argument})"),
        }
    }
}

fn any_of(mut alternatives: Vec<Predicate>) -> Option<Predicate> {
    match alternatives.len() {
        0 | 1 => alternatives.pop(),
        _ => Some(Predicate::Any(alternatives)),
    }
}

fn write_list<'p>(
    f: &mut fmt::Formatter<'_>,
    list: impl Iterator<Item = &'p Predicate>,
) -> fmt::Result {
    for (index, predicate) in list.enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{predicate}")?;
    }
    Ok(())
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => f.write_str("*"),
            Self::Crate { name, requirement: None } => write!(f, "{name}"),
            Self::Crate { name, requirement: Some(requirement) } => {
                write!(f, "{name}{requirement}")
            }
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `=1.2` would be read back as a caret requirement, see `parse`.
        let text = self.0.to_string().replace(", ", ",");
        match text.strip_prefix('=') {
            Some(exact) => write!(f, "=={exact}"),
            None => f.write_str(&text),
        }
    }
}

#[cfg(test)]
mod tests;
