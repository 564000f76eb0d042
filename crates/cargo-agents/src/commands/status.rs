//! `cargo agents status`: what is active here and why, and whether hosts have it.
//!
//! Made of the same active set, the same desired state and the same plan as `sync`, hooks and commands are, so that it
//! cannot say anything else than they do. Nothing is fetched and nothing is written.

use std::process::ExitCode;

use agents_host::{Host, HostId, Roots, Scope};
use agents_plugin::{
    active::{Cause, Considered, Reason, State},
    config::{Config, Word},
    consent::{
        Candidate, Piece, PieceKind, Withheld, command_piece, condition_pieces, hook_piece,
        predicate_pieces, server_piece,
    },
    manifest::PluginName,
    plugin::{Origin, Plugin},
    predicate::{Surroundings, evaluate::Asker},
    probes::Acquire,
    skills::Fetch,
};
use agents_sync::{Change, Edited, Places, Plan, preview};
use agents_system::finding::Finding;
use camino::Utf8Path;
use serde::Serialize;

use super::{
    agreed::{Terms, Writing, settle},
    consent::rows,
    list::short_reason,
    sandboxed::Standing,
    self_update,
    sync_hosts::root_of,
    wanted,
};
use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// `cargo agents status --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StatusDocument {
    /// The root of the workspace
    workspace: String,
    /// The configuration file
    config: String,
    /// Every plugin, in order of precedence
    plugins: Vec<PluginView>,
    /// Names in the configuration that nothing here has
    unmatched: Vec<WordView>,
    hosts: Vec<HostView>,
    /// How many changes `sync` would make where no configured host looks: it takes back what others had
    elsewhere: usize,
    /// How many changes `sync` would make altogether; one may be for several hosts
    pending: usize,
    /// What `sync` would change in `agents.lock`
    agreements: Vec<String>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PluginView {
    name: String,
    /// The name that `use` and `disable` know it by
    word: String,
    /// `built-in`, `registry`, `member` or `crate`
    origin: &'static str,
    /// Where it comes from, in words
    from: String,
    /// `active`, `sleeping`, `candidate`, `declined`, `superseded` or `not-applicable`
    state: &'static str,
    /// Why, in words
    because: String,
    /// What the configuration says about it, if that decides
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<WordView>,
    /// What it does not do without the user's consent: `everything` or `programs`
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<&'static str>,
    /// What it brings here; for one that is not active, what it would bring if all its conditions held
    brings: Vec<PieceView>,
    /// Whether something of it runs programs
    runs_programs: bool,
    /// Whether those are confined
    sandboxed: bool,
    /// What its programs may do, for people
    #[serde(skip)]
    rights: String,
    /// The same as `brings`, for people
    #[serde(skip)]
    pieces: Vec<Piece>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PieceView {
    /// `skill`, `agent`, `hook`, `mcp-server`, `command`, `condition`, `predicate` or `plugin`
    kind: &'static str,
    name: String,
    /// The program that it runs, in words
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WordView {
    /// `use`, `auto-enable` or `disable` of `[plugins]`
    list: &'static str,
    /// The name there; `*` stands for all
    name: String,
    /// The only workspace that it is about
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    line: u32,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HostView {
    id: String,
    name: String,
    /// How many changes `sync` would make to what it reads
    pending: usize,
}

pub(crate) fn run(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    let (document, findings) = look(settings)?;
    if output.is_json() {
        output.document(&document)?;
    } else {
        render(&document, output)?;
        output.flush()?;
        output.findings(&findings);
    }
    Ok(ExitCode::SUCCESS)
}

/// The same as values.
pub(crate) fn look(settings: &Settings) -> Result<(StatusDocument, Vec<Finding>), Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::Fails, |here, _| {
        let root = root_of(here)?;
        let config = here.registries.config;
        let (all, mut findings) = wanted::hosts_of(settings, config)?;
        let hosts = wanted::configured(config, &all, &mut findings);
        let home = wanted::home()?;
        let roots = wanted::roots(&home, Some(root));
        let mut wanted = wanted::wanted_with(here, &hosts, &roots, Fetch::Never);
        let said = std::mem::take(&mut wanted.findings);
        let mut settled = settle(here, root, &mut wanted, &Terms::default(), Writing::No)?;
        let agreements = settled.record(here, &wanted.hooks, Writing::No)?;
        findings.extend(settled.findings);
        let places = Places::below(&settings.dirs.state).remembering(&settings.dirs.cache);
        let plan = preview(&places, &wanted.desired, root, Edited::Keep)?;
        let catalog = &here.set.catalog;
        findings.extend(here.findings.iter().chain(&here.set.findings).cloned());
        findings.extend(here.unknown_sandboxed());
        findings.extend(catalog.findings.iter().cloned());
        findings.extend(catalog.invalid.iter().flat_map(|it| it.findings.iter().cloned()));
        findings.extend(said);
        findings.extend(plan.findings.iter().cloned());
        findings.extend(newer(settings));
        settings.progress.end();
        Failure::if_interrupted()?;
        let pending = Pending::all(&plan);
        let view = |host: &&Host| HostView {
            id: host.id.to_string(),
            name: host.name.clone(),
            pending: pending.iter().filter(|it| it.concerns(host, &roots)).count(),
        };
        let document = StatusDocument {
            workspace: root.to_string(),
            config: Config::file(&settings.dirs).into_string(),
            plugins: plugins(here),
            unmatched: unmatched(here, root),
            hosts: hosts.iter().map(view).collect(),
            elsewhere: pending
                .iter()
                .filter(|it| !hosts.iter().any(|host| it.concerns(host, &roots)))
                .count(),
            pending: pending.len(),
            agreements,
            findings: findings.iter().map(FindingView::from).collect(),
        };
        Ok((document, findings))
    })
}

fn newer(settings: &Settings) -> Option<Finding> {
    let newest = self_update::known_newer(&settings.dirs)?;
    let current = env!("CARGO_PKG_VERSION");
    let said = format!("cargo agents {newest} is available, this is {current}");
    Some(Finding::warning(said).hint("`cargo agents self-update` installs it"))
}

/// The states in the order in which people want to know about them, each with its heading.
const STATES: [(&str, &str); 6] = [
    ("active", "active"),
    ("candidate", "needs your approval"),
    ("sleeping", "sleeping until used"),
    ("declined", "turned off"),
    ("superseded", "superseded"),
    ("not-applicable", "not for this workspace"),
];

fn render(document: &StatusDocument, output: &Output) -> Result<(), Failure> {
    output.line(&document.workspace)?;
    for (state, heading) in STATES {
        // A registry may have thousands that are about other crates.
        let (others, shown): (Vec<&PluginView>, Vec<_>) = document
            .plugins
            .iter()
            .filter(|it| it.state == state)
            .partition(|it| state == "not-applicable" && it.origin == "registry");
        if !shown.is_empty() || !others.is_empty() {
            output.line(heading)?;
        }
        for it in shown {
            render_plugin(it, &document.config, output)?;
        }
        match others.len() {
            0 => {}
            1 => output.line("  1 of your registries; `cargo agents plugin list` says why")?,
            count => {
                output.line(format!(
                    "  {count} of your registries; `cargo agents plugin list` says why"
                ))?;
            }
        }
    }
    if !document.unmatched.is_empty() {
        output.line("named in the configuration, but nothing here has that name")?;
    }
    for word in &document.unmatched {
        output.line(format!("  {}  {}", word.name, place(word, &document.config)))?;
    }
    output.line("coding agents")?;
    let width = document.hosts.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
    for host in &document.hosts {
        output.line(format!("  {:width$}  {}", host.name, pending(host.pending)))?;
    }
    if document.hosts.is_empty() {
        output.line("  none; `cargo agents init` configures those that are installed")?;
    }
    if document.elsewhere > 0 {
        output.line(format!("  others that had something  {}", pending(document.elsewhere)))?;
    }
    if !document.agreements.is_empty() {
        output.line("agents.lock")?;
        for line in &document.agreements {
            output.line(format!("  {line}"))?;
        }
    }
    match document.pending + document.agreements.len() {
        0 => Ok(()),
        _ => {
            output.line("`cargo agents sync` makes these changes, `cargo agents diff` shows them.")
        }
    }
}

fn render_plugin(it: &PluginView, config: &str, output: &Output) -> Result<(), Failure> {
    let because = it.said.as_ref().map_or_else(|| it.because.clone(), |word| place(word, config));
    output.line(format!("  {}  ({})  {because}", it.name, it.from))?;
    if it.withheld == Some("programs") {
        output.line(format!(
            "    none of its programs run on their own; `cargo agents use {}` lets them",
            it.word
        ))?;
    }
    for row in rows(&it.pieces) {
        output.line(format!("    {row}"))?;
    }
    let by_itself = it.state == "active" && it.origin != "built-in" && it.withheld.is_none();
    if it.runs_programs && by_itself {
        output.line(format!("    {}", it.rights))?;
    }
    Ok(())
}

fn place(word: &WordView, config: &str) -> String {
    let only = word.workspace.as_ref().map(|root| format!(" for {root}")).unwrap_or_default();
    format!("`[plugins] {}` names `{}`{only}  {config}:{}", word.list, word.name, word.line)
}

fn pending(count: usize) -> String {
    match count {
        0 => "in sync".to_owned(),
        1 => "1 change pending".to_owned(),
        count => format!("{count} changes pending"),
    }
}

fn plugins(here: &Here<'_>) -> Vec<PluginView> {
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
    let active = Active::of(here, surroundings);
    let candidates = here.registries.candidates(&here.set, workspace, &here.settings.cwd);
    let views = here.set.considered().map(|considered| {
        let plugin = considered.plugin;
        let candidate = candidates.iter().find(|it| std::ptr::eq(it.plugin, plugin));
        let brings = match considered.state {
            State::Active(_) => active.of_plugin(plugin),
            // Thousands of manifests need not be decoded to say that they are about other crates. But predicates
            // are for all plugins.
            State::Inactive(Reason::Gate) => predicate_pieces(plugin),
            State::Inactive(_) => here.registries.pieces(&here.set, &considered, workspace),
        };
        let standing = Standing::of(here.registries.config, plugin, &brings);
        PluginView {
            name: plugin.name.to_string(),
            word: plugin.consent_name().to_owned(),
            origin: plugin.origin.kind(),
            from: plugin.origin.to_string(),
            state: state(&considered, candidate),
            because: because(&considered, candidate, surroundings),
            said: deciding_word(here, &considered).map(WordView::from),
            withheld: candidate.map(|it| match it.withheld {
                Withheld::Everything => "everything",
                Withheld::Programs => "programs",
            }),
            runs_programs: brings.iter().any(|piece| piece.runs.is_some()),
            sandboxed: standing == Standing::Confined,
            rights: standing.line(plugin),
            brings: brings.iter().map(PieceView::from).collect(),
            pieces: brings,
        }
    });
    views.collect()
}

fn state(considered: &Considered<'_>, candidate: Option<&Candidate<'_>>) -> &'static str {
    match (considered.state, candidate) {
        (State::Active(_), _) => "active",
        (State::Inactive(Reason::NoConsent | Reason::WouldRun), Some(_)) => "candidate",
        (State::Inactive(Reason::NoConsent | Reason::WouldRun | Reason::Gate), _) => {
            "not-applicable"
        }
        (State::Inactive(Reason::Disabled), _) => "declined",
        (State::Inactive(Reason::Sleeping), _) => "sleeping",
        (State::Inactive(Reason::Superseded(_)), _) => "superseded",
    }
}

fn because(
    considered: &Considered<'_>,
    candidate: Option<&Candidate<'_>>,
    here: Surroundings<'_>,
) -> String {
    let word = considered.plugin.consent_name();
    match (considered.state, candidate) {
        (State::Inactive(Reason::NoConsent), Some(_)) => {
            format!("a dependency brings it; `cargo agents use {word}` turns it on")
        }
        (State::Inactive(Reason::WouldRun), Some(_)) => format!(
            "it comes with this workspace and its conditions run programs; `cargo agents use {word}` lets them"
        ),
        (State::Inactive(Reason::NoConsent | Reason::WouldRun), None) => {
            "its conditions do not hold".to_owned()
        }
        (State::Inactive(Reason::Sleeping), _) => {
            format!("it names no crate, so it sleeps until `cargo agents use {word}`")
        }
        (State::Active(Cause::Chained(by)), _) => format!("brought along by `{by}`"),
        _ => {
            let why = short_reason(considered, here);
            if why == "active" {
                return "its conditions hold".to_owned();
            }
            let states = ["active: ", "not active: ", "active "];
            let plain = states.iter().find_map(|it| why.strip_prefix(it));
            plain.unwrap_or(&why).to_owned()
        }
    }
}

/// What the configuration says, where that is the reason.
fn deciding_word<'h>(here: &'h Here<'_>, considered: &Considered<'_>) -> Option<Word<'h>> {
    let enablement = &here.registries.config.enablement;
    let root = here.workspace.as_ref().map(|workspace| workspace.root.as_path());
    match considered.state {
        State::Inactive(Reason::Disabled) => enablement.disabling_plugin(considered.plugin),
        State::Active(Cause::Used | Cause::AutoEnabled) => {
            enablement.enabling(considered.plugin, root)
        }
        State::Active(Cause::Gate | Cause::Chained(_)) | State::Inactive(_) => None,
    }
}

fn unmatched(here: &Here<'_>, root: &Utf8Path) -> Vec<WordView> {
    let words = here.registries.config.enablement.words();
    let here_only = words.filter(|word| word.workspace.is_none_or(|only| only == root));
    let has = |name: &str| here.set.catalog.plugins.iter().any(|plugin| plugin.is_for(name));
    here_only.filter(|word| word.name != "*" && !has(word.name)).map(WordView::from).collect()
}

/// What applies here, as sync, hooks and commands see it, each with the plugin that brings it.
struct Active {
    pieces: Vec<(PluginName, Origin, Piece)>,
}

impl Active {
    fn of(here: &Here<'_>, surroundings: Surroundings<'_>) -> Self {
        let (set, registries) = (&here.set, &here.registries);
        let mut pieces = Vec::new();
        let workspace = here.workspace.as_ref();
        let skills = registries.skills(set, workspace, &here.settings.cwd, Fetch::Never);
        for skill in &skills.skills {
            pieces.extend(skill.plugins().map(|by| {
                let name = skill.name.to_string();
                let piece = Piece { kind: PieceKind::Skill, name, runs: None };
                (by.name.clone(), by.origin.clone(), piece)
            }));
        }
        let home = wanted::home().unwrap_or_default();
        for agent in wanted::agents::brought(here, &home, Fetch::Never).agents {
            let name = agent.definition.name.to_string();
            let by = agent.dir.plugin;
            pieces.push((by.name, by.origin, Piece { kind: PieceKind::Agent, name, runs: None }));
        }
        for it in registries.hooks(set, surroundings).hooks {
            let piece = hook_piece(&it.hook, &it.installations);
            pieces.push((it.plugin, it.origin, piece));
        }
        for (plugin, server, _) in set.mcp_servers(surroundings) {
            pieces.push((plugin.name.clone(), plugin.origin.clone(), server_piece(server)));
        }
        for offered in set.subcommands() {
            let Plugin { name, origin, .. } = offered.plugin;
            let piece = command_piece(offered.plugin, &offered.subcommand.name);
            pieces.extend(piece.map(|piece| (name.clone(), origin.clone(), piece)));
        }
        for plugin in set.active() {
            let own = condition_pieces(plugin, &skills).into_iter().chain(predicate_pieces(plugin));
            pieces.extend(own.map(|piece| (plugin.name.clone(), plugin.origin.clone(), piece)));
        }
        for considered in set.considered() {
            let State::Active(Cause::Chained(by)) = considered.state else { continue };
            let bringer = set.active().find(|plugin| plugin.name.is(by));
            let name = considered.plugin.consent_name().to_owned();
            let piece = Piece { kind: PieceKind::Plugin, name, runs: None };
            pieces.extend(bringer.map(|it| (it.name.clone(), it.origin.clone(), piece)));
        }
        Self { pieces }
    }

    fn of_plugin(&self, plugin: &Plugin) -> Vec<Piece> {
        let own = |(name, origin, _): &&(PluginName, Origin, Piece)| {
            *name == plugin.name && *origin == plugin.origin
        };
        self.pieces.iter().filter(own).map(|(_, _, piece)| piece.clone()).collect()
    }
}

/// One thing that `sync` would do, and where.
struct Pending<'p> {
    /// The hosts that it is for; none for what goes.
    hosts: Vec<&'p HostId>,
    /// The directory of skills, or the file.
    place: &'p Utf8Path,
}

impl<'p> Pending<'p> {
    fn all(plan: &'p Plan) -> Vec<Self> {
        let of = |change: &'p Change| match change {
            Change::Skill { slot, hosts, .. } => {
                let place = slot.parent().unwrap_or(slot);
                vec![Pending { hosts: hosts.iter().collect(), place }]
            }
            Change::File { file, notes, .. } => notes
                .iter()
                .map(|note| Pending { hosts: note.host.iter().collect(), place: file })
                .collect(),
        };
        plan.changes.iter().flat_map(of).collect()
    }

    /// Whether a host would see it. What goes has no host any more, but it is still where some host reads it.
    fn concerns(&self, host: &Host, roots: &Roots<'_>) -> bool {
        if !self.hosts.is_empty() {
            return self.hosts.contains(&&host.id);
        }
        Scope::ALL.iter().any(|scope| {
            let paths = host.paths(*scope, roots);
            let files = [paths.hook_file, paths.hook_file_fallback, paths.mcp_file];
            let lists = [paths.skills_read, paths.hook_files_read, paths.mcp_file_instead];
            let all = files.into_iter().flatten().chain(lists.into_iter().flatten());
            all.chain(paths.mcp_files_read).any(|path| path == self.place)
        })
    }
}

impl From<&Piece> for PieceView {
    fn from(piece: &Piece) -> Self {
        let Piece { kind, name, runs } = piece;
        Self { kind: kind.word(), name: name.clone(), runs: runs.clone() }
    }
}

impl From<Word<'_>> for WordView {
    fn from(word: Word<'_>) -> Self {
        Self {
            list: word.key.word(),
            name: word.name.to_owned(),
            workspace: word.workspace.map(ToString::to_string),
            line: word.line,
        }
    }
}
