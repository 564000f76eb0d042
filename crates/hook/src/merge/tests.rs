use proptest::{option, prelude::*};
use serde_json::json;

use super::*;

fn answers(outputs: Vec<HookOutput>) -> Vec<(Source, HookOutput)> {
    let names = ["one", "two", "three", "four", "five", "six"];
    names.iter().zip(outputs).map(|(name, it)| (Source::new(*name, "hook"), it)).collect()
}

#[test]
fn contexts_of_three_plugins_are_joined_in_their_order() {
    let all = ["first", "second", "third"].map(HookOutput::context);
    let (merged, findings) = merge(&answers(all.to_vec()));
    assert_eq!(findings, []);
    assert_eq!(merged.additional_context.unwrap(), "[one] first\n\n[two] second\n\n[three] third");
}

#[test]
fn deny_beats_ask_beats_allow_and_only_its_reasons_are_told() {
    let all = vec![
        HookOutput::allow(),
        HookOutput::deny("no"),
        HookOutput::ask("sure?"),
        HookOutput::deny(""),
    ];
    let (merged, _) = merge(&answers(all));
    assert_eq!(merged.decision, Some(Decision::Deny));
    assert_eq!(merged.reason.unwrap(), format!("[two] no\n\n[four] {NO_REASON}"));
    let (merged, _) = merge(&answers(vec![HookOutput::ask("sure?"), HookOutput::allow()]));
    assert_eq!(
        (merged.decision, merged.reason.as_deref()),
        (Some(Decision::Ask), Some("[one] sure?"))
    );
}

#[test]
fn the_first_input_counts_and_a_different_one_is_reported() {
    let a = HookOutput::update_input(json!({"command": "a"}));
    let b = HookOutput::update_input(json!({"command": "b"}));
    let (merged, findings) = merge(&answers(vec![HookOutput::default(), a.clone(), b, a]));
    assert_eq!(merged.updated_input, Some(json!({"command": "a"})));
    let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "hooks `two/hook` and `three/hook` want another input of the same tool, and not the same one; \
          that of `two/hook` counts"
        ]
    );
}

#[test]
fn what_is_denied_has_no_other_input() {
    let input = HookOutput::update_input(json!({"command": "a"}));
    let (merged, findings) = merge(&answers(vec![input, HookOutput::deny("no")]));
    assert_eq!((merged.updated_input, findings), (None, vec![]));
}

#[test]
fn a_text_without_end_is_cut() {
    let (merged, findings) = merge(&answers(vec![HookOutput::context("é".repeat(MAX_TEXT + 1))]));
    let text = merged.additional_context.unwrap();
    assert_eq!(text.matches('é').count(), MAX_TEXT);
    assert!(text.ends_with("(cut off here)"));
    assert_eq!(findings.len(), 1);
}

fn output() -> impl Strategy<Value = HookOutput> {
    let decision =
        option::of(prop_oneof![Just(Decision::Allow), Just(Decision::Ask), Just(Decision::Deny)]);
    let text = || option::of("[a-z ]{0,6}");
    let value = || option::of((0..3).prop_map(|it| json!({ "command": it })));
    let yes = any::<bool>;
    (decision, text(), value(), text(), value(), yes(), text(), text(), yes()).prop_map(
        |(decision, reason, input, context, output, stop, stop_reason, message, suppress)| {
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
                ..HookOutput::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn merging_obeys_its_rules(all in prop::collection::vec(output(), 0..6)) {
        let all = answers(all);
        let (merged, findings) = merge(&all);

        // Nobody's no is lost, whoever else says what.
        prop_assert_eq!(merged.decision, all.iter().filter_map(|(_, it)| it.decision).max());
        prop_assert_eq!(merged.stop, all.iter().any(|(_, it)| it.stop));
        prop_assert_eq!(merged.suppress_output, all.iter().any(|(_, it)| it.suppress_output));

        // Every context is there, whole, in order and under its source.
        let mut rest = merged.additional_context.as_deref().unwrap_or_default();
        for (source, answer) in &all {
            let text = answer.additional_context.as_deref().unwrap_or_default().trim();
            if !text.is_empty() {
                let labelled = format!("[{}] {text}", source.plugin);
                let at = rest.find(&labelled);
                prop_assert!(at.is_some(), "{labelled} is not in {rest}");
                rest = &rest[at.unwrap() + labelled.len()..];
            }
        }
        prop_assert_eq!(rest, "");

        // An input is somebody's, the first one's, and there is a finding for each that differs.
        let denied = merged.decision == Some(Decision::Deny);
        let inputs: Vec<&Value> = all.iter().filter_map(|(_, it)| it.updated_input.as_ref()).collect();
        let outputs: Vec<&Value> = all.iter().filter_map(|(_, it)| it.updated_output.as_ref()).collect();
        let expected = if denied { None } else { inputs.first().copied() };
        prop_assert_eq!(merged.updated_input.as_ref(), expected);
        let differing = |all: &[&Value]| all.iter().filter(|it| **it != all[0]).count();
        let conflicts = differing(&outputs) + if denied { 0 } else { differing(&inputs) };
        prop_assert_eq!(findings.len(), conflicts);

        // Those who say nothing change nothing.
        let mut padded = all.clone();
        padded.insert(all.len() / 2, (Source::new("silent", "hook"), HookOutput::default()));
        prop_assert_eq!(merge(&padded), (merged, findings));
    }
}
