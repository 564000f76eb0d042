//! Running handlers and understanding how they ended.
//!
//! | a handler | means |
//! |---|---|
//! | exits with 0 | what it printed, in its format; nothing for nothing |
//! | exits with 2 | deny; the reason is what it said on standard error |
//! | exits with another code, or is ended by a signal | nothing, and a finding; but a denial that it printed counts |
//! | prints what is not in its format | nothing, and a finding |
//! | runs past its deadline or the event's, or prints without end | it and its process group are ended; nothing, and a finding |
//! | cannot be started | nothing, and a finding |

use std::{borrow::Cow, collections::HashMap};

use agents_host::Event;
use agents_system::{
    finding::Finding,
    process::{self, Bounds, Call, Job, run_together},
};

use crate::{
    Decision, HookInput, HookOutput,
    loss::Loss,
    merge::{Source, merge},
    wire::{Answer, Format, Wire},
};

/// The exit code that denies.
const DENIES: i32 = 2;
/// How much of what a failed handler said is repeated in a finding.
const QUOTED: usize = 500;

/// A program that answers a hook.
#[derive(Debug, Clone)]
pub struct Handler {
    /// Whose it is.
    pub source: Source,
    /// What is run, with its own deadline.
    pub call: Call,
    /// What it speaks.
    pub format: Format,
}

/// What became of one handler.
#[derive(Debug)]
pub struct Step {
    /// Whose it is.
    pub source: Source,
    /// What it spoke.
    pub format: Format,
    /// What it did.
    pub ran: process::Ran,
    /// What that means.
    pub output: HookOutput,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// What became of an event.
#[derive(Debug)]
pub struct Dispatched {
    /// The handlers, in the order in which they were given.
    pub steps: Vec<Step>,
    /// The one answer, before it was fitted to the host.
    pub merged: HookOutput,
    /// What the host gets.
    pub answer: Answer,
    /// What the host cannot be told.
    pub losses: Vec<Loss>,
    /// All findings, of the handlers and of merging their answers.
    pub findings: Vec<Finding>,
}

/// Runs all handlers of an event at the same time and makes one answer of theirs. Answers of our own come
/// before those of the handlers.
#[must_use]
pub fn dispatch(
    calling: Wire,
    raw: &[u8],
    input: &HookInput,
    ours: Vec<(Source, HookOutput)>,
    handlers: &[Handler],
    bounds: Bounds,
) -> Dispatched {
    let event = input.event();
    let steps = run(calling, raw, input, handlers, bounds);
    let mut answers = ours;
    answers.extend(steps.iter().map(|step| (step.source.clone(), step.output.clone())));
    let (merged, conflicts) = merge(&answers);
    let (answer, losses) = calling.render_output(event, &merged);
    let findings = steps.iter().flat_map(|step| step.findings.clone()).chain(conflicts).collect();
    Dispatched { steps, merged, answer, losses, findings }
}

/// Runs all handlers at the same time; the results come in their order. What each of them got is
/// [`Format::render_input`].
#[must_use]
pub fn run(
    calling: Wire,
    raw: &[u8],
    input: &HookInput,
    handlers: &[Handler],
    bounds: Bounds,
) -> Vec<Step> {
    // An input may be large: it is written once per format.
    let mut inputs: HashMap<Format, Cow<'_, [u8]>> = HashMap::new();
    for Handler { format, .. } in handlers {
        inputs.entry(*format).or_insert_with(|| format.render_input(calling, raw, input));
    }
    let jobs: Vec<Job<'_>> = handlers
        .iter()
        .map(|handler| Job { call: &handler.call, stdin: &inputs[&handler.format] })
        .collect();
    let ran = run_together(&jobs, bounds);
    let step = |(handler, ran): (&Handler, process::Ran)| {
        let (output, findings) = judge(calling, input.event(), handler, &ran);
        Step { source: handler.source.clone(), format: handler.format, ran, output, findings }
    };
    handlers.iter().zip(ran).map(step).collect()
}

/// What it means that a handler ended so.
#[must_use]
pub fn judge(
    calling: Wire,
    event: Event,
    handler: &Handler,
    ran: &process::Ran,
) -> (HookOutput, Vec<Finding>) {
    let source = &handler.source;
    let status = match &ran.ending {
        Ok(status) => status,
        Err(error) => {
            let finding = Finding::error(format!("hook `{source}` gave no answer: {error}"));
            return (HookOutput::default(), vec![finding]);
        }
    };
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let printed = handler.format.parse_output(calling, event, &stdout);
    match status.code() {
        Some(0) => match printed {
            Ok(output) => (output, Vec::new()),
            Err(error) => {
                let format = handler.format.name();
                let finding = Finding::error(format!(
                    "hook `{source}` gave an answer that cannot be understood: {error}"
                ))
                .hint(format!(
                    "it must print `{format}` JSON or nothing; talk goes to standard error"
                ));
                (HookOutput::default(), vec![finding])
            }
        },
        Some(DENIES) => {
            let said = Some(stderr.trim().to_owned()).filter(|text| !text.is_empty());
            let reason = said.or_else(|| printed.ok().and_then(|output| output.reason));
            let output =
                HookOutput { decision: Some(Decision::Deny), reason, ..HookOutput::default() };
            (output, Vec::new())
        }
        _ => {
            let ending = process::ending(*status);
            let mut finding = Finding::error(format!("hook `{source}` failed with {ending}"));
            let said: String = stderr.trim().chars().take(QUOTED).collect();
            if !said.is_empty() {
                finding = finding.label(said);
            }
            let denial = printed.ok().filter(|it| it.decision == Some(Decision::Deny));
            (denial.unwrap_or_default(), vec![finding])
        }
    }
}
