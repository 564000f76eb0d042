//! What happened at a call, and the document that tells it.

use std::time::Duration;

use agents_hook::{
    Answer, Decision, Dispatched, HookInput, HookOutput, Loss, Source, Wire, run::Step,
};
use agents_host::Event;
use agents_system::{finding::Finding, nested, process::ending};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::handlers::{self, Skipped};

/// Everything that happened at a call.
pub(super) struct Account {
    pub(super) cwd: Utf8PathBuf,
    /// What the host said, where that mattered and could be understood.
    input: Option<HookInput>,
    /// Our own answers.
    ours: Vec<HookOutput>,
    steps: Vec<Step>,
    skipped: Vec<Skipped>,
    merged: HookOutput,
    losses: Vec<Loss>,
    pub(super) answer: Answer,
    pub(super) findings: Vec<Finding>,
}

impl Account {
    /// Nothing was to be done.
    pub(super) fn idle(wire: Wire, event: Event, cwd: Utf8PathBuf, findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::ours(wire, event, cwd, HookOutput::default()) }
    }

    /// Only we have something to say.
    pub(super) fn ours(wire: Wire, event: Event, cwd: Utf8PathBuf, output: HookOutput) -> Self {
        let (answer, losses) = wire.render_output(event, &output);
        Self {
            cwd,
            input: None,
            ours: if output.is_empty() { Vec::new() } else { vec![output.clone()] },
            steps: Vec::new(),
            skipped: Vec::new(),
            merged: output,
            losses,
            answer,
            findings: Vec::new(),
        }
    }

    /// Hooks were asked.
    pub(super) fn of(
        cwd: Utf8PathBuf,
        input: HookInput,
        ours: Vec<HookOutput>,
        dispatched: Dispatched,
        skipped: Vec<Skipped>,
    ) -> Self {
        let Dispatched { steps, merged, answer, losses, findings } = dispatched;
        Self { cwd, input: Some(input), ours, steps, skipped, merged, losses, answer, findings }
    }

    /// As it is printed and written down.
    pub(super) fn document(&self, wire: Wire, event: Event, raw: &[u8]) -> HookDocument {
        let own = handlers::ours_by_name();
        let ours = self.ours.iter().map(|output| HookView {
            means: in_json(output),
            ..HookView::new(&own, State::BuiltIn)
        });
        let ran = self.steps.iter().map(|step| {
            let got = self.input.as_ref().map(|input| step.format.render_input(wire, raw, input));
            HookView {
                format: Some(step.format.name().to_owned()),
                got: got.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                ended: Some(match &step.ran.ending {
                    Ok(status) => ending(*status),
                    Err(error) => error.to_string(),
                }),
                millis: Some(millis(step.ran.took)),
                stdout: Some(String::from_utf8_lossy(&step.ran.stdout).into_owned()),
                stderr: Some(String::from_utf8_lossy(&step.ran.stderr).into_owned()),
                means: in_json(&step.output),
                ..HookView::new(&step.source, State::Ran)
            }
        });
        let skipped = self.skipped.iter().map(|it| HookView {
            because: Some(it.because.clone()),
            ..HookView::new(&it.source, State::Skipped)
        });
        HookDocument {
            event: event.name().to_owned(),
            agent: wire.host().to_owned(),
            cwd: self.cwd.to_string(),
            input: nested::parse(raw).unwrap_or_default(),
            raw: String::from_utf8_lossy(raw).into_owned(),
            hooks: ours.chain(ran).chain(skipped).collect(),
            merged: in_json(&self.merged),
            losses: self.losses.iter().map(ToString::to_string).collect(),
            output: nested::parse(&self.answer.stdout).unwrap_or_default(),
            answer: AnswerView {
                stdout: self.answer.stdout.clone(),
                stderr: self.answer.stderr.clone(),
                exit_code: self.answer.code,
            },
            findings: self.findings.iter().map(|finding| finding.message.clone()).collect(),
        }
    }
}

/// `cargo agents hook test --json`, and each line of a trace
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HookDocument {
    pub(super) event: String,
    /// The host
    pub(super) agent: String,
    /// The directory that the call is about
    pub(super) cwd: String,
    /// What the host sent, as JSON; `null` if it is none, or too deep to be written down like this
    #[serde(default)]
    input: Value,
    /// The same, byte for byte
    pub(super) raw: String,
    #[serde(default)]
    pub(super) hooks: Vec<HookView>,
    /// The one answer, in the neutral format, before it was fitted to the host
    #[serde(default)]
    pub(super) merged: Value,
    /// What the host cannot be told, and what happens instead
    #[serde(default)]
    pub(super) losses: Vec<String>,
    /// What the host gets on standard output, as JSON; `null` if it is none
    #[serde(default)]
    output: Value,
    pub(super) answer: AnswerView,
    #[serde(default)]
    pub(super) findings: Vec<String>,
}

/// What the host gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AnswerView {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit_code: u8,
}

/// What became of one hook.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct HookView {
    pub(super) plugin: String,
    pub(super) hook: String,
    pub(super) state: State,
    /// Why it was skipped
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<String>,
    /// What it speaks
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<String>,
    /// What it got on standard input
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) got: Option<String>,
    /// How it ended
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) millis: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stdout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stderr: Option<String>,
    /// What that means, in the neutral format
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) means: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It comes with the program.
    BuiltIn,
    Ran,
    Skipped,
}

impl HookView {
    pub(super) fn new(source: &Source, state: State) -> Self {
        Self {
            plugin: source.plugin.clone(),
            hook: source.hook.clone(),
            state,
            because: None,
            format: None,
            got: None,
            ended: None,
            millis: None,
            stdout: None,
            stderr: None,
            means: Value::Null,
        }
    }
}

/// An answer in the neutral format; as a text, if it could not be read again like this.
fn in_json(output: &HookOutput) -> Value {
    let value = serde_json::to_value(output).unwrap_or_default();
    if nested::fits(&value) { value } else { Value::String(value.to_string()) }
}

/// An answer in the neutral format, in words.
pub(super) fn in_words(output: &Value) -> String {
    let Ok(output) = serde_json::from_value::<HookOutput>(output.clone()) else {
        return output.to_string();
    };
    let mut words = Vec::new();
    match (output.decision, output.reason) {
        (Some(decision), Some(reason)) => words.push(format!("{}: {reason}", word(decision))),
        (Some(decision), None) => words.push(word(decision).to_owned()),
        (None, _) => {}
    }
    words.extend(output.updated_input.map(|it| format!("another input: {it}")));
    words.extend(output.updated_output.map(|it| format!("another output: {it}")));
    words.extend(output.additional_context.map(|it| format!("context: {it}")));
    words.extend(output.system_message.map(|it| format!("message: {it}")));
    if output.stop {
        words.push(format!("stop: {}", output.stop_reason.unwrap_or_default()));
    }
    if words.is_empty() { "nothing".to_owned() } else { words.join("\n") }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
