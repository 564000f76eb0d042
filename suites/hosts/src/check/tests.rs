//! Each look at a client can find a fault.

use agents_testkit::endpoint::{Delivery, Message, Part, Protocol, Role};

use super::*;

fn request(text: &str, tools: &[&str]) -> Request {
    let tool = |name: &&str| Tool {
        group: None,
        name: (*name).to_owned(),
        description: String::new(),
        schema: json!({}),
    };
    let result = Part::Result { id: String::new(), text: text.to_owned() };
    Request {
        protocol: Protocol::Chat,
        model: String::new(),
        system: text.to_owned(),
        messages: vec![Message { role: Role::Tool, parts: vec![result] }],
        tools: tools.iter().map(tool).collect(),
        delivery: Delivery::Whole,
    }
}

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(path, text)| (Utf8PathBuf::from(path), text.as_bytes().to_vec())).collect()
}

fn good(verdict: &Verdict) -> bool {
    *verdict == Verdict::Yes
}

#[test]
fn a_skill_without_its_description_has_not_arrived() {
    let both = format!("- {SKILL}: {SKILL_DESCRIPTION}");
    assert!(good(&skill_arrived(&[request("", &[]), request(&both, &[])])));
    assert!(!good(&skill_arrived(&[request(SKILL, &[]), request(SKILL_DESCRIPTION, &[])])));
    assert!(!good(&skill_arrived(&[])));
}

#[test]
fn another_tool_is_not_the_tool() {
    assert!(good(&tool_arrived(&[request("", &["shell", "notes_look_up"])], "notes_look_up")));
    let Verdict::No(why) = tool_arrived(&[request("", &["shell"])], "notes_look_up") else {
        panic!("it is not there")
    };
    assert_eq!(why, "`notes_look_up` is not among shell");
}

#[test]
fn an_answer_counts_only_if_the_server_gave_it() {
    let scratch = agents_testkit::scratch::Scratch::new();
    let log = scratch.path("log");
    assert!(!good(&tool_answered(&[request(TOKEN, &[])], &log)));
    scratch.write("log", "tiny-sql\n");
    assert!(good(&tool_answered(&[request(TOKEN, &[])], &log)));
    assert!(!good(&tool_answered(&[request("error", &[])], &log)));
}

#[test]
fn a_comment_that_is_gone_is_noticed_and_a_comma_more_is_not() {
    let files = [("a".into(), "{\n  // mine\n  \"a\": 1\n}\n".to_owned())];
    let now = |text: &str| kept("/h".into(), &files, &tree(&[("/h/a", text)]));
    assert!(good(&now("{\n  // mine\n  \"a\": 1,\n  \"b\": 2\n}\n")));
    assert!(!good(&now("{\n  \"a\": 1,\n  \"b\": 2\n}\n")));
    assert!(!good(&now("")));
}

#[test]
fn what_is_left_is_noticed_unless_the_client_wrote_it() {
    let before = tree(&[("a", "1"), ("mine", "x")]);
    let synced = tree(&[("a", "1 ours"), ("mine", "x"), ("new", "ours")]);
    let clean = |used: &[(&str, &str)], after: &[(&str, &str)]| {
        good(&is_clean(&before, &synced, &tree(used), &tree(after)))
    };
    let unused = [("a", "1 ours"), ("mine", "x"), ("new", "ours")];
    assert!(clean(&unused, &[("a", "1"), ("mine", "x")]));
    assert!(!clean(&unused, &[("a", "1"), ("mine", "x"), ("new", "ours")]));
    assert!(!clean(&unused, &[("a", "1 ours"), ("mine", "x")]));
    assert!(!clean(&unused, &[("mine", "x")]));
    let used = [("a", "1 ours theirs"), ("mine", "x"), ("new", "ours")];
    assert!(clean(&used, &[("a", "1 theirs"), ("mine", "x")]));
    assert!(!clean(&used, &[("a", &format!("1 {TOKEN} theirs")), ("mine", "x")]));
}

#[test]
fn the_model_makes_its_calls_in_their_order() {
    let calls = [("t".to_owned(), json!({"krate": "tiny-sql"})), ("sh".to_owned(), json!({}))];
    let mut first = request("", &["t"]);
    first.messages.clear();
    assert_eq!(model(&first, &calls, |_| None), Reply::call("t", json!({"krate": "tiny-sql"})));
    assert_eq!(model(&request("", &["t", "sh"]), &calls, |_| None), Reply::call("sh", json!({})));
    let thanks = Reply::text("").stop_reason();
    assert!(model(&request("", &["t"]), &calls, |_| None).stop_reason() == thanks);
    assert!(model(&request("", &[]), &calls, |_| None).stop_reason() == thanks);
}

#[test]
fn what_an_agent_answers_is_asked_for_where_it_does_not_come_by_itself() {
    let calls = [("spawn".to_owned(), json!({}))];
    let hear: Hear = |said| Some(("wait", json!({ "for": said })));
    assert_eq!(
        model(&request("7", &["spawn", "wait"]), &calls, hear),
        Reply::call("wait", json!({"for": "7"}))
    );
}

#[test]
fn an_agent_that_asks_or_answers_alone_has_not_run() {
    let (asks, hears) = (request(AGENT_PROMPT, &[]), request(ANSWER, &[]));
    assert!(good(&agent_ran(&[asks.clone(), hears.clone()])));
    assert!(!good(&agent_ran(&[asks])));
    assert!(!good(&agent_ran(&[hears])));
    let offered = request(&format!("{AGENT}: {AGENT_DESCRIPTION}"), &[]);
    assert!(good(&agent_arrived(&[offered])));
    assert!(!good(&agent_arrived(&[request(AGENT, &[])])));
}

#[test]
fn a_denial_counts_only_if_it_was_tried_and_left_nothing() {
    let scratch = agents_testkit::scratch::Scratch::new();
    let workspace = scratch.path("w");
    let tried = {
        let mut tried = request(REASON, &["sh"]);
        tried.messages.push(tried.messages[0].clone());
        tried
    };
    let requests = [tried];
    assert!(good(&was_denied(&requests, "sh", &workspace)));
    assert!(!good(&was_denied(&[request("", &["sh"])], "sh", &workspace)));
    assert!(good(&reason_arrived(&requests)));
    assert!(!good(&reason_arrived(&[request("denied", &[])])));
    assert!(!good(&others_run(&requests, &workspace)));
    scratch.write(format!("w/{FORBIDDEN}"), "");
    scratch.write(format!("w/{ALLOWED}"), "");
    assert!(!good(&was_denied(&requests, "sh", &workspace)));
    assert!(good(&others_run(&requests, &workspace)));
    assert!(good(&hint_arrived(&[request(HINT, &[])])));
    assert!(!good(&hint_arrived(&requests)));
}
