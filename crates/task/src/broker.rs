//! One queue of questions for a whole tree of agents.
//!
//! Whatever an agent must ask for, however deep it stands, goes to whoever sits at the end of the queue ([`Asks`]), with the path of
//! the agent. An answer counts once, for the task, or for the whole tree; then the same is not asked again. Where nobody sits
//! there, and when nobody answers in time, the answer is no, and it is remembered that it was asked: nothing ever waits for
//! an answer that nobody knows of.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_system::span;
use agents_tool::{
    Grant, GrantKind, Moment,
    executor::{Answer, Approver},
    policy::{Question, Why},
};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use crate::{id::TaskPath, secret::DEFAULT_TTL};

/// How long an answer is waited for, unless somebody says something else.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(300);

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, for this task from now on.
    Task,
    /// Yes, for every task of the tree from now on.
    Tree,
    /// No.
    No,
}

impl Reply {
    /// What it means as an answer to most questions, in words that follow a yes.
    #[must_use]
    pub fn usually_means(self) -> &'static str {
        match self {
            Self::Once => "this time",
            Self::Task => "whenever this task asks for it",
            Self::Tree => "whenever any of these tasks asks for it",
            Self::No => "",
        }
    }

    /// What it means as an answer to this one: a secret is given for a time.
    #[must_use]
    pub fn means(self, to: &Question) -> String {
        let Why::Secret(wanted) = &to.why else { return self.usually_means().to_owned() };
        let longest = wanted.longest;
        let bounded = |most: Duration| longest.map_or(most, |longest| most.min(longest));
        let longest = longest.map(|it| format!(", {} at a time", span::set(it)));
        let longest = longest.unwrap_or_default();
        match self {
            Self::Once => format!("for {}", span::set(bounded(DEFAULT_TTL))),
            Self::Task => format!("as long as this task runs{longest}"),
            Self::Tree => format!("for all of these tasks that may ask for it{longest}"),
            Self::No => String::new(),
        }
    }
}

/// For how long something is agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yes {
    Once,
    Task,
    Tree,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub struct Ask {
    /// The task that asks.
    pub path: TaskPath,
    /// What it asks.
    pub question: Question,
    reply: oneshot::Sender<Reply>,
}

impl Ask {
    /// Answers it. Whoever asked may be gone.
    pub fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }

    /// Waits until nobody waits for the answer any more.
    pub async fn over(&mut self) {
        self.reply.closed().await;
    }

    /// Whether nobody waits for the answer any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The end of the queue, where somebody answers.
pub type Asks = mpsc::UnboundedReceiver<Ask>;

/// Something that was asked for, and that nobody agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAgreed {
    /// The task that asked.
    pub path: TaskPath,
    /// What it asked.
    pub question: Question,
    /// Why not.
    pub why: NoAnswer,
}

/// Why something was not agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// Somebody said no.
    Refused,
    /// Nobody is there to be asked.
    Nobody,
    /// Nobody answered in time.
    TooLate,
}

impl NotAgreed {
    /// In a line.
    #[must_use]
    pub fn told(&self) -> String {
        let why = match self.why {
            NoAnswer::Refused => "it was refused",
            NoAnswer::Nobody => "nobody is there to agree",
            NoAnswer::TooLate => "nobody answered in time",
        };
        format!("{}: {why}", self.question)
    }
}

#[derive(Debug)]
struct Shared {
    queue: Option<mpsc::UnboundedSender<Ask>>,
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the whole tree may do.
    agreed: Vec<Question>,
    not_agreed: Vec<NotAgreed>,
}

/// The queue of a tree.
#[derive(Debug, Clone)]
pub struct Broker(Arc<Shared>);

impl Broker {
    /// One where somebody answers, within so long.
    #[must_use]
    pub fn new(patience: Duration) -> (Self, Asks) {
        let (queue, asks) = mpsc::unbounded_channel();
        (Self::with(Some(queue), patience), asks)
    }

    /// One where nobody does.
    #[must_use]
    pub fn unattended() -> Self {
        Self::with(None, Duration::ZERO)
    }

    fn with(queue: Option<mpsc::UnboundedSender<Ask>>, patience: Duration) -> Self {
        Self(Arc::new(Shared { queue, patience, state: Mutex::default() }))
    }

    /// The place of one task in it.
    #[must_use]
    pub fn seat(&self, path: TaskPath) -> Arc<Seat> {
        Arc::new(Seat { broker: self.clone(), path })
    }

    /// What a task, and those below it, asked for and nobody agreed to.
    #[must_use]
    pub fn not_agreed(&self, path: &TaskPath) -> Vec<NotAgreed> {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.not_agreed.iter().filter(|it| it.path.is_within(path)).cloned().collect()
    }

    fn refuse(&self, path: &TaskPath, question: &Question, why: NoAnswer) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, question) = (path.clone(), question.clone());
        state.not_agreed.push(NotAgreed { path, question, why });
    }

    fn is_agreed(&self, question: &Question) -> bool {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.agreed.iter().any(|it| it.is_like(question))
    }

    async fn ask(&self, path: &TaskPath, question: &Question) -> Answer {
        if self.is_agreed(question) {
            return Answer::Once;
        }
        match self.put(path, question).await {
            Ok(Yes::Once) => Answer::Once,
            Ok(Yes::Task) => grant(question).map_or(Answer::Once, Answer::Granted),
            Ok(Yes::Tree) => {
                let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.agreed.push(question.clone());
                Answer::Once
            }
            Err(_) => Answer::No,
        }
    }

    /// Puts a question, whatever was answered to others. What is not agreed to is remembered.
    pub(crate) async fn put(&self, path: &TaskPath, question: &Question) -> Result<Yes, NoAnswer> {
        let why = 'no: {
            let Some(queue) = &self.0.queue else { break 'no NoAnswer::Nobody };
            let (reply, answer) = oneshot::channel();
            let ask = Ask { path: path.clone(), question: question.clone(), reply };
            if queue.send(ask).is_err() {
                break 'no NoAnswer::Nobody;
            }
            match tokio::time::timeout(self.0.patience, answer).await {
                Ok(Ok(Reply::Once)) => return Ok(Yes::Once),
                Ok(Ok(Reply::Task)) => return Ok(Yes::Task),
                Ok(Ok(Reply::Tree)) => return Ok(Yes::Tree),
                Ok(Ok(Reply::No)) => NoAnswer::Refused,
                // The question was dropped without an answer.
                Ok(Err(_)) => NoAnswer::Nobody,
                Err(_) => NoAnswer::TooLate,
            }
        };
        self.refuse(path, question, why);
        Err(why)
    }
}

/// The place of one task in the queue.
#[derive(Debug)]
pub struct Seat {
    broker: Broker,
    path: TaskPath,
}

impl Seat {
    /// What the task asked for and nobody agreed to.
    #[must_use]
    pub fn not_agreed(&self) -> Vec<NotAgreed> {
        self.broker.not_agreed(&self.path)
    }
}

impl Approver for Seat {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        Box::pin(self.broker.ask(&self.path, question))
    }
}

/// What a task may do without asking again: the tool, or the one protected file. A hook asks about one call, and about the next one
/// again.
fn grant(question: &Question) -> Option<Grant> {
    let tool = match &question.why {
        Why::Effect(_) => question.tool.clone(),
        Why::Protected(file) => format!("{}({file})", question.tool),
        // Neither of a secret: how long that is given is not a question of tools.
        Why::Hook(_) | Why::Secret(_) => return None,
    };
    let until: Option<Moment> = None;
    Some(Grant { kind: GrantKind::Tool(tool), until })
}

#[cfg(test)]
mod tests {
    use agents_tool::Effect;

    use super::*;

    fn question(tool: &str) -> Question {
        Question { tool: tool.to_owned(), about: None, why: Why::Effect(Effect::Executes) }
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn answers_for_once_for_the_task_and_for_the_tree() {
        block_on(async {
            let (broker, mut asks) = Broker::new(Duration::from_secs(60));
            let root = TaskPath::root();
            let one = broker.seat(root.child("one", &crate::id::Taken::default()));
            let other = broker.seat(root.child("other", &crate::id::Taken::default()));
            let bash = question("bash");
            let answering = async {
                let mut seen = Vec::new();
                for reply in [Reply::Once, Reply::Task, Reply::Tree, Reply::No] {
                    let ask = asks.recv().await.unwrap();
                    seen.push(ask.path.to_string());
                    ask.answer(reply);
                }
                seen
            };
            let asking = async {
                assert_eq!(one.ask(&bash).await, Answer::Once);
                let granted = Grant { kind: GrantKind::Tool("bash".to_owned()), until: None };
                assert_eq!(one.ask(&bash).await, Answer::Granted(granted));
                assert_eq!(other.ask(&bash).await, Answer::Once);
                assert_eq!(one.ask(&bash).await, Answer::Once, "the whole tree may");
                assert_eq!(other.ask(&question("web_fetch")).await, Answer::No);
            };
            let (seen, ()) = tokio::join!(answering, asking);
            assert_eq!(seen, ["one", "one", "other", "other"]);
            assert!(one.not_agreed().is_empty());
            assert_eq!(other.not_agreed()[0].told(), "`web_fetch` runs programs: it was refused");
            assert_eq!(broker.not_agreed(&root).len(), 1);
        });
    }

    #[test]
    fn nothing_waits_for_an_answer_that_nobody_gives() {
        block_on(async {
            let path = TaskPath::root().child("one", &crate::id::Taken::default());
            let why = |broker: &Broker| broker.not_agreed(&path)[0].why;
            let broker = Broker::unattended();
            assert_eq!(broker.seat(path.clone()).ask(&question("bash")).await, Answer::No);
            assert_eq!(why(&broker), NoAnswer::Nobody);

            let (broker, asks) = Broker::new(Duration::from_millis(1));
            assert_eq!(broker.seat(path.clone()).ask(&question("bash")).await, Answer::No);
            assert_eq!(why(&broker), NoAnswer::TooLate);
            drop(asks);

            let (broker, asks) = Broker::new(Duration::from_secs(60));
            drop(asks);
            assert_eq!(broker.seat(path.clone()).ask(&question("bash")).await, Answer::No);
            assert_eq!(why(&broker), NoAnswer::Nobody);
        });
    }

    #[test]
    fn a_protected_file_is_granted_by_its_name() {
        let why = Why::Protected(".git/config".to_owned());
        let granted = grant(&Question { tool: "write".to_owned(), about: None, why }).unwrap();
        assert_eq!(granted.kind, GrantKind::Tool("write(.git/config)".to_owned()));
    }
}
