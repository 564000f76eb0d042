//! The hooks that apply here, how certain that is, and what it was read from: what the index of the `hook` command
//! is made of.

pub mod index;

use std::{collections::BTreeSet, time::Duration};

use agents_install::{InstallError, Installations, Installer, Runnable, git::GitAddress};
use agents_system::{
    dirs::Dirs,
    finding::{Finding, Place},
    fingerprint::{Fingerprint, Inputs},
};
use agents_workspace::Workspace;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::{
    active::{ActiveSet, Considered, Reason, State, Trust, here_for},
    catalog::{Registries, RegistryState},
    config::{Config, RegistryPlace},
    confine::{ConfineError, Confinement, Owner, Prepared},
    fetched::FetchedCrates,
    manifest::{Hook, MANIFEST_FILE, Needs, PluginName},
    plugin::{Hooking, Origin, Plugin},
    predicate::{Matched, Surroundings, evaluate::union_matched_crates},
};

/// The hooks of a place.
#[derive(Debug, Default)]
pub struct HookSet {
    /// Those that apply now, in order of precedence.
    pub hooks: Vec<ActiveHook>,
    /// Events with a hook that may apply at one moment and not at the next: files, variables or programs decide.
    pub undecided: BTreeSet<String>,
    /// What there is to say.
    pub findings: Vec<Finding>,
}

/// A hook that applies, with everything that is needed to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveHook {
    /// The plugin that brings it.
    pub plugin: PluginName,
    /// Where that comes from.
    pub origin: Origin,
    /// The directory of its manifest.
    pub dir: Utf8PathBuf,
    /// The crates that make it apply.
    pub because: Vec<Matched>,
    /// The hook.
    pub hook: Hook,
    /// How its programs are obtained.
    pub installations: Installations,
    /// Whether it applies as long as the packages, manifests and settings are what they are.
    pub certainty: Certainty,
    /// Whether its program is confined.
    pub confinement: Confinement,
    /// What its program needs if it is.
    pub needs: Needs,
    /// The root of the workspace; none outside of one.
    pub workspace: Option<Utf8PathBuf>,
}

impl ActiveHook {
    /// How to run it if everything that it needs is there: no child process, no network. `None` if something is missing.
    pub fn runnable(&self, installer: &Installer<'_>) -> Result<Option<Runnable>, InstallError> {
        installer.resolve_cached(&self.own_installations(), &self.hook.command, &self.dir)
    }

    /// How to run it, after acquiring what is missing.
    pub fn acquire(&self, installer: &Installer<'_>) -> Result<Runnable, InstallError> {
        installer.resolve(&self.own_installations(), &self.hook.command, &self.dir)
    }

    /// The call of its program, confined if it is to be.
    pub fn call(&self, runnable: &Runnable, dirs: &Dirs) -> Result<Prepared, ConfineError> {
        let owner = Owner {
            name: &self.plugin,
            dir: &self.dir,
            needs: &self.needs,
            workspace: self.workspace.as_deref(),
        };
        match self.confinement {
            Confinement::None => Ok(Prepared::free(runnable)),
            Confinement::Sandbox => owner.confine(runnable, dirs),
        }
    }

    /// Brings what is installed of it up to date; see [`Installer::refresh`].
    pub fn refresh(&self, installer: &Installer<'_>, rest: Duration) -> Result<(), InstallError> {
        installer.refresh(&self.own_installations(), &self.hook.command, &self.dir, rest)
    }

    /// Whether a [`refresh`](Self::refresh) with a network would look for something newer: no child process.
    #[must_use]
    pub fn is_refresh_due(&self, installer: &Installer<'_>, rest: Duration) -> bool {
        let (all, command) = (self.own_installations(), &self.hook.command);
        // What cannot be told is not looked after.
        installer.is_refresh_due(&all, command, &self.dir, rest).unwrap_or(false)
    }

    /// Asks the configuration again whether its program is confined.
    pub fn confine_by(&mut self, config: &Config) {
        self.confinement = Confinement::of(config, &self.plugin, &self.origin);
    }

    /// The plugin's installations, with what the hook itself says about its command.
    fn own_installations(&self) -> Installations {
        let mut all = self.installations.clone();
        if let Some(command) = all.get_mut(&self.hook.command) {
            if self.hook.entry.is_some() {
                command.entry.clone_from(&self.hook.entry);
            }
            if !self.hook.args.is_empty() {
                command.args.clone_from(&self.hook.args);
            }
            command.requirements.clone_from(&self.hook.requirements);
        }
        all
    }
}

/// Whether something holds as long as nothing on disk changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Certainty {
    /// It does.
    Certain,
    /// It has to be asked again.
    OnlyNow,
}

impl Registries<'_> {
    /// The hooks that apply at this moment. Those of a workspace that the user has not spoken for are left out:
    /// they are programs, and a workspace may only have been cloned.
    #[must_use]
    pub fn hooks(&self, set: &ActiveSet, here: Surroundings<'_>) -> HookSet {
        let mut found = HookSet::default();
        let chains_are_certain = chains_are_certain(set);
        for considered in set.considered().filter(|it| it.plugin.hooking == Hooking::Yes) {
            let plugin = considered.plugin;
            let certain = is_certain(&considered, chains_are_certain);
            if !certain && may_change(&considered) {
                let hooks = plugin.manifest().map(|it| it.hooks.as_slice()).unwrap_or_default();
                found.undecided.extend(hooks.iter().map(|hook| hook.event.clone()));
            }
            if !considered.is_active() {
                continue;
            }
            if considered.trust == Trust::Withheld {
                found.findings.push(unspoken(plugin));
                continue;
            }
            let Ok(manifest) = plugin.manifest() else { continue };
            let here = here_for(here, plugin);
            let confinement = Confinement::of(self.config, &plugin.name, &plugin.origin);
            let workspace = here.workspace.map(|it| it.root.clone());
            for hook in &manifest.hooks {
                let decided = hook.gate.is_decided_by_packages();
                if !decided {
                    found.undecided.insert(hook.event.clone());
                }
                if !hook.gate.holds(here) {
                    continue;
                }
                let certainty =
                    if certain && decided { Certainty::Certain } else { Certainty::OnlyNow };
                found.hooks.push(ActiveHook {
                    plugin: plugin.name.clone(),
                    origin: plugin.origin.clone(),
                    dir: plugin.dir().to_owned(),
                    because: union_matched_crates([&plugin.gate, &hook.gate], here),
                    hook: hook.clone(),
                    installations: manifest.installations.clone(),
                    certainty,
                    confinement,
                    needs: manifest.sandbox.clone(),
                    workspace: workspace.clone(),
                });
            }
        }
        found
    }

    /// Everything on disk that decides about the plugins here: as long as it holds, so does what was certain. `None` where
    /// that is not known, because nothing can be stored.
    #[must_use]
    pub fn inputs(
        &self,
        set: &ActiveSet,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
    ) -> Option<Fingerprint> {
        let mut own = Inputs::new();
        own.read(&Config::file(self.dirs)).ok()?;
        let mut parts = Vec::new();
        for report in &set.catalog.registries {
            match (&report.state, &report.spec.place) {
                (RegistryState::Read(dir), _) => {
                    parts.push(self.registry_inputs(&report.spec, dir)?);
                }
                (RegistryState::Missing(dir), _) => drop(own.exists(dir)),
                (RegistryState::NotFetched | RegistryState::BadAddress(_), _) => {}
            }
            if let RegistryPlace::Git(url) = &report.spec.place
                && let Ok(address) = GitAddress::parse(url)
            {
                own.read_bytes(&self.checkouts.state_file(&address)).ok()?;
            }
        }
        let fetched = FetchedCrates::new(&self.dirs.cache);
        for wanted in set.wanted.iter().chain(&set.fetched) {
            own.read_bytes(fetched.file(wanted).path()).ok()?;
        }
        if let Some(workspace) = workspace {
            parts.push(self.workspaces.inputs(cwd)?);
            parts.push(self.workspace_inputs(workspace)?);
        }
        parts.push(own.finish());
        Some(Fingerprint::joined(parts))
    }

    /// The part of the [inputs](Self::inputs) that a hook looks at before every tool call: manifests of registries
    /// that have no hooks are left out, as long as no directory of manifests changes. A registry of a thousand plugins
    /// would otherwise cost more than the rest of a hook. What such a manifest begins to say counts from the next
    /// session, when hosts read what we registered with them, too.
    #[must_use]
    pub fn inputs_of_hooks(set: &ActiveSet, inputs: &Fingerprint) -> Fingerprint {
        let is_plain = |plugin: &&Plugin| {
            plugin.hooking == Hooking::No && matches!(plugin.origin, Origin::Registry(_))
        };
        let plain: BTreeSet<Utf8PathBuf> = set
            .catalog
            .plugins
            .iter()
            .filter(is_plain)
            .flat_map(|plugin| [plugin.file.clone(), plugin.dir().join(MANIFEST_FILE)])
            .collect();
        // Where a crate could have skills, there is no hook to find.
        let of_skills = |path: &Utf8Path| path.file_name() == Some("skills");
        inputs.of_directories_and(|path| !plain.contains(path) && !of_skills(path))
    }
}

/// Whether what other plugins bring along does not depend on the moment either.
fn chains_are_certain(set: &ActiveSet) -> bool {
    set.considered().all(|it| {
        let refused = matches!(it.state, State::Inactive(reason) if *reason != Reason::Gate);
        // What an inactive plugin chains is not decoded unless its gate may hold at another moment.
        refused
            || (!it.is_active() && it.plugin.gate.is_decided_by_packages())
            || it.plugin.offers().chained.iter().all(|chained| {
                it.plugin.gate.is_decided_by_packages() && chained.gate.is_decided_by_packages()
            })
    })
}

fn is_certain(considered: &Considered<'_>, chains_are_certain: bool) -> bool {
    let brought = matches!(considered.plugin.origin, Origin::Crate(..));
    considered.plugin.gate.is_decided_by_packages() && (chains_are_certain || !brought)
}

/// Whether a plugin whose gate is not certain could become active or stop being so.
fn may_change(considered: &Considered<'_>) -> bool {
    match considered.state {
        State::Active(_) | State::Inactive(Reason::Gate | Reason::NoConsent) => true,
        State::Inactive(
            Reason::Disabled | Reason::Sleeping | Reason::WouldRun | Reason::Superseded(_),
        ) => false,
    }
}

fn unspoken(plugin: &Plugin) -> Finding {
    let name = &plugin.name;
    Finding::warning(format!("the hooks of `{name}` do not run: it comes with this workspace"))
        .at(Place::file(&plugin.file))
        .hint(format!("`cargo agents use {name}` lets them"))
}
