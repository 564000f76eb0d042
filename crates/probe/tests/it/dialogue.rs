//! What the scripted model says.

use agents_model::endpoint::{Reply, Request, Said, ToolCall};
use agents_probe::{
    client::{self, Client},
    dialogue::{ANSWER, Dialogue},
    sample::{AGENT_PROMPT, Servers},
};
use serde_json::json;

use crate::{and_then, request};

const TOOLS: [&str; 4] = ["mcp__notes__look_up", "Bash", "Agent", "wait_agent"];

fn claude() -> Box<dyn Client> {
    client::of_host("claude").unwrap()
}

/// What a reply calls, if it calls something.
fn call_of(reply: &Reply) -> Option<ToolCall> {
    reply.says.iter().find_map(|said| match said {
        Said::Call(call) => Some(call.clone()),
        _ => None,
    })
}

/// What the model calls, one after the other, in a session that answers everything.
fn calls(dialogue: &mut Dialogue, mut request: Request) -> Vec<String> {
    let mut called = Vec::new();
    // More than there is to call.
    for _ in 0..20 {
        let Some(call) = call_of(&dialogue.reply(&request)) else { break };
        called.push(format!("{} {}", call.name, call.arguments));
        request = and_then(request, &call.name, call.arguments, "done");
    }
    called
}

#[test]
fn everything_that_was_brought_is_tried_in_order() {
    let mut dialogue = Dialogue::new(claude().as_ref(), Servers::Each);
    let called = calls(&mut dialogue, request("", &TOOLS));
    let first: Vec<&str> = called.iter().map(|it| it.split(' ').next().unwrap()).collect();
    assert_eq!(first, ["mcp__notes__look_up", "Bash", "Bash", "Agent"], "{called:?}");
    assert!(called[1].contains("forbidden.txt"), "{called:?}");
    assert!(called[2].contains("allowed.txt"), "{called:?}");
}

#[test]
fn what_is_not_offered_keeps_nobody_from_trying_the_rest() {
    let mut dialogue = Dialogue::new(claude().as_ref(), Servers::Each);
    let called = calls(&mut dialogue, request("", &["Bash"]));
    assert_eq!(called.len(), 2, "{called:?}");
}

#[test]
fn a_tool_that_is_offered_late_is_called_late() {
    let mut dialogue = Dialogue::new(claude().as_ref(), Servers::Each);
    let first = request("", &["Bash"]);
    let input = |file: &str| claude().shell_input(&format!("touch {file}"));
    assert_eq!(dialogue.reply(&first), Reply::call("Bash", input("forbidden.txt")));
    let second = and_then(request("", &TOOLS), "Bash", input("forbidden.txt"), "no");
    assert_eq!(call_of(&dialogue.reply(&second)).unwrap().name, "mcp__notes__look_up");
}

#[test]
fn a_request_that_is_made_again_gets_the_same_answer() {
    let mut dialogue = Dialogue::new(claude().as_ref(), Servers::Each);
    let once = dialogue.reply(&request("", &TOOLS));
    assert_eq!(dialogue.reply(&request("", &TOOLS)), once);
}

#[test]
fn a_request_without_tools_gets_a_word() {
    let mut dialogue = Dialogue::new(claude().as_ref(), Servers::Each);
    assert_eq!(call_of(&dialogue.reply(&request("a title, please", &[]))), None);
}

#[test]
fn what_an_agent_answers_is_asked_for_where_it_does_not_come_by_itself() {
    let codex = client::of_host("codex").unwrap();
    let mut dialogue = Dialogue::new(codex.as_ref(), Servers::Each);
    let tools = ["spawn_agent", "wait_agent"];
    let spawn = call_of(&dialogue.reply(&request("", &tools))).unwrap();
    let told = json!({"agent_id": "7"}).to_string();
    let later = and_then(request("", &tools), &spawn.name, spawn.arguments, &told);
    let wait = call_of(&dialogue.reply(&later)).unwrap();
    assert_eq!((wait.name.as_str(), &wait.arguments["targets"]), ("wait_agent", &json!(["7"])));
    let last = and_then(later, &wait.name, wait.arguments, "done");
    assert_eq!(call_of(&dialogue.reply(&last)), None);
}

#[test]
fn an_agent_says_its_sentence_through_a_tool_where_it_must() {
    let mut dialogue = Dialogue::new(claude().as_ref(), Servers::Each);
    assert_eq!(dialogue.reply(&request(AGENT_PROMPT, &["Bash"])), Reply::text(ANSWER));
    let called = call_of(&dialogue.reply(&request(AGENT_PROMPT, &["complete_task"]))).unwrap();
    assert_eq!(called.arguments, json!({"result": ANSWER}));
}
