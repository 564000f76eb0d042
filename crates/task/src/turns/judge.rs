//! Whether what an agent handed in is the end of it.

use agents_model::ToolCall;
use serde_json::Value;

use super::{MAX_INVALID, MAX_MALFORMED, MAX_UNDONE, Task};
use crate::{
    done_when::{Hands, Unmet},
    event::What,
    evidence::Verdict,
    limits::Limit,
    outcome::{Ending, Failure, Output, Validity},
    submission::{self, Submission, Wrong, YIELD},
};

/// What becomes of what an agent handed in.
pub(super) enum Judged {
    /// The task is over.
    Ends(Ending),
    /// It goes back to the agent, with this.
    Back(String),
}

impl Task {
    /// The agent called `yield`.
    pub(super) async fn handed_in(&mut self, call: &ToolCall) -> Judged {
        let judged = match submission::read(&call.input, self.schema()) {
            Ok(Submission::Result(value)) => self.judge(Some(value)).await,
            Ok(Submission::GaveUp(reason)) => {
                Judged::Ends(Ending::Failed { why: Failure::GaveUp { reason } })
            }
            Err(wrong) => self.wrong(wrong),
        };
        if let Judged::Back(message) = &judged {
            self.emitter.emit(What::Rejected { message: message.clone() });
        }
        judged
    }

    fn wrong(&mut self, wrong: Wrong) -> Judged {
        let told = wrong.told();
        match wrong {
            Wrong::Call(_) => {
                self.malformed += 1;
                if self.malformed == MAX_MALFORMED {
                    return Judged::Ends(Ending::Failed { why: Failure::NoResult });
                }
            }
            Wrong::Result { value, issues } => {
                self.invalid += 1;
                let validity = Validity::Invalid(issues.clone());
                self.report.output = Some(Output { value, validity });
                if self.invalid == MAX_INVALID {
                    let why = Failure::InvalidResult { issues };
                    return Judged::Ends(Ending::Failed { why });
                }
            }
        }
        Judged::Back(told)
    }

    /// Whether a result, or a text where none is needed, is the end of it.
    pub(super) async fn judge(&mut self, value: Option<Value>) -> Judged {
        if let Some(value) = value {
            let area = &self.ground.context.area;
            let claims = self.record.check(&value, area);
            let wrong = claims.iter().filter(|it| it.verdict != Verdict::Holds);
            let wrong: Vec<String> = wrong.map(|it| it.text.clone()).collect();
            self.report.evidence.claims = claims;
            // Checked again, whoever said that it is valid.
            let validity = match self.schema().map(|schema| schema.issues(&value)) {
                None => Validity::Unchecked,
                Some(issues) if issues.is_empty() => Validity::Valid,
                Some(issues) => Validity::Invalid(issues),
            };
            self.report.output = Some(Output { value, validity });
            if !wrong.is_empty() {
                self.invalid += 1;
                if self.invalid == MAX_INVALID {
                    let why = Failure::FalseEvidence { claims: wrong };
                    return Judged::Ends(Ending::Failed { why });
                }
                return Judged::Back(format!(
                    "the result rests on what never happened here: {}. Cite only what stands behind `evidence:` under the results of your tools, \
                     as it is now, and call `{YIELD}` again",
                    wrong.join(", ")
                ));
            }
        }
        self.contract().await
    }

    /// Whether everything holds that must.
    async fn contract(&mut self) -> Judged {
        let (own, users) = (&self.agent.done_when, &self.agent.users_word);
        if own.is_empty() && users.is_empty() {
            return Judged::Ends(Ending::Completed);
        }
        let context = self.context(self.ground.patience.check);
        let mut unmet = own.unmet(&self.before.0, Hands::Agent(&self.ground.tools), &context).await;
        let hands = Hands::User(self.ground.bash.as_ref());
        unmet.extend(users.unmet(&self.before.1, hands, &context).await);
        if unmet.is_empty() {
            return Judged::Ends(Ending::Completed);
        }
        if self.ground.cancel.is_cancelled() {
            return Judged::Ends(Ending::Cancelled);
        }
        if self.is_late() {
            return Judged::Ends(Ending::OutOfLimits { limit: Limit::Time });
        }
        self.undone += 1;
        let unchecked = unmet.iter().all(|it| matches!(it, Unmet::Unchecked { .. }));
        if unchecked || self.undone == MAX_UNDONE {
            return Judged::Ends(Ending::Failed { why: Failure::NotDone { unmet } });
        }
        let told: Vec<String> = unmet.iter().map(Unmet::told).collect();
        Judged::Back(format!("it is not done yet:\n{}", told.join("\n")))
    }
}
