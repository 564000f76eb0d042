//! What may run: what a crate's plugin is now must be what was agreed to.

use agents_plugin::{
    hooks::ActiveHook,
    plugin::{Origin, Plugin},
};
use agents_system::explain::ErrorKind;
use agents_trust::{
    agreement::LockFile,
    compare::{Trust, Verdict, compare},
    items::{PluginKey, Surveyor},
    lock::{Entry, Kind},
};

use crate::{failure::Failure, here::Here};

/// Whether hooks of a crate's plugin may run: what it is now must be what was agreed to. Without a lock file nothing was.
pub(crate) fn may_run(here: &Here<'_>, hooks: &mut Vec<ActiveHook>) {
    if !hooks.iter().any(|hook| matches!(hook.origin, Origin::Crate(..))) {
        return;
    }
    let Some(workspace) = here.workspace.as_ref() else { return };
    let Ok(Some(lock)) = LockFile::beside(&workspace.root).load() else { return };
    let surveyor = Surveyor::new(here.registries, &here.set, workspace);
    let held: Vec<PluginKey> = surveyor
        .plugins()
        .into_iter()
        .filter(|(_, item)| item.trust == Trust::Embedded)
        .filter(|(_, item)| {
            let is_it = |it: &&Entry| (it.kind, &it.name) == (Kind::Plugin, &item.entry.name);
            let mut agreed = lock.entries().iter().filter(is_it);
            !agreed.any(|it| it.hash == item.entry.hash)
        })
        .map(|(key, _)| key)
        .collect();
    hooks.retain(|hook| !held.contains(&(hook.plugin.clone(), hook.origin.clone())));
}

/// Refuses to run a command of a crate's plugin that changed and that nobody has accepted yet. Without a lock file nothing was
/// agreed to, so nothing has changed.
pub(crate) fn refuse_unaccepted(here: &Here<'_>, plugin: &Plugin) -> Result<(), Failure> {
    if !matches!(plugin.origin, Origin::Crate(..)) {
        return Ok(());
    }
    let Some(workspace) = here.workspace.as_ref() else { return Ok(()) };
    let Some(lock) = LockFile::beside(&workspace.root).load()? else { return Ok(()) };
    let item = Surveyor::new(here.registries, &here.set, workspace).plugin(plugin);
    if item.trust != Trust::Embedded {
        return Ok(());
    }
    let (name, source) = (item.entry.name.clone(), item.entry.source.clone());
    let compared = compare(vec![item], &lock, |_| false, |_| false);
    let refused = |what: &str| {
        let message = format!("the plugin `{name}` of {source} {what}; its commands do not run");
        Failure::new(ErrorKind::Refused, message)
    };
    match compared.items.first().map(|it| it.verdict) {
        Some(Verdict::Hold) => Err(refused("changed and waits for you")
            .hint(format!("`cargo agents update {name}` shows and accepts it"))),
        Some(Verdict::Refuse) => {
            Err(refused("is not what was agreed to, although the version is the same")
                .hint("`cargo agents sync` shows the difference"))
        }
        Some(Verdict::Take) | None => Ok(()),
    }
}
