//! Agents as files of each host: those of active plugins, and the user's own as far as they ask for it.

use agents_agent::{
    AgentDefinition, Search,
    definition::Dialect,
    deliver::{Delivered, targets},
    discover,
    load::{Boundary, read},
    parse::{Strictness, parse_bytes},
    render::render,
    trust::{ProjectTrust, confine},
};
use agents_host::{Host, Roots, Scope};
use agents_plugin::{
    agents::AgentDir,
    plugin::Plugin,
    skills::{Fetch, Mode, SkillTree, Skipped, TreeEntry, TreeKind},
};
use agents_sync::{
    Desired,
    desired::{self, DesiredFile},
};
use agents_system::{
    cache,
    finding::{Finding, Place, Severity},
    ledger::{Ledger, Property, What},
};
use agents_trust::lock::Hash;
use camino::{Utf8Path, Utf8PathBuf};

use super::{Pinning, own_agents, retain};
use crate::here::Here;

/// An agent that an active plugin brings.
pub(in crate::commands) struct Brought {
    pub(in crate::commands) definition: AgentDefinition,
    /// Where its file is, and whose that is.
    pub(in crate::commands) dir: AgentDir,
    /// Its file.
    pub(in crate::commands) file: Utf8PathBuf,
    /// What is in the file.
    pub(in crate::commands) tree: SkillTree,
    /// What hosts get of it.
    files: Vec<Utf8PathBuf>,
}

/// The agents that active plugins bring.
#[derive(Default)]
pub(in crate::commands) struct AllBrought {
    pub(in crate::commands) agents: Vec<Brought>,
    /// What there would have been.
    pub(in crate::commands) skipped: Vec<Skipped>,
    pub(in crate::commands) findings: Vec<Finding>,
}

/// Finds them.
pub(in crate::commands) fn brought(here: &Here<'_>, home: &Utf8Path, fetch: Fetch) -> AllBrought {
    // Hardly any plugin brings agents, and looking for their directories costs as much as looking for skills.
    let brings = |it: &Plugin| it.manifest().is_ok_and(|manifest| !manifest.agents.is_empty());
    if !here.set.active().any(brings) {
        return AllBrought::default();
    }
    let cwd = &here.settings.cwd;
    let dirs = here.registries.agents(&here.set, here.workspace.as_ref(), cwd, fetch);
    // Nothing is named, so nothing that must be there can be missing.
    let agents = discover(&Search::plugins_only(cwd, home, &dirs)).unwrap_or_default();
    let mut all = AllBrought {
        agents: Vec::new(),
        skipped: dirs.skipped,
        findings: dirs.findings.into_iter().chain(agents.all_findings()).collect(),
    };
    for definition in agents.iter() {
        let Some(file) = definition.origin.file.clone() else { continue };
        let Some(dir) = dirs.dirs.iter().find(|dir| is_in(dir, &file)) else { continue };
        match content(definition, &file, dir) {
            Ok(tree) => all.agents.push(Brought {
                definition: definition.clone(),
                dir: dir.clone(),
                file,
                tree,
                files: Vec::new(),
            }),
            Err(finding) => all.findings.push(*finding),
        }
    }
    all
}

/// Only files in the directory itself are definitions.
fn is_in(dir: &AgentDir, file: &Utf8Path) -> bool {
    file.parent() == Some(dir.dir.as_path())
}

/// What the definition was read from, and nothing else: it is this that is agreed to.
pub(in crate::commands) fn content(
    definition: &AgentDefinition,
    file: &Utf8Path,
    dir: &AgentDir,
) -> Result<SkillTree, Box<Finding>> {
    let failed = |message: String| Box::new(Finding::warning(message).at(Place::file(file)));
    let bytes = read(file, Boundary::Within(&dir.root))
        .map_err(|error| failed(format!("the agent is left out: {error}")))?;
    if cache::digest(&bytes) != definition.origin.digest {
        return Err(failed("the agent is left out: it changed while it was read".to_owned()));
    }
    let path = file.file_name().unwrap_or_default().into();
    let kind = TreeKind::File { mode: Mode::Plain, bytes };
    Ok(SkillTree { entries: vec![TreeEntry { path, kind }] })
}

impl Brought {
    /// Of what is in the file.
    pub(in crate::commands) fn hash(&self) -> Hash {
        Hash::new(&self.tree.digest())
    }

    /// What an earlier content of it says.
    fn parse(&self, tree: &SkillTree) -> Option<AgentDefinition> {
        let [TreeEntry { path, kind: TreeKind::File { bytes, .. } }] = tree.entries.as_slice()
        else {
            return None;
        };
        let (file, origin) = (self.file.with_file_name(path), &self.definition.origin);
        let source = origin.source.clone();
        let (definition, _) =
            parse_bytes(&file, bytes, origin.dialect, source, Strictness::Lenient);
        let mut definition = definition.filter(|it| it.name == self.definition.name)?;
        // What it may not say was said when it was brought.
        let _ = confine(&mut definition, ProjectTrust::default());
        Some(definition)
    }

    /// Brings this content instead of what the file says now. Without one, what we wrote earlier stays as long as nobody
    /// changed it, and nothing else is brought.
    pub(super) fn pin(
        &self,
        desired: &mut Desired,
        tree: Option<&SkillTree>,
        ledger: &Ledger,
    ) -> Pinning {
        let old = tree.and_then(|tree| self.parse(tree));
        retain(&mut desired.files, |whole| {
            if !self.files.contains(&whole.file) {
                return true;
            }
            let text = match &old {
                Some(old) => Some(render(old, Dialect::of_host(&whole.host)).text),
                None => as_written(&whole.file, ledger),
            };
            let is_kept = text.is_some();
            whole.text = text.unwrap_or_default();
            is_kept
        })
    }
}

/// What is in a file of ours that nobody else changed.
fn as_written(file: &Utf8Path, ledger: &Ledger) -> Option<String> {
    let Property::File { digest, .. } = &ledger.file(file)?.property else { return None };
    let now = fs_err::read_to_string(file).ok()?;
    (desired::digest_of(&now) == *digest).then_some(now)
}

/// Adds them to the desired state.
pub(super) fn add(
    desired: &mut Desired,
    here: &Here<'_>,
    hosts: &[&Host],
    roots: &Roots<'_>,
    fetch: Fetch,
    findings: &mut Vec<Finding>,
) -> AllBrought {
    let own = own_agents::add(desired, here, hosts, roots, findings);
    let mut all = brought(here, roots.home, fetch);
    let mut said: Vec<Finding> = std::mem::take(&mut all.findings);
    let definitions = all.agents.iter().map(|it| &it.definition);
    let (hidden, free): (Vec<_>, Vec<_>) =
        definitions.partition(|it| own.iter().any(|(name, _)| name == it.name.as_str()));
    said.extend(hidden.into_iter().filter_map(|it| shadowed(it, &own)));
    let (files, lost) = targets(hosts, Scope::Project, roots).deliver(free);
    said.extend(lost);
    let mut owned = Vec::new();
    for it in files {
        let is_it = |brought: &Brought| brought.definition.name == it.definition.name;
        let Some(at) = all.agents.iter().position(is_it) else { continue };
        let dir = &all.agents[at].dir;
        let from = desired::from(&dir.because, dir.plugin.name.as_str());
        owned.push((at, it.file.clone()));
        desired.files.push(whole(it, from));
    }
    for (at, file) in owned {
        all.agents[at].files.push(file);
    }
    // What is wrong with a plugin was said when its skills were looked for.
    said.retain(|it| !findings.contains(it));
    findings.append(&mut said);
    all
}

fn shadowed(hidden: &AgentDefinition, own: &[(String, Utf8PathBuf)]) -> Option<Finding> {
    let (name, file) = own.iter().find(|(name, _)| name == hidden.name.as_str())?;
    let message = format!("agent `{name}` is shadowed by `{file}`");
    let finding = Finding::new(Severity::Note, message);
    Some(finding.at(Place::file(hidden.origin.file.as_ref()?)))
}

pub(super) fn whole(it: Delivered<'_>, from: String) -> DesiredFile {
    let name = it.definition.name.to_string();
    DesiredFile { host: it.host, file: it.file, text: it.text, what: What::Agent, name, from }
}
