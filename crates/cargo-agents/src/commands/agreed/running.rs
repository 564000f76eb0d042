//! What may run: what a plugin is now must be what was agreed to.

use agents_plugin::{
    hooks::ActiveHook,
    plugin::{Origin, Plugin},
};
use agents_system::{
    explain::{Code, ErrorKind},
    fingerprint::{Fingerprint, Inputs},
};
use agents_trust::{
    agreement::LockFile,
    compare::{Trust, Verdict, compare},
    items::{PluginKey, Surveyor},
    lock::{Entry, Kind, Lock},
};

use crate::{failure::Failure, here::Here};

/// Whether hooks of a plugin may run: what a crate's plugin is now must be what was agreed to, and no plugin is another one under
/// the same version or commit. Without a lock file nothing was agreed to. Says what that rests on, which is looked at before every
/// tool call.
pub(crate) fn may_run(here: &Here<'_>, hooks: &mut Vec<ActiveHook>) -> Fingerprint {
    let mut inputs = Inputs::new();
    let Some(workspace) = here.workspace.as_ref() else { return inputs.finish() };
    let file = LockFile::beside(&workspace.root);
    let _ = inputs.read(file.path());
    if !hooks.iter().any(|hook| matches!(hook.origin, Origin::Crate(..) | Origin::Registry(_))) {
        return inputs.finish();
    }
    let lock = match file.load() {
        Ok(Some(lock)) => lock,
        Ok(None) => return inputs.finish(),
        // Whatever was agreed to cannot be told, so no crate's word is enough.
        Err(_) => Lock::default(),
    };
    let surveyor = Surveyor::new(here.registries, &here.set, workspace);
    for hook in hooks.iter() {
        for file in surveyor.files_of(&(hook.plugin.clone(), hook.origin.clone())) {
            let _ = inputs.read_bytes(&file);
        }
    }
    let held: Vec<PluginKey> = surveyor
        .plugins()
        .into_iter()
        .filter(|(_, item)| {
            let is_it = |it: &&Entry| (it.kind, &it.name) == (Kind::Plugin, &item.entry.name);
            let agreed: Vec<&Entry> = lock.entries().iter().filter(is_it).collect();
            let is_agreed = agreed.iter().any(|it| it.hash == item.entry.hash);
            let is_altered = agreed.iter().any(|it| it.source == item.entry.source);
            match item.trust {
                Trust::Own => false,
                Trust::Vouched => item.entry.source.is_fixed() && is_altered && !is_agreed,
                Trust::Embedded => !is_agreed,
            }
        })
        .map(|(key, _)| key)
        .collect();
    hooks.retain(|hook| !held.contains(&(hook.plugin.clone(), hook.origin.clone())));
    inputs.finish()
}

/// Refuses to run a command of a plugin that changed and that nobody has accepted yet. Without a lock file nothing was
/// agreed to, so nothing has changed.
pub(crate) fn refuse_unaccepted(here: &Here<'_>, plugin: &Plugin) -> Result<(), Failure> {
    if !matches!(plugin.origin, Origin::Crate(..) | Origin::Registry(_)) {
        return Ok(());
    }
    let Some(workspace) = here.workspace.as_ref() else { return Ok(()) };
    let Some(lock) = LockFile::beside(&workspace.root).load()? else { return Ok(()) };
    let item = Surveyor::new(here.registries, &here.set, workspace).plugin(plugin);
    let (name, source) = (item.entry.name.clone(), item.entry.source.clone());
    let compared = compare(vec![item], &lock, |_| false, |_| false);
    let refused = |what: &str| {
        let message = format!("the plugin `{name}` of {source} {what}; its commands do not run");
        Failure::new(ErrorKind::Refused, message).code(Code::NotAccepted)
    };
    match compared.items.first().map(|it| it.verdict) {
        Some(Verdict::Hold) => Err(refused("changed and needs your approval")
            .hint(format!("`cargo agents update {name}` shows and accepts it"))),
        Some(Verdict::Refuse) => {
            Err(refused("is not what was agreed to, although the version is the same")
                .hint("`cargo agents sync` shows the difference"))
        }
        Some(Verdict::Take) | None => Ok(()),
    }
}
