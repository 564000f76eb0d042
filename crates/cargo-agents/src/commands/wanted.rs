//! What the hosts of this workspace should have: the way from configuration and active set to the desired state.

pub(super) mod agents;
mod own_agents;

use std::{collections::HashMap, path::Path, rc::Rc};

use agents_host::{Event, Host, HostId, Overrides, Roots, find, hooks::OUR_NAME, hosts, hosts_for};
use agents_plugin::{
    config::{Config, ServersAs},
    hooks::{ActiveHook, HookSet},
    manifest::{McpServer, McpTransport},
    plugin::Plugin,
    predicate::{Gate, Surroundings, evaluate::Asker},
    skills::{Fetch, Skill, SkillTree, Skills},
};
use agents_sync::{
    Desired, SkillFiles,
    desired::{self, WantedEvent},
};
use agents_system::{
    cache::Digest,
    dirs,
    edit::KeyPath,
    env,
    finding::{Finding, Place},
    ledger::Ledger,
};
use agents_trust::items::PluginKey;
use agents_workspace::Network;
use camino::{Utf8Path, Utf8PathBuf};

use self::agents::AllBrought;
use crate::{failure::Failure, here::Here, settings::Settings};

/// The file with the user's changes to the descriptions of hosts.
pub(super) const OVERRIDES: &str = "hosts.toml";

/// All hosts that there are, with the user's changes.
pub(super) fn all_hosts(settings: &Settings) -> Result<(Vec<Host>, Vec<Finding>), Failure> {
    with_overrides(settings, hosts)
}

/// The same, without those that are certainly not among the [`configured`] ones.
pub(super) fn hosts_of(
    settings: &Settings,
    config: &Config,
) -> Result<(Vec<Host>, Vec<Finding>), Failure> {
    with_overrides(settings, |overrides| hosts_for(&config.hosts, overrides))
}

fn with_overrides<T>(
    settings: &Settings,
    load: impl FnOnce(Option<Overrides<'_>>) -> T,
) -> Result<T, Failure> {
    let file = settings.dirs.config.join(OVERRIDES);
    let text = Config::text(&file)?;
    Ok(load((!text.is_empty()).then_some(Overrides { file: &file, text: &text })))
}

/// The configured ones. A name that nobody knows is a finding, not the end.
pub(super) fn configured<'h>(
    config: &Config,
    all: &'h [Host],
    findings: &mut Vec<Finding>,
) -> Vec<&'h Host> {
    let mut chosen: Vec<&Host> = Vec::new();
    for name in &config.hosts {
        match find(all, name) {
            Ok(host) if chosen.iter().any(|known| known.id == host.id) => {}
            Ok(host) => chosen.push(host),
            Err(unknown) => findings.push(unknown.finding()),
        }
    }
    chosen
}

/// The user's home directory, which most hosts keep their files in.
pub(super) fn home() -> Result<Utf8PathBuf, Failure> {
    Ok(dirs::home()?)
}

/// Where the files of hosts begin.
pub(super) fn roots<'a>(home: &'a Utf8Path, workspace: Option<&'a Utf8Path>) -> Roots<'a> {
    Roots { home, workspace, env: &env::named_by_host }
}

/// Whether what plugins bring may be fetched.
pub(super) fn fetch(settings: &Settings) -> Fetch {
    match settings.cargo.network() {
        Network::Allowed => Fetch::IfMissing,
        Network::Offline => Fetch::Never,
    }
}

/// What the hosts of a workspace should have.
#[derive(Default)]
pub(crate) struct Wanted {
    /// In their files.
    pub(super) desired: Desired,
    /// The skills behind that.
    pub(super) skills: Skills,
    /// Whose MCP servers the parts of the desired state are.
    servers: Vec<(PluginKey, (Utf8PathBuf, KeyPath))>,
    /// The agents behind that.
    pub(super) agents: AllBrought,
    /// The hooks whose programs must be there when they call.
    pub(super) hooks: Vec<ActiveHook>,
    /// What there is to say about it.
    pub(super) findings: Vec<Finding>,
}

/// The desired state of the workspace.
pub(super) fn wanted(here: &Here<'_>, hosts: &[&Host], roots: &Roots<'_>) -> Wanted {
    wanted_with(here, hosts, roots, fetch(here.settings))
}

/// The same, as far as it may be fetched.
pub(super) fn wanted_with(
    here: &Here<'_>,
    hosts: &[&Host],
    roots: &Roots<'_>,
    fetch: Fetch,
) -> Wanted {
    let (mut desired, mut findings) = (Desired::default(), Vec::new());
    let settings = here.settings;
    let config = here.registries.config;
    let workspace = here.workspace.as_ref();
    let found = here.registries.skills(&here.set, workspace, &settings.cwd, fetch);
    findings.extend(found.findings.iter().cloned());
    findings.extend(desired::add_skills(&mut desired, &found.skills, hosts, roots));
    let (probes, _) = here.probes();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let mut servers = Vec::new();
    let active = here.set.mcp_servers(surroundings);
    let registration = config.registration;
    match config.servers {
        ServersAs::One if active.is_empty() => {}
        ServersAs::One => {
            // What stands behind it is found out when it runs.
            let one = our_server();
            let said =
                desired::add_server(&mut desired, &one, OUR_NAME, hosts, registration, roots);
            findings.extend(said);
        }
        ServersAs::Each => {
            for (plugin, server, because) in active {
                let first = desired.parts.len();
                let from = desired::from(&because, plugin.name.as_str());
                let said =
                    desired::add_server(&mut desired, server, &from, hosts, registration, roots);
                findings.extend(said);
                let key = (plugin.name.clone(), plugin.origin.clone());
                let added = &desired.parts[first..];
                servers
                    .extend(added.iter().map(|it| (key.clone(), (it.file.clone(), it.at.clone()))));
            }
        }
    }
    findings.extend(here.set.withheld_servers().into_iter().map(withheld));
    let hooks = match hosts.is_empty() {
        // Nobody calls them.
        true => HookSet::default(),
        false => here.registries.hooks(&here.set, surroundings),
    };
    findings.extend(hooks.findings);
    let mut events: Vec<WantedEvent> = hooks.hooks.iter().filter_map(wanted_event).collect();
    // What does not apply now may do so when the event comes.
    events.extend(hooks.undecided.iter().filter_map(|name| {
        let from = OUR_NAME.to_owned();
        Some(WantedEvent { event: Event::parse(name)?, host: None, hook: None, from })
    }));
    findings.extend(desired::add_hooks(&mut desired, &events, hosts, config.registration, roots));
    let agents = agents::add(&mut desired, here, hosts, roots, fetch, &mut findings);
    Wanted { desired, skills: found, servers, agents, hooks: hooks.hooks, findings }
}

impl Wanted {
    /// The digests of what skills consist of, by their directories.
    pub(super) fn digests(&self) -> HashMap<&Path, &Digest> {
        let skills = self.skills.skills.iter();
        skills.filter_map(|it| Some((it.dir.as_std_path(), it.content.digest.as_ref()?))).collect()
    }

    /// Brings this content instead of what the skill consists of now; nothing, if there is none.
    pub(super) fn pin(&mut self, skill: &Skill, tree: Option<Rc<SkillTree>>) -> Pinning {
        let Some(tree) = tree else {
            return retain(&mut self.desired.skills, |it| it.source != skill.dir);
        };
        let digest = desired::hex(&tree.digest());
        for it in self.desired.skills.iter_mut().filter(|it| it.source == skill.dir) {
            (it.files, it.digest) = (SkillFiles::Held(Rc::clone(&tree)), digest.clone());
        }
        Pinning::Whole
    }

    /// Leaves out the hooks of a plugin: they would run what is there now.
    pub(super) fn drop_hooks(&mut self, plugin: &PluginKey) -> Pinning {
        retain(&mut self.hooks, |it| (&it.plugin, &it.origin) != (&plugin.0, &plugin.1))
    }

    /// Leaves the MCP servers of a plugin as the ledger has them; those that it does not have are not brought.
    pub(super) fn pin_servers(&mut self, plugin: &PluginKey, ledger: &Ledger) -> Pinning {
        let held: Vec<&(Utf8PathBuf, KeyPath)> =
            self.servers.iter().filter(|(key, _)| key == plugin).map(|(_, at)| at).collect();
        retain(&mut self.desired.parts, |part| {
            if !held.iter().any(|(file, at)| (file, at) == (&part.file, &part.at)) {
                return true;
            }
            let mut owned = ledger.parts().map(|(_, owned)| owned);
            match owned.find(|it| it.is_at(&part.file, &part.at, &part.share)) {
                Some(owned) => {
                    part.value.clone_from(&owned.value);
                    true
                }
                None => false,
            }
        })
    }

    /// Brings this content instead of what the agent's file says now.
    pub(super) fn pin_agent(
        &mut self,
        at: usize,
        tree: Option<&SkillTree>,
        ledger: &Ledger,
    ) -> Pinning {
        self.agents.agents[at].pin(&mut self.desired, tree, ledger)
    }
}

/// What became of something when it was to stay as it was agreed to; the worse, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub(crate) enum Pinning {
    /// Hosts get all of it as it was.
    Whole,
    /// Some of it is nowhere any more, and not brought.
    Dropped,
}

/// Keeps those of which `is_kept` holds, and tells whether that was all of them.
fn retain<T>(items: &mut Vec<T>, is_kept: impl FnMut(&mut T) -> bool) -> Pinning {
    let before = items.len();
    items.retain_mut(is_kept);
    if items.len() == before { Pinning::Whole } else { Pinning::Dropped }
}

/// The server behind which all others stand: see `cargo agents mcp`.
fn our_server() -> McpServer {
    let (command, args) = (OUR_NAME.to_owned(), vec!["mcp".to_owned()]);
    let transport = McpTransport::Stdio { command, args, env: Vec::new() };
    McpServer { name: OUR_NAME.to_owned(), transport, gate: Gate::default() }
}

/// A server that hosts would start, of a workspace that the user has not spoken for.
pub(crate) fn withheld((plugin, server): (&Plugin, &McpServer)) -> Finding {
    let (name, plugin_name) = (&server.name, &plugin.name);
    Finding::warning(format!(
        "the MCP server `{name}` of `{plugin_name}` is left out: it is a program that comes with this workspace"
    ))
    .at(Place::file(&plugin.file))
    .hint(format!("`cargo agents use {plugin_name}` lets hosts start it"))
}

/// What a hook of a plugin needs hosts to call us for.
fn wanted_event(active: &ActiveHook) -> Option<WantedEvent> {
    let ActiveHook { plugin, because, hook, .. } = active;
    Some(WantedEvent {
        event: Event::parse(&hook.event)?,
        host: hook.host.as_deref().and_then(HostId::new),
        hook: Some(hook.name.clone()),
        from: desired::from(because, plugin.as_str()),
    })
}
