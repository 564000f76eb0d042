//! What a session of an agent lets one choose: its model, and a mode in which it only reads.

use agent_client_protocol::v1::schema::{
    Implementation, NewSessionResponse, SessionConfigId, SessionConfigKind,
    SessionConfigOptionCategory, SessionConfigSelectOptions, SessionConfigValueId, SessionModeId,
};

use crate::error::Problem;

/// What agents call a mode in which nothing is changed and nothing is run, the best first: Codex; Claude, Copilot, Gemini,
/// `OpenCode` and Qwen; Goose, which has no tools at all in it.
const READ_MODES: [&str; 3] = ["read-only", "plan", "chat"];

/// Agents, by the names that they tell, which run commands in such a mode all the same.
const LEAKY: [&str; 1] = ["OpenCode"];

/// An option of a session, with the value that it is to have.
pub(super) type Choice = (SessionConfigId, SessionConfigValueId);

/// How a mode is entered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// By an option, as agents of today have it.
    Option(Choice),
    /// By a request of its own, as it was before.
    Own(SessionModeId),
}

/// The option that names the model, and the value for this one.
pub(super) fn model(session: &NewSessionResponse, model: &str) -> Result<Choice, Problem> {
    let mut known = Vec::new();
    for (option, value) in values(session, &SessionConfigOptionCategory::Model) {
        if value.to_string() == model {
            return Ok((option, value));
        }
        known.push(value.to_string());
    }
    let known = if known.is_empty() { "none to choose".to_owned() } else { known.join(", ") };
    let what = format!("the agent has no model `{model}`; it has {known}");
    Err(Problem::Program { what, details: None })
}

/// Whether a mode keeps this agent to reading.
pub(super) fn keeps_to_modes(agent: Option<&Implementation>) -> bool {
    agent.is_none_or(|agent| !LEAKY.contains(&agent.name.as_str()))
}

/// The mode in which the agent only reads, if it has one.
pub(super) fn read_mode(session: &NewSessionResponse) -> Option<Mode> {
    READ_MODES.iter().find_map(|name| {
        let mut options = values(session, &SessionConfigOptionCategory::Mode);
        let option = options.find(|(_, value)| is_called(&value.to_string(), name));
        let mut own = session.modes.iter().flat_map(|modes| &modes.available_modes);
        option.map(Mode::Option).or_else(|| {
            own.find(|mode| is_called(&mode.id.to_string(), name))
                .map(|mode| Mode::Own(mode.id.clone()))
        })
    })
}

/// Some name their modes by the address of a page about them.
fn is_called(id: &str, name: &str) -> bool {
    id.rsplit('#').next() == Some(name)
}

fn values<'a>(
    session: &'a NewSessionResponse,
    category: &'a SessionConfigOptionCategory,
) -> impl Iterator<Item = Choice> + 'a {
    let options = session.config_options.iter().flatten();
    let options = options.filter(move |option| option.category.as_ref() == Some(category));
    options.flat_map(|option| {
        let values: Vec<_> = match &option.kind {
            SessionConfigKind::Select(select) => match &select.options {
                SessionConfigSelectOptions::Ungrouped(values) => values.iter().collect(),
                SessionConfigSelectOptions::Grouped(groups) => {
                    groups.iter().flat_map(|group| &group.options).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        values.into_iter().map(|it| (option.id.clone(), it.value.clone()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn mode(session: Value) -> Option<String> {
        read_mode(&serde_json::from_value(session).unwrap()).map(|mode| match mode {
            Mode::Option((option, value)) => format!("{option}={value}"),
            Mode::Own(id) => id.to_string(),
        })
    }

    fn modes(ids: &[&str]) -> Value {
        let all: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": id})).collect();
        json!({"sessionId": "s", "modes": {"currentModeId": ids[0], "availableModes": all}})
    }

    #[test]
    fn each_agent_calls_the_mode_in_which_it_reads_by_another_name() {
        let read = |ids: &[&str]| mode(modes(ids));
        assert_eq!(read(&["default", "autoEdit", "yolo", "plan"]).as_deref(), Some("plan"));
        assert_eq!(read(&["auto", "approve", "smart_approve", "chat"]).as_deref(), Some("chat"));
        assert_eq!(read(&["auto", "read-only", "plan"]).as_deref(), Some("read-only"));
        let page = "https://agentclientprotocol.com/protocol/session-modes#plan";
        assert_eq!(read(&["x#agent", page]).as_deref(), Some(page));
        assert_eq!(read(&["default", "planning", "x-read-only"]), None);
        assert_eq!(mode(json!({"sessionId": "s"})), None);
    }

    #[test]
    fn an_option_is_preferred_and_a_model_is_no_mode() {
        let mut session = modes(&["auto", "plan"]);
        let option = |category: &str| {
            json!({"id": "m", "name": "M", "category": category, "type": "select", "currentValue": "a",
                   "options": [{"value": "a", "name": "A"}, {"value": "plan", "name": "Plan"}]})
        };
        session["configOptions"] = json!([option("model")]);
        assert_eq!(mode(session.clone()).as_deref(), Some("plan"));
        session["configOptions"] = json!([option("model"), option("mode")]);
        assert_eq!(mode(session).as_deref(), Some("m=plan"));
    }
}
