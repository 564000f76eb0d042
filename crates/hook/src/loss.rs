//! What a host cannot be told, and what happens instead.
//!
//! Every host understands its own selection of [`Part`]s at each event. [`lower`] reduces an answer to
//! that selection: what does not fit becomes the nearest thing that does, never more permissive than what
//! was said, and is reported as a [`Loss`]. The rules, first to last:
//!
//! | said | but not known there | instead |
//! |---|---|---|
//! | ask | | before a tool: denied, and the reason says that the user must approve; nothing at `PermissionRequest`, where the host asks anyway; elsewhere, where there is nothing to ask for, the reason is told like that of a denial that cannot be said |
//! | another input | | denied, and the reason holds the input to use |
//! | stop | | denied with the reason to stop; nothing at `Stop` and `SubagentStop`, where the host stops anyway |
//! | deny | | the reason becomes context, or a message to the user |
//! | another output | | denied with the output as the reason, which the model then sees; else context |
//! | context | | part of the reason of a denial, else a message to the user |
//! | allow, message, suppress | | nothing |

use std::fmt;

use agents_host::Event;
use serde::Serialize;
use serde_json::Value;

use crate::{Decision, HookOutput};

/// One thing that an answer can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Yes, without asking the user.
    Allow,
    /// Ask the user.
    Ask,
    /// No.
    Deny,
    /// Another input for the tool.
    UpdatedInput,
    /// Something that the model shall know.
    Context,
    /// Another output of the tool.
    UpdatedOutput,
    /// Stop working.
    Stop,
    /// Something that the user shall see.
    SystemMessage,
    /// Do not show what the hook printed.
    Suppress,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Allow,
        Self::Ask,
        Self::Deny,
        Self::UpdatedInput,
        Self::Context,
        Self::UpdatedOutput,
        Self::Stop,
        Self::SystemMessage,
        Self::Suppress,
    ];

    /// As messages and tables name it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::UpdatedInput => "input",
            Self::Context => "context",
            Self::UpdatedOutput => "output",
            Self::Stop => "stop",
            Self::SystemMessage => "message",
            Self::Suppress => "suppress",
        }
    }
}

/// What happens in place of something that cannot be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instead {
    /// Nothing.
    Nothing,
    /// It is denied.
    Denied,
    /// It stands in the reason of the denial.
    InReason,
    /// The model is told.
    InContext,
    /// The user is told.
    InMessage,
}

/// One thing that was said and that the host cannot be told as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Loss {
    /// What was said.
    pub part: Part,
    /// What happens instead.
    pub instead: Instead,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be expressed here: {}", self.part.word(), self.instead)
    }
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing happens",
            Self::Denied => "it is denied",
            Self::InReason => "it is added to the reason of the denial",
            Self::InContext => "the model is told",
            Self::InMessage => "the user is told",
        })
    }
}

/// The reason of a denial that has none; some hosts ignore a denial without one.
pub const NO_REASON: &str = "denied by a plugin's hook";

/// Reduces an answer to what can be said.
#[must_use]
pub fn lower(event: Event, output: &HookOutput, can: &[Part]) -> (HookOutput, Vec<Loss>) {
    let mut lowering = Lowering { event, can, out: tidy(output), losses: Vec::new() };
    lowering.ask();
    lowering.input();
    lowering.stop();
    lowering.deny();
    lowering.allow();
    lowering.updated_output();
    lowering.context();
    lowering.rest();
    (lowering.out, lowering.losses)
}

/// Removes what says nothing.
fn tidy(output: &HookOutput) -> HookOutput {
    let said = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let reason = match output.decision {
        Some(Decision::Deny) => said(&output.reason).or_else(|| Some(NO_REASON.to_owned())),
        Some(Decision::Ask) => said(&output.reason),
        Some(Decision::Allow) | None => None,
    };
    let denied = output.decision == Some(Decision::Deny);
    HookOutput {
        decision: output.decision,
        reason,
        updated_input: output.updated_input.clone().filter(|it| !it.is_null() && !denied),
        additional_context: said(&output.additional_context),
        updated_output: output.updated_output.clone().filter(|it| !it.is_null()),
        stop: output.stop,
        stop_reason: said(&output.stop_reason).filter(|_| output.stop),
        system_message: said(&output.system_message),
        suppress_output: output.suppress_output,
        native: output.native.clone(),
    }
}

struct Lowering<'a> {
    event: Event,
    can: &'a [Part],
    out: HookOutput,
    losses: Vec<Loss>,
}

impl Lowering<'_> {
    fn can(&self, part: Part) -> bool {
        self.can.contains(&part)
    }

    fn lose(&mut self, part: Part, instead: Instead) {
        self.losses.push(Loss { part, instead });
    }

    fn make_denied(&mut self, part: Part, reason: String) {
        self.out.decision = Some(Decision::Deny);
        self.out.reason = Some(reason);
        self.out.updated_input = None;
        self.lose(part, Instead::Denied);
    }

    /// Tells the model, or else the user.
    fn tell(&mut self, part: Part, text: &str) {
        if self.can(Part::Context) {
            join(&mut self.out.additional_context, text);
            self.lose(part, Instead::InContext);
        } else if self.can(Part::SystemMessage) {
            join(&mut self.out.system_message, text);
            self.lose(part, Instead::InMessage);
        } else {
            self.lose(part, Instead::Nothing);
        }
    }

    fn ask(&mut self) {
        if self.out.decision != Some(Decision::Ask) || self.can(Part::Ask) {
            return;
        }
        self.out.decision = None;
        let mut text = "the user must approve this first".to_owned();
        if let Some(reason) = self.out.reason.take() {
            text = format!("{text}: {reason}");
        }
        match self.event {
            // It asks anyway.
            Event::PermissionRequest => {}
            Event::PreToolUse if self.can(Part::Deny) => self.make_denied(Part::Ask, text),
            _ => self.tell(Part::Ask, &text),
        }
    }

    fn input(&mut self) {
        let Some(input) = self.out.updated_input.take() else { return };
        let fits = match self.event {
            Event::PreToolUse => true,
            // There the host takes an input only together with a yes, and a yes was not said.
            Event::PermissionRequest => self.out.decision == Some(Decision::Allow),
            _ => return self.lose(Part::UpdatedInput, Instead::Nothing),
        };
        // A host takes nothing but an object, and what it cannot read it ignores as a whole.
        if fits && self.can(Part::UpdatedInput) && input.is_object() {
            self.out.updated_input = Some(input);
        } else if fits && self.can(Part::Deny) {
            self.make_denied(Part::UpdatedInput, format!("use this input instead: {input}"));
        } else {
            self.lose(Part::UpdatedInput, Instead::Nothing);
        }
    }

    fn stop(&mut self) {
        if !self.out.stop || self.can(Part::Stop) {
            return;
        }
        self.out.stop = false;
        let reason = self.out.stop_reason.take();
        if matches!(self.event, Event::Stop | Event::SubagentStop) {
            // A denial would keep it working.
            self.out.decision = None;
            self.out.reason = None;
            return self.lose(Part::Stop, Instead::Nothing);
        }
        let mut text = "a plugin's hook wants the work to stop".to_owned();
        if let Some(reason) = reason {
            text = format!("{text}: {reason}");
        }
        if self.can(Part::Deny) {
            let mut all = self.out.reason.take();
            join(&mut all, &text);
            self.make_denied(Part::Stop, all.unwrap_or(text));
        } else {
            self.tell(Part::Stop, &text);
        }
    }

    fn deny(&mut self) {
        if self.out.decision == Some(Decision::Deny) && !self.can(Part::Deny) {
            self.out.decision = None;
            let reason = self.out.reason.take().unwrap_or_default();
            self.tell(Part::Deny, &format!("a plugin's hook is against this: {reason}"));
        }
    }

    fn allow(&mut self) {
        if self.out.decision == Some(Decision::Allow) && !self.can(Part::Allow) {
            self.out.decision = None;
            self.lose(Part::Allow, Instead::Nothing);
        }
    }

    fn updated_output(&mut self) {
        if self.event == Event::PostToolUse && self.can(Part::UpdatedOutput) {
            return;
        }
        let Some(output) = self.out.updated_output.take() else { return };
        if self.event != Event::PostToolUse {
            return self.lose(Part::UpdatedOutput, Instead::Nothing);
        }
        let text = match output {
            Value::String(text) => text,
            other => other.to_string(),
        };
        if self.out.decision == Some(Decision::Deny) {
            self.lose(Part::UpdatedOutput, Instead::Nothing);
        } else if self.can(Part::Deny) && !text.trim().is_empty() {
            self.make_denied(Part::UpdatedOutput, text.trim().to_owned());
        } else {
            let text = format!("a plugin's hook puts this in place of the output: {}", text.trim());
            self.tell(Part::UpdatedOutput, &text);
        }
    }

    fn context(&mut self) {
        if self.can(Part::Context) {
            return;
        }
        let Some(context) = self.out.additional_context.take() else { return };
        if self.out.decision == Some(Decision::Deny) {
            join(&mut self.out.reason, &context);
            self.lose(Part::Context, Instead::InReason);
        } else {
            self.tell(Part::Context, &context);
        }
    }

    fn rest(&mut self) {
        if !self.can(Part::SystemMessage) && self.out.system_message.take().is_some() {
            self.lose(Part::SystemMessage, Instead::Nothing);
        }
        if !self.can(Part::Suppress) && std::mem::take(&mut self.out.suppress_output) {
            self.lose(Part::Suppress, Instead::Nothing);
        }
    }
}

/// Adds a paragraph.
pub(crate) fn join(text: &mut Option<String>, more: &str) {
    match text {
        Some(text) if !text.is_empty() => {
            text.push_str("\n\n");
            text.push_str(more);
        }
        _ => *text = Some(more.to_owned()),
    }
}
