//! What happens in a run, while it happens: a board on a terminal with lines above it, plain lines in a pipe, lines of JSON for programs.

use std::{collections::HashMap, time::Instant};

use agents_model::cost::MicroDollars;
use agents_system::span;
use agents_task::event::{Event, What};

use super::{
    super::task::live::called,
    board::{Attempt, Board},
    view::{EventView, PlanLine},
};
use crate::{
    failure::Failure,
    output::Output,
    reader::{Reader, StatusLine},
};

/// Shows what happens.
pub(super) struct Live<'a> {
    output: &'a Output,
    reader: Reader,
    /// Why standard output took no more lines. That ends no run.
    unheard: Option<Failure>,
    plan: String,
    /// What runs.
    running: HashMap<String, Attempt>,
    board: Board,
    status: StatusLine,
    /// Lines that wait until a question has left the terminal.
    held: Option<Vec<String>>,
}

impl<'a> Live<'a> {
    pub(super) fn new(output: &'a Output, plan: &str) -> Self {
        Self {
            output,
            reader: Reader::of_long_work(output),
            unheard: None,
            plan: plan.to_owned(),
            running: HashMap::new(),
            board: Board::default(),
            status: StatusLine::default(),
            held: None,
        }
    }

    fn is_read(&self) -> bool {
        self.reader.reads_lines()
    }

    /// What whoever watches the run keeps up to date; `None` if nobody looks at it.
    pub(super) fn board(&self) -> Option<Board> {
        (self.reader == Reader::Person).then(|| self.board.clone())
    }

    /// A line of JSON, if somebody reads them.
    pub(super) fn json(&mut self, line: &PlanLine) {
        if self.reader == Reader::Program
            && let Err(failure) = self.output.json_line(line)
        {
            self.reader = Reader::Nobody;
            self.unheard = Some(failure);
        }
    }

    /// An error if standard output did not take everything. A reader who has left is none.
    pub(super) fn heard(self) -> Result<(), Failure> {
        self.unheard.map_or(Ok(()), Err)
    }

    pub(super) fn event(&mut self, event: EventView) {
        let mut took = None;
        if let Some(task) = &event.task {
            match event.event {
                "started" => {
                    let doing = "starting".to_owned();
                    let attempt = Attempt { began: Instant::now(), doing, cost: MicroDollars(0) };
                    self.running.insert(task.clone(), attempt);
                }
                "ended" | "abandoned" | "interrupted" => {
                    took = self.running.remove(task).map(|it| it.began.elapsed());
                }
                _ => {}
            }
        }
        // What runs is on the board.
        if self.is_read() && !(self.reader == Reader::Person && event.event == "started") {
            let took = took.map(|it| format!("  {}", span::told(it))).unwrap_or_default();
            self.line(&format!("  {}  {}{took}", event.mark(), event.told()));
        }
        self.json(&PlanLine::Event(Box::new(event)));
    }

    /// What an agent does.
    pub(super) fn task(&mut self, task: String, told: Box<Event>) {
        if let Some(attempt) = self.running.get_mut(&task) {
            match &told.what {
                What::ToolStarted { tool, input, .. } => attempt.doing = called(tool, input),
                What::ToolEnded { .. } | What::Turn { .. } => {
                    "thinking".clone_into(&mut attempt.doing);
                }
                What::Spent { cost: Some(cost), .. } => attempt.cost = *cost,
                _ => {}
            }
        }
        self.json(&PlanLine::Task { task, told });
    }

    /// Draws the board: how much is done, what it has cost, and what is being done.
    pub(super) fn tick(&mut self) {
        if self.reader == Reader::Person && self.held.is_none() {
            self.status.draw_all(&self.board.lines(&self.plan, &self.running));
        }
    }

    /// Takes the board away: somebody else wants to write.
    pub(super) fn pause(&mut self) {
        self.status.clear();
    }

    /// Leaves the terminal to a question: what happens meanwhile is told afterwards.
    pub(super) fn hold(&mut self) {
        if self.held.is_none() {
            self.pause();
            self.held = Some(Vec::new());
        }
    }

    /// The question is gone.
    pub(super) fn release(&mut self) {
        for line in self.held.take().unwrap_or_default() {
            self.line(&line);
        }
    }

    /// A line for whoever watches.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(held) = &mut self.held {
            held.push(line.to_owned());
            return;
        }
        self.pause();
        if self.is_read() {
            self.output.talk(line.trim_end());
        }
    }
}
