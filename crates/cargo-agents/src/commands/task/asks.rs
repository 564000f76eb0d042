//! Questions of agents to the person at the terminal.

use agents_system::ask::{AskError, Asker, Choice};
use agents_task::broker::{Ask, Reply};

/// All that can be agreed to, in the order of the notes about it.
pub(super) const YES: [Reply; 3] = [Reply::Once, Reply::Task, Reply::Tree];

/// Asks, without keeping others from working meanwhile. Escape is a no; `None` if whoever sits there leaves.
pub(in super::super) async fn ask(asker: Asker, ask: &Ask) -> Option<Reply> {
    let notes = YES.map(|reply| reply.means(&ask.question));
    put(asker, format!("{}: {}", ask.path, ask.question), notes).await
}

/// The same with a question of which only the words are known, and notes about what each yes means.
pub(in super::super) async fn put(
    asker: Asker,
    question: String,
    [once, task, always]: [String; 3],
) -> Option<Reply> {
    let choices = [
        Choice::new("yes").note(once).key('y'),
        Choice::new("task").note(task).key('t'),
        Choice::new("always").note(always).key('a'),
        Choice::new("no").key('n'),
    ];
    let picked = tokio::task::spawn_blocking(move || asker.one(&question, &choices, 3));
    Some(match picked.await {
        Ok(Err(AskError::Interrupted)) => return None,
        Ok(Ok(0)) => Reply::Once,
        Ok(Ok(1)) => Reply::Task,
        Ok(Ok(2)) => Reply::Tree,
        _ => Reply::No,
    })
}
