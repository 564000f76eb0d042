//! What tasks do, told while a client waits for them.

use agents_task::event::{Event, What};
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::sync::mpsc;

/// Longer messages are cut.
const MAX_MESSAGE: usize = 200;

/// Runs something that tells what happens, and passes that on if the client wants to know. The last of it arrives before the result.
pub(super) async fn told<T, F, Run>(context: &RequestContext<RoleServer>, run: F) -> T
where
    F: FnOnce(Box<dyn Fn(&Event) + Send + Sync>) -> Run,
    Run: Future<Output = T>,
{
    let Some(token) = context.meta.get_progress_token() else {
        return run(Box::new(|_| {})).await;
    };
    let (send, lines) = mpsc::unbounded_channel();
    let watch = move |event: &Event| {
        if let Some(line) = line(event) {
            // The client may be gone.
            drop(send.send(line));
        }
    };
    let (result, ()) =
        tokio::join!(run(Box::new(watch)), pass_on(context.peer.clone(), token, lines));
    result
}

async fn pass_on(
    peer: Peer<RoleServer>,
    token: ProgressToken,
    mut lines: mpsc::UnboundedReceiver<String>,
) {
    let mut step = 0.0;
    while let Some(line) = lines.recv().await {
        step += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), step).with_message(line);
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}

/// What is worth a line: not every word that a model says.
pub(super) fn line(event: &Event) -> Option<String> {
    let what = match &event.what {
        What::Started { agent, model, .. } => format!("starts: {agent} on {model}"),
        What::Turn { number } => format!("turn {number}"),
        What::ToolStarted { tool, .. } => format!("calls {tool}"),
        What::Notice { message, .. } => message.clone(),
        What::Reminded { number } => format!("no result yet, reminded ({number} of 3)"),
        What::Rejected { message } => {
            format!("sent back: {}", message.lines().next().unwrap_or_default())
        }
        What::Waiting { .. } => "waiting for a build slot".to_owned(),
        What::Compacted { left_out } => format!("{left_out} messages were left out"),
        What::Ended { outcome } => outcome.ending.told(),
        What::Text { .. } | What::Thinking { .. } | What::ToolEnded { .. } | What::Spent { .. } => {
            return None;
        }
    };
    let mut line = format!("{}: {what}", event.path);
    line.truncate(line.floor_char_boundary(MAX_MESSAGE));
    Some(line)
}
