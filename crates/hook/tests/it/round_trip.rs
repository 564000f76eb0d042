//! Neutral to native and back: nothing changes but what was reported as lost.

use agents_hook::{Decision, HookOutput, Part, Received, Wire};
use agents_host::Event;
use proptest::{option, prelude::*};
use serde_json::{Map, Value, json};

fn wires() -> impl Strategy<Value = Wire> {
    prop::sample::select(Wire::ALL.to_vec())
}

fn events() -> impl Strategy<Value = Event> {
    prop::sample::select(Event::ALL.to_vec())
}

fn text() -> impl Strategy<Value = Option<String>> {
    // With what breaks careless quoting; texts of nothing but blanks count as none.
    option::of("[a-zé\"\\\\\n ]{0,8}".prop_filter("blank", |it| it.trim() == it))
}

fn value() -> impl Strategy<Value = Option<Value>> {
    option::of(prop_oneof![
        Just(json!({"command": "ls"})),
        Just(json!({"list": [1, null, {"a": ""}]})),
        "[a-z]{1,4}".prop_map(Value::from),
    ])
}

fn output() -> impl Strategy<Value = HookOutput> {
    let decision =
        option::of(prop_oneof![Just(Decision::Allow), Just(Decision::Ask), Just(Decision::Deny)]);
    let texts = (text(), text(), text(), text());
    (decision, texts, value(), value(), any::<bool>(), any::<bool>()).prop_map(
        |(decision, (reason, context, stop_reason, message), input, output, stop, suppress)| {
            HookOutput {
                decision,
                reason,
                updated_input: input,
                additional_context: context,
                updated_output: output,
                stop,
                stop_reason,
                system_message: message,
                suppress_output: suppress,
                native: Map::new(),
            }
        },
    )
}

/// What an answer says.
fn parts(output: &HookOutput) -> Vec<Part> {
    let decision = output.decision.map(|decision| match decision {
        Decision::Allow => Part::Allow,
        Decision::Ask => Part::Ask,
        Decision::Deny => Part::Deny,
    });
    let said = [
        (Part::UpdatedInput, output.updated_input.is_some()),
        (Part::Context, output.additional_context.is_some()),
        (Part::UpdatedOutput, output.updated_output.is_some()),
        (Part::Stop, output.stop),
        (Part::SystemMessage, output.system_message.is_some()),
        (Part::Suppress, output.suppress_output),
    ];
    decision.into_iter().chain(said.into_iter().filter(|it| it.1).map(|it| it.0)).collect()
}

/// Facts for an input of this event, in the neutral format.
fn facts(event: Event, texts: &[Option<String>], any: Option<&Value>) -> Value {
    let text = |at: usize| texts[at].clone();
    let mut facts = json!({"session_id": text(0), "cwd": text(1)});
    let own = match event {
        Event::PreToolUse | Event::PermissionRequest => {
            json!({"tool_name": "t", "tool_input": any})
        }
        Event::PostToolUse => json!({"tool_name": "t", "tool_response": any}),
        Event::PostToolUseFailure => json!({"tool_name": "t", "error": text(2)}),
        Event::UserPromptSubmit => json!({"prompt": text(2).unwrap_or_default()}),
        Event::SessionStart => json!({"source": text(2)}),
        Event::SessionEnd => json!({"reason": text(2)}),
        Event::Stop => json!({"last_assistant_message": text(2)}),
        Event::SubagentStart => json!({"agent_type": text(2)}),
        Event::SubagentStop => json!({"agent_type": text(2), "last_assistant_message": text(3)}),
        Event::PreCompact => json!({"trigger": text(2)}),
        Event::Notification => json!({"message": text(2), "notification_type": text(3)}),
    };
    let own = own.as_object().unwrap().clone();
    facts.as_object_mut().unwrap().extend(own);
    json!({ event.name(): facts })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_answer_comes_back_as_what_was_reported(wire in wires(), event in events(), said in output()) {
        let (reduced, losses) = wire.reduce(event, &said);
        let (answer, reported) = wire.render_output(event, &said);
        prop_assert_eq!(&losses, &reported);

        // What is left can be said, and reducing it again changes nothing.
        for part in parts(&reduced) {
            prop_assert!(wire.can(event).contains(&part), "{part:?} is left");
        }
        prop_assert_eq!(wire.reduce(event, &reduced), (reduced.clone(), vec![]));

        // Reading what was written gives what is left.
        let back = if answer.code == 2 {
            HookOutput::deny(answer.stderr.clone())
        } else {
            wire.parse_output(event, &answer.stdout).unwrap()
        };
        let (mut back, none) = wire.reduce(event, &back);
        prop_assert_eq!(none, vec![]);
        prop_assert_eq!(std::mem::take(&mut back.native), Map::new(), "{}", answer.stdout);
        prop_assert_eq!(back, reduced, "{}", answer.stdout);
    }

    /// Whatever is lost, a no never becomes a yes, and a question never becomes silence where the host
    /// could have said no.
    #[test]
    fn nothing_becomes_more_permissive(wire in wires(), event in events(), said in output()) {
        let (reduced, losses) = wire.reduce(event, &said);
        let can = |part| wire.can(event).contains(&part);
        // Where an agent is about to stop, `stop` is the opposite of a denial and wins.
        let stopping = matches!(event, Event::Stop | Event::SubagentStop) && said.stop;
        if said.decision == Some(Decision::Deny) && can(Part::Deny) && !stopping {
            prop_assert_eq!(reduced.decision, Some(Decision::Deny));
        }
        let asks = can(Part::Ask) || (event == Event::PreToolUse && can(Part::Deny));
        if said.decision == Some(Decision::Ask) && asks {
            prop_assert!(reduced.decision >= Some(Decision::Ask), "{reduced:?}");
        }
        if reduced.decision == Some(Decision::Allow) {
            prop_assert_eq!(said.decision, Some(Decision::Allow));
        }
        if losses.is_empty() && said.decision.is_some() && event != Event::PermissionRequest {
            prop_assert_eq!(reduced.decision, said.decision);
        }
    }

    #[test]
    fn an_input_comes_back_from_every_host_that_has_the_event(
        wire in wires(),
        event in events(),
        texts in prop::collection::vec(text(), 4),
        any in value(),
    ) {
        prop_assume!(wire.event(event).is_some());
        let input = serde_json::from_value(facts(event, &texts, any.as_ref())).unwrap();
        let bytes = wire.render_input(&input);
        let Received::Input(back) = wire.parse_input(event, &bytes).unwrap() else {
            panic!("{wire:?} {event}: nothing happened")
        };
        let mut expected = serde_json::to_value(&input).unwrap();
        expected[event.name()]["host"] = wire.host().into();
        if wire == Wire::Antigravity && event == Event::UserPromptSubmit {
            expected[event.name()]["prompt"] = "".into();
        }
        let mut back = serde_json::to_value(&*back).unwrap();
        back[event.name()].as_object_mut().unwrap().remove("extra");
        prop_assert_eq!(back, expected, "{}", String::from_utf8_lossy(&bytes));
    }
}

/// What Copilot has in a text becomes JSON for handlers, and one that cannot read it guards nothing.
#[test]
fn a_text_that_holds_json_is_no_way_around_the_limit_of_its_depth() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let read = |levels| {
        let said = json!({"toolName": "bash", "toolArgs": nested(levels)}).to_string();
        Wire::Copilot.parse_input(Event::PreToolUse, said.as_bytes())
    };
    assert!(matches!(read(64), Ok(Received::Input(_))));
    assert!(matches!(read(65), Err(agents_hook::wire::WireError::TooDeep)));
    // The output of a tool may be any text, and is still one.
    let said = json!({"tool_name": "Shell", "tool_output": nested(65)}).to_string();
    let heard = Wire::Cursor.parse_input(Event::PostToolUse, said.as_bytes()).unwrap();
    let Received::Input(heard) = heard else { panic!("nothing happened") };
    let heard = serde_json::to_value(&*heard).unwrap();
    assert_eq!(heard["PostToolUse"]["tool_response"], nested(65));
}
