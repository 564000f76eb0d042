//! Tasks of plans at a worker: each in a checkout of the workspace that came, run by the same runner as everywhere.

use std::sync::Arc;

use agents_agent::definition::{Isolation, PermissionMode};
use agents_plan::{
    engine::restate::{
        Bench, Finished,
        hall::Job,
        wire::{Assignment, Way},
    },
    event::{Ending, Outcome},
};
use agents_system::explain::with_causes;
use agents_task::{
    Broker, TaskSettings,
    event::Event,
    isolate::{Carry, Source, Worktrees},
    subagents::LifeHooks,
    workplace::{Delivery, Settle},
};
use camino::Utf8PathBuf;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::{
    plan::work::{self, Leave, Performer, Questions},
    task::{self, Place},
};
use crate::{args::Flags, failure::Failure, settings::Settings};
use agents_system::dirs::Dirs;

/// Runs what comes.
pub(super) struct Tasks {
    flags: Flags,
    dirs: Dirs,
    said: TaskSettings,
    ceiling: Option<PermissionMode>,
    home: Utf8PathBuf,
}

impl Tasks {
    pub(super) fn new(
        settings: &Settings,
        ceiling: Option<PermissionMode>,
        home: Utf8PathBuf,
    ) -> Result<Self, Failure> {
        let said = TaskSettings::load(&settings.dirs)?;
        Ok(Self { flags: settings.flags.clone(), dirs: settings.dirs.clone(), said, ceiling, home })
    }

    /// The workspace, unpacked, and everything that tasks need there.
    async fn place(
        &self,
        assignment: &Assignment,
        archive: Option<Utf8PathBuf>,
    ) -> Result<(Settings, Arc<Place>), String> {
        let workspace = assignment.workspace.clone();
        let source = match (workspace.way, archive) {
            (Way::Remote { url, reference }, _) => Source::Remote { url, reference },
            (Way::Parcel(_), Some(file)) => Source::File(file),
            (Way::Parcel(_), None) => return Err("no files came".to_owned()),
        };
        let home = self.home.join("workspaces").join(&workspace.name);
        let (flags, dirs) = (self.flags.clone(), self.dirs.clone());
        let placed = tokio::task::spawn_blocking(move || {
            let tree = Worktrees::unpack(&home, &workspace.commit, &source);
            let tree = tree.map_err(|error| with_causes(&error))?;
            let cwd = if workspace.within.as_str().is_empty() {
                tree
            } else {
                tree.join(&workspace.within)
            };
            let settings = Settings::with_dirs(&flags, dirs, cwd);
            let place = Place::here(&settings, &[], (Carry::Committed, Settle::Branch));
            let place = place.map_err(|failure| failure.into_finding("no task can run").message)?;
            Ok::<_, String>((settings, place))
        });
        let (settings, place) = placed.await.map_err(|error| error.to_string())??;
        Ok((settings, Arc::new(place)))
    }
}

impl Bench for Tasks {
    async fn work(
        &self,
        assignment: Assignment,
        archive: Option<Utf8PathBuf>,
        job: &Job,
    ) -> Finished {
        let nothing = |outcome| Finished { outcome, patch: Vec::new() };
        let (settings, place) = match self.place(&assignment, archive).await {
            Ok(placed) => placed,
            Err(why) => return nothing(Outcome::ended(Ending::Lost, why)),
        };
        let (send, mut events) = mpsc::unbounded_channel();
        let shown = Arc::new(move |event: &Event| drop(send.send(event.clone())));
        let (start, stop) = (self.said.start_hooks.clone(), self.said.stop_hooks.clone());
        let sink = Arc::new(LifeHooks::new(start, stop, shown));
        let cancel = CancellationToken::new();
        // Nobody is here to be asked.
        let asked = Questions { broker: Broker::unattended(), secrets: None };
        let runner = work::runner(&settings, &self.said, &place, asked, sink, cancel.clone());
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
