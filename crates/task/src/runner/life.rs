//! One task from its slot to its outcome.

use std::{sync::Arc, time::Duration};

use agents_agent::definition::{self, Isolation, Spawns};
use agents_tool::{CallContext, secrets::Mask, tools};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{
    Alive, Equipment, Known, Opened, Runner, Unavailable, Wearer,
    spawner::{Holder, Spawner},
};
use crate::{
    effective::EffectiveAgent,
    event::{self, Awaited, Earlier, Emitter, What},
    id::TaskId,
    isolate::{Claim, Waiting},
    limits::Budget,
    outcome::{Ending, Failure, Outcome, Report},
    peers::{self, Peer},
    recorder::{Recorder, Unrecorded},
    secret::{Asks, Bearer, Pocket, RequestSecret},
    transcript::Opening,
    turns::{Ground, run_begun, tools_of},
    workplace::{self, Site, Workplace},
};

/// What an agent thinks and works with, and the secrets that it may be given for how long.
type Equipped = (Opened, Equipment, (Vec<String>, Option<Duration>));
/// What a task stands on, the slot that it has, and what it is told besides.
type Grounded = (Ground, Arc<Holder>, Option<String>);

/// A task that is about to live.
pub(super) struct Task {
    pub(super) runner: Runner,
    pub(super) id: TaskId,
    pub(super) parent: Option<TaskId>,
    pub(super) known: Known,
    pub(super) agent: Arc<EffectiveAgent>,
    pub(super) budget: Arc<Budget>,
    pub(super) cancel: CancellationToken,
    /// Where whoever started it works; `None` if that is nobody.
    pub(super) site: Option<Site>,
    /// Its place among those that it may write to.
    pub(super) peer: Option<Arc<Peer>>,
    /// It can be cancelled by its id as long as this is there.
    pub(super) alive: Alive,
}

impl Task {
    /// Everything, from waiting for a slot to the outcome.
    ///
    /// Thousands may wait for a slot, and what comes after that takes much more: it is made when it is needed, and gone when it
    /// is done.
    pub(super) async fn live(self: Box<Self>, mut recorder: Box<dyn Recorder>) -> Box<Outcome> {
        let slot = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            slot = Arc::clone(&self.runner.0.slots).acquire_owned() => slot.ok(),
        };
        let sink = Arc::clone(&self.runner.0.sink);
        let earlier = self.agent.continues.as_ref();
        let earlier = earlier.map(|it| Earlier { task: it.from, trace: it.trace });
        let mut emitter = Emitter::new(self.id, self.agent.path.clone(), sink).resuming(earlier);
        let model = self.agent.model.model.to_string();
        emitter.start(self.agent.name.as_str(), &model, self.agent.chosen.clone());
        match slot {
            Some(slot) => self.with_slot(slot, recorder, emitter).await,
            None => self.never(&mut *recorder, emitter, Ending::Cancelled),
        }
    }

    fn with_slot(
        self: Box<Self>,
        slot: OwnedSemaphorePermit,
        mut recorder: Box<dyn Recorder>,
        emitter: Emitter,
    ) -> BoxFuture<'static, Box<Outcome>> {
        Box::pin(async move {
            let ending = match self.stand(slot, &emitter).await {
                Ok(stood) => return self.run(stood, recorder, emitter).await,
                Err(_) if self.cancel.is_cancelled() => Ending::Cancelled,
                Err(why) => Ending::Failed { why: *why },
            };
            self.never(&mut *recorder, emitter, ending)
        })
    }

    fn stand<'a>(
        &'a self,
        slot: OwnedSemaphorePermit,
        emitter: &'a Emitter,
    ) -> BoxFuture<'a, Result<Box<Grounded>, Box<Failure>>> {
        Box::pin(async move {
            let stood = self.ground(slot, emitter).await.map(Box::new);
            stood.map_err(|Unavailable { message, hint }| {
                Box::new(Failure::NotStarted { message, hint })
            })
        })
    }

    fn run(
        self: Box<Self>,
        stood: Box<Grounded>,
        recorder: Box<dyn Recorder>,
        emitter: Emitter,
    ) -> BoxFuture<'static, Box<Outcome>> {
        let (ground, slot, brief) = *stood;
        let Self { mut agent, alive, peer, runner, .. } = *self;
        brief.iter().for_each(|it| Arc::make_mut(&mut agent).brief(it));
        let running = run_begun(agent, Ground { recorder, ..ground }, emitter);
        // An `async` block would keep what it waits for twice.
        Box::pin(running.map(move |outcome| {
            drop((slot, alive, peer));
            hidden_in(outcome, &runner.0.around.mask)
        }))
    }

    /// Who writes it down. It is there before the task is, so that whoever knows its id finds it.
    pub(super) fn recorder(&self) -> Box<dyn Recorder> {
        let shared = &self.runner.0;
        let Some(store) = &shared.common.transcripts else { return Box::new(Unrecorded) };
        let opening = Opening {
            id: self.id,
            agent: self.agent.name.to_string(),
            path: self.agent.path.clone(),
            parent: self.parent,
            resumed_from: self.agent.continues.as_ref().map(|it| it.from),
            model: self.agent.model.model.to_string(),
            mask: Arc::clone(&shared.around.mask),
        };
        Box::new(store.begin_assigned(opening, &self.agent))
    }

    /// What it stands on.
    async fn ground(
        &self,
        slot: OwnedSemaphorePermit,
        emitter: &Emitter,
    ) -> Result<Grounded, Unavailable> {
        let shared = &self.runner.0;
        let (site, workplace) = self.place(emitter).await?;
        let equipped = self.equipped(&site).await;
        let (opened, mut equipment, secrets) = match (equipped, workplace.is_some()) {
            (Ok(equipped), _) => equipped,
            (Err(error), false) => return Err(error),
            (Err(error), true) => {
                abandon(workplace).await;
                return Err(error);
            }
        };
        let two = |error: agents_tool::catalogue::TwoTools| Unavailable {
            message: error.to_string(),
            hint: None,
        };
        let pocket = self.pocket(secrets);
        if let Some(pocket) = &pocket {
            let tool = RequestSecret::new(Arc::clone(pocket));
            equipment.catalogue.add(tool).map_err(two)?;
        }
        if let Some(peer) = &self.peer {
            peers::add_tools(&mut equipment.catalogue, peer).map_err(two)?;
        }
        let seat = shared.common.broker.seat(self.agent.path.clone());
        let holder = Arc::new(Holder::new(slot, Arc::clone(&shared.slots)));
        let spawner = (self.agent.spawns != Spawns::None).then(|| {
            Arc::new(Spawner {
                runner: self.runner.clone(),
                id: self.id,
                agent: Arc::clone(&self.agent),
                budget: Arc::clone(&self.budget),
                holder: Arc::clone(&holder),
                site: site.clone(),
                known: Arc::clone(&self.known),
                tools: std::sync::OnceLock::new(),
            })
        });
        if let Some(spawner) = &spawner {
            let tool = tools::Task::new(Arc::clone(spawner) as Arc<dyn tools::Spawner>);
            equipment.catalogue.add(tool).map_err(two)?;
        }
        let tools = tools_of(
            &self.agent,
            equipment.catalogue,
            equipment.hooks,
            seat.clone(),
            &shared.around,
        );
        if let Some(spawner) = &spawner {
            let _ = spawner.tools.set(Arc::downgrade(&tools));
        }
        if let Some(pocket) = &pocket {
            pocket.attach(&tools);
        }
        let artifacts = Arc::clone(&shared.common.artifacts);
        let mut context =
            CallContext::new(site.area.clone(), artifacts, shared.common.patience.tool);
        context.cancelled = self.cancel.clone();
        context.confinement = site.confine(equipment.confinement);
        context.variables = site.variables;
        let ground = Ground {
            id: self.id,
            provider: opened.provider,
            tools,
            context,
            bash: equipment.bash,
            price: opened.price,
            window: opened.window,
            budget: Arc::clone(&self.budget),
            patience: shared.common.patience,
            seat,
            pocket,
            sink: Arc::clone(&shared.sink),
            workplace: workplace.map(Box::new),
            alike: shared.alike.clone(),
            recorder: Box::new(Unrecorded),
            cancel: self.cancel.clone(),
        };
        Ok((ground, holder, shared.surroundings.brief(self.id)))
    }

    /// What it thinks and works with.
    async fn equipped(&self, site: &Site) -> Result<Equipped, Unavailable> {
        let definition = self.known.iter().find(|it| it.name == self.agent.name);
        let definition = definition.ok_or_else(|| Unavailable {
            message: format!("the definition of `{}` is gone", self.agent.name),
            hint: None,
        })?;
        let surroundings = Arc::clone(&self.runner.0.surroundings);
        let (model, area) = (Arc::clone(&self.agent.model), site.area.clone());
        let opening = move || surroundings.open(&model.model, &area);
        let opened = tokio::task::spawn_blocking(opening).await;
        let broken = || Unavailable { message: "its model broke down".to_owned(), hint: None };
        let opened = opened.map_err(|_| broken())??;
        let wearer = Wearer {
            definition,
            rights: &self.agent.standing.rights,
            area: &site.area,
            id: self.id,
        };
        let equipping = self.runner.0.surroundings.equip(wearer);
        let equipment = tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                return Err(Unavailable { message: "cancelled".to_owned(), hint: None });
            }
            equipment = equipping => equipment?,
        };
        Ok((opened, equipment, (definition.secrets.clone(), definition.limits.grant)))
    }

    /// Where it works: where whoever started it does, or in a worktree of that.
    async fn place(&self, emitter: &Emitter) -> Result<(Site, Option<Workplace>), Unavailable> {
        let surroundings = Arc::clone(&self.runner.0.surroundings);
        let site = match &self.site {
            Some(site) => site.clone(),
            None => Site::shared(surroundings.area()?),
        };
        if self.agent.isolation == Isolation::None {
            return Ok((site, None));
        }
        let (id, name) = (self.id, self.agent.path.name().to_owned());
        let making = move || {
            let mut isolation = surroundings.isolation().map_err(|why| Unavailable {
                message: format!("its own worktree cannot be made: {why}"),
                hint: None,
            })?;
            if let Some(repository) = site.repository {
                isolation.repository = repository;
            }
            let workplace::Isolation { worktrees, repository, carry, settle } = isolation;
            let made = worktrees.create(&repository, id, &name, carry);
            let worktree = made.map_err(|it| Unavailable::because(&it))?;
            Ok((Workplace { worktree, settle }, worktrees, repository))
        };
        let made = tokio::task::spawn_blocking(making).await;
        let broken = |it: tokio::task::JoinError| Unavailable {
            message: format!("making a worktree broke down: {it}"),
            hint: None,
        };
        let (mut workplace, worktrees, repository) = made.map_err(broken)??;
        let within_another = self.site.as_ref().is_some_and(|it| it.repository.is_some());
        let claim = if within_another { Claim::OfHolder } else { Claim::Own };
        let mut told = false;
        let waiting = |waiting: Waiting| {
            if !std::mem::replace(&mut told, true) {
                emitter.emit(What::Waiting { what: Awaited::BuildSlot, of: waiting.slots });
            }
        };
        let site = match worktrees.slot(&repository, claim, &self.cancel, waiting).await {
            Ok(slot) => {
                workplace.worktree.hold(slot);
                Site::of(&workplace.worktree).map_err(|it| it.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        match site {
            Ok(site) => Ok((site, Some(workplace))),
            Err(message) => {
                abandon(Some(workplace)).await;
                Err(Unavailable { message, hint: None })
            }
        }
    }

    /// What it may ask for, if there is anything, and anywhere to ask.
    fn pocket(&self, (allowed, longest): (Vec<String>, Option<Duration>)) -> Option<Arc<Pocket>> {
        let desk = self.runner.0.common.secrets.as_ref().filter(|_| !allowed.is_empty())?;
        let asks = match self.agent.waiting {
            Some(definition::Waiting::Background) => Asks::Nobody,
            _ => Asks::Somebody,
        };
        let mask = Arc::clone(&self.runner.0.around.mask);
        Some(desk.pocket(Bearer {
            task: self.id,
            path: self.agent.path.clone(),
            agent: self.agent.name.to_string(),
            allowed,
            longest,
            asks,
            mask,
        }))
    }

    /// It ends before its first turn.
    fn never(
        &self,
        recorder: &mut dyn Recorder,
        mut emitter: Emitter,
        ending: Ending,
    ) -> Box<Outcome> {
        let (id, path) = (self.id, self.agent.path.clone());
        let outcome = Box::new(Outcome { id, path, ending, report: Report::default() });
        recorder.end(&outcome);
        emitter.end(outcome)
    }
}

/// What became of it, without anything that nobody may see.
fn hidden_in(outcome: Box<Outcome>, mask: &Mask) -> Box<Outcome> {
    if mask.is_empty() {
        return outcome;
    }
    event::hidden(&outcome, mask)
        .unwrap_or_else(|| Box::new(Outcome::broke_down(outcome.id, outcome.path, false)))
}

/// Removes a worktree that nothing was done in.
async fn abandon(workplace: Option<Workplace>) {
    if let Some(workplace) = workplace {
        // What cannot be removed now is found by its record.
        let _ = tokio::task::spawn_blocking(move || workplace.close(false)).await;
    }
}
