//! The user's files on their way to the workers of a cluster, and back.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use agents_agent::{
    AgentDefinition,
    definition::{Isolation, PermissionMode, Source},
};
use agents_plan::{
    engine::{
        Start,
        restate::{
            Cluster, Pace, Packed, Server, Workshop,
            wire::{Definition, Done, Parcel, Request, Way, Workspace},
        },
        settings::RestateSettings,
    },
    event::{Ending, Outcome},
    graph::NodeId,
    journal::RunId,
};
use agents_system::{
    cache::name_hash,
    explain::{ErrorKind, with_causes},
};
use agents_task::{
    Surroundings as _, TaskId,
    event::Event,
    isolate::{Carry, Repository, Worktrees},
    workplace::{Delivery, Settle, Workplace},
};
use camino::Utf8Path;
use tokio::sync::mpsc;

use super::{drive::Studio, work::short};
use crate::{failure::Failure, settings::Settings};

/// The most that definitions may have together: they go with every task.
const MAX_AGENTS: usize = 512 * 1024;

/// The cluster as whoever runs tasks.
pub(super) type Afar = Cluster<Files>;

/// The files that tasks work on.
pub(super) struct Files {
    worktrees: Worktrees,
    repository: Repository,
    carry: Carry,
    settle: Settle,
    remote: Option<String>,
    mode: Option<PermissionMode>,
    allow: Vec<String>,
    /// Those that were named on the command line.
    agents: Vec<Definition>,
    /// What definitions say about worktrees, for tasks that say nothing.
    isolated: BTreeMap<String, Isolation>,
    tell: mpsc::UnboundedSender<(String, Box<Event>)>,
    note: mpsc::UnboundedSender<String>,
    /// What was packed; the same is not packed twice, nor by two at once.
    packed: Mutex<tempfile::TempDir>,
}

fn server(said: &RestateSettings) -> Result<Server, Failure> {
    Ok(Server::new(&said.ingress, &said.admin)?)
}

/// Whether the server is there.
pub(super) fn greet(settings: &Settings) -> Result<(), Failure> {
    let server = server(&RestateSettings::load(&settings.dirs)?)?;
    Ok(super::drive::runtime()?.block_on(server.greet())?)
}

pub(super) fn afar(studio: &Studio, run: &RunId) -> Result<Afar, Failure> {
    let said = &studio.far.settings;
    let isolation = studio.place().isolation().map_err(|why| {
        Failure::new(ErrorKind::Usage, format!("workers get their files through git: {why}"))
            .hint("commit the workspace to a git repository first")
    })?;
    let scratch = tempfile::Builder::new().prefix("cargo-agents-parcels-").tempdir();
    let scratch = scratch.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot make a directory: {error}"))
    })?;
    let (carry, settle) = studio.isolated;
    let known = studio.place().agents();
    let files = Files {
        worktrees: isolation.worktrees,
        repository: isolation.repository,
        carry,
        settle,
        remote: said.remote.clone(),
        mode: studio.leave().mode,
        allow: studio.allow.clone(),
        agents: named(&known)?,
        isolated: isolated(&known),
        tell: studio.far.tell.clone(),
        note: studio.far.note.clone(),
        packed: Mutex::new(scratch),
    };
    let pace = Pace { replace: said.replace_after, ..Pace::default() };
    Ok(Cluster::new(run.clone(), server(said)?, Arc::new(files), pace))
}

/// The definitions that were named on the command line: workers do not have these files.
fn named(agents: &[Arc<AgentDefinition>]) -> Result<Vec<Definition>, Failure> {
    let mut all = Vec::new();
    for agent in agents.iter().filter(|it| it.origin.source == Source::Named) {
        let Some(path) = &agent.origin.file else { continue };
        let text = fs_err::read_to_string(path)
            .map_err(|error| Failure::new(ErrorKind::Usage, error.to_string()))?;
        all.push(Definition { file: path.file_name().unwrap_or("agent.md").to_owned(), text });
    }
    let size: usize = all.iter().map(|it| it.text.len()).sum();
    if size > MAX_AGENTS {
        let message =
            format!("the agents of `--agents` have {size} bytes, and workers take {MAX_AGENTS}");
        return Err(Failure::new(ErrorKind::Usage, message)
            .hint("name only those that the plan needs, or commit them to the workspace"));
    }
    Ok(all)
}

/// What definitions say about worktrees. Of two with the same name the first one counts, as wherever tasks are started.
fn isolated(agents: &[Arc<AgentDefinition>]) -> BTreeMap<String, Isolation> {
    let mut all = BTreeMap::new();
    for agent in agents {
        all.entry(agent.name.to_string()).or_insert(agent.isolation.unwrap_or(Isolation::None));
    }
    all
}

/// Ends what a run still does on a cluster.
pub(super) fn clear(settings: &Settings, run: &RunId) -> Result<(), Failure> {
    let server = server(&RestateSettings::load(&settings.dirs)?)?;
    let runtime = super::drive::runtime()?;
    runtime.block_on(Afar::clear(&server, run))?;
    Ok(())
}

impl Files {
    /// Whether a task has a worktree of its own: as it says, else as its agent does.
    fn is_isolated(&self, start: &Start) -> bool {
        let of_agent = || self.isolated.get(start.request.agent.as_ref()?).copied();
        start.request.isolation.or_else(of_agent) == Some(Isolation::Worktree)
    }
}

impl Workshop for Files {
    fn pack(&self, start: &Start) -> Result<Packed, String> {
        // A task that shares the files of the user sees all of them; one with a worktree sees what a worktree would.
        let carry = if self.is_isolated(start) { self.carry } else { Carry::Everything };
        let told = |error: &dyn std::error::Error| with_causes(error);
        let parcel = self.worktrees.wrap(&self.repository, carry).map_err(|error| told(&error))?;
        let (way, file) = match &self.remote {
            Some(url) => {
                let reference = self.worktrees.send(&self.repository, &parcel, url);
                let reference = reference.map_err(|error| told(&error))?;
                (Way::Remote { url: url.clone(), reference }, None)
            }
            None => {
                let scratch = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
                let dir = Utf8Path::from_path(scratch.path()).ok_or("a path is not UTF-8")?;
                let file = dir.join(&parcel.commit);
                if !file.is_file() {
                    let packed = self.worktrees.pack(&self.repository, &parcel, &file);
                    packed.map_err(|error| told(&error))?;
                }
                // What it is known by is found out when it is sent.
                (Way::Parcel(Parcel { digest: String::new(), size: 0 }), Some(file))
            }
        };
        let workspace = Workspace {
            name: name_hash(self.repository.root.as_str()),
            commit: parcel.commit,
            base: parcel.base,
            within: self.repository.within.clone(),
            way,
        };
        Ok(Packed { workspace, file })
    }

    fn request(&self, start: &Start) -> Request {
        let mut request = Request::new(&start.request, self.mode, &self.allow);
        request.name = Some(short(start.node.as_str()));
        request.agents.clone_from(&self.agents);
        request
    }

    fn settle(&self, start: &Start, done: Done, patch: Option<Vec<u8>>) -> Outcome {
        let Done { outcome, workspace, .. } = done;
        let Some(patch) = patch else { return outcome };
        let name = short(start.node.as_str());
        let named = (TaskId::new(), name.as_str());
        let taken = self.worktrees.take_back(&self.repository, named, &workspace.base, &patch);
        let worktree = match taken {
            Ok(worktree) => worktree,
            Err(error) => {
                let why = format!("what was done cannot be taken back: {}", with_causes(&error));
                return Outcome { ending: Ending::Lost, message: why, ..outcome };
            }
        };
        let is_isolated = self.is_isolated(start);
        let settle = if is_isolated { self.settle } else { Settle::Apply };
        let completed = outcome.ending == Ending::Completed;
        let settled = Workplace { worktree, settle }.close(completed);
        let told = settled.told();
        if let Some(told) = &told {
            self.note(format!("  {}: {told}", start.node));
        }
        let arrived = matches!(settled.state, Delivery::None | Delivery::Applied);
        if completed && !arrived && !is_isolated {
            // Whoever comes next expects it in the files.
            let message = told.unwrap_or_default();
            return Outcome { ending: Ending::Failed, message, ..outcome };
        }
        outcome
    }

    fn told(&self, node: &NodeId, event: Event) {
        // Whoever shows events may be gone; the tasks go on.
        drop(self.tell.send((node.to_string(), Box::new(event))));
    }

    fn note(&self, text: String) {
        drop(self.note.send(text));
    }
}
