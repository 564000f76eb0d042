//! Questions of agents to the person at the terminal.

use agents_system::ask::{AskError, Asker, Choice};
use agents_task::broker::{Ask, Reply};
use tokio_util::sync::CancellationToken;

/// Asks, without keeping others from working meanwhile. Escape is a no; Ctrl-C ends everything, before the agent can go on with a no.
pub(super) async fn answer(asker: Asker, ask: Ask, cancel: &CancellationToken) {
    if ask.is_over() {
        return;
    }
    let question = format!("{}: {}", ask.path, ask.question);
    let picked = tokio::task::spawn_blocking(move || {
        let choices = [
            Choice::new("yes").note("this time").key('y'),
            Choice::new("task").note("whenever this task asks for it").key('t'),
            Choice::new("always").note("whenever any of these tasks asks for it").key('a'),
            Choice::new("no").key('n'),
        ];
        asker.one(&question, &choices, 3)
    });
    let picked = picked.await;
    if let Ok(Err(AskError::Interrupted)) = picked {
        cancel.cancel();
    }
    let reply = match picked {
        Ok(Ok(0)) => Reply::Once,
        Ok(Ok(1)) => Reply::Task,
        Ok(Ok(2)) => Reply::Tree,
        _ => Reply::No,
    };
    ask.answer(reply);
}
