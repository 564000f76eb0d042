//! What nodes hold while they run, and the queues of those that wait for some of it.

use std::collections::{BinaryHeap, HashMap};

use super::leases::{Leases, Mode, Side, Spot};
use crate::{
    event::Index,
    graph::{Graph, Node, Work},
};

/// A queue of nodes that wait for the same reason, so that if the first one must go on waiting, all of them must.
///
/// For a slot there is one, for a path there are four: for those who want to read or write there or below, while somebody is in the way there; and for
/// those who want to read or write there, while somebody is in the way below.
pub(super) type Queue = u32;

/// How many there are for a path.
const OF_A_PATH: usize = 4;
/// And with the one for a slot.
const KINDS: usize = 1 + OF_A_PATH;

/// No queue.
pub(super) const NOWHERE: Queue = u32::MAX;

/// Sorts by priority, then by position: the greatest starts first.
pub(super) fn key_of(priority: i32, index: Index) -> u64 {
    let priority = u64::from(priority.cast_unsigned() ^ (1 << 31));
    priority << 32 | u64::from(u32::MAX - index.0)
}

pub(super) fn index_of(key: u64) -> Index {
    Index(u32::MAX - u32::try_from(key & u64::from(u32::MAX)).unwrap_or(0))
}

/// Something of which there is so much.
#[derive(Debug)]
struct Slot {
    most: u32,
    used: u32,
    waiting: BinaryHeap<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Agent(String),
    Provider(String),
    Resource(String),
}

/// What one node needs.
#[derive(Debug, Default)]
struct Wanted {
    slots: Box<[(usize, u32)]>,
    leases: Box<[(Spot, Mode)]>,
}

#[derive(Debug)]
pub(super) struct Claims {
    wanted: Vec<Wanted>,
    names: HashMap<Name, usize>,
    slots: Vec<Slot>,
    leases: Leases,
    /// By spot, then by kind.
    waiting: Vec<[BinaryHeap<u64>; OF_A_PATH]>,
}

fn slot_queue(at: usize) -> Queue {
    u32::try_from(at * KINDS).unwrap_or(NOWHERE)
}

fn kind_of(side: Side, mode: Mode) -> usize {
    side as usize * 2 + mode as usize
}

fn lease_queue(spot: Spot, kind: usize) -> Queue {
    u32::try_from(spot * KINDS + 1 + kind).unwrap_or(NOWHERE)
}

impl Claims {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut claims = Self {
            wanted: Vec::new(),
            names: HashMap::new(),
            slots: Vec::new(),
            leases: Leases::new(),
            waiting: Vec::new(),
        };
        claims.grow(graph);
        claims
    }

    /// Takes in the nodes that it does not know yet.
    pub(super) fn grow(&mut self, graph: &Graph) {
        for node in &graph.nodes()[self.wanted.len()..] {
            let wanted = self.wanted(node, graph);
            self.wanted.push(wanted);
        }
        self.waiting.resize_with(self.leases.len(), Default::default);
    }

    /// Whether a node needs anything.
    pub(super) fn wants(&self, index: Index) -> bool {
        let wanted = &self.wanted[index.at()];
        !wanted.slots.is_empty() || !wanted.leases.is_empty()
    }

    fn wanted(&mut self, node: &Node, graph: &Graph) -> Wanted {
        let limits = graph.concurrency();
        let mut slots = Vec::new();
        if let Work::Agent(assignment) = &node.work
            && let Some(most) = limits.agents.get(&assignment.agent)
        {
            slots.push((self.slot(Name::Agent(assignment.agent.clone()), *most), 1));
        }
        if let Some(provider) = &node.uses.provider
            && let Some(most) = limits.providers.get(provider)
        {
            slots.push((self.slot(Name::Provider(provider.clone()), *most), 1));
        }
        for (resource, amount) in &node.uses.resources {
            let most = limits.resources.get(resource).copied().unwrap_or(1);
            let slot = self.slot(Name::Resource(resource.clone()), most);
            // More than there is can never be had: it is all of it.
            slots.push((slot, (*amount).min(most.max(1))));
        }
        // A node is never in its own way: what it wants is compared with what others hold.
        let writes = node.uses.writes.iter().map(|it| (it, Mode::Write));
        let reads = node.uses.reads.iter().map(|it| (it, Mode::Read));
        let leases: Vec<(Spot, Mode)> =
            writes.chain(reads).map(|(path, mode)| (self.leases.spot(path), mode)).collect();
        Wanted { slots: slots.into(), leases: leases.into() }
    }

    fn slot(&mut self, name: Name, most: u32) -> usize {
        let slots = &mut self.slots;
        *self.names.entry(name).or_insert_with(|| {
            slots.push(Slot { most: most.max(1), used: 0, waiting: BinaryHeap::new() });
            slots.len() - 1
        })
    }

    /// The queue of the first thing that a node cannot have now.
    pub(super) fn blocked(&self, index: Index) -> Option<Queue> {
        let wanted = &self.wanted[index.at()];
        for (slot, amount) in &wanted.slots {
            if self.slots[*slot].used + amount > self.slots[*slot].most {
                return Some(slot_queue(*slot));
            }
        }
        wanted.leases.iter().find_map(|(spot, mode)| {
            let (at, side) = self.leases.conflict(*spot, *mode)?;
            Some(lease_queue(at, kind_of(side, *mode)))
        })
    }

    pub(super) fn park(&mut self, queue: Queue, key: u64) {
        if let Some(queue) = self.queue(queue) {
            queue.push(key);
        }
    }

    pub(super) fn unpark(&mut self, queue: Queue) -> Option<u64> {
        self.queue(queue)?.pop()
    }

    fn queue(&mut self, queue: Queue) -> Option<&mut BinaryHeap<u64>> {
        if queue == NOWHERE {
            return None;
        }
        let (at, kind) = (queue as usize / KINDS, queue as usize % KINDS);
        match kind.checked_sub(1) {
            None => self.slots.get_mut(at).map(|it| &mut it.waiting),
            Some(kind) => self.waiting.get_mut(at)?.get_mut(kind),
        }
    }

    pub(super) fn take(&mut self, index: Index) {
        let wanted = &self.wanted[index.at()];
        wanted.slots.iter().for_each(|(slot, amount)| self.slots[*slot].used += amount);
        wanted.leases.iter().for_each(|(spot, mode)| self.leases.take(*spot, *mode));
    }

    /// Gives back what a node holds, and says which queues to look at.
    pub(super) fn give_back(&mut self, index: Index) -> Vec<Queue> {
        let wanted = &self.wanted[index.at()];
        let mut queues = Vec::new();
        for (slot, amount) in &wanted.slots {
            self.slots[*slot].used -= amount;
            if !self.slots[*slot].waiting.is_empty() {
                queues.push(slot_queue(*slot));
            }
        }
        for (spot, mode) in &wanted.leases {
            self.leases.give_back(*spot, *mode);
            for at in self.leases.upwards(*spot) {
                let side = if at == *spot { Side::Here } else { Side::Below };
                let kinds = [Mode::Read, Mode::Write].map(|mode| kind_of(side, mode));
                let waited_for = kinds.into_iter().filter(|it| !self.waiting[at][*it].is_empty());
                queues.extend(waited_for.map(|kind| lease_queue(at, kind)));
            }
        }
        queues
    }
}
