//! Which agents of plugins may be run here: what waits for the user, or looks suspicious, is nobody's agent.

use agents_agent::{Search, discover, search::Held};
use agents_plugin::agents::AgentDirs;
use agents_system::finding::Finding;
use agents_trust::{
    agreement::LockFile,
    compare::{Item, Trust, Verdict, compare},
    content::inspect_agent,
    items::Surveyor,
    lock::Hash,
};
use camino::Utf8Path;

use crate::{commands::wanted::agents::content, here::Here};

/// What of these directories was not agreed to, and what there is to say about it.
pub(crate) fn held_agents(
    here: &Here<'_>,
    home: &Utf8Path,
    brought: &AgentDirs,
) -> (Held, Vec<Finding>) {
    let (mut held, mut findings) = (Held::default(), Vec::new());
    // Outside of a workspace there are no crates, and the user's own registries stand for what they bring.
    let Some(workspace) = here.workspace.as_ref().filter(|_| !brought.dirs.is_empty()) else {
        return (held, findings);
    };
    let surveyor = Surveyor::new(here.registries, &here.set, workspace);
    for dir in brought.dirs.iter().filter(|it| surveyor.trust_in(it) == Trust::Embedded) {
        held.guard(&dir.dir);
    }
    // Whatever was agreed to cannot be told where it cannot be read, so no crate's word is enough; where nothing was yet, nothing
    // has changed.
    let Ok(lock) = LockFile::beside(&workspace.root).load() else { return (held, findings) };
    let lock = lock.unwrap_or_default();
    let search = Search::plugins_only(&here.settings.cwd, home, brought);
    let (mut files, mut items) = (Vec::new(), Vec::new());
    // Also those that are shadowed: whoever shadows them may be held.
    for candidate in discover(&search).unwrap_or_default().candidates {
        let (Some(definition), Some(file)) = (candidate.definition, candidate.file) else {
            continue;
        };
        let dir = brought.dirs.iter().find(|dir| file.parent() == Some(dir.dir.as_path()));
        let Some(dir) = dir else { continue };
        let Ok(tree) = content(&definition, &file, dir) else { continue };
        let hash = Hash::new(&tree.digest());
        items.push(surveyor.agent(definition.name.as_str(), dir, &file, hash));
        files.push((file, definition.origin.digest, dir, tree));
    }
    let is_suspicious = |item: &Item| {
        let at = items.iter().position(|it| it == item);
        at.is_none_or(|at| !inspect_agent(&files[at].3, &files[at].2.dir).is_empty())
    };
    let compared = compare(items.clone(), &lock, is_suspicious, |_| false).items;
    for (it, (file, digest, ..)) in compared.iter().zip(&files) {
        if it.verdict == Verdict::Take {
            held.agree(file, *digest);
            continue;
        }
        held.refuse(file, *digest);
        let entry = &it.item.entry;
        let what = if it.before().is_some() { "changed" } else { "is new, or suspicious," };
        let said = format!("the agent `{}` of {} {what} and is not used", entry.name, entry.source);
        let hint = format!("`cargo agents update {}` shows and accepts it", entry.name);
        findings.push(Finding::warning(said).hint(hint));
    }
    (held, findings)
}
