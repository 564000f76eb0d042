//! Dispatching to several at once.

use futures_util::{StreamExt as _, stream};

use super::{Ambient, DispatchError, Dispatcher, Done, Request};

/// Several who do something at once.
#[derive(Debug, Clone, Default)]
pub struct Team {
    /// What each does. One without an instruction does what all do. Without any members, those that fit best do it.
    pub members: Vec<Request>,
    /// What all do: the instruction, what is known for the choice, tools and metadata.
    pub all: Request,
    /// The most that are chosen where nobody is named; 0 for as many as work at the same time.
    pub most: usize,
    /// How many work at the same time; 0 for [`DEFAULT_CONCURRENCY`](super::queue::DEFAULT_CONCURRENCY).
    pub concurrency: usize,
}

impl Team {
    fn concurrency(&self) -> usize {
        if self.concurrency == 0 { super::queue::DEFAULT_CONCURRENCY } else { self.concurrency }
    }

    /// What each one is asked: less than, or as much as, what holds for all.
    fn requests(&self, dispatcher: &Dispatcher) -> Vec<Request> {
        if self.members.is_empty() {
            let most = if self.most == 0 { self.concurrency() } else { self.most };
            let ranking = dispatcher.rank(&self.all);
            let chosen = ranking.staying().take(most);
            let request = |name: &str| Request { target: name.to_owned(), ..self.all.clone() };
            return chosen.map(|it| request(&it.name)).collect();
        }
        let request = |member: &Request| {
            let mut request = member.clone();
            if request.instruction.trim().is_empty() {
                request.instruction.clone_from(&self.all.instruction);
            }
            let mut metadata = self.all.metadata.clone();
            metadata.extend(std::mem::take(&mut request.metadata));
            Request { metadata, ..request }
        };
        self.members.iter().map(request).collect()
    }
}

impl Dispatcher {
    /// Has several do it at once, and gives what came of each, in the order of the members. One that fails keeps no other one from
    /// finishing.
    ///
    /// # Errors
    /// Whoever asks may not, or there is nobody to do it.
    pub async fn dispatch_team(
        &self,
        ambient: &Ambient,
        team: &Team,
    ) -> Result<Vec<Result<Done, DispatchError>>, DispatchError> {
        if !ambient.may_dispatch() {
            return Err(DispatchError::Unauthorized);
        }
        if team.members.is_empty() && team.all.instruction.trim().is_empty() {
            return Err(DispatchError::EmptyTeam);
        }
        let requests = team.requests(self);
        if requests.is_empty() {
            return Err(DispatchError::EmptyTeam);
        }
        // What all may use is the outer bound of what each may.
        let outer = ambient.context().cloned().unwrap_or_default();
        let within = ambient.clone().with_context(outer.restrict_tools(&team.all.tools));
        let work = requests.into_iter().map(|request| self.dispatch(&within, request));
        Ok(stream::iter(work).buffered(team.concurrency()).collect().await)
    }
}
