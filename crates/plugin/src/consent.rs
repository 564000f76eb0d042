//! What needs the user's consent, and what it would bring.
//!
//! Registries that the user configured are trusted. What a mere dependency embeds is off until they agree to it, and of
//! what comes with a workspace, which may only have been cloned, nothing runs programs before they do.

use agents_install::{Entry, Installation, InstallationName, Installations, Source};
use agents_workspace::Workspace;
use camino::Utf8Path;

use crate::{
    active::{ActiveSet, Considered, Reason, State, Trust, here_for},
    catalog::Registries,
    explain::describe,
    manifest::{
        ContentKind, ContentSource, CustomPredicate, Hook, McpServer, McpTransport, PluginName,
        Subcommand, SubcommandName,
    },
    plugin::{Asking, Origin, Plugin},
    predicate::{Gate, Surroundings, evaluate::Asker},
    probes::Acquire,
    skills::{Contributor, Fetch, Skills, Why, asking_at, names_at},
};

/// A plugin that needs the user's consent.
#[derive(Debug)]
pub struct Candidate<'s> {
    /// The plugin.
    pub plugin: &'s Plugin,
    /// What is withheld until then.
    pub withheld: Withheld,
    /// What it would bring.
    pub pieces: Vec<Piece>,
}

/// What a plugin does not do without the user's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// Anything: a dependency embeds it.
    Everything,
    /// To run programs: it comes with the workspace.
    Programs,
}

/// One thing that a plugin brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Its name.
    pub name: String,
    /// The program that it runs, in words.
    pub runs: Option<String>,
}

/// What a plugin can bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PieceKind {
    /// Text for agents.
    Skill,
    /// The definition of an agent.
    Agent,
    /// Something that hosts run at certain moments.
    Hook,
    /// An MCP server.
    Server,
    /// A `cargo agents <name>` command.
    Command,
    /// A condition that runs a program.
    Condition,
    /// A program that answers conditions of all plugins.
    Predicate,
    /// Another plugin.
    Plugin,
}

/// Whether something of a plugin runs programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs {
    /// Something does.
    Some,
    /// Nothing that is here does; skills that are elsewhere may have conditions that do.
    Unseen,
    /// Nothing does.
    None,
}

impl PieceKind {
    /// One word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Hook => "hook",
            Self::Server => "mcp-server",
            Self::Command => "command",
            Self::Condition => "condition",
            Self::Predicate => "predicate",
            Self::Plugin => "plugin",
        }
    }

    /// `1 skill`, `2 MCP servers`.
    #[must_use]
    pub fn count(self, number: usize) -> String {
        let (one, many) = match self {
            Self::Skill => ("skill", "skills"),
            Self::Agent => ("agent", "agents"),
            Self::Hook => ("hook", "hooks"),
            Self::Server => ("MCP server", "MCP servers"),
            Self::Command => ("command", "commands"),
            Self::Condition => ("condition that runs a program", "conditions that run programs"),
            Self::Predicate => ("predicate", "predicates"),
            Self::Plugin => ("other plugin", "other plugins"),
        };
        format!("{number} {}", if number == 1 { one } else { many })
    }
}

/// How many of which kind, in words: `2 skills, 1 hook`.
#[must_use]
pub fn counted(pieces: &[Piece]) -> String {
    let mut kinds: Vec<PieceKind> = pieces.iter().map(|piece| piece.kind).collect();
    kinds.sort();
    kinds.dedup();
    let words = kinds
        .into_iter()
        .map(|kind| kind.count(pieces.iter().filter(|piece| piece.kind == kind).count()));
    words.collect::<Vec<_>>().join(", ")
}

impl ActiveSet {
    /// The plugins that need the user's consent, as far as that is certain from the packages alone: what a hook may
    /// look at.
    pub fn waiting<'s>(
        &'s self,
        here: Surroundings<'_>,
    ) -> impl Iterator<Item = (Considered<'s>, Withheld)> {
        self.considered().filter_map(move |considered| {
            let gate = &considered.plugin.gate;
            let withheld = considered.withholds()?;
            let fails =
                gate.is_decided_by_packages() && !gate.holds(here_for(here, considered.plugin));
            (!fails).then_some((considered, withheld))
        })
    }
}

impl Considered<'_> {
    /// What it does not do because the user has not spoken for it.
    fn withholds(&self) -> Option<Withheld> {
        match self.state {
            State::Inactive(Reason::NoConsent) => Some(Withheld::Everything),
            State::Inactive(Reason::WouldRun) => Some(Withheld::Programs),
            State::Active(_) if self.trust == Trust::Withheld => {
                let manifest = self.plugin.manifest().ok()?;
                let runs = |server: &McpServer| server_piece(server).runs.is_some();
                let waits = !manifest.hooks.is_empty()
                    || !manifest.chained.is_empty()
                    || manifest.mcp_servers.iter().any(runs);
                waits.then_some(Withheld::Programs)
            }
            _ => None,
        }
    }
}

impl Registries<'_> {
    /// The plugins that need the user's consent here. One that would not apply anyway is none, as far as that can be
    /// told without running anything.
    #[must_use]
    pub fn candidates<'s>(
        &self,
        set: &'s ActiveSet,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
    ) -> Vec<Candidate<'s>> {
        let (probes, _) = self.probes(&set.catalog, workspace, cwd, Acquire::Never);
        let here = Surroundings { workspace, probes: &probes, asker: Asker::Other };
        let unasked = self.with_unasked_skills(set, workspace, cwd);
        let mut candidates = Vec::new();
        for considered in set.considered() {
            let plugin = considered.plugin;
            let gate = &plugin.gate;
            let withheld = considered.withholds().or_else(|| {
                let waits = considered.is_active() && unasked.contains(&plugin.name);
                waits.then_some(Withheld::Programs)
            });
            let applies = gate.runs_programs() || gate.holds(here_for(here, plugin));
            if let (Some(withheld), true) = (withheld, applies) {
                let pieces = self.pieces(set, &considered, workspace);
                candidates.push(Candidate { plugin, withheld, pieces });
            }
        }
        candidates
    }

    /// The plugins with skills whose conditions would run programs.
    fn with_unasked_skills(
        &self,
        set: &ActiveSet,
        workspace: Option<&Workspace>,
        cwd: &Utf8Path,
    ) -> Vec<PluginName> {
        if !set.considered().any(|it| it.is_active() && it.trust == Trust::Withheld) {
            return Vec::new();
        }
        let skipped = self.skills(set, workspace, cwd, Fetch::Never).skipped;
        let unasked = skipped.into_iter().filter(|skipped| skipped.why == Why::WouldRun);
        unasked.map(|skipped| skipped.plugin).collect()
    }

    /// Everything that a plugin would bring if all its gates held. Nothing is fetched or run.
    #[must_use]
    pub fn pieces(
        &self,
        set: &ActiveSet,
        considered: &Considered<'_>,
        workspace: Option<&Workspace>,
    ) -> Vec<Piece> {
        let plugin = considered.plugin;
        let Ok(manifest) = plugin.manifest() else { return Vec::new() };
        let (mut pieces, mut conditions) = (Vec::new(), manifest_conditions(plugin));
        let skills = manifest.skills.iter().map(|it| (PieceKind::Skill, ContentKind::Skills, it));
        let agents = manifest.agents.iter().map(|it| (PieceKind::Agent, ContentKind::Agents, it));
        for (kind, what, group) in skills.chain(agents) {
            let plain = |name| Piece { kind, name, runs: None };
            match &group.source {
                ContentSource::Nothing => {}
                ContentSource::Path(path) => {
                    let names = names_at(what, plugin, path, &set.catalog, workspace);
                    pieces.extend(names.into_iter().map(plain));
                    if what == ContentKind::Skills {
                        let asking = asking_at(plugin, path, &set.catalog, workspace);
                        add_conditions(&mut conditions, &asking);
                    }
                }
                elsewhere => pieces.push(plain(format!("those {}", describe(elsewhere)))),
            }
        }
        let all = &manifest.installations;
        pieces.extend(manifest.hooks.iter().map(|hook| hook_piece(hook, all)));
        pieces.extend(manifest.mcp_servers.iter().map(server_piece));
        pieces.extend(manifest.subcommands.iter().map(|(name, it)| command(name, it, all)));
        pieces.extend(conditions);
        pieces.extend(predicate_pieces(plugin));
        pieces.extend(manifest.chained.iter().map(|chained| Piece {
            kind: PieceKind::Plugin,
            name: chained.name.to_string(),
            runs: None,
        }));
        pieces
    }
}

/// A hook as a piece.
#[must_use]
pub fn hook_piece(hook: &Hook, installations: &Installations) -> Piece {
    let runs = program(&hook.command, hook.entry.as_ref(), installations);
    let name = format!("{} ({})", hook.name, hook.event);
    Piece { kind: PieceKind::Hook, name, runs: Some(runs) }
}

/// An MCP server as a piece.
#[must_use]
pub fn server_piece(server: &McpServer) -> Piece {
    let runs = match &server.transport {
        McpTransport::Stdio { command, args, .. } => {
            let words = std::iter::once(command).chain(args).map(String::as_str);
            Some(format!("`{}`", words.collect::<Vec<_>>().join(" ")))
        }
        McpTransport::Remote { .. } => None,
    };
    Piece { kind: PieceKind::Server, name: server.name.clone(), runs }
}

/// A command of a plugin as a piece; `None` if it has no such command.
#[must_use]
pub fn command_piece(plugin: &Plugin, name: &SubcommandName) -> Option<Piece> {
    let manifest = plugin.manifest().ok()?;
    Some(command(name, manifest.subcommands.get(name)?, &manifest.installations))
}

fn command(name: &SubcommandName, it: &Subcommand, all: &Installations) -> Piece {
    let runs = Some(program(&it.command, None, all));
    Piece { kind: PieceKind::Command, name: name.to_string(), runs }
}

/// The conditions that run programs on behalf of an active plugin: its own, and those in its skills.
#[must_use]
pub fn condition_pieces(plugin: &Plugin, skills: &Skills) -> Vec<Piece> {
    let mut found = manifest_conditions(plugin);
    let own = |by: &Contributor| by.name == plugin.name && by.origin == plugin.origin;
    add_conditions(&mut found, skills.asked.iter().filter(|(by, _)| own(by)).map(|(_, gate)| gate));
    found
}

/// The conditions in a manifest that run programs.
fn manifest_conditions(plugin: &Plugin) -> Vec<Piece> {
    if plugin.asking == Asking::Looks {
        return Vec::new();
    }
    let Ok(manifest) = plugin.manifest() else { return Vec::new() };
    let mut found: Vec<Piece> = Vec::new();
    add_conditions(&mut found, manifest.gates().filter(|gate| Gate::runs_programs(gate)));
    found
}

/// Each of them once.
fn add_conditions<'g>(found: &mut Vec<Piece>, gates: impl IntoIterator<Item = &'g Gate>) {
    for name in gates.into_iter().map(ToString::to_string) {
        if !found.iter().any(|known| known.name == name) {
            let runs = Some(format!("`{name}`"));
            found.push(Piece { kind: PieceKind::Condition, name, runs });
        }
    }
}

/// The predicates that a plugin defines. Those of a mere dependency count for nothing.
#[must_use]
pub fn predicate_pieces(plugin: &Plugin) -> Vec<Piece> {
    if plugin.predicates.is_empty() || matches!(plugin.origin, Origin::Crate(..)) {
        return Vec::new();
    }
    let Ok(manifest) = plugin.manifest() else { return Vec::new() };
    let piece = |it: &CustomPredicate| Piece {
        kind: PieceKind::Predicate,
        name: it.name.to_string(),
        runs: Some(program(&it.command, None, &manifest.installations)),
    };
    manifest.predicates.iter().map(piece).collect()
}

/// What is run of an installation, in words: where it comes from and what in it, unless whoever runs it says what.
fn program(name: &InstallationName, own: Option<&Entry>, all: &Installations) -> String {
    let Some(Installation { source, entry, install_commands, .. }) = all.get(name) else {
        return format!("`{name}`");
    };
    let what = own.or(entry.as_ref()).map(entry_in_words);
    let from = match source {
        None => None,
        Some(Source::Cargo { name, version, git, .. }) => {
            let version = version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
            let git = git.as_ref().map(|it| format!(" from {it}")).unwrap_or_default();
            Some(format!("crate {name}{version}{git}"))
        }
        Some(Source::Git { url }) => Some(url.clone()),
    };
    let mut words = match (what, from) {
        (Some(what), Some(from)) => format!("{what} of {from}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => format!("`{name}`"),
    };
    if !install_commands.is_empty() {
        words += ", set up by shell commands";
    }
    words
}

fn entry_in_words(entry: &Entry) -> String {
    match entry {
        Entry::Executable(path) => format!("`{path}`"),
        Entry::Script(path) => format!("script `{path}`"),
    }
}

impl Candidate<'_> {
    /// Whether agreeing lets programs run that nobody types.
    #[must_use]
    pub fn programs(&self) -> Programs {
        if self.pieces.iter().any(|piece| piece.runs.is_some()) {
            return Programs::Some;
        }
        let is_elsewhere =
            |it: &ContentSource| !matches!(it, ContentSource::Nothing | ContentSource::Path(_));
        let manifest = self.plugin.manifest();
        match manifest.is_ok_and(|it| it.skills.iter().any(|it| is_elsewhere(&it.source))) {
            true => Programs::Unseen,
            false => Programs::None,
        }
    }

    /// Where the user's word about it counts: a workspace member is one of many that may have that name.
    #[must_use]
    pub fn is_of_workspace(&self) -> bool {
        matches!(self.plugin.origin, Origin::Member(_))
    }
}

#[cfg(test)]
mod tests;
