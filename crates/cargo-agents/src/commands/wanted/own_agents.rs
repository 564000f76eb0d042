//! The user's own agents as files of each host, as far as they ask for it.

use agents_agent::{
    AgentDefinition, Agents, Search,
    definition::Source,
    deliver::{reads, targets},
    discover,
    trust::Trusted,
};
use agents_host::{Host, Roots, Scope};
use agents_plugin::config::Deliver;
use agents_sync::Desired;
use agents_system::finding::Finding;
use camino::{Utf8Path, Utf8PathBuf};

use super::agents::whole;
use crate::here::Here;

/// Adds what the user asks for of `.agents/agents`: their own for every workspace, that of the workspace for itself. Says
/// which names are taken by that, and in which files they are.
pub(super) fn add(
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
