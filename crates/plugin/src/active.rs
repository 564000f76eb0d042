//! The active set: which plugins apply here, which do not, and the reason for each decision.
//!
//! Help, dispatch, hooks, sync, MCP and agent discovery all ask [`Registries::active`]; nobody else gates anything.

use agents_system::finding::Finding;
use agents_workspace::{CrateName, Workspace};
use camino::Utf8Path;

use crate::{
    answers::StoredAnswers,
    catalog::{Catalog, Registries},
    config::{Enablement, Key},
    fetched::FetchedCrates,
    manifest::Chained,
    plugin::{Asking, Origin, Plugin, SubcommandSummary, Waking},
    predicate::{
        Matched, Surroundings,
        evaluate::{Asker, union_matched_crates},
    },
    probes::{Acquire, LiveProbes, ProbePlace},
};

mod servers;
#[cfg(test)]
mod tests;

/// How many plugins may bring along one another in a row.
const MAX_CHAIN: usize = 10;

/// What there is to know about the plugins here.
#[derive(Debug)]
pub struct ActiveSet {
    /// All plugins that there are.
    pub catalog: Catalog,
    /// What there is to say about the decisions.
    pub findings: Vec<Finding>,
    /// Crates that are wanted but whose sources have not been fetched.
    pub wanted: Vec<Wanted>,
    /// Crates that were wanted and had been fetched.
    pub fetched: Vec<Wanted>,
    decisions: Vec<Decision>,
}

/// A crate that a chain or the user names and that is not a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: CrateName,
    /// Which versions will do.
    pub requirement: Option<semver::VersionReq>,
    /// Who wants it.
    pub by: String,
}

/// A plugin with what was decided about it.
#[derive(Debug, Clone, Copy)]
pub struct Considered<'s> {
    /// The plugin.
    pub plugin: &'s Plugin,
    /// The decision.
    pub state: &'s State,
    /// Whether it may run programs without being typed.
    pub trust: Trust,
    subcommands: &'s [Applies],
}

/// A subcommand with the plugin it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Offered<'s> {
    /// The plugin.
    pub plugin: &'s Plugin,
    /// The decision about the plugin.
    pub state: &'s State,
    /// The subcommand.
    pub subcommand: &'s SubcommandSummary,
}

/// Whether a plugin is active, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is.
    Active(Cause),
    /// It is not.
    Inactive(Reason),
}

/// Why a plugin is active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Its gate holds and nothing else is needed.
    Gate,
    /// `[plugins] use` names it.
    Used,
    /// `[plugins] auto-enable` names it.
    AutoEnabled,
    /// An active plugin brings it along.
    Chained(String),
}

/// Why a plugin is not active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Its gate does not hold.
    Gate,
    /// `[plugins] disable` names it.
    Disabled,
    /// It names no crate, and `[plugins] use` does not name it.
    Sleeping,
    /// A dependency embeds it, and nobody has agreed to it.
    NoConsent,
    /// It comes with the workspace, its conditions run programs, and nobody has agreed to that.
    WouldRun,
    /// A registry has a plugin of the same name.
    Superseded(Origin),
}

/// Whether what a plugin brings may run programs without being typed: hooks, MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It may.
    Given,
    /// It comes with a workspace that may only have been cloned, and the user has not spoken for it.
    Withheld,
}

#[derive(Debug)]
struct Decision {
    state: State,
    trust: Trust,
    subcommands: Vec<Applies>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applies {
    Yes,
    No,
}

impl Registries<'_> {
    /// Decides about every plugin. `cwd` matters only outside a workspace.
    #[must_use]
    pub fn active(
        &self,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
        acquire: Acquire,
    ) -> ActiveSet {
        let mut catalog = self.load(workspace);
        let store = FetchedCrates::new(&self.dirs.cache);
        let mut fetched = Vec::new();
        let root = workspace.map(|workspace| workspace.root.as_path());
        let mut rounds = 0;
        loop {
            let (probes, mut findings) = self.probes(&catalog, workspace, cwd, acquire);
            let here = Surroundings { workspace, probes: &probes, asker: Asker::Other };
            let judge =
                Judge { catalog: &catalog, enablement: &self.config.enablement, root, here };
            let (decisions, wanted) = judge.decide();
            let (had, wanted): (Vec<_>, Vec<_>) = wanted
                .into_iter()
                .map(|it| (store.get(&it), it))
                .partition(|(found, _)| found.is_some());
            let wanted: Vec<Wanted> = wanted.into_iter().map(|(_, wanted)| wanted).collect();
            drop(probes);
            if rounds == MAX_CHAIN && !had.is_empty() {
                findings.push(too_deep());
            }
            if rounds == MAX_CHAIN || had.is_empty() {
                findings.extend(wanted.iter().map(not_fetched));
                return ActiveSet { catalog, findings, wanted, fetched, decisions };
            }
            for (found, wanted) in had {
                fetched.push(wanted);
                let Some((name, version, dir)) = found else { continue };
                let scan = self.load_crate(&dir, &name, &version);
                catalog.add_fetched(scan, name, version);
            }
            rounds += 1;
        }
    }

    /// The outside world, with the predicates that the plugins define.
    pub fn probes<'c>(
        &'c self,
        catalog: &'c Catalog,
        workspace: Option<&'c Workspace>,
        cwd: &'c Utf8Path,
        acquire: Acquire,
    ) -> (LiveProbes<'c>, Vec<Finding>) {
        let dir = workspace.map_or(cwd, |workspace| &workspace.root);
        let stored = StoredAnswers::new(&self.dirs.cache, dir);
        let root = workspace.map(|it| it.root.as_path());
        let definers = self.definers(catalog, root);
        let place = ProbePlace { dir, workspace: root, acquire };
        LiveProbes::new(*self, place, definers, stored, &catalog.asked)
    }

    /// The plugins whose predicates count, whether they are active or not. What a mere dependency embeds must not
    /// decide about anything else, and nothing of what the user turned off may run.
    pub fn definers<'c>(
        &'c self,
        catalog: &'c Catalog,
        workspace: Option<&'c Utf8Path>,
    ) -> impl Iterator<Item = &'c Plugin> {
        let enablement = &self.config.enablement;
        catalog.plugins.iter().filter(move |plugin| {
            let trusted = match plugin.origin {
                Origin::BuiltIn | Origin::Registry(_) => true,
                Origin::Member(_) => has_word(enablement, plugin, workspace),
                Origin::Crate(..) => false,
            };
            trusted && enablement.disabling_plugin(plugin).is_none()
        })
    }
}

/// Whether the user has named the plugin. What comes with a workspace that was only cloned is not trusted to run programs.
pub(crate) fn has_word(
    enablement: &Enablement,
    plugin: &Plugin,
    workspace: Option<&Utf8Path>,
) -> bool {
    enablement.enabling(plugin, workspace).is_some()
}

fn too_deep() -> Finding {
    Finding::error(format!("plugins bring along one another more than {MAX_CHAIN} deep"))
        .hint("what lies deeper is left out; `cargo agents plugin explain` shows who brings whom")
}

fn not_fetched(wanted: &Wanted) -> Finding {
    Finding::warning(format!(
        "the plugin of crate `{}`, wanted by {}, has not been fetched",
        wanted.name, wanted.by
    ))
    .hint("`cargo agents plugin sync` fetches it")
}

struct Judge<'j> {
    catalog: &'j Catalog,
    enablement: &'j Enablement,
    root: Option<&'j Utf8Path>,
    here: Surroundings<'j>,
}

impl Judge<'_> {
    fn decide(&self) -> (Vec<Decision>, Vec<Wanted>) {
        let plugins = &self.catalog.plugins;
        let mut states: Vec<State> = plugins.iter().map(|plugin| self.judge(plugin)).collect();
        let wanted = self.follow_chains(&mut states);
        let decisions = plugins.iter().zip(states).map(|(plugin, state)| {
            let active = matches!(state, State::Active(_));
            let here = here_for(self.here, plugin);
            let applies = |subcommand: &SubcommandSummary| match subcommand.gate.holds(here) {
                true => Applies::Yes,
                false => Applies::No,
            };
            // Nothing of an inactive plugin applies, so what it would offer is not even decoded.
            let subcommands = match active {
                true => plugin.offers().subcommands.iter().map(applies).collect(),
                false => Vec::new(),
            };
            let is_member = matches!(plugin.origin, Origin::Member(_));
            let trust = match is_member && !has_word(self.enablement, plugin, self.root) {
                true => Trust::Withheld,
                false => Trust::Given,
            };
            Decision { state, trust, subcommands }
        });
        (decisions.collect(), wanted)
    }

    fn judge(&self, plugin: &Plugin) -> State {
        if plugin.origin != Origin::BuiltIn && self.enablement.disabling_plugin(plugin).is_some() {
            return State::Inactive(Reason::Disabled);
        }
        let cause = match (&plugin.origin, plugin.waking) {
            (Origin::Crate(..), _) => match self.consent(plugin) {
                Ok(cause) => cause,
                Err(reason) => return State::Inactive(reason),
            },
            (Origin::Member(_), _) if plugin.asking == Asking::RunsPrograms => {
                if !has_word(self.enablement, plugin, self.root) {
                    return State::Inactive(Reason::WouldRun);
                }
                Cause::Used
            }
            (_, Waking::WhenUsed) if has_word(self.enablement, plugin, self.root) => Cause::Used,
            (_, Waking::WhenUsed) => return State::Inactive(Reason::Sleeping),
            (_, Waking::ByItself) => Cause::Gate,
        };
        if plugin.gate.holds(here_for(self.here, plugin)) {
            State::Active(cause)
        } else {
            State::Inactive(Reason::Gate)
        }
    }

    fn consent(&self, plugin: &Plugin) -> Result<Cause, Reason> {
        let name = plugin.name.as_str();
        let mut others = self.catalog.plugins.iter();
        // Nobody need be asked about what would stay off anyway.
        if let Some(registry) =
            others.find(|it| matches!(it.origin, Origin::Registry(_)) && it.name.is(name))
        {
            return Err(Reason::Superseded(registry.origin.clone()));
        }
        match self.enablement.enabling(plugin, self.root).map(|word| word.key) {
            Some(Key::Use) => Ok(Cause::Used),
            Some(Key::AutoEnable | Key::Disable) => Ok(Cause::AutoEnabled),
            None => Err(Reason::NoConsent),
        }
    }

    /// Wakes what active plugins bring along, and says which crates are not there.
    fn follow_chains(&self, states: &mut [State]) -> Vec<Wanted> {
        let plugins = &self.catalog.plugins;
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut want = |new: Wanted| {
            if !wanted
                .iter()
                .any(|known| known.name == new.name && known.requirement == new.requirement)
            {
                wanted.push(new);
            }
        };
        for name in self.enablement.used_names(self.root) {
            let known = self.catalog.named(name).next().is_some()
                || self.catalog.plugins.iter().any(|plugin| plugin.is_for(name))
                || self.catalog.was_fetched(name, None);
            if !known && !self.enablement.is_disabled(name) {
                let by = "`[plugins] use`".to_owned();
                want(Wanted { name: CrateName::new(name), requirement: None, by });
            }
        }
        let is_active = |state: &State| matches!(state, State::Active(_));
        let mut waiting: Vec<usize> =
            (0..plugins.len()).filter(|at| is_active(&states[*at])).collect();
        while let Some(at) = waiting.pop() {
            let plugin = &plugins[at];
            // A workspace that was only cloned must not agree to anything on the user's behalf.
            if matches!(plugin.origin, Origin::Member(_))
                && !has_word(self.enablement, plugin, self.root)
            {
                continue;
            }
            let here = here_for(self.here, plugin);
            for chained in plugin.offers().chained.iter().filter(|chained| chained.gate.holds(here))
            {
                let by = format!("`{}`", plugin.name);
                let targets: Vec<usize> =
                    (0..plugins.len()).filter(|at| is_target(&plugins[*at], chained)).collect();
                if targets.is_empty() && !self.is_known_empty(chained) {
                    let requirement = chained.requirement.as_ref().map(|it| it.0.clone());
                    want(Wanted { name: chained.name.clone(), requirement, by: by.clone() });
                }
                for target in targets {
                    if may_be_brought(&states[target])
                        && plugins[target].gate.holds(here_for(self.here, &plugins[target]))
                    {
                        states[target] = State::Active(Cause::Chained(plugin.name.to_string()));
                        waiting.push(target);
                    }
                }
            }
        }
        wanted
    }

    /// Whether the crate is there and simply embeds nothing, or is refused anyway.
    fn is_known_empty(&self, chained: &Chained) -> bool {
        self.enablement.is_disabled(chained.name.as_str())
            || self
                .catalog
                .was_fetched(chained.name.as_str(), chained.requirement.as_ref().map(|it| &it.0))
            || self.here.workspace.is_some_and(|workspace| {
                workspace.packages.iter().any(|package| {
                    package.name == chained.name
                        && chained
                            .requirement
                            .as_ref()
                            .is_none_or(|it| it.0.matches(&package.version))
                })
            })
    }
}

/// Whether all that keeps a crate's plugin off is that nobody asked for it, or for another of its name.
fn may_be_brought(state: &State) -> bool {
    matches!(state, State::Inactive(Reason::NoConsent | Reason::Superseded(_)))
}

fn is_target(plugin: &Plugin, chained: &Chained) -> bool {
    let Origin::Crate(name, version) = &plugin.origin else { return false };
    *name == chained.name
        && chained.requirement.as_ref().is_none_or(|requirement| requirement.0.matches(version))
}

/// The surroundings as this plugin sees them.
#[must_use]
pub fn here_for<'a>(here: Surroundings<'a>, plugin: &'a Plugin) -> Surroundings<'a> {
    Surroundings { asker: Asker::Plugin(plugin), ..here }
}

impl ActiveSet {
    /// Every plugin with the decision about it, in order of precedence.
    pub fn considered(&self) -> impl Iterator<Item = Considered<'_>> {
        self.catalog.plugins.iter().zip(&self.decisions).map(|(plugin, decision)| Considered {
            plugin,
            state: &decision.state,
            trust: decision.trust,
            subcommands: &decision.subcommands,
        })
    }

    /// Whether a custom predicate could not be asked because its program is not installed.
    #[must_use]
    pub fn lacks_programs(&self) -> bool {
        self.catalog.asked.lacks_programs()
    }

    /// The plugins that apply here.
    pub fn active(&self) -> impl Iterator<Item = &Plugin> {
        self.considered().filter(Considered::is_active).map(|considered| considered.plugin)
    }

    /// The subcommands that apply here.
    pub fn subcommands(&self) -> impl Iterator<Item = Offered<'_>> {
        let active = self.considered().filter(Considered::is_active);
        active.flat_map(|considered| considered.offers(Applies::Yes))
    }

    /// The subcommands that would apply elsewhere.
    pub fn inapplicable_subcommands(&self) -> impl Iterator<Item = Offered<'_>> {
        self.considered().flat_map(|considered| considered.offers(Applies::No))
    }
}

impl<'s> Considered<'s> {
    /// Whether it applies here.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.state, State::Active(_))
    }

    fn offers(self, wanted: Applies) -> impl Iterator<Item = Offered<'s>> {
        let Self { plugin, state, subcommands, .. } = self;
        let nothing = std::iter::repeat(&Applies::No);
        let pairs = plugin.offers().subcommands.iter().zip(subcommands.iter().chain(nothing));
        pairs.filter(move |(_, applies)| **applies == wanted).map(move |(subcommand, _)| Offered {
            plugin,
            state,
            subcommand,
        })
    }
}

impl Offered<'_> {
    /// The crates that make it apply.
    #[must_use]
    pub fn because(&self, here: Surroundings<'_>) -> Vec<Matched> {
        let here = here_for(here, self.plugin);
        union_matched_crates([&self.plugin.gate, &self.subcommand.gate], here)
    }
}
