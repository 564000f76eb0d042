//! The agents of active plugins, as files of each host.

use agents_agent::{Search, deliver::targets, discover};
use agents_host::{Host, Roots};
use agents_plugin::{agents::AgentDir, skills::Fetch};
use agents_sync::{
    Desired,
    desired::{self, DesiredFile},
};
use agents_system::{finding::Finding, ledger::What};
use agents_trust::items::PluginKey;
use camino::{Utf8Path, Utf8PathBuf};

use crate::here::Here;

/// Adds them, and says whose each file is.
pub(super) fn add(
    desired: &mut Desired,
    here: &Here<'_>,
    hosts: &[&Host],
    roots: &Roots<'_>,
    fetch: Fetch,
    findings: &mut Vec<Finding>,
) -> Vec<(PluginKey, Utf8PathBuf)> {
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
        let (files, lost) = targets(hosts, roots).deliver(agents.iter());
        said.extend(lost);
        for it in files {
            let Some(dir) = it
                .definition
                .origin
                .file
                .as_deref()
                .and_then(|file| brought.dirs.iter().find(|dir| is_in(dir, file)))
            else {
                continue;
            };
            let plugin = &dir.plugin;
            owners.push(((plugin.name.clone(), plugin.origin.clone()), it.file.clone()));
            desired.files.push(DesiredFile {
                host: it.host,
                file: it.file,
                text: it.text,
                what: What::Agent,
                name: it.definition.name.to_string(),
                from: desired::from(&dir.because, plugin.name.as_str()),
            });
        }
    }
    // What is wrong with a plugin was said when its skills were looked for.
    said.retain(|it| !findings.contains(it));
    findings.append(&mut said);
    owners
}

/// Only files in the directory itself are definitions.
fn is_in(dir: &AgentDir, file: &Utf8Path) -> bool {
    file.parent() == Some(dir.dir.as_path())
}
