//! The directories of agents that the active set brings.
//!
//! `[[agents]]` groups have the sources and gates of `[[skills]]` groups, so a crate ships agents as it ships skills: at the
//! version that the workspace uses. What is in the files is not looked at here.

use agents_system::finding::Finding;
use agents_workspace::Workspace;
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    Contributor, Fetch, SkillOrigin, Skipped, gather::Gather, inventory::Inventories,
    sources::Locator,
};
use crate::{
    active::ActiveSet,
    catalog::Registries,
    manifest::ContentKind,
    plugin::{Origin, Plugin},
    predicate::{
        Matched, Surroundings,
        evaluate::{Asker, union_matched_crates},
    },
    probes::Acquire,
};

/// A directory of agents that applies here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDir {
    /// The directory, as it really is.
    pub dir: Utf8PathBuf,
    /// The tree that it is in, as it really is; no link leads out of that.
    pub root: Utf8PathBuf,
    /// What tells it apart from other places.
    pub origin: SkillOrigin,
    /// The plugin that brings it; if there are several, the one that takes precedence.
    pub plugin: Contributor,
    /// The crates that make it apply.
    pub because: Vec<Matched>,
}

/// The directories of agents that apply here, those of the workspace itself first, then in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentDirs {
    /// The directories.
    pub dirs: Vec<AgentDir>,
    /// What there would have been.
    pub skipped: Vec<Skipped>,
    /// What there is to say.
    pub findings: Vec<Finding>,
}

impl Registries<'_> {
    /// Where the agents of every active plugin are. `cwd` matters only outside a workspace.
    #[must_use]
    pub fn agents(
        &self,
        set: &ActiveSet,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
        fetch: Fetch,
    ) -> AgentDirs {
        let acquire = match fetch {
            Fetch::Never => Acquire::Never,
            Fetch::IfMissing => Acquire::IfMissing,
        };
        // What there is to say about predicates was said when the set was made.
        let (probes, _) = self.probes(&set.catalog, workspace, cwd, acquire);
        let here = Surroundings { workspace, probes: &probes, asker: Asker::Other };
        let locator = Locator::new(*self, workspace, cwd, fetch);
        let (inventories, what) = (Inventories::load(&self.dirs.cache, cwd), ContentKind::Agents);
        Gather::new(*self, set, fetch, locator, inventories, here, what).gather_agents()
    }
}

impl Gather<'_> {
    fn gather_agents(mut self) -> AgentDirs {
        let (own, others): (Vec<&Plugin>, Vec<&Plugin>) =
            self.set().active().partition(|plugin| matches!(plugin.origin, Origin::Member(_)));
        let mut dirs = Vec::new();
        for plugin in own.into_iter().chain(others) {
            let manifest = match plugin.manifest() {
                Ok(manifest) => manifest,
                Err(finding) => {
                    self.all.findings.push(*finding);
                    continue;
                }
            };
            for group in &manifest.agents {
                let behalf = self.behalf(plugin, &group.gate);
                for area in self.areas(group, behalf) {
                    let gates = [&plugin.gate, &group.gate];
                    let dir = AgentDir {
                        origin: area.whose.origin(&area.dir),
                        root: area.within.root().to_owned(),
                        dir: area.dir,
                        plugin: Contributor {
                            name: plugin.name.clone(),
                            origin: plugin.origin.clone(),
                        },
                        because: union_matched_crates(gates, behalf.here),
                    };
                    // Two plugins may name the same crate.
                    if !dirs.iter().any(|known: &AgentDir| known.dir == dir.dir) {
                        dirs.push(dir);
                    }
                }
            }
        }
        let rest = self.finish();
        AgentDirs { dirs, skipped: rest.skipped, findings: rest.findings }
    }
}
