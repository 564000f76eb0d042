//! Secrets of a task: a message that asks for one, and the calls that get one.

use agents_model::ToolCall;
use agents_tool::CallContext;

use super::Task;
use crate::secret::{Denied, asked_in, told};

impl Task {
    /// What to say to a message that asks for a secret; `None` if it does not.
    pub(super) async fn asked_for_secret(&self, text: &str) -> Option<String> {
        let pocket = self.ground.pocket.as_ref()?;
        let key = asked_in(text)?;
        let context = self.context(self.ground.patience.tool);
        let answer = context.bounded(pocket.ask(key.as_str(), None)).await;
        Some(told(key.as_str(), &answer.unwrap_or(Err(Denied::TooLate))))
    }

    /// Gives a call the secrets that it names.
    pub(super) fn give_secrets(&self, call: &ToolCall, context: &mut CallContext) {
        if let Some(pocket) = &self.ground.pocket {
            context.secrets.extend(pocket.for_call(&call.input.to_text()));
        }
    }
}
