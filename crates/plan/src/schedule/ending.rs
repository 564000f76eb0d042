//! How attempts end, and what their failures do.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use super::{BUSY, GRACE, Passage, Scheduler, State, Stop};
use crate::{
    event::{Action, Answer, Attempt, Deadline, Ending, Index, Outcome, PlanEnding},
    file::OnFailure,
};

impl Scheduler {
    pub(super) fn stop(&mut self, index: Index, stop: Stop) {
        let until = self.now.after(GRACE);
        let cell = &mut self.cells[index.at()];
        if cell.state != State::Running {
            return;
        }
        cell.state = State::Stopping;
        (cell.stop, cell.until) = (stop, until);
        let attempt = Attempt { node: index, number: cell.attempt };
        self.clock.push(Reverse((until, index, attempt.number)));
        self.actions.push(Action::Stop { attempt });
    }

    pub(super) fn release(&mut self, index: Index) {
        self.running -= 1;
        if !self.held.is_empty() {
            self.held.remove(&index);
        }
        if self.traits[index.at()].claims {
            for queue in self.claims.give_back(index) {
                self.wake(queue);
            }
        }
    }

    pub(super) fn end(&mut self, index: Index, outcome: Arc<Outcome>) {
        self.release(index);
        self.spent = self.spent.and(outcome.spent);
        let cell = &mut self.cells[index.at()];
        let (state, stop) = (cell.state, cell.stop);
        if outcome.ending != Ending::Busy {
            cell.busy = 0;
        }
        match (state, stop, outcome.ending) {
            // What came too late is kept, and it was too late.
            (State::Stopping, Stop::TimedOut(deadline), _) => {
                let message = match deadline {
                    Deadline::Run => "it took too long".to_owned(),
                    Deadline::Idle => "it gave no sign of life for too long".to_owned(),
                };
                let late = Outcome { ending: Ending::TimedOut, message, ..(*outcome).clone() };
                self.fail(index, Arc::new(late));
            }
            (_, _, Ending::Completed) => self.finish(index, State::Completed, Some(outcome)),
            (State::Stopping, Stop::Cancelled, _) | (_, _, Ending::Cancelled) => {
                self.finish(index, State::Cancelled, Some(outcome));
            }
            (_, _, Ending::Busy) => {
                let wait = BUSY.0.saturating_mul(1 << cell.busy.min(10)).min(BUSY.1);
                cell.busy += 1;
                self.rest(index, wait);
            }
            _ => self.fail(index, outcome),
        }
    }

    pub(super) fn rest(&mut self, index: Index, wait: Duration) {
        let until = self.now.after(wait);
        let cell = &mut self.cells[index.at()];
        (cell.state, cell.until) = (State::Resting, until);
        self.clock.push(Reverse((until, index, cell.attempt)));
    }

    pub(super) fn interrupt(&mut self, index: Index) {
        match (self.cells[index.at()].state, self.cells[index.at()].stop) {
            (State::Stopping, _) => {
                let lost = Outcome::ended(Ending::Lost, "the process that ran it is gone");
                self.end(index, Arc::new(lost));
            }
            _ => {
                self.release(index);
                self.make_ready(index);
            }
        }
    }

    /// An attempt failed: once more, or for good.
    pub(super) fn fail(&mut self, index: Index, outcome: Arc<Outcome>) {
        let retry = &self.graph.nodes()[index.at()].retry;
        let cell = &mut self.cells[index.at()];
        cell.failures += 1;
        let again = retry.on.contains(&outcome.ending) && cell.failures < retry.attempts;
        let wait = retry.wait(cell.failures);
        cell.outcome = Some(Arc::clone(&outcome));
        if again && self.fate.is_none() {
            self.rest(index, wait);
        } else {
            self.fail_for_good(index, outcome);
        }
    }

    pub(super) fn fail_for_good(&mut self, index: Index, outcome: Arc<Outcome>) {
        let strategy = self.graph.nodes()[index.at()].on_failure;
        if strategy == OnFailure::Ask && self.fate.is_none() {
            let cell = &mut self.cells[index.at()];
            cell.state = State::Asking;
            cell.outcome = Some(outcome);
            self.actions.push(Action::Ask { node: index });
            return;
        }
        self.fail_as(index, strategy, outcome);
    }

    pub(super) fn fail_as(&mut self, index: Index, strategy: OnFailure, outcome: Arc<Outcome>) {
        if strategy == OnFailure::Continue {
            self.cells[index.at()].passage = Passage::Open;
        }
        self.finish(index, State::Failed, Some(outcome));
        if matches!(strategy, OnFailure::Abort) {
            self.give_up(PlanEnding::Failed);
        }
    }

    pub(super) fn answer(&mut self, index: Index, answer: Answer) {
        let outcome = self.cells[index.at()].outcome.clone();
        let outcome = outcome.unwrap_or_else(|| Arc::new(Outcome::ended(Ending::Failed, "")));
        match answer {
            Answer::Retry => {
                self.cells[index.at()].failures = 0;
                self.make_ready(index);
            }
            Answer::SkipDependents => self.fail_as(index, OnFailure::SkipDependents, outcome),
            Answer::Continue => self.fail_as(index, OnFailure::Continue, outcome),
            Answer::Abort => self.fail_as(index, OnFailure::Abort, outcome),
        }
    }

    pub(super) fn cancel(&mut self, index: Index) {
        match self.cells[index.at()].state {
            State::Running => self.stop(index, Stop::Cancelled),
            state if state.is_over() || state == State::Stopping => {}
            _ => self.finish(index, State::Cancelled, None),
        }
    }

    /// Nothing starts any more, and what runs is stopped.
    pub(super) fn give_up(&mut self, ending: PlanEnding) {
        if self.fate.is_some() {
            return;
        }
        self.fate = Some(ending);
        for index in self.graph.indices() {
            self.cancel(index);
        }
    }
}
