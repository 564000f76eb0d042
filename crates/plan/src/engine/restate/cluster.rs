//! The executor of a driver whose tasks run elsewhere.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_system::explain::with_causes;
use agents_task::event::Event;
use camino::Utf8PathBuf;
use tokio::time::{Instant, sleep};

use super::{
    super::{Executor, Life, Parting, Start, Unreachable},
    lanes::{Lanes, Seat, lane, service},
    parcels::{self, ParcelError, insist},
    server::{InvocationId, Server, ServerError, Standing},
    wire::{Assignment, Done, Key, Parcel, Request, Since, Told, VERSION, Way, Workspace},
};
use crate::{
    event::{Ending, Outcome},
    graph::NodeId,
    journal::RunId,
};

/// What stands between the tasks of a run and the user's files.
pub trait Workshop: Send + Sync + 'static {
    /// What a task begins with. It may block.
    ///
    /// # Errors
    /// Why the files cannot be had, in words.
    fn pack(&self, start: &Start) -> Result<Packed, String>;

    /// What is said about a task besides what the plan says.
    fn request(&self, start: &Start) -> Request;

    /// Takes what was done into the user's files. It may block, and it may be called again with the same.
    fn settle(&self, start: &Start, done: Done, patch: Option<Vec<u8>>) -> Outcome;

    /// Something happened to a task.
    fn told(&self, node: &NodeId, event: Event);

    /// Something the user should know.
    fn note(&self, text: String);
}

/// The files of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// What they are; the way is ours to fill in if they are in a file.
    pub workspace: Workspace,
    /// The file that they are in.
    pub file: Option<Utf8PathBuf>,
}

/// How often things are looked at, and how long they may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How often it is looked whether somebody works on a task.
    pub look: Duration,
    /// How long nobody may, before another worker takes over.
    pub replace: Duration,
    /// How long a task may take to stop before the server stops it.
    pub stop: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_secs(2),
            replace: Duration::from_secs(15),
            stop: Duration::from_secs(10),
        }
    }
}

/// How long the server is waited for before it is asked again.
const PAUSE: Duration = Duration::from_millis(500);
/// How often whoever waits for a worker looks for one.
const WAIT: Duration = Duration::from_secs(2);

/// Runs tasks on a cluster.
pub struct Cluster<W> {
    run: RunId,
    server: Server,
    lanes: Lanes,
    workshop: Arc<W>,
    pace: Pace,
    /// Those of an earlier driver that still are, or have ended meanwhile.
    found: Mutex<HashMap<Key, Standing>>,
    /// Files that are with the server, by lane. A driver that comes after this one may need them until the run has ended.
    left: Mutex<HashSet<(String, Parcel)>>,
}

impl<W> fmt::Debug for Cluster<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("run", &self.run).finish_non_exhaustive()
    }
}

/// An attempt that was given in.
struct Given<'a> {
    key: Key,
    id: InvocationId,
    service: String,
    _seat: Option<Seat<'a>>,
}

impl<W: Workshop> Cluster<W> {
    /// For a run.
    #[must_use]
    pub fn new(run: RunId, server: Server, workshop: Arc<W>, pace: Pace) -> Self {
        let lanes = Lanes::new(server.clone());
        let (found, left) = (Mutex::default(), Mutex::default());
        Self { run, server, lanes, workshop, pace, found, left }
    }

    /// Ends whatever of the run is still worked on, for good: whoever goes on with it does so elsewhere.
    ///
    /// # Errors
    /// The server cannot be told.
    pub async fn clear(server: &Server, run: &RunId) -> Result<usize, ServerError> {
        let standing = server.standing(&format!("{run}/")).await?;
        let alive = standing.into_iter().filter(|(_, it)| it.status != "completed");
        let mut ended = 0;
        for (key, standing) in alive {
            // Asked nicely, the worker ends it at once; told to, the server forgets it even if nobody is there.
            server.tell(&standing.target_service_name, key.as_str(), "stop").await?;
            match server.order(&standing.id, "kill").await {
                Ok(()) | Err(ServerError::Refused { .. }) => ended += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(ended)
    }

    /// Lets the server forget the files of the run, which has ended. It forgets what is missed here in time.
    pub async fn tidy(&self) {
        let left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        for (service, parcel) in left {
            if parcels::forget(&self.server, &service, &parcel).await.is_err() {
                return;
            }
        }
    }

    fn remember(&self, service: &str, parcel: &Parcel) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.insert((service.to_owned(), parcel.clone()));
    }

    async fn give(&self, start: &Start, life: &Life) -> Result<Option<Given<'_>>, String> {
        let key = Key::new(&self.run, &start.node, start.attempt);
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        if let Some(Standing { id, target_service_name: service, .. }) = found {
            return Ok(Some(Given { key, id, service, _seat: None }));
        }
        let (workshop, own) = (Arc::clone(&self.workshop), start.clone());
        let packed = tokio::task::spawn_blocking(move || workshop.pack(&own)).await;
        let Packed { mut workspace, file } = packed.map_err(|error| error.to_string())??;
        let Some(seat) = self.seat(life).await? else { return Ok(None) };
        let service = service(&seat.lane);
        if let Some(file) = &file {
            let bytes = fs_err::read(file).map_err(|error| error.to_string())?;
            let leave = || parcels::leave(&self.server, &service, &bytes);
            let parcel = tokio::select! {
                biased;
                parcel = insist(life.stopped(), leave) => parcel,
                () = self.watch(&service) => Ok(None),
            };
            let Some(parcel) = parcel.map_err(|it| with_causes(&it))? else { return Ok(None) };
            self.remember(&service, &parcel);
            workspace.way = Way::Parcel(parcel);
        }
        let request = self.workshop.request(start);
        let assignment = Assignment { version: VERSION, key: key.clone(), request, workspace };
        let submit = || async {
            let id = self.server.submit(&service, &key, "run", &assignment).await;
            id.map_err(ParcelError::from)
        };
        let id = insist(life.stopped(), submit).await.map_err(|it| with_causes(&it))?;
        Ok(id.map(|id| Given { key, id, service, _seat: Some(seat) }))
    }

    /// A place with a worker. As long as there is none, one is waited for.
    async fn seat(&self, life: &Life) -> Result<Option<Seat<'_>>, String> {
        let mut is_told = false;
        loop {
            match self.lanes.seat().await {
                Ok(Some(seat)) => return Ok(Some(seat)),
                Ok(None) if !is_told => {
                    is_told = true;
                    self.workshop
                        .note("no worker is there: `cargo agents worker` starts one".to_owned());
                }
                Err(error) if !error.is_passing() => return Err(with_causes(&error)),
                Ok(None) | Err(_) => {}
            }
            tokio::select! {
                () = life.stopped() => return Ok(None),
                () = sleep(WAIT) => {}
            }
        }
    }

    /// Waits for the end of an attempt, whatever happens to the server meanwhile.
    async fn result(&self, given: &Given<'_>) -> Result<Done, Outcome> {
        loop {
            match self.server.attach::<Done>(&given.id).await {
                Ok(done) => return Ok(done),
                Err(ServerError::Refused { status: 409, said }) => {
                    return Err(Outcome::ended(Ending::Cancelled, said));
                }
                Err(error) if error.is_passing() && !is_killed(&error) => sleep(PAUSE).await,
                Err(error) => return Err(Outcome::ended(Ending::Lost, with_causes(&error))),
            }
        }
    }

    /// Hears what happens.
    async fn listen(&self, given: &Given<'_>, node: &NodeId, life: &Life) {
        let mut since = Since::default();
        loop {
            let told: Result<Told, _> =
                self.server.call(&given.service, given.key.as_str(), "events", &since).await;
            match told {
                Ok(Told { epoch, known, events }) => {
                    if events.is_empty() && epoch.is_empty() {
                        sleep(PAUSE).await;
                    }
                    if !events.is_empty() {
                        life.beat();
                    }
                    events.into_iter().for_each(|it| self.workshop.told(node, it));
                    since = Since { epoch, known };
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Sees to it that somebody works on what was given to a lane: tasks, and files on their way there or back. Never ends.
    async fn watch(&self, service: &str) {
        let mut since: Option<Instant> = None;
        loop {
            sleep(self.pace.look).await;
            let Ok(stuck) = self.server.stuck(service).await else { continue };
            if stuck.is_empty() {
                since = None;
                continue;
            }
            if since.get_or_insert_with(Instant::now).elapsed() < self.pace.replace {
                continue;
            }
            for standing in stuck {
                let deployment = match standing.pinned_deployment_id {
                    Some(pinned) => Some(pinned),
                    None => self.newest(service).await,
                };
                let Some(deployment) = deployment else { continue };
                if let Ok(true) = self.lanes.replace(&deployment).await {
                    // It would be tried again some time; the sooner the better.
                    _ = self.server.order(&standing.id, "resume").await;
                }
            }
        }
    }

    async fn newest(&self, service: &str) -> Option<String> {
        let lanes = self.lanes.all().await.ok()?;
        let name = lane(service)?;
        lanes.into_iter().find(|it| it.name == name).map(|it| it.deployment)
    }

    /// Stops it: by a word to the worker, then by the server's word, then for good.
    async fn stop(&self, given: &Given<'_>) {
        _ = self.server.tell(&given.service, given.key.as_str(), "stop").await;
        sleep(self.pace.stop).await;
        _ = self.server.order(&given.id, "cancel").await;
        sleep(self.pace.stop).await;
        _ = self.server.order(&given.id, "kill").await;
        std::future::pending::<()>().await;
    }

    /// Takes back what was done.
    async fn settle(&self, start: Start, given: &Given<'_>, done: Done, life: &Life) -> Outcome {
        if done.version != VERSION {
            let why = format!("the worker answered in version {}, not {VERSION}", done.version);
            return Outcome { ending: Ending::Lost, message: why, ..done.outcome };
        }
        let patch = match &done.patch {
            None => None,
            Some(parcel) => {
                let fetch = || parcels::fetch(&self.server, &given.service, parcel);
                // It is paid for already, so it is worth a while even if it is to stop.
                let late = async {
                    life.stopped().await;
                    sleep(self.pace.stop).await;
                };
                let fetched = tokio::select! {
                    biased;
                    fetched = insist(late, fetch) => fetched,
                    () = self.watch(&given.service) => Ok(None),
                };
                let fetched = fetched.and_then(|it| it.ok_or(ParcelError::Late));
                match fetched {
                    Ok(patch) => Some(patch),
                    Err(error) => {
                        let why = with_causes(&error);
                        let why = format!("what was done did not come back: {why}");
                        return Outcome { ending: Ending::Lost, message: why, ..done.outcome };
                    }
                }
            }
        };
        if let Some(parcel) = &done.patch {
            self.remember(&given.service, parcel);
        }
        let (workshop, outcome) = (Arc::clone(&self.workshop), done.outcome.clone());
        let settled =
            tokio::task::spawn_blocking(move || workshop.settle(&start, done, patch)).await;
        settled.unwrap_or_else(|error| Outcome {
            ending: Ending::Lost,
            message: format!("what was done could not be taken back: {error}"),
            ..outcome
        })
    }
}

impl<W: Workshop> Executor for Cluster<W> {
    async fn run(&self, start: Start, life: Life) -> Outcome {
        let given = match self.give(&start, &life).await {
            Ok(Some(given)) => given,
            Ok(None) => return Outcome::ended(Ending::Cancelled, ""),
            Err(why) => return Outcome::ended(Ending::Lost, why),
        };
        let stopping = async {
            life.stopped().await;
            self.stop(&given).await;
        };
        let result = tokio::select! {
            biased;
            result = self.result(&given) => result,
            () = stopping => Err(Outcome::ended(Ending::Cancelled, "")),
            () = self.listen(&given, &start.node, &life) => Err(Outcome::ended(Ending::Lost, "")),
            () = self.watch(&given.service) => Err(Outcome::ended(Ending::Lost, "")),
        };
        match result {
            Ok(done) => self.settle(start, &given, done, &life).await,
            Err(outcome) => outcome,
        }
    }

    async fn living(
        &self,
        attempts: &[(NodeId, u32)],
    ) -> Result<HashSet<(NodeId, u32)>, Unreachable> {
        if attempts.is_empty() {
            return Ok(HashSet::new());
        }
        let standing = self.server.standing(&format!("{}/", self.run)).await;
        let standing = standing.map_err(|it| Unreachable(with_causes(&it)))?;
        let mut standing: HashMap<Key, Standing> = standing.into_iter().collect();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut living = HashSet::new();
        for (node, attempt) in attempts {
            let key = Key::new(&self.run, node, *attempt);
            if let Some(standing) = standing.remove(&key) {
                found.insert(key, standing);
                living.insert((node.clone(), *attempt));
            }
        }
        Ok(living)
    }

    fn parting(&self) -> Parting {
        Parting::Leave
    }
}

/// What the server says of something that it was told to end is an error of its own.
fn is_killed(error: &ServerError) -> bool {
    matches!(error, ServerError::Refused { said, .. } if said.contains("killed"))
}
