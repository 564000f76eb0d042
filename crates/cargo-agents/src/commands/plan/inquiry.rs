//! Questions to whoever sits at the terminal of a run: one at a time, while everything else goes on.

use std::collections::{BTreeSet, VecDeque};

use agents_plan::{
    engine::Handle,
    event::{Answer, Index},
};
use agents_system::ask::{AskError, Asker, Choice};
use agents_task::broker::Ask;
use futures_util::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use super::super::task::asks;

/// A failure about which somebody must say something.
pub(super) struct Question {
    pub(super) node: Index,
    /// The attempt that failed.
    pub(super) attempt: u32,
    pub(super) text: String,
}

impl Question {
    /// What makes it another one.
    fn about(&self) -> (Index, u32) {
        (self.node, self.attempt)
    }
}

/// All failures that somebody must say something about, as the run stands.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) open: Vec<Question>,
    /// Nothing else can happen.
    pub(super) is_stuck: bool,
}

/// What came of a question.
pub(super) enum Came {
    /// It was answered, or left open, or nobody waits for the answer any more.
    Settled,
    /// Whoever sits there leaves. A task that asked is ended with the run, not told no.
    Leaves(Option<Ask>),
    /// It was taken back; whoever asked still waits.
    TakenBack(Ask),
}

/// The question that stands on the terminal.
struct Standing {
    /// The failure that it is about; else a task asks for leave.
    about: Option<(Index, u32)>,
    take_back: CancellationToken,
    came: LocalBoxFuture<'static, Came>,
}

/// Everything that is to be asked.
pub(super) struct Inquiry {
    /// Who can be asked.
    asker: Option<Asker>,
    handle: Handle,
    standing: Option<Standing>,
    /// Failures that are asked about next.
    next: VecDeque<Question>,
    /// Those that somebody was told about.
    told: BTreeSet<(Index, u32)>,
    is_stuck: bool,
}

impl Inquiry {
    pub(super) fn new(asker: Option<Asker>, handle: Handle) -> Self {
        let (next, told) = (VecDeque::new(), BTreeSet::new());
        Self { asker, handle, standing: None, next, told, is_stuck: false }
    }

    /// Whether no question stands on the terminal.
    pub(super) fn is_free(&self) -> bool {
        self.standing.is_none()
    }

    /// Whether the run waits for answers that nobody gives.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_stuck && self.is_free() && self.next.is_empty()
    }

    /// Takes over how the run stands: asks about what is new, and no longer about what is over. Gives the words of what is new.
    pub(super) fn heard(&mut self, failures: Failures) -> Vec<String> {
        let Failures { open, is_stuck } = failures;
        self.is_stuck = is_stuck;
        let is_open = |about: (Index, u32)| open.iter().any(|it| it.about() == about);
        if let Some(Standing { about: Some(about), take_back, .. }) = &self.standing
            && !is_open(*about)
        {
            take_back.cancel();
        }
        self.next.retain(|it| is_open(it.about()));
        let mut words = Vec::new();
        for question in open {
            // The same is told as often as something happens meanwhile.
            if self.told.insert(question.about()) {
                words.push(question.text.clone());
                self.next.extend(self.asker.is_some().then_some(question));
            }
        }
        words
    }

    /// Asks about the next failure, unless a question stands there already.
    pub(super) fn go_on(&mut self) {
        if self.is_free()
            && let Some(asker) = self.asker
            && let Some(question) = self.next.pop_front()
        {
            let take_back = CancellationToken::new();
            let about = Some(question.about());
            let came =
                Box::pin(about_failure(asker, self.handle.clone(), question, take_back.clone()));
            self.standing = Some(Standing { about, take_back, came });
        }
    }

    /// Asks what a task wants to know. Nothing else may stand there.
    pub(super) fn ask(&mut self, ask: Ask) {
        if let Some(asker) = self.asker
            && !ask.is_over()
        {
            let take_back = CancellationToken::new();
            let came = Box::pin(for_leave(asker, ask, take_back.clone()));
            self.standing = Some(Standing { about: None, take_back, came });
        }
    }

    /// Waits until the question has left the terminal. It may be dropped at any time.
    pub(super) async fn came(&mut self) -> Came {
        let Some(standing) = &mut self.standing else { return std::future::pending().await };
        let came = (&mut standing.came).await;
        self.standing = None;
        came
    }

    /// Takes back what stands there, for good. Gives the task that waits for its answer.
    pub(super) async fn close(mut self) -> Option<Ask> {
        self.standing.as_ref()?.take_back.cancel();
        match self.came().await {
            Came::Settled => None,
            Came::Leaves(ask) => ask,
            Came::TakenBack(ask) => Some(ask),
        }
    }
}

async fn for_leave(asker: Asker, mut ask: Ask, take_back: CancellationToken) -> Came {
    match asks::ask(asker, &mut ask, take_back.cancelled()).await {
        None => Came::Leaves(Some(ask)),
        Some(_) if take_back.is_cancelled() => Came::TakenBack(ask),
        Some(reply) => {
            ask.answer(reply);
            Came::Settled
        }
    }
}

/// Asks what to do about a failure. Escape leaves it open: the run goes on with what it can.
async fn about_failure(
    asker: Asker,
    handle: Handle,
    question: Question,
    take_back: CancellationToken,
) -> Came {
    const ANSWERS: [Answer; 4] =
        [Answer::Retry, Answer::SkipDependents, Answer::Continue, Answer::Abort];
    let choices = vec![
        Choice::new("retry").note("try it again").key('r'),
        Choice::new("skip").note("leave out what needs it").key('s'),
        Choice::new("continue").note("as if it were done").key('c'),
        Choice::new("abort").note("end the plan").key('a'),
    ];
    let Question { node, text, .. } = question;
    match asks::pick(asker, text, (choices, 0), take_back.cancelled()).await {
        Err(AskError::Interrupted) => return Came::Leaves(None),
        Err(_) => {}
        Ok(picked) => {
            if let Some(answer) = ANSWERS.get(picked) {
                // If it is not taken, then because it is over, or cannot be: then it stays open.
                _ = handle.answer(node, *answer).await;
            }
        }
    }
    Came::Settled
}
