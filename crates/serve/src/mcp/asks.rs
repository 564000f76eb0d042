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
};
use rmcp::{
    Peer, RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
        EnumSchema, InputRequest, PrimitiveSchemaDefinition,
    },
    service::ElicitationMode,
    task_manager::TaskContext,
};

/// The answers, with what they mean.
const ANSWERS: [(&str, &str, Reply); 4] = [
    ("once", "Yes, this time", Reply::Once),
    ("task", "Yes, whenever this task asks for it", Reply::Task),
    ("always", "Yes, whenever any task of this session asks for it", Reply::Tree),
    ("no", "No", Reply::No),
];

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

/// Whose tasks they are.
#[derive(Clone, Default)]
pub(super) struct Clients {
    known: Arc<Mutex<Vec<(TaskPath, Asker)>>>,
    asked: Arc<AtomicU64>,
}

impl Clients {
    /// These tasks, and all that they start, are this client's.
    pub(super) fn started(&self, paths: &[TaskPath], by: &Asker) {
        let mut known = self.lock();
        known.extend(paths.iter().map(|path| (path.clone(), by.clone())));
        let too_many = known.len().saturating_sub(REMEMBERED);
        known.drain(..too_many);
    }

    fn of(&self, path: &TaskPath) -> Option<Asker> {
        // The last one: names may come again.
        let known = self.lock();
        known.iter().rev().find(|(it, _)| path.is_within(it)).map(|(_, by)| by.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TaskPath, Asker)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers everything that is asked, as long as there is somebody who asks. Several questions wait at the same time.
    pub(super) async fn answer(self, mut asks: Asks, patience: Duration) {
        while let Some(ask) = asks.recv().await {
            // One that is dropped without an answer is a no, and it is told that nobody is there.
            if let Some(asker) = self.of(&ask.path) {
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
    let Some(requested_schema) = schema() else { return };
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
    known.map_or(Reply::No, |it| it.2)
}

fn schema() -> Option<ElicitationSchema> {
    let words = ANSWERS.iter().map(|it| it.0.to_owned()).collect();
    let titles = ANSWERS.iter().map(|it| it.1.to_owned()).collect();
    let answers = EnumSchema::builder(words).enum_titles(titles).ok()?.build();
    let property = PrimitiveSchemaDefinition::Enum(answers);
    ElicitationSchema::builder().required_property("answer", property).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_one_choice_with_titles() {
        let form = serde_json::to_value(schema().unwrap()).unwrap();
        assert_eq!(form["required"], serde_json::json!(["answer"]));
        let answer = &form["properties"]["answer"];
        assert_eq!(answer["oneOf"][3], serde_json::json!({"const": "no", "title": "No"}), "{form}");
    }
}
