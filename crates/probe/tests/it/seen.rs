//! Each look at a host can find a fault.

use agents_model::endpoint::Request;
use agents_probe::{
    dialogue::ANSWER,
    sample::{
        AGENT, AGENT_DESCRIPTION, AGENT_PROMPT, ALLOWED, FORBIDDEN, HINT, REASON, SKILL,
        SKILL_DESCRIPTION, TOKEN,
    },
    seen::{After, Events, Evidence, Seen, Thing},
};
use agents_testkit::scratch::Scratch;
use serde_json::json;

use crate::{and_then, request};

fn look(scratch: &Scratch, requests: &[Request], thing: Thing) -> Seen {
    let (workspace, log) = (scratch.path("w"), scratch.path("log"));
    let (events, fired) = (&set(&["Stop", "SessionEnd"]), &set(&["Stop"]));
    let after = &After { clean: Seen::Yes, requests: &[], fired: set(&[]), trouble: None };
    let (workspace, log, tool, shell) = (&workspace, &log, "notes_look_up", "sh");
    Evidence { requests, workspace, log, tool, shell, events, fired, after }.of(thing)
}

fn set(events: &[&str]) -> Events {
    events.iter().map(|it| (*it).to_owned()).collect()
}

/// What is said about the session after `uninstall`.
fn alone(requests: &[Request], fired: &[&str], trouble: Option<&str>) -> Seen {
    let trouble = trouble.map(str::to_owned);
    let after = &After { clean: Seen::Yes, requests, fired: set(fired), trouble };
    let (events, fired, nowhere) = (&set(&[]), &set(&[]), "/nowhere".into());
    let (requests, workspace, log, tool, shell) =
        (&[][..], nowhere, nowhere, "notes_look_up", "sh");
    Evidence { requests, workspace, log, tool, shell, events, fired, after }.of(Thing::Alone)
}

fn no(why: &str) -> Seen {
    Seen::No(why.to_owned())
}

#[test]
fn an_event_without_a_hook_is_told() {
    let seen = look(&Scratch::new(), &[], Thing::Events);
    assert_eq!(seen, no("nothing was run for SessionEnd"));
}

#[test]
fn after_uninstall_nothing_of_ours_reaches_the_model_and_no_hook_is_run() {
    let plain = request("You are a coding agent", &["sh"]);
    let only = std::slice::from_ref(&plain);
    assert_eq!(alone(only, &[], None), Seen::Yes);
    assert_eq!(alone(&[], &[], None), no("it asked the model nothing"));
    assert_eq!(alone(only, &[], Some("it died")), no("it died"));
    assert_eq!(alone(only, &["Stop"], None), no("a hook of ours was run for Stop"));
    let told = [
        (SKILL, "it still knows the skill"),
        (SKILL_DESCRIPTION, "it still knows the skill"),
        (AGENT, "it still knows the agent"),
        (AGENT_DESCRIPTION, "it still knows the agent"),
        (HINT, "it still knows what we say at the start of a session"),
    ];
    for (text, why) in told {
        assert_eq!(alone(&[plain.clone(), request(text, &[])], &[], None), no(why), "{text}");
    }
    let tool = request("", &["notes_look_up"]);
    assert_eq!(alone(&[plain.clone(), tool], &[], None), no("it still knows the tool"));
}

fn is_so(requests: &[Request], thing: Thing) -> bool {
    look(&Scratch::new(), requests, thing) == Seen::Yes
}

fn answered(text: &str) -> Request {
    and_then(request("", &["sh"]), "sh", json!({"command": format!("touch {FORBIDDEN}")}), text)
}

#[test]
fn a_skill_without_its_description_has_not_arrived() {
    let both = format!("- {SKILL}: {SKILL_DESCRIPTION}");
    assert!(is_so(&[request("", &[]), request(&both, &[])], Thing::Skill));
    assert!(!is_so(&[request(SKILL, &[]), request(SKILL_DESCRIPTION, &[])], Thing::Skill));
    assert!(!is_so(&[], Thing::Skill));
}

#[test]
fn another_tool_is_not_the_tool() {
    assert!(is_so(&[request("", &["shell", "notes_look_up"])], Thing::Offered));
    assert_eq!(
        look(&Scratch::new(), &[request("", &["shell"])], Thing::Offered),
        Seen::No("`notes_look_up` is not among shell".to_owned())
    );
}

#[test]
fn an_answer_counts_only_if_the_server_gave_it() {
    let scratch = Scratch::new();
    assert_ne!(look(&scratch, &[answered(TOKEN)], Thing::Answered), Seen::Yes);
    scratch.write("log", "tiny-sql\n");
    assert_eq!(look(&scratch, &[answered(TOKEN)], Thing::Answered), Seen::Yes);
    assert_ne!(look(&scratch, &[answered("error")], Thing::Answered), Seen::Yes);
    scratch.write("log", "tiny-sql\ntiny-sql\n");
    assert_ne!(look(&scratch, &[answered(TOKEN)], Thing::Answered), Seen::Yes, "called twice");
}

#[test]
fn an_agent_that_asks_or_answers_alone_has_not_run() {
    let (asks, hears) = (request(AGENT_PROMPT, &[]), request(ANSWER, &[]));
    assert!(is_so(&[asks.clone(), hears.clone()], Thing::Delegated));
    assert!(!is_so(&[asks], Thing::Delegated));
    assert!(!is_so(&[hears], Thing::Delegated));
    assert!(is_so(&[request(&format!("{AGENT}: {AGENT_DESCRIPTION}"), &[])], Thing::Agent));
    assert!(!is_so(&[request(AGENT, &[])], Thing::Agent));
}

#[test]
fn a_denial_counts_only_if_it_was_tried_and_left_nothing() {
    let scratch = Scratch::new();
    let requests = [answered(REASON)];
    assert_eq!(look(&scratch, &requests, Thing::Denied), Seen::Yes);
    assert_ne!(look(&scratch, &[request("", &["sh"])], Thing::Denied), Seen::Yes, "not tried");
    assert_eq!(look(&scratch, &requests, Thing::Reason), Seen::Yes);
    assert_ne!(look(&scratch, &[answered("denied")], Thing::Reason), Seen::Yes);
    assert_ne!(look(&scratch, &requests, Thing::Others), Seen::Yes);
    scratch.write(format!("w/{FORBIDDEN}"), "");
    scratch.write(format!("w/{ALLOWED}"), "");
    assert_ne!(look(&scratch, &requests, Thing::Denied), Seen::Yes);
    assert_eq!(look(&scratch, &requests, Thing::Others), Seen::Yes);
}

#[test]
fn context_is_told_if_the_model_reads_it() {
    assert!(is_so(&[request(HINT, &[])], Thing::Context));
    assert!(!is_so(&[request("", &[])], Thing::Context));
}
