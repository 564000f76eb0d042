//! The chain of reasons behind a decision.

use agents_workspace::Workspace;
use camino::Utf8Path;

use crate::{
    active::{ActiveSet, Considered, Reason, State, here_for},
    catalog::Registries,
    manifest::{ContentSource, Manifest},
    plugin::Plugin,
    predicate::{Evaluation, Gate, Step, Surroundings, evaluate::Asker},
    probes::Acquire,
};

/// Why a plugin is active or not, and what of it.
#[derive(Debug)]
pub struct Explanation<'s> {
    /// The plugin.
    pub plugin: &'s Plugin,
    /// The decision about it.
    pub state: &'s State,
    /// Each condition of its gate.
    pub steps: Vec<Step>,
    /// What it contributes.
    pub contributions: Vec<Contribution>,
}

/// One thing that a plugin contributes.
#[derive(Debug, PartialEq, Eq)]
pub struct Contribution {
    /// What it is: `skills`, `agents`, `subcommand`, `hook`, `mcp server` or `plugin`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// Whether it applies here.
    pub active: bool,
    /// Each condition of its own gate.
    pub steps: Vec<Step>,
}

impl Registries<'_> {
    /// Explains every plugin of that name.
    #[must_use]
    pub fn explain<'s>(
        &self,
        set: &'s ActiveSet,
        name: &str,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
    ) -> Vec<Explanation<'s>> {
        let (probes, _) = self.probes(&set.catalog, workspace, cwd, Acquire::Never);
        let here = Surroundings { workspace, probes: &probes, asker: Asker::Other };
        let named = set.considered().filter(|considered| considered.plugin.name.is(name));
        named.map(|considered| explain(considered, here)).collect()
    }
}

fn explain<'s>(considered: Considered<'s>, here: Surroundings<'_>) -> Explanation<'s> {
    let plugin = considered.plugin;
    // Conditions may run programs; those of a plugin that nobody agreed to are not even asked.
    let refused = matches!(
        considered.state,
        State::Inactive(
            Reason::Disabled | Reason::NoConsent | Reason::WouldRun | Reason::Superseded(_)
        )
    );
    let here = here_for(here, plugin);
    let explain = |gate: &Gate| match refused {
        true => Evaluation { holds: false, steps: Vec::new() },
        false => gate.explain(here),
    };
    let contributions = match plugin.manifest() {
        Ok(manifest) => contributions(manifest, considered.is_active(), explain),
        Err(_) => Vec::new(),
    };
    let steps = explain(&plugin.gate).steps;
    Explanation { plugin, state: considered.state, steps, contributions }
}

fn contributions(
    manifest: &Manifest,
    active: bool,
    explain: impl Fn(&Gate) -> Evaluation,
) -> Vec<Contribution> {
    let of = |kind: &'static str, name: String, gate: &Gate| {
        let evaluation = explain(gate);
        Contribution { kind, name, active: active && evaluation.holds, steps: evaluation.steps }
    };
    let skills =
        manifest.skills.iter().map(|group| of("skills", describe(&group.source), &group.gate));
    let agents =
        manifest.agents.iter().map(|group| of("agents", describe(&group.source), &group.gate));
    let subcommands = manifest
        .subcommands
        .iter()
        .map(|(name, subcommand)| of("subcommand", name.to_string(), &subcommand.gate));
    let hooks = manifest
        .hooks
        .iter()
        .map(|hook| of("hook", format!("{} ({})", hook.name, hook.event), &hook.gate));
    let servers = manifest
        .mcp_servers
        .iter()
        .map(|server| of("mcp server", server.name.clone(), &server.gate));
    let chained = manifest
        .chained
        .iter()
        .map(|chained| of("plugin", chained.name.to_string(), &chained.gate));
    skills.chain(agents).chain(subcommands).chain(hooks).chain(servers).chain(chained).collect()
}

/// Where the content of a group is, in a few words.
#[must_use]
pub fn describe(source: &ContentSource) -> String {
    match source {
        ContentSource::Nothing => "nowhere".to_owned(),
        ContentSource::Path(path) => format!("in {path}"),
        ContentSource::Git(url) => format!("from {url}"),
        ContentSource::Crate { path: None } => "from the crates themselves".to_owned(),
        ContentSource::Crate { path: Some(path) } => {
            format!("from {path} in the crates themselves")
        }
    }
}
