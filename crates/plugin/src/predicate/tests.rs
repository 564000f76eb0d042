mod evaluation;
mod output;
mod parsing;
mod properties;

use std::{collections::BTreeMap, ffi::OsString};

use agents_workspace::{CrateName, Package, PackageSource, Workspace};
use semver::Version;

use super::{
    Atom, Gate, Predicate, PredicateError, PredicateName, Probes, Surroundings,
    custom::Answer,
    evaluate::{Asker, Matched},
};

/// An outside world of a few facts; what is not among them is not so.
#[derive(Debug, Default)]
struct World {
    commands: Vec<&'static str>,
    paths: Vec<&'static str>,
    variables: BTreeMap<&'static str, &'static str>,
    answers: BTreeMap<&'static str, Answer>,
}

impl Probes for World {
    fn shell(&self, command: &str, _: Asker<'_>) -> bool {
        self.commands.contains(&command)
    }

    fn path_exists(&self, path: &str) -> bool {
        self.paths.contains(&path)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name).map(|value| OsString::from(*value))
    }

    fn custom(&self, name: &PredicateName, argument: &str) -> Answer {
        let question = format!("{name}({argument})");
        let unknown = || Answer::Unanswered("no plugin defines it".to_owned());
        self.answers.get(question.as_str()).cloned().unwrap_or_else(unknown)
    }
}

fn workspace(packages: &[(&str, &str)]) -> Workspace {
    let package = |(name, version): &(&str, &str)| Package {
        name: CrateName::new(*name),
        version: Version::parse(version).unwrap(),
        source: PackageSource::Registry { id: "registry+https://example.org/index".to_owned() },
    };
    let mut packages: Vec<Package> = packages.iter().map(package).collect();
    packages.sort();
    Workspace { root: "/ws".into(), members: Vec::new(), packages, identity: Default::default() }
}

fn here<'a>(workspace: Option<&'a Workspace>, world: &'a World) -> Surroundings<'a> {
    Surroundings { workspace, probes: world, asker: Asker::Other }
}

fn atom(text: &str) -> Atom {
    text.parse().unwrap()
}

fn predicate(text: &str) -> Predicate {
    text.parse().unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

/// A gate as `predicates = […]` of a manifest would make it.
fn gate(predicates: &[&str]) -> Gate {
    Gate::new(Vec::new(), predicates.iter().map(|text| predicate(text)).collect())
}

fn matched(crates: &[(&str, &str)]) -> Vec<Matched> {
    let pair =
        |(name, version): &(&str, &str)| (CrateName::new(*name), Version::parse(version).unwrap());
    crates.iter().map(pair).collect()
}
