//! Questions of tasks to the user of the client.

use std::time::Duration;

use agents_task::broker::{Ask, Asks, Reply};
use rmcp::{
    Peer, RoleServer,
    model::{
        ElicitRequestParams, ElicitationAction, ElicitationSchema, EnumSchema,
        PrimitiveSchemaDefinition,
    },
    service::ElicitationMode,
};

/// The answers, with what they mean.
const ANSWERS: [(&str, &str, Reply); 4] = [
    ("once", "Yes, this time", Reply::Once),
    ("task", "Yes, whenever this task asks for it", Reply::Task),
    ("always", "Yes, whenever any task of this session asks for it", Reply::Tree),
    ("no", "No", Reply::No),
];

/// Answers everything that is asked, as long as there is somebody who asks. Several questions wait at the same time.
pub(super) async fn answer(peer: Peer<RoleServer>, mut asks: Asks, patience: Duration) {
    while let Some(ask) = asks.recv().await {
        // One that is dropped without an answer is a no, and it is told that nobody is there.
        if peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            tokio::spawn(one(peer.clone(), ask, patience));
        }
    }
}

async fn one(peer: Peer<RoleServer>, ask: Ask, patience: Duration) {
    if ask.is_over() {
        return;
    }
    let Some(requested_schema) = schema() else { return };
    let message = format!("{}: {}", ask.path, ask.question);
    let question =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    match peer.create_elicitation_with_timeout(question, Some(patience)).await {
        Ok(answer) if answer.action == ElicitationAction::Accept => {
            let word = answer.content.as_ref().and_then(|it| it["answer"].as_str());
            let known = ANSWERS.iter().find(|it| Some(it.0) == word);
            ask.answer(known.map_or(Reply::No, |it| it.2));
        }
        Ok(_) => ask.answer(Reply::No),
        // Nobody could be asked; that is what dropping it says.
        Err(_) => {}
    }
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
