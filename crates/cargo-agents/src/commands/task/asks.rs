//! Questions of agents to the person at the terminal.

use std::{io, time::Duration};

use agents_system::ask::{AskError, Asker, Choice, Withdrawal};
use agents_task::broker::{Ask, Reply};

/// All that can be agreed to, in the order of the notes about it.
pub(super) const YES: [Reply; 3] = [Reply::Once, Reply::Task, Reply::Tree];

/// How long it may take until a question that was taken back is gone. Only a terminal that is read by whole lines takes longer.
const PARTING: Duration = Duration::from_secs(1);

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Whoever sits there leaves.
    Left,
    /// It was taken back.
    TakenBack,
}

/// Asks, without keeping others from working meanwhile, until nobody waits for the answer any more or `over` is. Escape is a no, and so
/// is no answer; `None` if whoever sits there leaves.
pub(in super::super) async fn ask(
    asker: Asker,
    ask: &mut Ask,
    over: impl Future<Output = ()>,
) -> Option<Reply> {
    let notes = YES.map(|reply| reply.means(&ask.question));
    let question = format!("{}: {}", ask.path, ask.question);
    let over = async {
        tokio::select! {
            () = over => {}
            () = ask.over() => {}
        }
    };
    match put(asker, question, notes, over).await {
        Ok(reply) => Some(reply),
        Err(Unanswered::TakenBack) => Some(Reply::No),
        Err(Unanswered::Left) => None,
    }
}

/// The same with a question of which only the words are known, and notes about what each yes means. Escape is a no here, too.
pub(super) async fn put(
    asker: Asker,
    question: String,
    [once, task, always]: [String; 3],
    over: impl Future<Output = ()>,
) -> Result<Reply, Unanswered> {
    let choices = vec![
        Choice::new("yes").note(once).key('y'),
        Choice::new("task").note(task).key('t'),
        Choice::new("always").note(always).key('a'),
        Choice::new("no").key('n'),
    ];
    Ok(match pick(asker, question, (choices, 3), over).await {
        Err(AskError::Interrupted) => return Err(Unanswered::Left),
        Err(AskError::Withdrawn) => return Err(Unanswered::TakenBack),
        Ok(0) => Reply::Once,
        Ok(1) => Reply::Task,
        Ok(2) => Reply::Tree,
        _ => Reply::No,
    })
}

/// Has one of these choices picked, which start at the preferred one. When `over` is, the question leaves the terminal.
pub(in super::super) async fn pick(
    asker: Asker,
    question: String,
    (choices, preferred): (Vec<Choice>, usize),
    over: impl Future<Output = ()>,
) -> Result<usize, AskError> {
    let withdrawal = Withdrawal::default();
    let asked = withdrawal.clone();
    let mut picked = tokio::task::spawn_blocking(move || {
        asker.one_until(&question, &choices, preferred, &asked)
    });
    tokio::select! {
        biased;
        picked = &mut picked => picked.unwrap_or_else(|it| Err(io::Error::other(it).into())),
        () = over => {
            withdrawal.withdraw();
            // Whoever writes next wants the terminal as it was.
            drop(tokio::time::timeout(PARTING, picked).await);
            Err(AskError::Withdrawn)
        }
    }
}
