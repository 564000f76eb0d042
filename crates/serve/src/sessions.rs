//! Conversations: tasks that go on from each other, under one name that outlives the program.
//!
//! What was said is in the transcripts of the tasks; kept besides is only which task was the last.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agents_agent::definition::PermissionMode;
use agents_model::Message;
use agents_system::{atomic, explain::with_causes};
use agents_task::{
    Batch, Outcome, Refusal, Refused, TaskId, TaskRequest, broker::Asks, event::Event, resume,
    runner::Unavailable,
};
use agents_tool::Bypass;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    offer::Offer,
    tasks::{Started, Tasks, Terms},
    verbs::{refused, wrong},
};

/// Longer titles are cut.
const MAX_TITLE: usize = 80;
/// What stands for the model that is meant if nobody says anything.
const ANY_MODEL: &str = "inherit";

/// Opens the program somewhere: an editor says where only when a conversation begins.
pub trait Grounds: Send + Sync {
    /// What there is in this directory, and on which terms. It may take a while.
    ///
    /// # Errors
    /// The program cannot work there.
    fn open(&self, cwd: &Utf8Path) -> Result<(Arc<dyn Offer>, Terms), Unavailable>;

    /// The directory that conversations are kept in.
    fn kept(&self) -> Utf8PathBuf;

    /// The agent that they are with.
    fn agent(&self) -> With;
}

/// The agent that a conversation is with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum With {
    /// The one that somebody chose, on a model that its definition wants.
    Chosen(String),
    /// The one that it is with if nobody chooses: on such a model, or on whichever there is.
    Usual(String),
}

impl With {
    fn name(&self) -> &str {
        let (Self::Chosen(name) | Self::Usual(name)) = self;
        name
    }
}

/// What is kept of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Where it takes place.
    pub cwd: Utf8PathBuf,
    /// What it began with.
    pub title: String,
    /// The last of its tasks.
    pub last: String,
}

/// A conversation.
pub struct Session {
    /// What it is called.
    pub id: String,
    /// What there is where it takes place.
    pub offer: Arc<dyn Offer>,
    tasks: Tasks,
    with: With,
    highest: PermissionMode,
    file: Utf8PathBuf,
    over: CancellationToken,
    state: Mutex<State>,
}

struct State {
    mode: PermissionMode,
    kept: Kept,
    running: Option<CancellationToken>,
}

impl Session {
    /// A new one, or one that was kept, in this directory. The questions of its tasks come out at the other end.
    ///
    /// # Errors
    /// The program cannot work there.
    pub fn open(
        grounds: &dyn Grounds,
        id: String,
        kept: Kept,
        cancel: &CancellationToken,
    ) -> Result<(Self, Asks), Unavailable> {
        let (offer, terms) = grounds.open(&kept.cwd)?;
        let (mode, over) = (terms.usual, cancel.child_token());
        let highest = match terms.settings.bypass {
            Bypass::Allowed => terms.highest,
            Bypass::Forbidden => terms.highest.min(PermissionMode::DontAsk),
        };
        let (tasks, asks) = Tasks::new(offer.surroundings(), terms, over.clone());
        let file = file_of(grounds, &id);
        let state = Mutex::new(State { mode, kept, running: None });
        let with = grounds.agent();
        Ok((Self { id, offer, tasks, with, highest, file, over, state }, asks))
    }

    /// The modes that it may have.
    #[must_use]
    pub fn modes(&self) -> Vec<PermissionMode> {
        use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
        let all = [Default, AcceptEdits, Plan, DontAsk, BypassPermissions];
        all.into_iter().filter(|it| *it <= self.highest || *it == Plan).collect()
    }

    /// The mode of what is said next.
    #[must_use]
    pub fn mode(&self) -> PermissionMode {
        self.lock().mode
    }

    /// Chooses the mode of what is said next.
    ///
    /// # Errors
    /// It may not have that one.
    pub fn set_mode(&self, mode: PermissionMode) -> Result<(), Unavailable> {
        if !self.modes().contains(&mode) {
            return Err(wrong("this session may not have that mode", "`--mode` says the highest"));
        }
        self.lock().mode = mode;
        Ok(())
    }

    /// What was said so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn said(&self) -> Result<Vec<Message>, Unavailable> {
        let Some(last) = TaskId::parse(&self.lock().kept.last) else { return Ok(Vec::new()) };
        let segments = self.tasks.store().segments(last);
        Ok(resume::conversation(&segments.map_err(|it| Unavailable::because(&it))?))
    }

    /// Takes the session for one turn: from now on [`cancel`](Self::cancel) ends it, whether anything of it runs yet or not.
    ///
    /// # Errors
    /// Something is being said already.
    pub fn begin(self: &Arc<Self>) -> Result<Turn, Unavailable> {
        let mut state = self.lock();
        if state.running.is_some() {
            return Err(wrong("the session is busy", "wait until it has answered, or cancel it"));
        }
        let cancelled = self.over.child_token();
        state.running = Some(cancelled.clone());
        Ok(Turn { session: Arc::clone(self), cancelled })
    }

    /// Says something and waits for what becomes of it; `watch` is told what happens.
    async fn prompt(
        &self,
        text: &str,
        cancelled: &CancellationToken,
        mut watch: impl FnMut(&Event),
    ) -> Result<Arc<Outcome>, Unavailable> {
        self.tasks.is_open()?;
        let mut request = self.request(text)?;
        request.mode = Some(self.mode());
        let mut events = self.tasks.watch();
        let mut started = self.start(request)?;
        {
            let mut state = self.lock();
            if state.kept.title.is_empty() {
                let line = text.lines().next().unwrap_or_default();
                state.kept.title = line[..line.floor_char_boundary(MAX_TITLE)].to_owned();
            }
            state.kept.last = started.id.to_string();
            // A conversation that cannot be kept is one all the same.
            if let Ok(text) = serde_json::to_vec(&state.kept) {
                drop(atomic::write(&self.file, &text));
            }
        }
        // Whoever goes away ends it.
        let cancel = started.cancel.clone();
        let _guard = cancel.clone().drop_guard();
        let path = started.path.clone();
        let outcome = {
            let ended = started.outcome();
            tokio::pin!(ended);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => {
                        if event.path.is_within(&path) {
                            watch(&event);
                        }
                    }
                    () = cancelled.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                    outcome = &mut ended => break outcome,
                }
            }
        };
        while let Ok(event) = events.try_recv() {
            if event.path.is_within(&path) {
                watch(&event);
            }
        }
        outcome.ok_or_else(|| wrong("the task broke down", "this is a bug; please report it"))
    }

    fn start(&self, mut request: TaskRequest) -> Result<Started, Unavailable> {
        let mut started = self.tasks.start(Batch::from(request.clone()));
        let no_model =
            |it: &Refused| it.items.iter().all(|(_, refusal)| matches!(refusal, Refusal::Model(_)));
        if matches!(self.with, With::Usual(_)) && started.as_ref().is_err_and(no_model) {
            request.model = vec![ANY_MODEL.to_owned()];
            started = self.tasks.start(Batch::from(request));
        }
        Ok(started.map_err(|it| refused(&it))?.remove(0))
    }

    fn request(&self, text: &str) -> Result<TaskRequest, Unavailable> {
        let state = self.lock();
        if state.kept.last.is_empty() {
            return Ok(TaskRequest::new(self.with.name(), text));
        }
        let prepared = resume::prepare(self.tasks.store(), &state.kept.last, text);
        let prepared = prepared.map_err(|it| Unavailable {
            message: with_causes(&it),
            hint: Some("begin a new session".to_owned()),
        })?;
        Ok(prepared.request)
    }

    /// Ends what is being done.
    pub fn cancel(&self) {
        if let Some(running) = &self.lock().running {
            running.cancel();
        }
    }

    /// Ends everything that was started for it.
    pub async fn end(&self) {
        self.over.cancel();
        tokio::join!(self.offer.end(), self.tasks.end());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of a session: nothing else is said in it meanwhile.
pub struct Turn {
    session: Arc<Session>,
    cancelled: CancellationToken,
}

impl Turn {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Says something and waits for what becomes of it; `watch` is told what happens. Nothing is said, and nothing becomes of it, if it
    /// was cancelled before.
    ///
    /// # Errors
    /// A rule stands in the way.
    pub async fn prompt(
        self,
        text: &str,
        watch: impl FnMut(&Event),
    ) -> Result<Option<Arc<Outcome>>, Unavailable> {
        if self.cancelled.is_cancelled() {
            return Ok(None);
        }
        self.session.prompt(text, &self.cancelled, watch).await.map(Some)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.session.lock().running = None;
    }
}

impl Kept {
    /// A new conversation in this directory.
    #[must_use]
    pub fn new(cwd: Utf8PathBuf) -> Self {
        Self { cwd, title: String::new(), last: String::new() }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn load(grounds: &dyn Grounds, id: &str) -> Result<Self, Unavailable> {
        let is_name = id.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-');
        let text = is_name.then(|| fs_err::read_to_string(file_of(grounds, id)).ok()).flatten();
        text.and_then(|it| serde_json::from_str(&it).ok()).ok_or_else(|| no_session(id))
    }

    /// All that there are, the newest first, by their names.
    #[must_use]
    pub fn all(grounds: &dyn Grounds) -> Vec<(String, Self)> {
        let mut all = BTreeMap::new();
        for entry in fs_err::read_dir(grounds.kept()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|it| it.strip_suffix(".json")) else { continue };
            if let Ok(kept) = Self::load(grounds, id) {
                all.insert(id.to_owned(), kept);
            }
        }
        all.into_iter().rev().collect()
    }
}

/// Nobody knows it.
pub(crate) fn no_session(id: &str) -> Unavailable {
    wrong(format!("there is no session `{id}`"), "begin a new one")
}

fn file_of(grounds: &dyn Grounds, id: &str) -> Utf8PathBuf {
    grounds.kept().join(format!("{id}.json"))
}
