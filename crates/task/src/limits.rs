//! How far a tree of tasks may go.
//!
//! Every task has an account. What a child may use is taken from what its parent has left when the child starts
//! ([`Tree::reserve`]), so that siblings never use the same thing twice; what it did not use comes back, and what it did
//! use is counted with the parent, when it ends ([`Tree::close`]), once.
//!
//! A call of the model is admitted first ([`Tree::admit`]) and paid for afterwards ([`Tree::charge`]): nobody knows before
//! what it will cost. Turns and children are counted when they are admitted, and are never exceeded. Tokens and cost can be
//! exceeded by what the last admitted call took beyond the rest, and then no further call is admitted.
//! Time is not handed out, since children run at the same time: a child's end is never later than its parent's.
//!
//! Nothing here looks at a clock; time is what the caller says, from the start of the tree.

mod budget;

use std::{fmt, time::Duration};

use agents_model::cost::MicroDollars;
use serde::{Deserialize, Serialize};

pub use self::budget::Budget;

/// How far one task may go; `None` is as far as its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Calls of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Of the wall clock.
    #[serde(skip_serializing_if = "Option::is_none", with = "seconds")]
    pub time: Option<Duration>,
    /// In and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Of all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroDollars>,
    /// Tasks that it may start, those that these start included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<u64>,
}

/// Times as whole seconds, which is what people set.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|it| it.as_secs()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_secs))
    }
}

impl Limits {
    /// What holds for a task if nobody says anything.
    pub const DEFAULT: Self = Self {
        turns: Some(200),
        time: Some(Duration::from_secs(60 * 60)),
        tokens: Some(20_000_000),
        cost: Some(MicroDollars(20_000_000)),
        children: Some(64),
    };

    /// These where they say something, the others where they do not.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            turns: self.turns.or(other.turns),
            time: self.time.or(other.time),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
            children: self.children.or(other.children),
        }
    }

    /// The lower one of both, everywhere.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        Self {
            turns: lower(self.turns, other.turns),
            time: lower(self.time, other.time),
            tokens: lower(self.tokens, other.tokens),
            cost: lower(self.cost, other.cost),
            children: lower(self.children, other.children),
        }
    }
}

impl From<&agents_agent::definition::Limits> for Limits {
    fn from(limits: &agents_agent::definition::Limits) -> Self {
        // Dollars that are no number, or less than nothing, are nothing.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let cost = limits.cost.map(|dollars| MicroDollars((dollars * 1e6).ceil() as u64));
        Self {
            turns: limits.turns.map(u64::from),
            time: limits.time,
            tokens: limits.tokens,
            cost,
            children: None,
        }
    }
}

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Calls of the model.
    Turns,
    /// The wall clock.
    Time,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Tasks that it may start.
    Children,
    /// The time until the model says something.
    FirstToken,
    /// The time until it says more.
    Idle,
    /// The time for one whole answer.
    Answer,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Turns => "turns",
            Self::Time => "time",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Children => "children",
            Self::FirstToken => "time to the first token",
            Self::Idle => "time to the next token",
            Self::Answer => "time for one answer",
        })
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Spent {
    /// Calls of the model.
    pub turns: u64,
    /// In and out.
    pub tokens: u64,
    /// Of all calls.
    pub cost: MicroDollars,
    /// Tasks that were started.
    pub children: u64,
}

/// The things that are counted, with how they are called.
const COUNTED: [Limit; 4] = [Limit::Turns, Limit::Tokens, Limit::Cost, Limit::Children];

type Amounts = [u64; 4];

fn caps(limits: &Limits) -> [Option<u64>; 4] {
    [limits.turns, limits.tokens, limits.cost.map(|it| it.0), limits.children]
}

fn add(one: Amounts, other: Amounts) -> Amounts {
    std::array::from_fn(|at| one[at].saturating_add(other[at]))
}

/// An account in a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Account(usize);

#[derive(Debug, Clone)]
struct Node {
    parent: Option<usize>,
    caps: [Option<u64>; 4],
    /// By the task itself and by children that have ended.
    spent: Amounts,
    /// For children that have not.
    reserved: Amounts,
    /// When it must have ended, from the start of the tree.
    end: Option<Duration>,
    start: Duration,
    /// Of what it has been told that there is little left.
    noticed: [bool; 5],
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

/// The accounts of a tree of tasks.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
}

/// There is little left: said once for each thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Of what.
    pub limit: Limit,
    /// How much is used; time in seconds, cost in micro-dollars.
    pub used: u64,
    /// Of how much.
    pub of: u64,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, used, of } = self;
        match limit {
            Limit::Cost => write!(f, "{} of {} are spent", MicroDollars(*used), MicroDollars(*of)),
            Limit::Time => write!(f, "{used} of {of} seconds are over"),
            limit => write!(f, "{used} of {of} {limit} are used"),
        }
    }
}

/// What is left for the call that was admitted; `None` where nothing limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Money.
    pub cost: Option<MicroDollars>,
    /// When the task must have ended, from the start of the tree.
    pub end: Option<Duration>,
}

impl Tree {
    /// A tree whose first task may go this far.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { nodes: vec![Node::new(None, caps(limits), limits.time, Duration::ZERO)] }
    }

    /// The account of the first task.
    #[must_use]
    pub fn root(&self) -> Account {
        Account(0)
    }

    /// What an account has left, besides what its children hold; `None` where nothing limits it.
    #[must_use]
    pub fn left(&self, account: Account) -> Limits {
        let node = &self.nodes[account.0];
        let left = |at: usize| node.left(at);
        Limits {
            turns: left(0),
            tokens: left(1),
            cost: left(2).map(MicroDollars),
            children: left(3),
            time: None,
        }
    }

    /// Opens an account for a child. It gets what it wants, or what is left where that is less; what it does not say is all
    /// that is left.
    ///
    /// # Errors
    /// Nothing is left of something.
    pub fn reserve(
        &mut self,
        parent: Account,
        wanted: &Limits,
        now: Duration,
    ) -> Result<Account, Limit> {
        self.admissible(parent, now)?;
        let node = &mut self.nodes[parent.0];
        let children = COUNTED.len() - 1;
        if node.left(children) == Some(0) {
            return Err(Limit::Children);
        }
        // The child itself counts with its parent; those that it starts are part of what it gets.
        node.spent[children] += 1;
        let wanted_caps = caps(wanted);
        let given: [Option<u64>; 4] =
            std::array::from_fn(|at| match (wanted_caps[at], node.left(at)) {
                (Some(wanted), Some(left)) => Some(wanted.min(left)),
                (wanted, left) => wanted.or(left),
            });
        for (reserved, given) in node.reserved.iter_mut().zip(given) {
            *reserved = reserved.saturating_add(given.unwrap_or(0));
        }
        let own = wanted.time.map(|time| now.saturating_add(time));
        let end = match (own, node.end) {
            (Some(own), Some(parent)) => Some(own.min(parent)),
            (own, parent) => own.or(parent),
        };
        let mut child = Node::new(Some(parent.0), given, None, now);
        child.end = end;
        self.nodes.push(child);
        Ok(Account(self.nodes.len() - 1))
    }

    /// Opens accounts for children that start together, all of them or none. What is left is divided evenly among them and the parent,
    /// so that each can work and the parent can come to an end; nobody gets more than it wants.
    ///
    /// # Errors
    /// There is not enough left of something for all of them.
    pub fn reserve_all(
        &mut self,
        parent: Account,
        wanted: &[Limits],
        now: Duration,
    ) -> Result<Vec<Account>, Limit> {
        self.admissible(parent, now)?;
        let left = self.left(parent);
        let children = wanted.len() as u64;
        if left.children.is_some_and(|it| it < children) {
            return Err(Limit::Children);
        }
        let counted = [
            (left.turns, Limit::Turns),
            (left.tokens, Limit::Tokens),
            (left.cost.map(|it| it.0), Limit::Cost),
        ];
        if let Some((_, limit)) = counted.iter().find(|it| it.0.is_some_and(|it| it < children)) {
            return Err(*limit);
        }
        // One part stays with the parent, unless there is too little for that.
        let part = |left: u64| (left / (children + 1)).max(1);
        let share = Limits {
            turns: left.turns.map(part),
            tokens: left.tokens.map(part),
            cost: left.cost.map(|it| MicroDollars(part(it.0))),
            children: left.children.map(|it| (it - children) / (children + 1)),
            time: None,
        };
        wanted.iter().map(|it| self.reserve(parent, &it.meet(share), now)).collect()
    }

    fn admissible(&self, account: Account, now: Duration) -> Result<(), Limit> {
        let node = &self.nodes[account.0];
        if node.end.is_some_and(|end| now >= end) {
            return Err(Limit::Time);
        }
        let out = COUNTED
            .iter()
            .enumerate()
            .find(|(at, limit)| **limit != Limit::Children && node.left(*at) == Some(0));
        out.map_or(Ok(()), |(_, limit)| Err(*limit))
    }

    /// Admits one call of the model, and counts it as a turn.
    ///
    /// # Errors
    /// What ran out.
    pub fn admit(&mut self, account: Account, now: Duration) -> Result<Allowance, Limit> {
        self.admissible(account, now)?;
        let node = &mut self.nodes[account.0];
        node.spent[0] += 1;
        Ok(Allowance { tokens: node.left(1), cost: node.left(2).map(MicroDollars), end: node.end })
    }

    /// Pays for a call that was admitted.
    pub fn charge(&mut self, account: Account, tokens: u64, cost: MicroDollars) {
        let node = &mut self.nodes[account.0];
        node.spent = add(node.spent, [0, tokens, cost.0, 0]);
    }

    /// What there is little left of, and nobody has been told yet. Four fifths are used, or only one turn is left.
    pub fn notices(&mut self, account: Account, now: Duration) -> Vec<Notice> {
        let node = &mut self.nodes[account.0];
        let counted = COUNTED.iter().enumerate().filter(|(_, it)| **it != Limit::Children);
        let mut all: Vec<(usize, Notice)> = counted
            .filter_map(|(at, limit)| {
                let of = node.caps[at]?;
                let used = node.spent[at].saturating_add(node.reserved[at]);
                Some((at, Notice { limit: *limit, used, of }))
            })
            .collect();
        if let Some(end) = node.end {
            let used = now.saturating_sub(node.start).as_secs();
            let of = end.saturating_sub(node.start).as_secs();
            all.push((4, Notice { limit: Limit::Time, used, of }));
        }
        all.retain(|(at, notice)| {
            let Notice { limit, used, of } = *notice;
            let last = limit == Limit::Turns && used > 0 && of.saturating_sub(used) <= 1;
            let little = last || used.saturating_mul(5) >= of.saturating_mul(4);
            little && !std::mem::replace(&mut node.noticed[*at], true)
        });
        all.into_iter().map(|(_, notice)| notice).collect()
    }

    /// What an account and all that ended below it have spent.
    #[must_use]
    pub fn spent(&self, account: Account) -> Spent {
        let [turns, tokens, cost, children] = self.nodes[account.0].spent;
        Spent { turns, tokens, cost: MicroDollars(cost), children }
    }

    /// When an account's task must have ended.
    #[must_use]
    pub fn end(&self, account: Account) -> Option<Duration> {
        self.nodes[account.0].end
    }

    /// Closes an account, and those below it that are still open: what it did not use goes back to its parent, and what it
    /// used is counted there. Closing it again changes nothing.
    pub fn close(&mut self, account: Account) {
        let open_below: Vec<usize> = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.parent == Some(account.0) && node.state == State::Open)
            .map(|(at, _)| at)
            .collect();
        open_below.into_iter().for_each(|at| self.close(Account(at)));
        let node = &mut self.nodes[account.0];
        if std::mem::replace(&mut node.state, State::Closed) == State::Closed {
            return;
        }
        let (spent, caps, parent) = (node.spent, node.caps, node.parent);
        let Some(parent) = parent else { return };
        let parent = &mut self.nodes[parent];
        for (reserved, cap) in parent.reserved.iter_mut().zip(caps) {
            *reserved = reserved.saturating_sub(cap.unwrap_or(0));
        }
        parent.spent = add(parent.spent, spent);
    }
}

impl Node {
    fn new(
        parent: Option<usize>,
        caps: [Option<u64>; 4],
        time: Option<Duration>,
        start: Duration,
    ) -> Self {
        Self {
            parent,
            caps,
            spent: [0; 4],
            reserved: [0; 4],
            end: time.map(|time| start.saturating_add(time)),
            start,
            noticed: [false; 5],
            state: State::Open,
        }
    }

    fn left(&self, at: usize) -> Option<u64> {
        let taken = self.spent[at].saturating_add(self.reserved[at]);
        self.caps[at].map(|cap| cap.saturating_sub(taken))
    }
}

#[cfg(test)]
mod tests;
