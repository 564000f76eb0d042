//! What can be said to a run while it is driven.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::{
    event::{Answer, Index, Rejected, What},
    graph::Injection,
};

#[derive(Debug)]
pub(super) enum Command {
    Tell(What),
    Suspend,
}

#[derive(Debug)]
pub(super) struct Order {
    pub(super) command: Command,
    pub(super) reply: oneshot::Sender<Result<(), Rejected>>,
}

/// Why something that was said to a run was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// It does not fit.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// Nobody drives the run any more.
    #[error("the run is not driven any more")]
    Gone,
}

/// Says something to a run. What was done is durable when a method returns.
#[derive(Debug, Clone)]
pub struct Handle {
    orders: mpsc::UnboundedSender<Order>,
}

impl Handle {
    pub(super) fn new(orders: mpsc::UnboundedSender<Order>) -> Self {
        Self { orders }
    }

    async fn order(&self, command: Command) -> Result<(), NotDone> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order { command, reply }).map_err(|_| NotDone::Gone)?;
        Ok(answer.await.map_err(|_| NotDone::Gone)??)
    }

    /// Nothing starts until [`Handle::resume`]; what runs goes on.
    ///
    /// # Errors
    /// The run has ended.
    pub async fn pause(&self) -> Result<(), NotDone> {
        self.order(Command::Tell(What::Paused)).await
    }

    /// Things start again.
    ///
    /// # Errors
    /// The run has ended.
    pub async fn resume(&self) -> Result<(), NotDone> {
        self.order(Command::Tell(What::Resumed)).await
    }

    /// Stops a node, or everything.
    ///
    /// # Errors
    /// The run or the node has ended.
    pub async fn cancel(&self, node: Option<Index>) -> Result<(), NotDone> {
        self.order(Command::Tell(What::Cancelled { node })).await
    }

    /// Says what to do about a failure.
    ///
    /// # Errors
    /// Nobody asked.
    pub async fn answer(&self, node: Index, answer: Answer) -> Result<(), NotDone> {
        self.order(Command::Tell(What::Answered { node, answer })).await
    }

    /// Adds nodes, all or none.
    ///
    /// # Errors
    /// They do not fit.
    pub async fn inject(&self, injection: Injection) -> Result<(), NotDone> {
        self.order(Command::Tell(What::Injected { injection: Arc::new(injection) })).await
    }

    /// Leaves the run as it is, to be resumed: what runs is stopped, and will be started again.
    ///
    /// # Errors
    /// The run has ended before.
    pub async fn suspend(&self) -> Result<(), NotDone> {
        match self.order(Command::Suspend).await {
            // The driver has gone, as it was told.
            Err(NotDone::Gone) | Ok(()) => Ok(()),
            Err(other) => Err(other),
        }
    }
}
