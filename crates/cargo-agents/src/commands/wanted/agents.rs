//! Agents as files of each host: those of active plugins, and the user's own as far as they ask for it.

use agents_agent::{
    AgentDefinition, Agents, Search,
    definition::Source,
    deliver::{Delivered, reads, targets},
    discover,
    trust::Trusted,
};
use agents_host::{Host, Roots, Scope};
use agents_plugin::{
    agents::{AgentDir, AgentDirs},
    config::Deliver,
    skills::Fetch,
};
use agents_sync::{
    Desired,
    desired::{self, DesiredFile},
};
use agents_system::{
    finding::{Finding, Place, Severity},
    ledger::What,
};
use agents_trust::items::PluginKey;
use camino::{Utf8Path, Utf8PathBuf};

use crate::here::Here;

/// Adds them, and says whose each file of a plugin is.
pub(super) fn add(
    desired: &mut Desired,
    here: &Here<'_>,
    hosts: &[&Host],
    roots: &Roots<'_>,
    fetch: Fetch,
    findings: &mut Vec<Finding>,
) -> Vec<(PluginKey, Utf8PathBuf)> {
    let own = add_own(desired, here, hosts, roots, findings);
    // Hardly any plugin brings agents, and looking for their directories costs as much as looking for skills.
    let brings = |it: &agents_plugin::plugin::Plugin| {
        it.manifest().is_ok_and(|manifest| !manifest.agents.is_empty())
    };
    if !here.set.active().any(brings) {
        return Vec::new();
    }
    let cwd = &here.settings.cwd;
    let brought = here.registries.agents(&here.set, here.workspace.as_ref(), cwd, fetch);
    let mut said = brought.findings.clone();
    let mut owners = Vec::new();
    // Nothing is named, so nothing that must be there can be missing.
    if let Ok(agents) = discover(&Search::plugins_only(cwd, roots.home, &brought)) {
        said.extend(agents.all_findings());
        let (hidden, free): (Vec<_>, Vec<_>) =
            agents.iter().partition(|it| own.iter().any(|(name, _)| name == it.name.as_str()));
        said.extend(hidden.into_iter().filter_map(|it| shadowed(it, &own)));
        let (files, lost) = targets(hosts, Scope::Project, roots).deliver(free);
        said.extend(lost);
        for it in files {
            let Some(dir) = brought_from(&brought, it.definition) else { continue };
            let plugin = &dir.plugin;
            owners.push(((plugin.name.clone(), plugin.origin.clone()), it.file.clone()));
            let from = desired::from(&dir.because, plugin.name.as_str());
            desired.files.push(whole(it, from));
        }
    }
    // What is wrong with a plugin was said when its skills were looked for.
    said.retain(|it| !findings.contains(it));
    findings.append(&mut said);
    owners
}

/// Adds what the user asks for of `.agents/agents`: their own for every workspace, that of the workspace for itself. Says
/// which names are taken by that, and in which files they are.
fn add_own(
    desired: &mut Desired,
    here: &Here<'_>,
    hosts: &[&Host],
    roots: &Roots<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<(String, Utf8PathBuf)> {
    let config = here.registries.config;
    let deliver = &config.agents.deliver;
    if *deliver == Deliver::None {
        return Vec::new();
    }
    let mut search = Search::own_only(roots.workspace.unwrap_or(&here.settings.cwd), roots);
    search.trusted = Trusted::new(&config.agents.trust);
    let Ok(agents) = discover(&search) else { return Vec::new() };
    let chosen: Vec<&AgentDefinition> =
        agents.iter().filter(|it| deliver.includes(it.name.as_str())).collect();
    findings.extend(missing(deliver, &agents));
    let of_chosen = |it: &&agents_agent::Candidate| {
        it.definition.as_ref().is_none_or(|it| chosen.contains(&it))
    };
    let said = agents.candidates.iter().filter(of_chosen).flat_map(|it| it.findings.clone());
    findings.extend(said.chain(agents.findings.iter().cloned()));
    for definition in &chosen {
        let (scope, from) = match definition.origin.source {
            Source::User => (Scope::User, "~/.agents/agents"),
            _ => (Scope::Project, ".agents/agents"),
        };
        let dir = definition.origin.file.as_deref().and_then(Utf8Path::parent);
        let without = |host: &&&Host| dir.is_none_or(|dir| !reads(host, dir, roots));
        let hosts: Vec<&Host> = hosts.iter().filter(without).copied().collect();
        let (files, lost) = targets(&hosts, scope, roots).deliver([*definition]);
        findings.extend(lost);
        desired.files.extend(files.into_iter().map(|it| whole(it, from.to_owned())));
    }
    let place = |it: &AgentDefinition| Some((it.name.to_string(), it.origin.file.clone()?));
    chosen.into_iter().filter_map(place).collect()
}

/// Names that are asked for and that nobody has.
fn missing(deliver: &Deliver, agents: &Agents) -> Vec<Finding> {
    let Deliver::Some(names) = deliver else { return Vec::new() };
    let lacking = names.iter().filter(|name| agents.get(name).is_none());
    let said = |name: &String| {
        Finding::warning(format!("`[agents] deliver` names `{name}`, and there is no such agent"))
            .hint("it takes agents in `.agents/agents` of the workspace or of your home")
    };
    lacking.map(said).collect()
}

fn shadowed(hidden: &AgentDefinition, own: &[(String, Utf8PathBuf)]) -> Option<Finding> {
    let (name, file) = own.iter().find(|(name, _)| name == hidden.name.as_str())?;
    let message = format!("agent `{name}` is shadowed by `{file}`");
    let finding = Finding::new(Severity::Note, message);
    Some(finding.at(Place::file(hidden.origin.file.as_ref()?)))
}

fn whole(it: Delivered<'_>, from: String) -> DesiredFile {
    let name = it.definition.name.to_string();
    DesiredFile { host: it.host, file: it.file, text: it.text, what: What::Agent, name, from }
}

/// The directory that a definition comes from. Only files in the directory itself are definitions.
fn brought_from<'b>(brought: &'b AgentDirs, definition: &AgentDefinition) -> Option<&'b AgentDir> {
    let dir = definition.origin.file.as_ref()?.parent()?;
    brought.dirs.iter().find(|it| it.dir == dir)
}
