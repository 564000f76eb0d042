//! What we have to tell a session ourselves.

use agents_hook::HookOutput;
use agents_host::hooks::DISCOVERY;
use agents_plugin::{
    hooks::index::{Commands, Session},
    plugin::Origin,
    predicate::{Surroundings, evaluate::Asker},
};
use agents_system::{dirs::Dirs, nearest::quoted_list};

use crate::{commands::self_update, here::Here};

/// What a session at this place should be told.
pub(super) fn facts(here: &Here<'_>) -> Session {
    // Our own commands are about Rust workspaces.
    let mut offered = here.set.subcommands();
    let found =
        offered.any(|offer| here.workspace.is_some() || offer.plugin.origin != Origin::BuiltIn);
    let commands = if found { Commands::Some } else { Commands::None };
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let waiting = here.set.waiting(surroundings);
    let mut candidates: Vec<String> =
        waiting.map(|(considered, _)| considered.plugin.consent_name().to_owned()).collect();
    candidates.sort();
    candidates.dedup();
    Session { commands, candidates }
}

/// That there is a newer version of this program, as far as an earlier command has found out.
pub(super) fn update_hint(dirs: &Dirs) -> Option<HookOutput> {
    let newest = self_update::known_newer(dirs)?;
    let current = env!("CARGO_PKG_VERSION");
    Some(HookOutput::context(format!(
        "cargo agents {newest} is available, this is {current}. Tell the user that `cargo agents self-update` installs it; \
         do not do it yourself."
    )))
}

/// What a session should be told, in words for the model.
pub(super) fn hints(session: &Session) -> Vec<HookOutput> {
    let mut hints = Vec::new();
    if session.commands == Commands::Some {
        hints.push(HookOutput::context(DISCOVERY));
    }
    if !session.candidates.is_empty() {
        let names: Vec<&str> = session.candidates.iter().map(String::as_str).collect();
        let names = quoted_list(&names, "and");
        hints.push(HookOutput::context(format!(
            "Crates of this workspace bring plugins that are off until the user agrees to them: {names}. Only the user \
             may turn them on, with `cargo agents sync` or `cargo agents use <name>`; do not do it yourself."
        )));
    }
    hints
}

#[cfg(test)]
mod tests {
    use agents_host::hooks::{DISCOVERY, discovery_skill};

    use crate::help::{AGENTS, HUMANS};

    #[test]
    fn the_hint_names_the_headings_of_the_help() {
        for text in [DISCOVERY.to_owned(), discovery_skill()] {
            assert!(text.contains(AGENTS) && text.contains(HUMANS), "{text}");
        }
    }
}
