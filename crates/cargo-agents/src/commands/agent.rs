//! `cargo agents agent …`

pub(crate) mod change;
mod edit;
pub(crate) mod explain;
pub(crate) mod list;
mod new;
mod remove;
pub(crate) mod show;
pub(crate) mod unpack;
pub(crate) mod validate;

use std::process::ExitCode;

use agents_agent::{
    Agents, Candidate, Search, Standing, definition::Source, discover, search::Copies,
    trust::Trusted,
};
use agents_host::find;
use agents_plugin::{agents::AgentDirs, probes::Acquire};
use agents_sync::Places;
use agents_system::{
    finding::Finding,
    ledger::{Ledger, Property, What},
};
use agents_workspace::WorkspaceError;
use camino::Utf8PathBuf;

use super::{agreed, wanted};
use crate::{
    args::AgentCommand,
    failure::Failure,
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

use change::Doing;
pub(super) use list::one_line;

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &AgentCommand,
) -> Result<ExitCode, Failure> {
    match command {
        AgentCommand::List { named } => list::run(&found(settings, &named.agents)?, output),
        AgentCommand::Show { agent, host: None, named } => {
            show::run(&found(settings, &named.agents)?, output, agent)
        }
        AgentCommand::Show { agent, host: Some(host), named } => {
            let (hosts, _) = wanted::all_hosts(settings)?;
            let host = find(&hosts, host)?;
            show::for_host(&found(settings, &named.agents)?, output, agent, host)
        }
        AgentCommand::Explain { agent, named } => {
            explain::run(&found(settings, &named.agents)?, output, agent)
        }
        AgentCommand::New(args) => new::run(settings, output, args),
        AgentCommand::Edit(args) => edit::run(settings, output, args),
        AgentCommand::Remove { agent, dry_run, named } => {
            remove::run(settings, output, agent, Doing::new(*dry_run), &named.agents)
        }
        AgentCommand::Validate { path, strict } => validate::run(output, path, *strict),
        AgentCommand::Unpack(args) => unpack::run(settings, output, args),
    }
}

/// All agents as seen from here.
pub(crate) struct Found {
    pub(super) agents: Agents,
    /// How they were looked for, to do it again.
    pub(super) search: Search,
    /// The root of the workspace, in one.
    pub(super) root: Option<Utf8PathBuf>,
    brought: AgentDirs,
    /// What there is to say before any agent is looked at.
    pub(super) findings: Vec<Finding>,
}

pub(super) fn found(settings: &Settings, named: &[Utf8PathBuf]) -> Result<Found, Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
        look(here, error, named)
    })
}

/// All agents as seen from a place that is open already. They are of use where the workspace is broken, too.
pub(super) fn look(
    here: &Here<'_>,
    error: Option<WorkspaceError>,
    named: &[Utf8PathBuf],
) -> Result<Found, Failure> {
    let settings = here.settings;
    let (hosts, mut findings) = wanted::all_hosts(settings)?;
    let home = wanted::home()?;
    findings.extend(error.map(|error| Failure::from(error).into_finding("the workspace")));
    findings.extend(here.findings.iter().cloned());
    let workspace = here.workspace.as_ref();
    let fetch = wanted::fetch(settings);
    let brought = here.registries.agents(&here.set, workspace, &settings.cwd, fetch);
    Failure::if_interrupted()?;
    findings.extend(brought.findings.iter().cloned());
    let roots = wanted::roots(&home, workspace.map(|it| it.root.as_path()));
    let mut search = Search::new(&settings.cwd, &hosts, &roots).with_plugins(&brought);
    search.named = named.iter().map(|path| settings.cwd.join(path)).collect();
    search.trusted = Trusted::new(&here.registries.config.agents.trust);
    search.copies = copies(settings)?;
    let (held, waiting) = agreed::held_agents(here, &home, &brought);
    search.held = held;
    findings.extend(waiting);
    let agents = discover(&search)?;
    let root = workspace.map(|it| it.root.clone());
    Ok(Found { agents, search, root, brought, findings })
}

/// The files of agents that `sync` wrote.
fn copies(settings: &Settings) -> Result<Copies, Failure> {
    let mut copies = Copies::default();
    let ledger = Ledger::load(&Places::below(&settings.dirs.state).ledger)?;
    for entry in ledger.entries.into_iter().filter(|it| it.what == What::Agent) {
        if let Property::File { file, digest } = entry.property {
            copies.add(&file, digest, entry.from);
        }
    }
    Ok(copies)
}

/// Who put something there, in one or a few words.
pub(super) fn source_in_words(source: &Source) -> String {
    match source {
        Source::Named => "command line".to_owned(),
        Source::Project => "project".to_owned(),
        Source::User => "user".to_owned(),
        Source::Plugin(name) => format!("plugin {name}"),
        Source::Crate(name, version) => format!("crate {name} {version}"),
        Source::Bundled => "bundled".to_owned(),
    }
}

/// One word for who put something there.
pub(super) fn scope_of(source: &Source) -> &'static str {
    match source {
        Source::Named => "command-line",
        Source::Project => "project",
        Source::User => "user",
        Source::Plugin(_) => "plugin",
        Source::Crate(..) => "crate",
        Source::Bundled => "bundled",
    }
}

impl Found {
    /// Why a candidate cannot be used; `None` if it can.
    fn why_not(&self, candidate: &Candidate) -> Option<String> {
        match candidate.standing {
            Standing::Wins => None,
            Standing::Copy => {
                let from = candidate.copy_of.as_deref().unwrap_or_default();
                Some(format!("a copy that `sync` delivered of the agent from {from}"))
            }
            Standing::ShadowedBy(winner) => {
                let winner = self.agents.candidates.get(winner)?;
                Some(format!("shadowed by {}", winner.place()))
            }
            Standing::Held => {
                let name = name_of(candidate);
                Some(format!("nobody has agreed to it: `cargo agents update {name}` shows it"))
            }
            Standing::Invalid => {
                let first = candidate.findings.first();
                Some(first.map_or_else(|| "no definition".to_owned(), |it| it.message.clone()))
            }
        }
    }
}

/// The name of a candidate: what it says, else what its file is called.
fn name_of(candidate: &Candidate) -> String {
    match (&candidate.definition, &candidate.file) {
        (Some(definition), _) => definition.name.to_string(),
        (None, Some(file)) => file.file_name().unwrap_or_default().to_owned(),
        (None, None) => String::new(),
    }
}
