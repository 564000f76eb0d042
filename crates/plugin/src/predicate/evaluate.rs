//! Whether a gate holds here, why, and which crates it is about.

use std::ffi::OsString;

use agents_workspace::{CrateName, Package, Workspace};
use semver::Version;

use super::{Atom, Gate, Predicate, PredicateName, Requirement, custom::Answer};
use crate::plugin::{Origin, Plugin};

/// What the outside world says; everything else here is a pure function.
pub trait Probes {
    /// Whether a shell command of whoever asks succeeds.
    fn shell(&self, command: &str, asker: Asker<'_>) -> bool;
    /// Whether a path exists or a program of that name is on `PATH`.
    fn path_exists(&self, path: &str) -> bool;
    /// The value of a variable.
    fn variable(&self, name: &str) -> Option<OsString>;
    /// What a custom predicate answers.
    fn custom(&self, name: &PredicateName, argument: &str) -> Answer;
}

/// Where a gate is evaluated.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The workspace, if we stand in one.
    pub workspace: Option<&'a Workspace>,
    /// The outside world.
    pub probes: &'a dyn Probes,
    /// Who asks.
    pub asker: Asker<'a>,
}

/// Whose gate it is.
#[derive(Debug, Clone, Copy)]
pub enum Asker<'a> {
    /// A plugin's.
    Plugin(&'a Plugin),
    /// Nobody's in particular.
    Other,
}

impl Asker<'_> {
    /// Whether it is a plugin of the workspace itself.
    fn is_member(self) -> bool {
        matches!(self, Self::Plugin(plugin) if matches!(plugin.origin, Origin::Member(_)))
    }
}

/// A concrete crate that made a gate hold.
pub type Matched = (CrateName, Version);

/// The result of looking closely at a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// Whether the gate holds.
    pub holds: bool,
    /// Each condition with its own result, in order.
    pub steps: Vec<Step>,
}

/// One condition of a gate and how it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The condition as it would be written.
    pub condition: String,
    /// How it came out.
    pub holds: bool,
    /// Why.
    pub because: String,
    /// How deep it stands inside `any`, `all` and `not`.
    pub depth: usize,
}

impl Gate {
    /// Whether it holds. The fast answer; [`explain`](Self::explain) gives the same one with reasons.
    #[must_use]
    pub fn holds(&self, here: Surroundings<'_>) -> bool {
        self.iter().all(|predicate| predicate.holds(here))
    }

    /// Whether it holds and why, with every condition evaluated.
    #[must_use]
    pub fn explain(&self, here: Surroundings<'_>) -> Evaluation {
        let mut steps = Vec::new();
        let mut holds = true;
        for predicate in self.iter() {
            holds &= predicate.explain(here, 0, &mut steps);
        }
        Evaluation { holds, steps }
    }

    /// The crates whose absence keeps it from holding: one of them would do. Empty if something else does. Nothing is
    /// asked that [`holds`](Self::holds) did not ask.
    #[must_use]
    pub fn lacking(&self, here: Surroundings<'_>) -> Vec<&Atom> {
        lacking_of_all(self.iter(), here)
    }

    /// The crates that make it hold, each name and version once; `None` if it does not hold.
    #[must_use]
    pub fn witness(&self, here: Surroundings<'_>) -> Option<Vec<Matched>> {
        witness_all(self.iter(), here).map(dedup)
    }
}

/// The concrete crates that several gates together are about, each name and version once. A gate that
/// does not hold contributes nothing.
#[must_use]
pub fn union_matched_crates<'g>(
    gates: impl IntoIterator<Item = &'g Gate>,
    here: Surroundings<'_>,
) -> Vec<Matched> {
    dedup(gates.into_iter().filter_map(|gate| gate.witness(here)).flatten().collect())
}

impl Predicate {
    fn holds(&self, here: Surroundings<'_>) -> bool {
        match self {
            Self::DependsOn(Atom::Everywhere) => true,
            Self::DependsOn(Atom::Crate { name, requirement }) => {
                matching(here.workspace, name, requirement.as_ref()).next().is_some()
            }
            Self::Shell(command) => here.probes.shell(command, here.asker),
            Self::PathExists(path) => here.probes.path_exists(path),
            Self::Env { name, value } => env_holds(here.probes, name, value.as_deref()),
            Self::WorkspaceMember => here.asker.is_member(),
            Self::Not(inner) => !inner.holds(here),
            Self::Any(inner) => inner.iter().any(|predicate| predicate.holds(here)),
            Self::All(inner) => inner.iter().all(|predicate| predicate.holds(here)),
            Self::Custom { name, argument } => {
                matches!(here.probes.custom(name, argument), Answer::Holds(_))
            }
        }
    }

    /// The crates that make it hold; all true branches of an `any` contribute.
    fn witness(&self, here: Surroundings<'_>) -> Option<Vec<Matched>> {
        match self {
            Self::DependsOn(Atom::Crate { name, requirement }) => {
                let found: Vec<Matched> = matching(here.workspace, name, requirement.as_ref())
                    .map(|package| (package.name.clone(), package.version.clone()))
                    .collect();
                (!found.is_empty()).then_some(found)
            }
            Self::Any(inner) => {
                let holding = inner.iter().filter_map(|predicate| predicate.witness(here));
                holding.reduce(|mut all, more| {
                    all.extend(more);
                    all
                })
            }
            Self::All(inner) => witness_all(inner, here),
            Self::Custom { name, argument } => match here.probes.custom(name, argument) {
                Answer::Holds(crates) => Some(crates),
                Answer::Fails | Answer::Unanswered(_) => None,
            },
            _ => self.holds(here).then(Vec::new),
        }
    }

    /// See [`Gate::lacking`]; only asked about what does not hold.
    fn lacking(&self, here: Surroundings<'_>) -> Vec<&Atom> {
        match self {
            Self::DependsOn(atom) => vec![atom],
            Self::Any(inner) => {
                inner.iter().flat_map(|predicate| predicate.lacking(here)).collect()
            }
            Self::All(inner) => lacking_of_all(inner, here),
            _ => Vec::new(),
        }
    }

    fn explain(&self, here: Surroundings<'_>, depth: usize, steps: &mut Vec<Step>) -> bool {
        let at = steps.len();
        let inner = |list: &[Self], steps: &mut Vec<Step>| -> Vec<bool> {
            list.iter().map(|predicate| predicate.explain(here, depth + 1, steps)).collect()
        };
        let (condition, holds, because) = match self {
            Self::DependsOn(atom) => {
                let (holds, because) = explain_atom(here.workspace, atom);
                (format!("depends-on {atom}"), holds, because)
            }
            Self::Any(list) => {
                let held = inner(list, steps).into_iter().filter(|held| *held).count();
                ("any of".to_owned(), held > 0, format!("{held} of {} hold", list.len()))
            }
            Self::All(list) => {
                let held = inner(list, steps).into_iter().filter(|held| *held).count();
                ("all of".to_owned(), held == list.len(), format!("{held} of {} hold", list.len()))
            }
            Self::Not(predicate) => {
                let held = predicate.explain(here, depth + 1, steps);
                let because = if held { "the inner condition holds" } else { "it does not hold" };
                ("not".to_owned(), !held, because.to_owned())
            }
            Self::Custom { name, argument } => {
                let (holds, because) = match here.probes.custom(name, argument) {
                    Answer::Holds(crates) if crates.is_empty() => {
                        (true, "its program agreed".to_owned())
                    }
                    Answer::Holds(crates) => {
                        (true, format!("its program named {}", list_matched(&crates)))
                    }
                    Answer::Fails => (false, "its program disagreed".to_owned()),
                    Answer::Unanswered(why) => (false, why),
                };
                (self.to_string(), holds, because)
            }
            Self::Shell(_) => {
                let holds = self.holds(here);
                let because = if holds { "the command succeeded" } else { "the command failed" };
                (self.to_string(), holds, because.to_owned())
            }
            Self::PathExists(_) => {
                let holds = self.holds(here);
                (
                    self.to_string(),
                    holds,
                    if holds { "it exists" } else { "there is no such path" }.to_owned(),
                )
            }
            Self::Env { name, .. } => {
                let holds = self.holds(here);
                let because = match here.probes.variable(name) {
                    None => "it is not set",
                    Some(_) if holds => "it is set",
                    Some(_) => "it has another value",
                };
                (self.to_string(), holds, because.to_owned())
            }
            Self::WorkspaceMember => {
                let holds = self.holds(here);
                let because = if holds {
                    "the plugin belongs to this workspace"
                } else {
                    "the plugin comes from elsewhere"
                };
                (self.to_string(), holds, because.to_owned())
            }
        };
        steps.insert(at, Step { condition, holds, because, depth });
        holds
    }
}

/// The first one that does not hold decides.
fn lacking_of_all<'p>(
    list: impl IntoIterator<Item = &'p Predicate>,
    here: Surroundings<'_>,
) -> Vec<&'p Atom> {
    let failing = list.into_iter().find(|predicate| !predicate.holds(here));
    failing.map(|predicate| predicate.lacking(here)).unwrap_or_default()
}

fn witness_all<'p>(
    list: impl IntoIterator<Item = &'p Predicate>,
    here: Surroundings<'_>,
) -> Option<Vec<Matched>> {
    let mut all = Vec::new();
    for predicate in list {
        all.extend(predicate.witness(here)?);
    }
    Some(all)
}

fn dedup(crates: Vec<Matched>) -> Vec<Matched> {
    let mut once: Vec<Matched> = Vec::new();
    for matched in crates {
        if !once.contains(&matched) {
            once.push(matched);
        }
    }
    once
}

/// The workspace's packages of that name; they are sorted by name, and there may be thousands.
fn named<'w>(workspace: Option<&'w Workspace>, name: &CrateName) -> &'w [Package] {
    let packages = workspace.map_or(&[][..], |workspace| workspace.packages.as_slice());
    let start = packages.partition_point(|package| package.name < *name);
    let length = packages[start..].partition_point(|package| package.name == *name);
    &packages[start..start + length]
}

fn matching<'w>(
    workspace: Option<&'w Workspace>,
    name: &CrateName,
    requirement: Option<&Requirement>,
) -> impl Iterator<Item = &'w Package> {
    named(workspace, name).iter().filter(move |package| {
        requirement.is_none_or(|requirement| requirement.0.matches(&package.version))
    })
}

fn env_holds(probes: &dyn Probes, name: &str, value: Option<&str>) -> bool {
    let found = probes.variable(name);
    match value {
        None => found.is_some(),
        Some(value) => found.is_some_and(|found| found == value),
    }
}

fn explain_atom(workspace: Option<&Workspace>, atom: &Atom) -> (bool, String) {
    let Atom::Crate { name, requirement } = atom else {
        return (true, "everywhere".to_owned());
    };
    if workspace.is_none() {
        return (false, "not in a Rust workspace".to_owned());
    }
    let found: Vec<Matched> = named(workspace, name)
        .iter()
        .map(|package| (package.name.clone(), package.version.clone()))
        .collect();
    let matched = found.iter().filter(|(_, version)| {
        requirement.as_ref().is_none_or(|requirement| requirement.0.matches(version))
    });
    let matched: Vec<Matched> = matched.cloned().collect();
    match (matched.is_empty(), found.is_empty()) {
        (false, _) => (true, format!("workspace has {}", list_matched(&matched))),
        (true, true) => (false, format!("workspace has no package `{name}`")),
        (true, false) => (false, format!("workspace has only {}", list_matched(&found))),
    }
}

fn list_matched(crates: &[Matched]) -> String {
    let items: Vec<String> =
        crates.iter().map(|(name, version)| format!("{name} {version}")).collect();
    items.join(", ")
}
