use serde_json::json;

use super::*;
use crate::wire::Received;

fn tool(name: &str) -> HookInput {
    let bytes = json!({"tool_name": name}).to_string();
    match Wire::Claude.parse_input(Event::PreToolUse, bytes.as_bytes()).unwrap() {
        Received::Input(input) => *input,
        Received::Nothing => unreachable!(),
    }
}

fn starts(source: Option<&str>) -> HookInput {
    let bytes = json!({"source": source}).to_string();
    match Wire::Claude.parse_input(Event::SessionStart, bytes.as_bytes()).unwrap() {
        Received::Input(input) => *input,
        Received::Nothing => unreachable!(),
    }
}

/// Which of some tools a matcher of a host means.
fn meant(wire: Wire, matcher: &str) -> String {
    let matcher = Matcher::parse(wire, Event::PreToolUse, Some(matcher)).unwrap();
    let tools = ["Bash", "BashOutput", "Edit", "mcp__a-b__c", "run_command"];
    let meant = tools.into_iter().filter(|name| matcher.matches(&tool(name)));
    meant.collect::<Vec<_>>().join(" ")
}

const EVERY: &str = "Bash BashOutput Edit mcp__a-b__c run_command";

#[test]
fn nothing_and_a_star_mean_everything_everywhere() {
    for wire in Wire::ALL {
        for all in ["", "*"] {
            assert_eq!(meant(wire, all), EVERY, "{wire:?} {all:?}");
        }
        let none = Matcher::parse(wire, Event::PreToolUse, None).unwrap();
        assert!(none.matches(&tool("Bash")));
    }
}

#[test]
fn every_host_reads_a_matcher_its_own_way() {
    let table = [
        (Wire::Claude, "Bash", "Bash"),
        (Wire::Claude, "Bash|Edit", "Bash Edit"),
        (Wire::Claude, "Bash, Edit", "Bash Edit"),
        (Wire::Claude, "mcp__a-b__c", "mcp__a-b__c"),
        (Wire::Claude, "mcp__a", ""),
        (Wire::Claude, "mcp__.*", "mcp__a-b__c"),
        (Wire::Claude, "^Bash", "Bash BashOutput"),
        (Wire::Qwen, "Bash", "Bash"),
        (Wire::Factory, "Bash", "Bash"),
        (Wire::Codex, "Bash", "Bash"),
        (Wire::Codex, "Bash|Edit", "Bash Edit"),
        // A hyphen makes it a regular expression there, which is found anywhere.
        (Wire::Codex, "a-b", "mcp__a-b__c"),
        (Wire::Gemini, "Bash", "Bash BashOutput"),
        (Wire::Gemini, "run_.*", "run_command"),
        (Wire::Copilot, "Bash", "Bash"),
        (Wire::Copilot, "Bash.*|Edit", "Bash BashOutput Edit"),
        (Wire::Cursor, "Bash", "Bash BashOutput"),
        (Wire::Kiro, "Bash$", "Bash"),
        (Wire::Goose, "a-b", "mcp__a-b__c"),
        (Wire::Antigravity, "run_command", "run_command"),
        (Wire::OpenCode, "Edit", "Edit"),
    ];
    for (wire, matcher, expected) in table {
        assert_eq!(meant(wire, matcher), expected, "{wire:?} {matcher:?}");
    }
}

#[test]
fn other_events_are_matched_by_what_they_are_about() {
    let matcher = Matcher::parse(Wire::Claude, Event::SessionStart, Some("startup|clear")).unwrap();
    assert!(matcher.matches(&starts(Some("startup"))));
    assert!(!matcher.matches(&starts(Some("resume"))));
    assert!(matcher.matches(&starts(None)), "a host that does not tell cannot be matched");
    let exact = Matcher::parse(Wire::Gemini, Event::SessionStart, Some("start")).unwrap();
    assert!(!exact.matches(&starts(Some("startup"))));
}

#[test]
fn a_broken_matcher_is_a_finding() {
    let error = Matcher::parse(Wire::Claude, Event::PreToolUse, Some("Bash(")).unwrap_err();
    let finding = error.finding("guard");
    assert!(
        finding.message.starts_with("the matcher of hook `guard` matches nothing: `Bash(` is not"),
        "{}",
        finding.message
    );
    assert!(finding.hint.is_some());
    // What would be broken as a regular expression can be a plain word.
    assert!(Matcher::parse(Wire::Gemini, Event::SessionStart, Some("(")).is_ok());
}
