//! The tasks extension of the protocol: a client that has it gets the result of `task` later, and can be asked meanwhile even if its
//! revision of the protocol knows no other way.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{CallToolResponse, CallToolResult, CreateTaskResult, ProtocolVersion},
    service::RequestContext,
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use tokio_util::sync::CancellationToken;

use super::{
    asks::{Asker, Clients, Waits},
    error, of_tasks, progress,
};
use crate::verbs::{Verbs, asked::RunTasks};

/// How long what became of a call is kept, in milliseconds.
const KEPT: u64 = 3_600_000;
/// How often a client looks, in milliseconds.
const INTERVAL: u64 = 500;

/// Whether a client asks for results later. Some name the extension and speak an older revision of the protocol, where nothing but a
/// result can be the answer to a call.
pub(super) fn suits(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|it| it >= ProtocolVersion::V_2026_07_28)
        && context.client_capabilities().is_some_and(|it| it.supports_tasks())
}

/// Starts tasks whose results are asked for later.
pub(super) fn start(
    manager: &TaskManager,
    verbs: &Arc<Verbs>,
    clients: &Clients,
    over: &CancellationToken,
    asked: RunTasks,
) -> CallToolResponse {
    let (verbs, clients, over) = (Arc::clone(verbs), clients.clone(), over.child_token());
    let options = TaskOptions::new().with_ttl_ms(KEPT).with_poll_interval_ms(INTERVAL);
    let task = manager.spawn(options, |task| {
        Box::pin(async move { run(task, &verbs, &clients, over, asked).await })
    });
    CallToolResponse::Task(CreateTaskResult::new(task))
}

async fn run(
    task: TaskContext,
    verbs: &Verbs,
    clients: &Clients,
    cancelled: CancellationToken,
    asked: RunTasks,
) -> Result<CallToolResult, TaskExit> {
    let asker = Asker::Task(task.clone());
    let tell = |event: &agents_task::event::Event| {
        if let Some(line) = progress::line(event) {
            task.set_status_message(line);
        }
    };
    let waits = Waits::for_tasks(asked.background);
    let started = |paths: &[agents_task::TaskPath]| clients.started(paths, &asker, waits);
    let running = verbs.run_tasks(asked, &cancelled, started, tell);
    tokio::pin!(running);
    let list = tokio::select! {
        list = &mut running => list,
        () = task.cancelled() => {
            cancelled.cancel();
            // They end before it is said that they have.
            drop(running.await);
            return Err(TaskExit::Cancelled);
        }
    };
    Ok(list.map_or_else(|it| error(&it), |it| of_tasks(&it)))
}
