//! Messages between tasks that run at the same time: `send_peer_message`, `check_messages`, `list_peers`.
//!
//! The tasks of one runner are one group: those that a user started together, a plan, a connection of an MCP client, a session of an
//! editor. Those of a [`SubAgentManager`](crate::SubAgentManager), each of which has a runner of its own, are one group, too, but for
//! those of plans, which have one each. Nobody outside of a group is known in it, and no group reaches into another process. In it a task
//! may write to whoever started it, to those that were started with it, and to everything that it started. Nobody waits to send; a mailbox that is full refuses. Who sends is who the
//! tool was made for: nothing that a model says changes that.
//!
//! What is in a message is what another agent wrote, and is shown as data.

mod tools;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

pub use self::tools::{CHECK_MESSAGES, LIST_PEERS, SEND_PEER_MESSAGE, add_tools};
use crate::id::{TaskId, TaskPath};

/// How much a mailbox and a message hold, and how long somebody may wait for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerLimits {
    /// Messages that wait to be read.
    pub mailbox: usize,
    /// Bytes of a message.
    pub body: usize,
    /// How long one call may wait.
    pub wait: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        Self { mailbox: 32, body: 16 * 1024, wait: Duration::from_secs(30) }
    }
}

/// The longest name of a task that somebody writes to, in bytes.
pub const MAX_TARGET: usize = 256;
/// Of so many tasks that have ended others are told that they have; of more, that there are no such tasks.
const REMEMBERED: usize = 1_000;

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// There is no such task in the group, or more than one has the name.
    #[error("there is no task `{0}` that you could write to; `list_peers` shows all of them")]
    TargetNotFound(String),
    /// It has ended.
    #[error("`{0}` has ended")]
    TargetTerminated(String),
    /// It is none of those that this task may write to.
    #[error("you may not write to `{target}`: {reason}")]
    Unauthorized {
        /// Whom.
        target: String,
        /// Why not.
        reason: NotAllowed,
    },
    /// It has not read what it got before.
    #[error("`{0}` has too many messages that it has not read")]
    MailboxFull(String),
    /// The message is too long.
    #[error("the message has {actual} bytes, and may have {max}")]
    BodyTooLarge {
        /// How long it is.
        actual: usize,
        /// How long it may be.
        max: usize,
    },
    /// The name is too long.
    #[error("the name has {actual} bytes, and may have {MAX_TARGET}")]
    TargetTooLarge {
        /// How long it is.
        actual: usize,
    },
}

/// Why a task may not write to another one of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAllowed {
    /// It is neither whoever started it, nor was it started with it or by it.
    NotInScope,
    /// It is itself.
    SelfAddress,
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInScope => "it neither started you, nor was it started with you or by you",
            Self::SelfAddress => "that is you",
        })
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Who wrote it.
    pub from: TaskPath,
    /// What.
    pub body: String,
}

/// The tasks of one group, and their mailboxes. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Peers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    limits: PeerLimits,
    members: Mutex<BTreeMap<TaskId, Member>>,
}

#[derive(Debug)]
struct Member {
    path: TaskPath,
    parent: Option<TaskId>,
    /// `None` once it has ended.
    mailbox: Option<VecDeque<Letter>>,
    arrived: Arc<Notify>,
}

impl Peers {
    /// A group in which these limits hold.
    #[must_use]
    pub fn new(limits: PeerLimits) -> Self {
        Self(Arc::new(Shared { limits, members: Mutex::default() }))
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<TaskId, Member>> {
        self.0.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task joins, until what this gives is dropped.
    #[must_use]
    pub fn join(&self, id: TaskId, path: TaskPath, parent: Option<TaskId>) -> Peer {
        let (mailbox, arrived) = (Some(VecDeque::new()), Arc::default());
        let member = Member { path: path.clone(), parent, mailbox, arrived };
        let mut members = self.members();
        members.insert(id, member);
        forget(&mut members);
        drop(members);
        Peer { peers: self.clone(), id, path }
    }
}

/// Of tasks that have ended, the oldest are forgotten, unless something that they started has not: it stands in its place by them.
fn forget(members: &mut BTreeMap<TaskId, Member>) {
    let ended = members.values().filter(|it| it.mailbox.is_none()).count();
    if ended <= REMEMBERED {
        return;
    }
    let parents: BTreeSet<TaskId> = members.values().filter_map(|it| it.parent).collect();
    let over = |(id, it): &(&TaskId, &Member)| it.mailbox.is_none() && !parents.contains(id);
    let oldest: Vec<TaskId> = members.iter().filter(over).map(|(id, _)| *id).collect();
    for id in oldest.into_iter().take(ended - REMEMBERED / 2) {
        members.remove(&id);
    }
}

/// The place of one task in its group.
#[derive(Debug)]
pub struct Peer {
    peers: Peers,
    id: TaskId,
    path: TaskPath,
}

impl Drop for Peer {
    /// It has ended: its mailbox goes, its name stays, so that others are told.
    fn drop(&mut self) {
        if let Some(own) = self.peers.members().get_mut(&self.id) {
            own.mailbox = None;
            own.arrived.notify_waiters();
        }
    }
}

/// Whether one may write to the other: whoever started it, those started with it, and everything below it.
fn may(members: &BTreeMap<TaskId, Member>, from: TaskId, to: TaskId) -> Result<(), NotAllowed> {
    if from == to {
        return Err(NotAllowed::SelfAddress);
    }
    let parent = |it: TaskId| members.get(&it).and_then(|it| it.parent);
    let (own, other) = (parent(from), parent(to));
    if own == Some(to) || own == other {
        return Ok(());
    }
    let mut above = other;
    while let Some(id) = above {
        if id == from {
            return Ok(());
        }
        above = parent(id);
    }
    Err(NotAllowed::NotInScope)
}

impl Peer {
    /// Those that this task may write to and that have not ended, the oldest first.
    #[must_use]
    pub fn others(&self) -> Vec<(TaskId, TaskPath)> {
        let members = self.peers.members();
        let open = members
            .iter()
            .filter(|(id, it)| it.mailbox.is_some() && may(&members, self.id, **id).is_ok());
        open.map(|(id, it)| (*id, it.path.clone())).collect()
    }

    /// Sends a message, at once or not at all.
    ///
    /// # Errors
    /// Why not.
    pub fn send(&self, target: &str, body: &str) -> Result<TaskPath, PeerError> {
        let PeerLimits { mailbox, body: max, .. } = self.peers.0.limits;
        let target = target.trim();
        if target.len() > MAX_TARGET {
            return Err(PeerError::TargetTooLarge { actual: target.len() });
        }
        if body.len() > max {
            return Err(PeerError::BodyTooLarge { actual: body.len(), max });
        }
        let mut members = self.peers.members();
        let to = find(&members, target, self.id)?;
        let told = || target.to_owned();
        may(&members, self.id, to)
            .map_err(|reason| PeerError::Unauthorized { target: told(), reason })?;
        let other = members.get_mut(&to).ok_or_else(|| PeerError::TargetNotFound(told()))?;
        let Some(letters) = &mut other.mailbox else {
            return Err(PeerError::TargetTerminated(told()));
        };
        if letters.len() >= mailbox {
            return Err(PeerError::MailboxFull(told()));
        }
        letters.push_back(Letter { from: self.path.clone(), body: body.to_owned() });
        other.arrived.notify_waiters();
        Ok(other.path.clone())
    }

    /// What has come, the oldest first; waits for something if there is nothing, but not longer than the group allows.
    pub async fn receive(&self, wait: Duration) -> Vec<Letter> {
        let Some(arrived) = self.peers.members().get(&self.id).map(|it| Arc::clone(&it.arrived))
        else {
            return Vec::new();
        };
        let waiting = async {
            loop {
                // It listens before it looks, so that nothing comes in between.
                let coming = arrived.notified();
                tokio::pin!(coming);
                coming.as_mut().enable();
                let letters = self.take();
                if !letters.is_empty() {
                    return letters;
                }
                coming.await;
            }
        };
        let wait = wait.min(self.peers.0.limits.wait);
        match tokio::time::timeout(wait, waiting).await {
            Ok(letters) => letters,
            Err(_) => self.take(),
        }
    }

    fn take(&self) -> Vec<Letter> {
        let mut members = self.peers.members();
        let own = members.get_mut(&self.id).and_then(|it| it.mailbox.as_mut());
        own.map(|it| it.drain(..).collect()).unwrap_or_default()
    }

    /// How much waits to be read.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let members = self.peers.members();
        members.get(&self.id).and_then(|it| it.mailbox.as_ref()).map_or(0, VecDeque::len)
    }
}

/// The task that is meant: by its id, its path, or its name, if only one that this task may write to has it.
fn find(
    members: &BTreeMap<TaskId, Member>,
    target: &str,
    from: TaskId,
) -> Result<TaskId, PeerError> {
    if let Some(id) = TaskId::parse(target).filter(|id| members.contains_key(id)) {
        return Ok(id);
    }
    let called = |is_meant: &dyn Fn(&Member) -> bool| -> Vec<TaskId> {
        members.iter().filter(|(_, it)| is_meant(it)).map(|(id, _)| *id).collect()
    };
    let by_path = called(&|it| it.path.to_string() == target);
    let by_name = called(&|it| it.path.name() == target);
    only(members, &by_path, from)
        .or_else(|| only(members, &by_name, from).filter(|_| by_path.is_empty()))
        .ok_or_else(|| PeerError::TargetNotFound(target.to_owned()))
}

/// The one of these that is meant: the only one that this task may write to and that has not ended, or may write to, or that there is.
/// What could be more than one is none.
fn only(members: &BTreeMap<TaskId, Member>, all: &[TaskId], from: TaskId) -> Option<TaskId> {
    let open: Vec<TaskId> =
        all.iter().copied().filter(|id| may(members, from, *id).is_ok()).collect();
    let alive = |id: &TaskId| members.get(id).is_some_and(|it| it.mailbox.is_some());
    let living: Vec<TaskId> = open.iter().copied().filter(alive).collect();
    match (&living[..], &open[..], all) {
        ([one], _, _) | ([], [one], _) | ([], [], [one]) => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
