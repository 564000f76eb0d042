//! Questions of agents to the person at the terminal.

use agents_system::ask::{Asker, Choice};
use agents_task::broker::{Ask, Reply};

/// Asks, without keeping others from working meanwhile. Escape and Ctrl-C are a no; Ctrl-C also ends everything, which is seen
/// elsewhere.
pub(in super::super) async fn answer(asker: Asker, ask: Ask) {
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
    let reply = match picked.await {
        Ok(Ok(0)) => Reply::Once,
        Ok(Ok(1)) => Reply::Task,
        Ok(Ok(2)) => Reply::Tree,
        _ => Reply::No,
    };
    ask.answer(reply);
}
