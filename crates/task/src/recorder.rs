//! Who writes down what a task says and hears.
//!
//! The loop tells a [`Recorder`] everything that a later reader, or a later run that goes on from here, has to know, in the order in
//! which it became true. The one that keeps it is [`crate::transcript::Writer`].

use agents_model::{Message, ToolSpec, Usage, cost::MicroDollars};

use crate::{effective::EffectiveAgent, outcome::Outcome};

/// Writes down one task.
pub trait Recorder: Send + Sync {
    /// It begins: who it is, what it was told, and what it can use.
    fn begin(&mut self, agent: &EffectiveAgent, tools: &[ToolSpec]);

    /// One more message of the conversation, as the model said it or as it is told to it.
    fn message(&mut self, message: &Message);

    /// What one call of the model took.
    fn spent(&mut self, turn: u64, usage: &Usage, cost: Option<MicroDollars>);

    /// The conversation was made shorter: the model no longer sees so many messages.
    fn compacted(&mut self, left_out: usize);

    /// It ended. Only the first time counts. Dropped without it, the task was cut off.
    fn end(&mut self, outcome: &Outcome);

    /// Why the task must not go on: something was not written down, and has to be.
    fn trouble(&self) -> Option<&str> {
        None
    }
}

/// Writes nothing down.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unrecorded;

impl Recorder for Unrecorded {
    fn begin(&mut self, _: &EffectiveAgent, _: &[ToolSpec]) {}
    fn message(&mut self, _: &Message) {}
    fn spent(&mut self, _: u64, _: &Usage, _: Option<MicroDollars>) {}
    fn compacted(&mut self, _: usize) {}
    fn end(&mut self, _: &Outcome) {}
}
