//! Which events fit the state.

use super::{Cell, Scheduler, State};
use crate::event::{Answer, Index, PlanEnding, Rejected, What};

impl Scheduler {
    /// Says why an event does not fit, and changes nothing.
    pub(super) fn admit(&self, what: &What) -> Result<(), Rejected> {
        let cell = match what.node() {
            Some(index) => match self.cells.get(index.at()) {
                Some(cell) => Some((index, cell)),
                None => return Err(Rejected::Unknown(index)),
            },
            None => None,
        };
        let unfit = |index: Index, cell: &Cell| Rejected::Unfit {
            node: self.graph.nodes()[index.at()].id.clone(),
            state: cell.state.word(),
            event: what.word(),
        };
        if let What::Ended { attempt, .. }
        | What::TimedOut { attempt, .. }
        | What::Abandoned { attempt }
        | What::Interrupted { attempt } = what
            && let Some((index, cell)) = cell
        {
            let fits = match what {
                What::TimedOut { .. } => cell.state == State::Running,
                What::Abandoned { .. } => cell.state == State::Stopping,
                _ => cell.state.is_busy(),
            };
            if cell.attempt != attempt.number || !fits {
                let node = self.graph.nodes()[index.at()].id.clone();
                return Err(Rejected::Stale { node, attempt: *attempt });
            }
            return Ok(());
        }
        match (what, self.ended) {
            (What::Reopened, None) => return Err(Rejected::NotOver),
            (What::Reopened, Some(PlanEnding::Completed)) => return Err(Rejected::AllDone),
            (What::Reopened, _) => return Ok(()),
            (_, Some(_)) => return Err(Rejected::Over),
            (_, None) => {}
        }
        let Some((index, cell)) = cell else { return Ok(()) };
        let fits = match what {
            What::Started { attempt, .. } => {
                cell.state == State::Ready && attempt.number == cell.attempt + 1
            }
            What::Recalled { .. } => cell.state == State::Ready,
            What::Rested { .. } => cell.state == State::Resting,
            What::Cancelled { .. } => !cell.state.is_over() && cell.state != State::Stopping,
            What::Answered { answer: Answer::Retry, .. } => {
                cell.state == State::Asking && self.join(index).is_none()
            }
            What::Answered { .. } => cell.state == State::Asking,
            _ => true,
        };
        if fits { Ok(()) } else { Err(unfit(index, cell)) }
    }
}
