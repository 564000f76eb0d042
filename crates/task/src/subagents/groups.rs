//! Which sub-agents may write to each other: all of a session, and all of each plan.

use tokio::sync::mpsc;

use super::{SubAgentManager, TaskEvent};
use crate::peers::{PeerLimits, Peers};

/// The groups of a manager.
#[derive(Default)]
pub(super) struct Groups {
    /// Within which limits they write; `None` if they do not.
    limits: Option<PeerLimits>,
    session: Peers,
    /// A plan is whoever listens to how its tasks end.
    plans: Vec<(mpsc::WeakSender<TaskEvent>, Peers)>,
}

impl Groups {
    /// The group of a sub-agent that is started now: that of the session, or of the plan that hears how it ends.
    pub(super) fn of(&mut self, plan: Option<&mpsc::Sender<TaskEvent>>) -> Option<Peers> {
        let limits = self.limits?;
        // Nothing follows for a plan to which nobody listens.
        self.plans.retain(|(events, _)| events.strong_count() > 0);
        let Some(plan) = plan else { return Some(self.session.clone()) };
        let same = |it: &mpsc::WeakSender<_>| it.upgrade().is_some_and(|it| it.same_channel(plan));
        if let Some((_, group)) = self.plans.iter().find(|(events, _)| same(events)) {
            return Some(group.clone());
        }
        let group = Peers::new(limits);
        self.plans.push((plan.downgrade(), group.clone()));
        Some(group)
    }
}

impl SubAgentManager {
    /// Lets sub-agents that are started from now on write to each other, within these limits; `None` for not at all. Those of a plan
    /// ([`spawn_for_task`](Self::spawn_for_task) with the same channel) are among themselves, and so are all others.
    pub fn set_peer_messaging_config(&mut self, limits: Option<PeerLimits>) {
        self.peers =
            Groups { limits, session: Peers::new(limits.unwrap_or_default()), plans: Vec::new() };
    }
}
