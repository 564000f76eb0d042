//! The front that a user sits at, or a program that reads lines.

use std::{sync::Arc, time::Duration};

use agents_agent::AgentDefinition;
use agents_system::{ask::Asker, explain::Explain as _, finding::Finding, process};
use agents_task::{
    EffectiveAgent, Limits, Outcome, Refused, Report, Running, TaskId, TaskPath,
    broker::{Ask, Reply},
    event::{Event, What},
    outcome::Ending,
};
use futures_util::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use super::{
    asks,
    live::{Live, told},
    place::Place,
    secrets::Attended,
    work::{Front, Wish},
};
use crate::{failure::Failure, output::Output, reader::Reader};

/// How often the status line is drawn anew, and Ctrl-C looked for.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Shows tasks on standard output and standard error, and asks whoever sits there.
pub(super) struct Terminal<'a> {
    output: &'a Output,
    live: Live<'a>,
    asker: Option<Asker>,
}

impl<'a> Terminal<'a> {
    pub(super) fn new(output: &'a Output) -> Self {
        Self::told(output, Reader::of(output))
    }

    /// For a command that says itself what came of it: people see what happens meanwhile, programs do not.
    pub(super) fn meanwhile(output: &'a Output) -> Self {
        let reader = Reader::of(output);
        Self::told(output, if reader == Reader::Program { Reader::Nobody } else { reader })
    }

    fn told(output: &'a Output, reader: Reader) -> Self {
        Self { output, live: Live::new(output, reader), asker: output.asker() }
    }
}

impl Front for Terminal<'_> {
    fn attended(&self) -> Attended {
        if self.asker.is_some() { Attended::Here } else { Attended::No }
    }

    fn findings(&mut self, findings: &[Finding]) {
        self.output.findings(findings);
    }

    fn begins(&mut self, place: &Place, agents: &[EffectiveAgent], known: &[Arc<AgentDefinition>]) {
        for agent in agents {
            self.live.begins(&told(place, agent, known), agents.len());
            if self.live.shows_lines() {
                self.output.findings(&agent.model.findings);
                self.output.findings(unpriced(place, agent).as_ref());
            }
        }
    }

    fn started(&mut self, _: &[Running]) -> Result<(), Failure> {
        Ok(())
    }

    fn refused(&mut self, refusal: Refused) -> Result<Vec<Outcome>, Failure> {
        if !self.live.is_for_a_program() {
            return Err(refusal.into());
        }
        let rule = refusal.items.first().map_or("", |(_, it)| it.rule()).to_owned();
        let mut message = refusal.to_string();
        if let Some(hint) = refusal.hint() {
            message.push_str(&format!("\nhint: {hint}"));
        }
        let (id, path) = (TaskId::new(), TaskPath::root());
        let ending = Ending::Refused { rule, message };
        let outcome = Outcome { id, path: path.clone(), ending, report: Report::default() };
        let what = What::Ended { outcome: Box::new(outcome.clone()) };
        self.output.json_line(&Event { task: id, path, what })?;
        Ok(vec![outcome])
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        self.live.event(event)
    }

    fn ask<'a>(
        &'a mut self,
        mut ask: Ask,
        cancel: &'a CancellationToken,
    ) -> LocalBoxFuture<'a, ()> {
        self.live.pause();
        Box::pin(async move {
            if let Some(asker) = self.asker
                && !ask.is_over()
            {
                match asks::ask(asker, &mut ask, std::future::pending()).await {
                    Some(reply) => ask.answer(reply),
                    None => {
                        cancel.cancel();
                        ask.answer(Reply::No);
                    }
                }
            }
        })
    }

    fn wish(&mut self) -> LocalBoxFuture<'_, Wish> {
        Box::pin(async move {
            tokio::time::sleep(TICK).await;
            if process::interrupted() {
                return Wish::EndAll;
            }
            self.live.tick();
            Wish::Nothing
        })
    }

    fn over(&mut self) {
        self.live.pause();
    }
}

/// A limit of money that cannot hold. What is set for all tasks is no promise about one model; what is set for this one is.
fn unpriced(place: &Place, agent: &EffectiveAgent) -> Option<Finding> {
    let wanted = agent.limits.cost != Limits::DEFAULT.cost;
    let model = &agent.model.model;
    (wanted && !place.has_price(model)).then(|| {
        Finding::warning(format!("what `{model}` costs is not known"))
            .hint("a limit of money cannot hold; set one of turns or time, or its price in `[[models.known]]`")
    })
}
