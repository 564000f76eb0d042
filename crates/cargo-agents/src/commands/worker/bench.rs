//! Tasks of plans at a worker: each in a checkout of the workspace that came, run by the same runner as everywhere.

use std::{io, sync::Arc};

use agents_agent::definition::{Isolation, PermissionMode};
use agents_plan::{
    engine::restate::{
        Bench, Finished,
        hall::Job,
        wire::{Assignment, Definition, Way},
    },
    event::{Ending, Outcome},
};
use agents_system::{dirs::Dirs, explain::with_causes, finding::Finding};
use agents_task::{
    Broker, TaskSettings,
    event::Event,
    isolate::{Carry, Checkout, Source},
    secret::Desk,
    subagents::LifeHooks,
    workplace::{Delivery, Settle},
};
use camino::{Utf8Path, Utf8PathBuf};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::{
    plan::work::{self, Leave, Performer, Questions},
    task::{self, Place},
};
use crate::{args::Flags, failure::Failure, settings::Settings};

/// Runs what comes.
pub(super) struct Tasks {
    flags: Flags,
    dirs: Dirs,
    said: TaskSettings,
    ceiling: Option<PermissionMode>,
    home: Utf8PathBuf,
    /// What tasks lack here, such as a server that does not start, is for whoever looks after this worker.
    tell: mpsc::UnboundedSender<Finding>,
}

impl Tasks {
    pub(super) fn new(
        settings: &Settings,
        ceiling: Option<PermissionMode>,
        home: Utf8PathBuf,
        tell: mpsc::UnboundedSender<Finding>,
    ) -> Result<Self, Failure> {
        let said = TaskSettings::load(&settings.dirs)?;
        let (flags, dirs) = (settings.flags.clone(), settings.dirs.clone());
        Ok(Self { flags, dirs, said, ceiling, home, tell })
    }

    /// The workspace, unpacked, and everything that tasks need there.
    async fn place(
        &self,
        assignment: &Assignment,
        archive: Option<Utf8PathBuf>,
    ) -> Result<Placed, String> {
        let agents = assignment.request.agents.clone();
        let workspace = assignment.workspace.clone();
        let source = match (workspace.way, archive) {
            (Way::Remote { url, reference }, _) => Source::Remote { url, reference },
            (Way::Parcel(_), Some(file)) => Source::File(file),
            (Way::Parcel(_), None) => return Err("no files came".to_owned()),
        };
        let home = self.home.join("workspaces").join(&workspace.name);
        let (flags, dirs) = (self.flags.clone(), self.dirs.clone());
        let placed = tokio::task::spawn_blocking(move || {
            let checkout = task::worktrees(&dirs).unpack(&home, &workspace.commit, &source);
            let checkout = checkout.map_err(|error| with_causes(&error))?;
            let cwd = if workspace.within.as_str().is_empty() {
                checkout.tree.clone()
            } else {
                checkout.tree.join(&workspace.within)
            };
            let settings = Settings::with_dirs(&flags, dirs, cwd);
            let (named, definitions) = written(&agents).map_err(|error| error.to_string())?;
            let place = Place::here(&settings, &named, (Carry::Committed, Settle::Branch));
            let place = place.map_err(|failure| failure.into_finding("no task can run").message)?;
            Ok::<_, String>(Placed {
                settings,
                place: Arc::new(place),
                _checkout: checkout,
                _definitions: definitions,
            })
        });
        placed.await.map_err(|error| error.to_string())?
    }
}

/// A place to work, for as long as it is needed.
struct Placed {
    settings: Settings,
    place: Arc<Place>,
    /// The files stay as long as this does.
    _checkout: Checkout,
    /// So do the definitions that came along.
    _definitions: Option<tempfile::TempDir>,
}

/// The files of definitions that came along: the driver named them, so they come before all that there are here.
fn written(agents: &[Definition]) -> io::Result<(Vec<Utf8PathBuf>, Option<tempfile::TempDir>)> {
    if agents.is_empty() {
        return Ok((Vec::new(), None));
    }
    let dir = tempfile::Builder::new().prefix("cargo-agents-definitions-").tempdir()?;
    let home = Utf8Path::from_path(dir.path());
    let home = home.ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
    let mut named = Vec::new();
    for (number, Definition { file, text }) in agents.iter().enumerate() {
        // Only a name, whatever came: it leads nowhere else.
        let Some(file) = Utf8Path::new(file).file_name() else {
            return Err(io::Error::other(format!("`{file}` is not the name of a file")));
        };
        let path = home.join(number.to_string()).join(file);
        fs_err::create_dir_all(home.join(number.to_string()))?;
        fs_err::write(&path, text)?;
        named.push(path);
    }
    Ok((named, Some(dir)))
}

impl Bench for Tasks {
    async fn work(
        &self,
        assignment: Assignment,
        archive: Option<Utf8PathBuf>,
        job: &Job,
    ) -> Finished {
        let nothing = |outcome| Finished { outcome, patch: Vec::new() };
        let placed = match self.place(&assignment, archive).await {
            Ok(placed) => placed,
            Err(why) => return nothing(Outcome::ended(Ending::Lost, why)),
        };
        let Placed { settings, place, .. } = &placed;
        let tell = self.tell.clone();
        place.heard().tell_at_once(Box::new(move |finding| drop(tell.send(finding))));
        let (send, mut events) = mpsc::unbounded_channel();
        let shown = Arc::new(move |event: &Event| drop(send.send(event.clone())));
        let (start, stop) = (self.said.start_hooks.clone(), self.said.stop_hooks.clone());
        let sink = Arc::new(LifeHooks::new(start, stop, shown));
        let cancel = CancellationToken::new();
        // Nobody is here to be asked: whatever a task must ask for is refused at once, and its outcome says so.
        let asked = Questions { broker: Broker::unattended(), secrets: Some(Desk::unattended()) };
        let runner = work::runner(settings, &self.said, place, asked, sink, cancel.clone());
        let asked = &assignment.request;
        let leave = Leave {
            mode: asked.mode.map(|mode| self.ceiling.map_or(mode, |it| mode.min(it))),
            grants: task::grants(&asked.allow),
        };
        let caller = leave.caller(&runner, self.ceiling);
        let performer = Performer { runner, caller, leave };
        let mut request = asked.request();
        request.isolation = Some(Isolation::Worktree);
        let performing = performer.perform(request, job.token().cancelled(), |_| {});
        let telling = async {
            while let Some(event) = events.recv().await {
                job.tell(event);
            }
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = performing => outcome,
            () = telling => return nothing(Outcome::ended(Ending::Lost, "nobody listened")),
        };
        while let Ok(event) = events.try_recv() {
            job.tell(event);
        }
        cancel.cancel();
        place.end().await;
        match outcome {
            Err(refused) => nothing(refused),
            Ok(outcome) => finished(&outcome),
        }
    }
}

/// What a task did, with all that it changed.
fn finished(task: &agents_task::Outcome) -> Finished {
    let outcome = Outcome::from(task);
    let lost = |message: String| Finished {
        outcome: Outcome { ending: Ending::Lost, message, ..outcome.clone() },
        patch: Vec::new(),
    };
    let Some(changes) = &task.report.changes else {
        return Finished { outcome, patch: Vec::new() };
    };
    if let Delivery::InWorktree { path, why } = &changes.state {
        return lost(format!("what it changed stays in `{path}` at the worker: {why}"));
    }
    match &changes.patch {
        None => Finished { outcome, patch: Vec::new() },
        Some(file) => match fs_err::read(file) {
            Ok(patch) => Finished { outcome, patch },
            Err(error) => lost(error.to_string()),
        },
    }
}
