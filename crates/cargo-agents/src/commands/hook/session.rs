//! What we have to tell a session ourselves.

use agents_hook::HookOutput;
use agents_plugin::{
    active::{Reason, State},
    hooks::index::{Commands, Session},
    plugin::Origin,
};
use agents_system::nearest::quoted_list;

use crate::{
    help::{AGENTS, HUMANS},
    here::Here,
};

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
        hints.push(HookOutput::context(format!(
            "Tools that know the crates of this workspace are available through `cargo agents`. Run `cargo agents --help` \
             before working with the Rust code here. Use only those under '{AGENTS}', unless the user explicitly \
             asks for one under '{HUMANS}'."
        )));
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
