//! Laying a crate's `SYMPOSIUM.toml` over its `[package.metadata.symposium]`.

use super::{CrateSkills, DefaultSkills, Manifest};
use crate::predicate::{Gate, Predicate};

impl Manifest {
    /// Lists append, names and tables of the upper layer win, alternatives of the crate gate join.
    #[must_use]
    pub fn overlaid_by(mut self, upper: Self) -> Self {
        if !upper.name.as_str().is_empty() {
            self.name = upper.name;
        }
        self.gate = join_gates(self.gate, upper.gate);
        self.installations.extend(upper.installations);
        self.hooks.extend(upper.hooks);
        self.skills.extend(upper.skills);
        self.mcp_servers.extend(upper.mcp_servers);
        self.subcommands.extend(upper.subcommands);
        self.predicates.extend(upper.predicates);
        self.chained.extend(upper.chained);
        if upper.default_skills == DefaultSkills::Off {
            self.default_skills = DefaultSkills::Off;
        }
        if upper.crate_skills != CrateSkills::Unsaid {
            self.crate_skills = upper.crate_skills;
        }
        self
    }
}

/// Only what stands first can come from `crates`; a crate among the predicates stays a condition.
fn join_gates(lower: Gate, upper: Gate) -> Gate {
    let (mut atoms, mut others) = (Vec::new(), Vec::new());
    for gate in [lower, upper] {
        let mut predicates = gate.0.into_iter();
        match predicates.next() {
            Some(atom @ Predicate::DependsOn(_)) => atoms.push(atom),
            Some(Predicate::Any(inner)) if inner.iter().all(is_atom) => atoms.extend(inner),
            other => others.extend(other),
        }
        others.extend(predicates);
    }
    let leading = match atoms.len() {
        0 | 1 => atoms.pop(),
        _ => Some(Predicate::Any(atoms)),
    };
    Gate(leading.into_iter().chain(others).collect())
}

fn is_atom(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::DependsOn(_))
}
