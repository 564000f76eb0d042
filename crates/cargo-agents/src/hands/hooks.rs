//! The hooks of plugins, for our own agents: chosen as those for a host's call are.

use std::time::Duration;

use agents_hook::{Handler, HookInput, Wire};
use agents_install::{Installer, Update};
use agents_plugin::hooks::ActiveHook;
use agents_system::{dirs::Dirs, finding::Finding};
use agents_tool::hooks::{Choose, Chosen};
use camino::Utf8PathBuf;

use crate::{
    args::Flags,
    commands::hook::{choose, hooks_here},
    here::{Here, glance},
    settings::Settings,
};

/// Whose names and rules count: those that hooks are written for.
const DIALECT: Wire = Wire::Claude;
/// How long one of them may take; the engine sets what is left of the time of a call.
const PATIENCE: Duration = Duration::from_secs(25);

/// The hooks that apply where the user stands.
pub(super) struct PluginHooks {
    dirs: Dirs,
    cwd: Utf8PathBuf,
    hooks: Vec<ActiveHook>,
    /// Events for which it has to be asked again each time.
    undecided: Vec<String>,
}

impl PluginHooks {
    /// `None` if there are none, and never will be in this run.
    pub(super) fn new(here: &Here<'_>, findings: &mut Vec<Finding>) -> Option<Self> {
        let (set, _) = hooks_here(here);
        findings.extend(set.findings);
        let undecided: Vec<String> = set.undecided.into_iter().collect();
        if set.hooks.is_empty() && undecided.is_empty() {
            return None;
        }
        let (dirs, cwd) = (here.settings.dirs.clone(), here.settings.cwd.clone());
        Some(Self { dirs, cwd, hooks: set.hooks, undecided })
    }
}

impl Choose for PluginHooks {
    fn choose(&self, input: &HookInput) -> Chosen {
        // Neither the network nor a word to the user: somebody waits for the answer.
        let flags = Flags { quiet: true, offline: true, ..Flags::default() };
        let settings = Settings::with_dirs(&flags, self.dirs.clone(), self.cwd.clone());
        let again = self.undecided.iter().any(|it| it == input.event().name());
        let fresh =
            if again { glance(&settings, |here| hooks_here(here).0.hooks).ok() } else { None };
        let fresh = fresh.flatten();
        let hooks = fresh.as_deref().unwrap_or(&self.hooks);
        let installer =
            Installer::new(&settings.dirs.cache, &settings.cargo, Update::None, &settings.progress);
        let chosen = choose(DIALECT, input, hooks, &installer, &settings.dirs, PATIENCE);
        let cwd = input.session().cwd.clone().map_or_else(|| self.cwd.clone(), Utf8PathBuf::from);
        let stand = |it: Handler| Handler { call: it.call.cwd(cwd.clone()), ..it };
        Chosen {
            handlers: chosen.handlers.into_iter().map(stand).collect(),
            temporary: chosen.temporary,
            findings: chosen.findings,
            fail_closed: Vec::new(),
        }
    }
}
