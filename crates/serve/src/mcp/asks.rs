//! Questions of tasks to the user of the client that started them.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agents_task::{
    TaskPath,
    broker::{Ask, Asks, Reply},
    secret,
};
use agents_tool::policy::{Question, Why};
use rmcp::{
    Peer, RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
        EnumSchema, InputRequest, PrimitiveSchemaDefinition,
    },
    service::ElicitationMode,
    task_manager::TaskContext,
};

/// The answers.
const ANSWERS: [(&str, Reply); 4] =
    [("once", Reply::Once), ("task", Reply::Task), ("always", Reply::Tree), ("no", Reply::No)];

/// Of more tasks nobody remembers whose they are.
const REMEMBERED: usize = 1_000;

/// Where a question can be put.
#[derive(Clone)]
pub(super) enum Asker {
    /// To a client, which waits for the result of its call.
    Client(Peer<RoleServer>),
    /// Into the state of a task of the protocol, which the client looks at.
    Task(TaskContext),
}

/// Whether a client waits for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It does.
    Yes,
    /// It was started in the background.
    No,
}

impl Waits {
    pub(super) fn for_tasks(background: bool) -> Self {
        if background { Self::No } else { Self::Yes }
    }
}

/// A task of a client.
#[derive(Clone)]
struct Known {
    path: TaskPath,
    by: Asker,
    waits: Waits,
    call: Call,
}

/// The call that started tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call(u64);

/// What is known of all clients.
#[derive(Default)]
struct Book {
    calls: u64,
    tasks: Vec<Known>,
    /// What all tasks of a call may do. It is kept here because one queue of questions serves all clients, and what one of them agreed
    /// to is nothing that another one did.
    agreed: Vec<(Call, Question)>,
}

/// What becomes of a question.
enum Put {
    /// It was agreed to before.
    Agreed,
    /// Somebody is asked.
    To(Asker, Call),
    /// Nobody is.
    Nobody,
}

/// Whose tasks they are.
#[derive(Clone)]
pub(super) struct Clients {
    book: Arc<Mutex<Book>>,
    asked: Arc<AtomicU64>,
    /// Whether tasks in the background may ask for secrets.
    background: secret::Asks,
}

impl Clients {
    pub(super) fn new(background: secret::Asks) -> Self {
        Self { book: Arc::default(), asked: Arc::default(), background }
    }

    /// These tasks, and all that they start, are this client's.
    pub(super) fn started(&self, paths: &[TaskPath], by: &Asker, waits: Waits) {
        let mut book = self.lock();
        book.calls += 1;
        let call = Call(book.calls);
        let task = |path: &TaskPath| Known { path: path.clone(), by: by.clone(), waits, call };
        book.tasks.extend(paths.iter().map(task));
        let too_many = book.tasks.len().saturating_sub(REMEMBERED);
        book.tasks.drain(..too_many);
        let Book { tasks, agreed, .. } = &mut *book;
        agreed.retain(|(call, _)| tasks.iter().any(|it| it.call == *call));
    }

    /// Who is asked for a task, if anybody is.
    fn put(&self, path: &TaskPath, question: &Question) -> Put {
        // The last one: names may come again.
        let book = self.lock();
        let Some(task) = book.tasks.iter().rev().find(|it| path.is_within(&it.path)) else {
            return Put::Nobody;
        };
        if book.agreed.iter().any(|(call, it)| *call == task.call && covers(it, question)) {
            return Put::Agreed;
        }
        let is_secret = matches!(question.why, Why::Secret(_));
        if is_secret && task.waits == Waits::No && self.background == secret::Asks::Nobody {
            return Put::Nobody;
        }
        Put::To(task.by.clone(), task.call)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers everything that is asked, as long as there is somebody who asks. Several questions wait at the same time.
    pub(super) async fn answer(self, mut asks: Asks, patience: Duration) {
        while let Some(ask) = asks.recv().await {
            match self.put(&ask.path, &ask.question) {
                Put::Agreed => agree(ask),
                Put::To(asker, call) => {
                    tokio::spawn(self.clone().ask(asker, call, ask, patience));
                }
                // One that is dropped without an answer is a no, and it is told that nobody is there.
                Put::Nobody => {}
            }
        }
    }

    async fn ask(self, asker: Asker, call: Call, ask: Ask, patience: Duration) {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        match one(asker, &ask, number, patience).await {
            Some(Reply::Tree) => {
                self.lock().agreed.push((call, ask.question.clone()));
                agree(ask);
            }
            Some(reply) => ask.answer(reply),
            None => {}
        }
    }
}

/// Whether what was agreed to is the same as what is asked. Of secrets the name counts, whoever wants it and why.
fn covers(agreed: &Question, asked: &Question) -> bool {
    match (&agreed.why, &asked.why) {
        (Why::Secret(_), Why::Secret(_)) => agreed.about == asked.about,
        _ => agreed.is_like(asked),
    }
}

/// Agrees to what all tasks of a call may do; the next of them asks again, and is answered here.
fn agree(ask: Ask) {
    let reply = match ask.question.why {
        // Otherwise it would be taken away after a while.
        Why::Secret(_) => Reply::Task,
        _ => Reply::Once,
    };
    ask.answer(reply);
}

/// What somebody answers. If nobody can be asked, or nobody answers, dropping the question says so.
async fn one(asker: Asker, ask: &Ask, number: u64, patience: Duration) -> Option<Reply> {
    if ask.is_over() {
        return None;
    }
    let requested_schema = schema(&ask.question)?;
    let message = format!("{}: {}", ask.path, ask.question);
    let question =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let answer = match asker {
        Asker::Client(peer) => {
            if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
                return None;
            }
            peer.create_elicitation_with_timeout(question, Some(patience)).await.ok()?
        }
        Asker::Task(task) => {
            let question = InputRequest::Elicitation(ElicitRequest::new(question));
            let asked = task.request_input(format!("ask-{number}"), question);
            parse(tokio::time::timeout(patience, asked).await.ok()?.ok()?)?
        }
    };
    Some(reply(&answer))
}

fn parse(answer: serde_json::Value) -> Option<ElicitResult> {
    serde_json::from_value(answer).ok()
}

fn reply(answer: &ElicitResult) -> Reply {
    if answer.action != ElicitationAction::Accept {
        return Reply::No;
    }
    let word = answer.content.as_ref().and_then(|it| it["answer"].as_str());
    let known = ANSWERS.iter().find(|it| Some(it.0) == word);
    known.map_or(Reply::No, |it| it.1)
}

fn schema(question: &Question) -> Option<ElicitationSchema> {
    let words = ANSWERS.iter().map(|it| it.0.to_owned()).collect();
    let title = |it: &(&str, Reply)| match it.1 {
        Reply::No => "No".to_owned(),
        yes => format!("Yes, {}", yes.means(question)),
    };
    let titles = ANSWERS.iter().map(title).collect();
    let answers = EnumSchema::builder(words).enum_titles(titles).ok()?.build();
    let property = PrimitiveSchemaDefinition::Enum(answers);
    ElicitationSchema::builder().required_property("answer", property).build().ok()
}

#[cfg(test)]
mod tests {
    use agents_tool::policy::WantedSecret;

    use super::*;

    #[test]
    fn the_form_is_one_choice_with_titles() {
        let why = Why::Effect(agents_tool::Effect::Executes);
        let question = Question { tool: "bash".to_owned(), about: None, why };
        let form = serde_json::to_value(schema(&question).unwrap()).unwrap();
        assert_eq!(form["required"], serde_json::json!(["answer"]));
        let answer = &form["properties"]["answer"];
        assert_eq!(answer["oneOf"][3], serde_json::json!({"const": "no", "title": "No"}), "{form}");
    }

    #[test]
    fn a_secret_is_given_for_as_long_as_the_title_says() {
        let (agent, from) = ("helper".to_owned(), "`OUTER`".to_owned());
        let longest = Some(Duration::from_secs(60));
        let wanted = WantedSecret { agent, from, reason: None, longest };
        let why = Why::Secret(Box::new(wanted));
        let about = Some("CI_TOKEN".to_owned());
        let question = Question { tool: "request_secret".to_owned(), about, why };
        let form = serde_json::to_value(schema(&question).unwrap()).unwrap();
        let titles = form["properties"]["answer"]["oneOf"].as_array().unwrap();
        let titles: Vec<&str> = titles.iter().map(|it| it["title"].as_str().unwrap()).collect();
        assert_eq!(
            titles,
            [
                "Yes, for 1 min",
                "Yes, as long as this task runs, 1 min at a time",
                "Yes, for all of these tasks that may ask for it, 1 min at a time",
                "No"
            ]
        );
    }
}
