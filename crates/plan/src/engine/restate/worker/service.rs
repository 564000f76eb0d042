//! The service itself, as the SDK wants it.

#![allow(missing_docs, unreachable_pub, reason = "what the macro makes of it")]

use std::{sync::Arc, time::Duration};

use restate_sdk::{context::RequestTarget, prelude::*};

use super::{
    super::{
        hall::Hall,
        lanes,
        wire::{Assignment, Done, Key, Since, Told, VERSION},
    },
    Bench,
};

/// What the SDK calls it. The server knows each lane by its own name.
pub(super) const NAME: &str = "agents";
/// How long a piece of a file is kept that nobody forgets.
const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// The state that a piece is kept in.
const PIECE: &str = "piece";

pub(super) fn endpoint<B: Bench>(lane: &str, hall: &Arc<Hall<B>>) -> Endpoint {
    Endpoint::builder().bind(Lane { name: lane.to_owned(), hall: Arc::clone(hall) }).build()
}

struct Lane<B: Bench> {
    name: String,
    hall: Arc<Hall<B>>,
}

// A task may think for long without saying anything, and must not be ended for it; its own limits end it. Its result is kept for a
// driver that comes back. Everything else is nobody's business when it is over.
#[object(
    name = "agents",
    inactivity_timeout = "7 days",
    abort_timeout = "1 day",
    journal_retention = "0s",
    idempotency_retention = "10s",
    lazy_state = true,
    invocation_retry_policy(initial_interval = "200ms", max_interval = "3s", factor = 2.0)
)]
impl<B: Bench> Lane<B> {
    /// Does a task, once.
    #[handler(idempotency_retention = "14 days", journal_retention = "14 days")]
    async fn run(
        &self,
        ctx: ObjectContext<'_>,
        assignment: Json<Assignment>,
    ) -> HandlerResult<Json<Done>> {
        let assignment = assignment.into_inner();
        let key = assignment.key.clone();
        if assignment.version != VERSION {
            let said = format!(
                "the worker speaks version {VERSION}, the driver {}: use the same version of cargo agents",
                assignment.version
            );
            return Err(TerminalError::new_with_code(400, said).into());
        }
        let step = ctx
            .run(|| async {
                let job = self.hall.join(&self.name, assignment);
                Ok(Json::from(Done::clone(&*job.ended().await)))
            })
            .name("task");
        let done = step.await?;
        self.hall.acknowledged(&key);
        Ok(done)
    }

    /// What happened to a task.
    #[handler]
    async fn events(
        &self,
        ctx: SharedObjectContext<'_>,
        since: Json<Since>,
    ) -> HandlerResult<Json<Told>> {
        Ok(match self.hall.find(&Key::parse(ctx.key())) {
            Some(job) => job.since(&since.into_inner()).await.into(),
            None => Told::default().into(),
        })
    }

    /// Ends a task.
    #[handler]
    async fn stop(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<()> {
        if let Some(job) = self.hall.find(&Key::parse(ctx.key())) {
            job.token().cancel();
        }
        Ok(())
    }

    /// Keeps a piece of a file.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, piece: Vec<u8>) -> HandlerResult<()> {
        ctx.set(PIECE, piece);
        let own = RequestTarget::object(lanes::service(&self.name), ctx.key(), "forget");
        ctx.request::<_, ()>(own, ()).send_after(KEPT);
        Ok(())
    }

    /// A piece of a file.
    #[handler]
    async fn get(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Vec<u8>> {
        let piece = ctx.get::<Vec<u8>>(PIECE).await?;
        piece.ok_or_else(|| TerminalError::new_with_code(404, "there is no such piece").into())
    }

    /// Whether there is such a piece.
    #[handler]
    async fn has(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<bool>> {
        Ok(Json::from(ctx.get_keys().await?.iter().any(|it| it == PIECE)))
    }

    /// Forgets a piece.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        ctx.clear(PIECE);
        Ok(())
    }
}
