//! Every group of every active plugin, from its gate to its skills.

use std::collections::HashSet;

use agents_system::finding::{Finding, Place};
use agents_workspace::{CrateName, Workspace};
use semver::Version;

use super::{
    Contributor, Fetch, Skill, Skills, Skipped, Why,
    area::{self, Area, Reals},
    crates::{Led, Redirects},
    inventory::{Header, Inventories, Inventory, Item},
    sources::Locator,
};
use crate::{
    active::{ActiveSet, has_word, here_for},
    catalog::Registries,
    config::AgentsSyncing,
    embedded::AGENTS_SKILLS_DIR,
    explain::describe,
    manifest::{ContentGroup, ContentKind, ContentSource, CrateSkills},
    plugin::{Origin, Plugin},
    predicate::{Gate, Surroundings, evaluate::union_matched_crates},
};

pub(super) struct Gather<'a> {
    registries: Registries<'a>,
    set: &'a ActiveSet,
    workspace: Option<&'a Workspace>,
    fetch: Fetch,
    locator: Locator<'a>,
    inventories: Inventories,
    reals: Reals,
    here: Surroundings<'a>,
    /// What is gathered.
    what: ContentKind,
    pub(super) all: Skills,
}

/// On whose behalf something is loaded.
#[derive(Clone, Copy)]
pub(super) struct Behalf<'a> {
    pub(super) plugin: &'a Plugin,
    pub(super) group: &'a Gate,
    pub(super) here: Surroundings<'a>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(
        registries: Registries<'a>,
        set: &'a ActiveSet,
        fetch: Fetch,
        locator: Locator<'a>,
        inventories: Inventories,
        here: Surroundings<'a>,
        what: ContentKind,
    ) -> Self {
        let (workspace, reals, all) = (here.workspace, Reals::default(), Skills::default());
        Self { registries, set, workspace, fetch, locator, inventories, reals, here, what, all }
    }

    pub(super) fn gather(mut self) -> Skills {
        self.set.active().for_each(|plugin| self.plugin(plugin));
        self.finish()
    }

    fn plugin(&mut self, plugin: &'a Plugin) {
        let manifest = match plugin.manifest() {
            Ok(manifest) => manifest,
            Err(finding) => return self.all.findings.push(*finding),
        };
        for group in &manifest.skills {
            let behalf = self.behalf(plugin, &group.gate);
            for area in self.areas(group, behalf) {
                self.area(&area, behalf);
            }
        }
        // The paths among them are groups already.
        if let CrateSkills::Listed(entries) = &manifest.crate_skills {
            let (name, version) = match &plugin.origin {
                Origin::Crate(name, version) => (name.clone(), Some(version)),
                Origin::Member(name) => (CrateName::new(name), self.version_of(plugin)),
                Origin::BuiltIn | Origin::Registry(_) => return,
            };
            let gate = Gate::open();
            let behalf = self.behalf(plugin, &gate);
            let led = self.redirects().follow_entries(&name, version, entries);
            for area in self.take(led, behalf) {
                self.area(&area, behalf);
            }
        }
    }

    /// The version of the member that a plugin belongs to; a virtual root has none.
    fn version_of(&self, plugin: &Plugin) -> Option<&'a Version> {
        let mut members = self.workspace?.members.iter();
        members.find(|member| member.dir == plugin.dir()).map(|member| &member.version)
    }

    pub(super) fn set(&self) -> &'a ActiveSet {
        self.set
    }

    pub(super) fn behalf<'b>(&self, plugin: &'b Plugin, group: &'b Gate) -> Behalf<'b>
    where
        'a: 'b,
    {
        Behalf { plugin, group, here: here_for(self.here, plugin) }
    }

    /// The directories of a group, if its gate holds.
    pub(super) fn areas(&mut self, group: &ContentGroup, behalf: Behalf<'_>) -> Vec<Area> {
        let Behalf { plugin, here, .. } = behalf;
        if !group.gate.holds(here) {
            self.skip(plugin, describe(&group.source), Why::GroupGate);
            return Vec::new();
        }
        if self.registries.config.agents_syncing == AgentsSyncing::Off
            && is_agents_own(plugin, group)
        {
            self.skip(plugin, describe(&group.source), Why::SyncingOff);
            return Vec::new();
        }
        match &group.source {
            ContentSource::Nothing => Vec::new(),
            ContentSource::Path(path) => {
                let catalog = &self.set.catalog;
                let reals = &mut self.reals;
                match area::of_path(plugin, path, catalog, self.workspace, reals, self.what) {
                    Ok(area) => vec![area],
                    Err(finding) => self.none(*finding),
                }
            }
            ContentSource::Git(url) => {
                match area::of_git(url, plugin, self.registries, self.fetch, self.what) {
                    Ok(fetched) => {
                        self.all.findings.extend(fetched.findings);
                        if fetched.area.is_none() {
                            self.skip(plugin, describe(&group.source), Why::NotFetched);
                        }
                        fetched.area.into_iter().collect()
                    }
                    Err(finding) => self.none(*finding),
                }
            }
            ContentSource::Crate { path } => match (self.what, path.as_deref()) {
                // Only for skills can a crate redirect to another place.
                (ContentKind::Agents, None) => self.crates(plugin, Some(AGENTS_DIR), behalf),
                (_, inside) => self.crates(plugin, inside, behalf),
            },
        }
    }

    fn none(&mut self, finding: Finding) -> Vec<Area> {
        self.all.findings.push(finding);
        Vec::new()
    }

    fn crates(&mut self, plugin: &Plugin, inside: Option<&str>, behalf: Behalf<'_>) -> Vec<Area> {
        let mut areas = Vec::new();
        let matched = union_matched_crates([&plugin.gate, behalf.group], behalf.here);
        let mut nowhere = !matched.is_empty();
        for (name, version) in matched {
            let led = self.redirects().follow(&name, &version, inside);
            nowhere &= led.findings.is_empty()
                && led.areas.is_empty()
                && led.skipped.iter().all(|(_, why)| matches!(why, Why::NoSkills | Why::NoAgents));
            areas.extend(self.take(led, behalf));
        }
        // The gate may match crates that have no such directory, but at least one should.
        if let Some(path) = inside.filter(|_| nowhere) {
            let what = self.what.word();
            let message = format!("no crate here has the directory `{path}` for {what}");
            self.all.findings.push(Finding::warning(message).at(Place::file(&plugin.file)));
        }
        areas
    }

    fn redirects(&mut self) -> Redirects<'a, '_> {
        let enablement = &self.registries.config.enablement;
        Redirects::new(&mut self.locator, self.workspace, enablement, self.what)
    }

    fn take(&mut self, led: Led, behalf: Behalf<'_>) -> Vec<Area> {
        self.all.findings.extend(led.findings);
        for (what, why) in led.skipped {
            self.skip(behalf.plugin, what, why);
        }
        led.areas
    }

    pub(super) fn skip(&mut self, plugin: &Plugin, what: String, why: Why) {
        let skipped = Skipped { plugin: plugin.name.clone(), what, why };
        if !self.all.skipped.contains(&skipped) {
            self.all.skipped.push(skipped);
        }
    }

    fn area(&mut self, area: &Area, behalf: Behalf<'_>) {
        let Inventory { items, findings } = self.inventories.of(area);
        self.all.findings.extend(findings);
        if items.is_empty() {
            self.skip(behalf.plugin, area.dir.to_string(), Why::NoSkills);
        }
        for item in items {
            if let Some(skill) = self.judge(item, area, behalf) {
                self.add(skill);
            }
        }
    }

    fn judge(&mut self, item: Item, area: &Area, behalf: Behalf<'_>) -> Option<Skill> {
        let Item { dir, header, findings, content } = item;
        self.all.findings.extend(findings);
        let Header { name, description, gate } = header?;
        let Behalf { plugin, group, here } = behalf;
        let root = self.workspace.map(|workspace| workspace.root.as_path());
        if matches!(plugin.origin, Origin::Member(_))
            && gate.runs_programs()
            && !has_word(&self.registries.config.enablement, plugin, root)
        {
            self.skip(plugin, format!("skill {name}"), Why::WouldRun);
            return None;
        }
        let contributor = Contributor { name: plugin.name.clone(), origin: plugin.origin.clone() };
        if gate.runs_programs() {
            self.all.asked.push((contributor.clone(), gate.clone()));
        }
        if !gate.holds(here) {
            self.skip(plugin, format!("skill {name}"), Why::SkillGate);
            return None;
        }
        let because = union_matched_crates([&plugin.gate, group, &gate], here);
        Some(Skill {
            name,
            description,
            origin: area.whose.origin(&dir),
            dir,
            root: area.within.root().to_owned(),
            plugin: contributor,
            also: Vec::new(),
            gate,
            because,
            content,
        })
    }

    /// The same skill may be reached on several ways.
    fn add(&mut self, new: Skill) {
        let is_same = |known: &&mut Skill| {
            known.name == new.name && (known.origin == new.origin || known.dir == new.dir)
        };
        let Some(known) = self.all.skills.iter_mut().find(is_same) else {
            return self.all.skills.push(new);
        };
        if known.dir != new.dir {
            let message =
                format!("{} has two skills `{}`; this one is left out", new.origin, new.name);
            let finding = Finding::warning(message).at(Place::file(new.dir));
            return self.all.findings.push(finding.hint(format!("`{}` is taken", known.dir)));
        }
        if !known.plugins().any(|contributor| *contributor == new.plugin) {
            known.also.push(new.plugin);
        }
        for matched in new.because {
            if !known.because.contains(&matched) {
                known.because.push(matched);
            }
        }
    }

    pub(super) fn finish(self) -> Skills {
        // What was not asked for would be forgotten.
        if self.what == ContentKind::Skills {
            self.inventories.save();
        }
        let mut all = self.all;
        all.skills.sort_by(|a, b| (&a.name, &a.origin).cmp(&(&b.name, &b.origin)));
        // Two plugins may run into the same thing.
        let mut once = HashSet::new();
        all.findings.retain(|finding| once.insert(finding.clone()));
        all
    }
}

/// Where a crate keeps its agents unless the group says otherwise.
const AGENTS_DIR: &str = "agents";

/// Whether it is what people keep in `.agents/skills` for their own agents.
fn is_agents_own(plugin: &Plugin, group: &ContentGroup) -> bool {
    matches!(plugin.origin, Origin::Member(_))
        && matches!(&group.source, ContentSource::Path(path) if path == AGENTS_SKILLS_DIR)
}
