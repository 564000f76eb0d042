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
}

/// Whose tasks they are.
#[derive(Clone)]
pub(super) struct Clients {
    known: Arc<Mutex<Vec<Known>>>,
    asked: Arc<AtomicU64>,
    /// Whether tasks in the background may ask for secrets.
    background: secret::Asks,
}

impl Clients {
    pub(super) fn new(background: secret::Asks) -> Self {
        Self { known: Arc::default(), asked: Arc::default(), background }
    }

    /// These tasks, and all that they start, are this client's.
    pub(super) fn started(&self, paths: &[TaskPath], by: &Asker, waits: Waits) {
        let mut known = self.lock();
        let task = |path: &TaskPath| Known { path: path.clone(), by: by.clone(), waits };
        known.extend(paths.iter().map(task));
        let too_many = known.len().saturating_sub(REMEMBERED);
        known.drain(..too_many);
    }

    /// Who is asked for a task, if anybody is.
    fn of(&self, path: &TaskPath, question: &Question) -> Option<Asker> {
        // The last one: names may come again.
        let known = self.lock();
        let task = known.iter().rev().find(|it| path.is_within(&it.path))?;
        let is_secret = matches!(question.why, Why::Secret(_));
        let unasked =
            is_secret && task.waits == Waits::No && self.background == secret::Asks::Nobody;
        (!unasked).then(|| task.by.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers everything that is asked, as long as there is somebody who asks. Several questions wait at the same time.
    pub(super) async fn answer(self, mut asks: Asks, patience: Duration) {
        while let Some(ask) = asks.recv().await {
            // One that is dropped without an answer is a no, and it is told that nobody is there.
            if let Some(asker) = self.of(&ask.path, &ask.question) {
                let number = self.asked.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(one(asker, ask, number, patience));
            }
        }
    }
}

async fn one(asker: Asker, ask: Ask, number: u64, patience: Duration) {
    if ask.is_over() {
        return;
    }
    let Some(requested_schema) = schema(&ask.question) else { return };
    let message = format!("{}: {}", ask.path, ask.question);
    let question =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    // If nobody can be asked, dropping the question says so.
    let answer = match asker {
        Asker::Client(peer) => {
            if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
                return;
            }
            match peer.create_elicitation_with_timeout(question, Some(patience)).await {
                Ok(answer) => answer,
                Err(_) => return,
            }
        }
        Asker::Task(task) => {
            let question = InputRequest::Elicitation(ElicitRequest::new(question));
            let asked = task.request_input(format!("ask-{number}"), question);
            match tokio::time::timeout(patience, asked).await.map(|it| it.map(parse)) {
                Ok(Ok(Some(answer))) => answer,
                _ => return,
            }
        }
    };
    ask.answer(reply(&answer));
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
