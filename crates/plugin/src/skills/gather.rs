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
    manifest::{CrateSkills, SkillGroup, SkillSource},
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
    all: Skills,
}

/// On whose behalf skills are loaded.
#[derive(Clone, Copy)]
struct Behalf<'a> {
    plugin: &'a Plugin,
    group: &'a Gate,
    here: Surroundings<'a>,
}

impl<'a> Gather<'a> {
    pub(super) fn new(
        registries: Registries<'a>,
        set: &'a ActiveSet,
        workspace: Option<&'a Workspace>,
        fetch: Fetch,
        locator: Locator<'a>,
        inventories: Inventories,
        here: Surroundings<'a>,
    ) -> Self {
        let (reals, all) = (Reals::default(), Skills::default());
        Self { registries, set, workspace, fetch, locator, inventories, reals, here, all }
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
            self.group(plugin, group);
        }
        // The paths among them are groups already.
        if let CrateSkills::Listed(entries) = &manifest.crate_skills {
            let (name, version) = match &plugin.origin {
                Origin::Crate(name, version) => (name.clone(), Some(version)),
                Origin::Member(name) => (CrateName::new(name), self.version_of(plugin)),
                Origin::BuiltIn | Origin::Registry(_) => return,
            };
            let here = here_for(self.here, plugin);
            let led = self.redirects().follow_entries(&name, version, entries);
            self.take(led, Behalf { plugin, group: &Gate::open(), here });
        }
    }

    /// The version of the member that a plugin belongs to; a virtual root has none.
    fn version_of(&self, plugin: &Plugin) -> Option<&'a Version> {
        let mut members = self.workspace?.members.iter();
        members.find(|member| member.dir == plugin.dir()).map(|member| &member.version)
    }

    fn group(&mut self, plugin: &Plugin, group: &SkillGroup) {
        let here = here_for(self.here, plugin);
        let behalf = Behalf { plugin, group: &group.gate, here };
        if !group.gate.holds(here) {
            return self.skip(plugin, describe(&group.source), Why::GroupGate);
        }
        if self.registries.config.agents_syncing == AgentsSyncing::Off
            && is_agents_own(plugin, group)
        {
            return self.skip(plugin, describe(&group.source), Why::SyncingOff);
        }
        match &group.source {
            SkillSource::Nothing => {}
            SkillSource::Path(path) => {
                match area::of_path(
                    plugin,
                    path,
                    &self.set.catalog,
                    self.workspace,
                    &mut self.reals,
                ) {
                    Ok(area) => self.area(&area, behalf),
                    Err(finding) => self.all.findings.push(*finding),
                }
            }
            SkillSource::Git(url) => match area::of_git(url, plugin, self.registries, self.fetch) {
                Ok(fetched) => {
                    self.all.findings.extend(fetched.findings);
                    match fetched.area {
                        Some(area) => self.area(&area, behalf),
                        None => self.skip(plugin, describe(&group.source), Why::NotFetched),
                    }
                }
                Err(finding) => self.all.findings.push(*finding),
            },
            SkillSource::Crate { path } => {
                self.crates(plugin, path.as_deref(), behalf);
            }
        }
    }

    fn crates(&mut self, plugin: &Plugin, inside: Option<&str>, behalf: Behalf<'_>) {
        let matched = union_matched_crates([&plugin.gate, behalf.group], behalf.here);
        let mut nowhere = !matched.is_empty();
        for (name, version) in matched {
            let led = self.redirects().follow(&name, &version, inside);
            nowhere &= led.findings.is_empty()
                && led.areas.is_empty()
                && led.skipped.iter().all(|(_, why)| *why == Why::NoSkills);
            self.take(led, behalf);
        }
        // The gate may match crates that have no such directory, but at least one should.
        if let Some(path) = inside.filter(|_| nowhere) {
            let message = format!("no crate here has the directory `{path}` for skills");
            self.all.findings.push(Finding::warning(message).at(Place::file(&plugin.file)));
        }
    }

    fn redirects(&mut self) -> Redirects<'a, '_> {
        let enablement = &self.registries.config.enablement;
        Redirects::new(&mut self.locator, self.workspace, enablement)
    }

    fn take(&mut self, led: Led, behalf: Behalf<'_>) {
        self.all.findings.extend(led.findings);
        for (what, why) in led.skipped {
            self.skip(behalf.plugin, what, why);
        }
        for area in &led.areas {
            self.area(area, behalf);
        }
    }

    fn skip(&mut self, plugin: &Plugin, what: String, why: Why) {
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
            plugin: Contributor { name: plugin.name.clone(), origin: plugin.origin.clone() },
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

    fn finish(self) -> Skills {
        self.inventories.save();
        let mut all = self.all;
        all.skills.sort_by(|a, b| (&a.name, &a.origin).cmp(&(&b.name, &b.origin)));
        // Two plugins may run into the same thing.
        let mut once = HashSet::new();
        all.findings.retain(|finding| once.insert(finding.clone()));
        all
    }
}

/// Whether it is what people keep in `.agents/skills` for their own agents.
fn is_agents_own(plugin: &Plugin, group: &SkillGroup) -> bool {
    matches!(plugin.origin, Origin::Member(_))
        && matches!(&group.source, SkillSource::Path(path) if path == AGENTS_SKILLS_DIR)
}
