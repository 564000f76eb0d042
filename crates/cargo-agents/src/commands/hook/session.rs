//! What we have to tell a session ourselves.

use agents_hook::HookOutput;
use agents_host::hooks::DISCOVERY;
use agents_plugin::{
    active::{Reason, State},
    hooks::index::{Commands, Session},
    plugin::Origin,
};
use agents_system::nearest::quoted_list;

use crate::here::Here;

/// What a session at this place should be told.
pub(super) fn facts(here: &Here<'_>) -> Session {
    // Our own commands are about Rust workspaces.
    let mut offered = here.set.subcommands();
    let found =
        offered.any(|offer| here.workspace.is_some() || offer.plugin.origin != Origin::BuiltIn);
    let commands = if found { Commands::Some } else { Commands::None };
    let waiting = here.set.considered().filter(|considered| {
        matches!(considered.state, State::Inactive(Reason::NoConsent | Reason::WouldRun))
    });
    let mut candidates: Vec<String> =
        waiting.map(|considered| considered.plugin.name.to_string()).collect();
    candidates.sort();
    candidates.dedup();
    Session { commands, candidates }
}

/// The same in words, for the model.
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
             may turn them on, with `cargo agents use <name>`; do not do it yourself."
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
