//! Laying a crate's `SYMPOSIUM.toml` over its `[package.metadata.symposium]`.

use super::{CrateSkills, DefaultSkills, Manifest};

impl Manifest {
    /// Lists append, names and tables of the upper layer win, alternatives of the crate gate join.
    #[must_use]
    pub fn overlaid_by(mut self, upper: Self) -> Self {
        if !upper.name.as_str().is_empty() {
            self.name = upper.name;
        }
        self.gate = self.gate.joined_with(upper.gate);
        self.installations.extend(upper.installations);
        self.hooks.extend(upper.hooks);
        self.skills.extend(upper.skills);
        self.agents.extend(upper.agents);
        self.mcp_servers.extend(upper.mcp_servers);
        self.subcommands.extend(upper.subcommands);
        self.predicates.extend(upper.predicates);
        self.chained.extend(upper.chained);
        self.sandbox = self.sandbox.joined_with(upper.sandbox);
        if upper.default_skills == DefaultSkills::Off {
            self.default_skills = DefaultSkills::Off;
        }
        if upper.crate_skills != CrateSkills::Unsaid {
            self.crate_skills = upper.crate_skills;
        }
        self
    }
}
