//! What hosts tell hooks, and what hooks answer.
//!
//! The first byte of an input says whose format it is and the second one which event it is about, so that each run is about one of them:
//! `a` is the first. The rest is what was said.

use agents_hook::{
    Decision, Format, HookInput, HookOutput, Part, Received, handler,
    wire::{Wire, WireError, is_by_copilot, whereabouts},
};
use agents_host::Event;
use agents_system::nested::{MAX_DEPTH, is_within, parse};
use serde_json::{Map, Value, json};

/// Some formats have things deeper than others. What is as deep as this can be read in all of them.
const LEVELS: usize = 60;

/// Everybody who has a format: the hosts, and then we.
fn formats() -> Vec<Format> {
    Wire::ALL.into_iter().map(Format::Native).chain([Format::Neutral]).collect()
}

fn chosen<T: Copy>(from: &[T], byte: u8) -> T {
    from[usize::from(byte.wrapping_sub(b'a')) % from.len()]
}

/// Whatever one host tells means the same to handlers of all others and to our own, but for what they cannot be told.
pub fn hook_input(data: &[u8]) {
    let [wire, event, said @ ..] = data else { return };
    let (wire, event) = (chosen(&Wire::ALL, *wire), chosen(&Event::ALL, *event));
    drop(whereabouts(said));
    by_copilot(said);
    tells(wire, event, said);
}

/// The same for one host and one event.
pub fn tells(wire: Wire, event: Event, said: &[u8]) {
    let Ok(Received::Input(input)) = wire.parse_input(event, said) else { return };
    assert_eq!(input.event(), event);
    for other in Wire::ALL {
        let told = other.render_input(&input);
        let heard = match other.parse_input(event, &told) {
            Ok(Received::Input(heard)) => facts(&heard),
            // There it is one level deeper than elsewhere; only we do not read it then.
            Err(WireError::TooDeep) if other == Wire::Antigravity && is_deepest(&input) => continue,
            heard => panic!("{wire:?} to {other:?}: {heard:?}"),
        };
        assert_eq!(heard, told_by(other, &input), "{wire:?} to {other:?}");
        let handed = Format::Native(other).render_input(wire, said, &input);
        assert_eq!(&*handed, if other == wire { said } else { &told }, "{wire:?} to {other:?}");
    }
    let told = Format::Neutral.render_input(wire, said, &input);
    let answer = HookOutput::deny("no");
    let mut printed = Vec::new();
    handler::serve(&*told, &mut printed, |heard| {
        assert_eq!(heard, &*input, "{wire:?} to us");
        answer.clone()
    });
    let printed = String::from_utf8(printed).expect("an answer is text");
    let heard = Format::Neutral.parse_output(wire, event, &printed);
    assert_eq!(heard.expect("an answer of ours can be read"), answer, "{wire:?}: {printed}");
}

fn is_deepest(input: &HookInput) -> bool {
    input.tool().is_some_and(|it| !is_within(&it.tool_input, MAX_DEPTH - 1))
}

/// What an input says, without what is only told by its host.
fn facts(input: &HookInput) -> Map<String, Value> {
    let said = serde_json::to_value(input).expect("an input is JSON");
    let Some(Value::Object(mut facts)) = said.get(input.event().name()).cloned() else {
        panic!("no facts in {said}")
    };
    facts.shift_remove("extra");
    facts
}

/// The same after a host told it.
fn told_by(wire: Wire, input: &HookInput) -> Map<String, Value> {
    let (event, mut facts) = (input.event(), facts(input));
    facts.insert("host".to_owned(), wire.host().into());
    match wire {
        Wire::Antigravity => {
            // It does not tell the prompt, and an empty error is none.
            if event == Event::UserPromptSubmit {
                facts.insert("prompt".to_owned(), "".into());
            }
            if facts.get("tool_response").is_some_and(|it| *it == "") {
                facts.insert("tool_response".to_owned(), Value::Null);
            }
        }
        Wire::Copilot => {
            through_text(facts.get_mut("tool_input"), event != Event::PermissionRequest);
        }
        Wire::Cursor => through_text(facts.get_mut("tool_response"), true),
        _ => {}
    }
    facts
}

/// Where a format has a text that holds JSON: a text that looks like it is taken for it, and what is no list or object is a text.
fn through_text(value: Option<&mut Value>, is_written_so: bool) {
    let Some(value) = value else { return };
    match value {
        Value::String(text) => {
            if let Some(read) = parse(&*text)
                && (read.is_object() || read.is_array())
            {
                *value = read;
            }
        }
        Value::Bool(_) | Value::Number(_) if is_written_so => *value = value.to_string().into(),
        _ => {}
    }
}

/// Claude Code says where its transcript is and which mode it is in. Whatever it says besides, it is not taken for Copilot, whose calls
/// another hook answers.
fn by_copilot(said: &[u8]) {
    let Ok(Value::Object(mut said)) = serde_json::from_slice(said) else { return };
    let is_by = |said: &Map<String, Value>| {
        let bytes = serde_json::to_vec(said).expect("it is JSON");
        let by = is_by_copilot(&bytes);
        let marked = [b"\xef\xbb\xbf", &*bytes].concat();
        assert_eq!(is_by_copilot(&marked), by, "a mark of the byte order says nothing");
        by
    };
    said.shift_remove("transcript_path");
    assert!(is_by(&said), "{said:?}");
    said.insert("transcript_path".to_owned(), "/t".into());
    said.insert("permission_mode".to_owned(), "default".into());
    assert!(!is_by(&said), "{said:?}");
    said.shift_remove("permission_mode");
    let has_time = said.get("timestamp").is_some_and(|it| !it.is_null());
    assert_eq!(is_by(&said), has_time, "{said:?}");
}

/// A denial in any format is one in all others, or it is said that it cannot be; and nobody says yes for whom nobody did.
pub fn hook_output(data: &[u8]) {
    let [format, event, said @ ..] = data else { return };
    let Ok(said) = std::str::from_utf8(said) else { return };
    answers(chosen(&formats(), *format), chosen(&Event::ALL, *event), said);
}

/// The same for one format and one event.
pub fn answers(format: Format, event: Event, said: &str) {
    for calling in Wire::ALL {
        let Ok(mut output) = format.parse_output(calling, event, said) else { continue };
        let is_own = matches!(format, Format::Native(wire) if wire == calling);
        // What only one host understands is for that one alone; an answer to us may be in the words of whoever calls.
        assert!(is_own || format == Format::Neutral || output.native.is_empty(), "{output:?}");
        for value in [&mut output.updated_input, &mut output.updated_output] {
            value.take_if(|it| !is_within(it, LEVELS));
        }
        denies(calling, event, &output);
        output.native.clear();
        comes_back(calling, event, &output);
    }
}

fn denies(wire: Wire, event: Event, output: &HookOutput) {
    let (answer, losses) = wire.render_output(event, output);
    let about = || format!("{wire:?} {event:?}: {output:?} is {answer:?}, {losses:?}");
    let heard = match (answer.code, wire) {
        (2, _) => Some(Decision::Deny),
        // What these print is no decision, whatever it looks like.
        (0, Wire::Kiro | Wire::Goose) => None,
        (0, _) => {
            let heard = wire.parse_output(event, &answer.stdout);
            heard.expect("what we say can be read").decision
        }
        _ => panic!("{}", about()),
    };
    assert!(heard != Some(Decision::Allow) || output.decision == heard, "{}", about());
    // To an agent that is about to stop, a denial says the opposite.
    let stops = output.stop && matches!(event, Event::Stop | Event::SubagentStop);
    if output.decision == Some(Decision::Deny) && !stops {
        let is_lost = losses.iter().any(|it| it.part == Part::Deny);
        assert_eq!(heard == Some(Decision::Deny), !is_lost, "{}", about());
        assert_eq!(is_lost, !wire.can(event).contains(&Part::Deny), "{}", about());
    }
}

/// A handler that says it in our format is understood as it was meant.
fn comes_back(calling: Wire, event: Event, output: &HookOutput) {
    let input = json!({ event.name(): { "tool_name": "t" } }).to_string();
    let mut printed = Vec::new();
    handler::serve(input.as_bytes(), &mut printed, |_| output.clone());
    let printed = String::from_utf8(printed).expect("an answer is text");
    let heard: Result<HookOutput, WireError> =
        Format::Neutral.parse_output(calling, event, &printed);
    assert_eq!(&heard.expect("an answer of ours can be read"), output, "{printed}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed is about one host and one event; what it says must do no harm with any other.
    #[test]
    fn what_seeds_say_is_sound_for_every_host_and_event() {
        let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds");
        let said = |target: &str| {
            let files = fs_err::read_dir(format!("{seeds}/{target}")).unwrap();
            let said = files.map(|it| fs_err::read(it.unwrap().path()).unwrap()[2..].to_vec());
            said.collect::<Vec<_>>()
        };
        for event in Event::ALL {
            for said in said("hook_input") {
                for wire in Wire::ALL {
                    tells(wire, event, &said);
                }
            }
            for said in said("hook_output") {
                for format in formats() {
                    answers(format, event, std::str::from_utf8(&said).unwrap());
                }
            }
        }
    }
}
