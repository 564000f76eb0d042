//! Questions of agents to the person at the terminal.

use agents_system::ask::{AskError, Asker, Choice};
use agents_task::broker::Reply;

/// Asks, without keeping others from working meanwhile. Escape is a no; `None` if whoever sits there leaves.
pub(in super::super) async fn ask(asker: Asker, question: String) -> Option<Reply> {
    let picked = tokio::task::spawn_blocking(move || {
        let choices = [
            Choice::new("yes").note("this time").key('y'),
            Choice::new("task").note("whenever this task asks for it").key('t'),
            Choice::new("always").note("whenever any of these tasks asks for it").key('a'),
            Choice::new("no").key('n'),
        ];
        asker.one(&question, &choices, 3)
    });
    Some(match picked.await {
        Ok(Err(AskError::Interrupted)) => return None,
        Ok(Ok(0)) => Reply::Once,
        Ok(Ok(1)) => Reply::Task,
        Ok(Ok(2)) => Reply::Tree,
        _ => Reply::No,
    })
}
