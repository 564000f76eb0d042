//! What happens in a run, while it happens: lines for people on a terminal, lines of JSON for programs, nothing in a pipe.

use std::{collections::BTreeMap, time::Instant};

use agents_system::span;
use agents_task::event::{Event, What};

use super::view::{EventView, PlanLine};
use crate::{
    failure::Failure,
    output::Output,
    reader::{Reader, StatusLine},
};

/// How many of the tasks that run the status line names.
const NAMED: usize = 3;

/// Shows what happens.
pub(super) struct Live<'a> {
    output: &'a Output,
    reader: Reader,
    /// What runs, since when, and what it does.
    running: BTreeMap<String, (Instant, String)>,
    ended: usize,
    tasks: usize,
    status: StatusLine,
}

impl<'a> Live<'a> {
    pub(super) fn new(output: &'a Output, tasks: usize) -> Self {
        let reader = Reader::of(output);
        Self {
            output,
            reader,
            running: BTreeMap::new(),
            ended: 0,
            tasks,
            status: StatusLine::default(),
        }
    }

    fn is_read(&self) -> bool {
        self.reader.reads_lines()
    }

    /// A line of JSON, if somebody reads them.
    pub(super) fn json(&self, line: &PlanLine) -> Result<(), Failure> {
        if self.reader == Reader::Program { self.output.json_line(line) } else { Ok(()) }
    }

    pub(super) fn event(&mut self, event: EventView) -> Result<(), Failure> {
        if let Some(task) = &event.task {
            match event.event {
                "started" => {
                    let now = (Instant::now(), "starting".to_owned());
                    self.running.insert(task.clone(), now);
                }
                "ended" | "abandoned" | "interrupted" => {
                    let took = self.running.remove(task);
                    self.ended += usize::from(event.event == "ended");
                    if self.is_read() {
                        let took =
                            took.map(|(began, _)| format!("  {}", span::told(began.elapsed())));
                        self.line(&format!("  {}{}", event.told(), took.unwrap_or_default()));
                    }
                    return self.json(&PlanLine::Event(event));
                }
                _ => {}
            }
        }
        if self.is_read() {
            self.line(&format!("  {}", event.told()));
        }
        self.json(&PlanLine::Event(event))
    }

    /// What an agent does.
    pub(super) fn task(&mut self, task: String, told: Box<Event>) -> Result<(), Failure> {
        if let Some((_, doing)) = self.running.get_mut(&task) {
            match &told.what {
                What::ToolStarted { tool, .. } => doing.clone_from(tool),
                What::Turn { number } => *doing = format!("turn {number}"),
                _ => {}
            }
        }
        self.json(&PlanLine::Task { task, told })
    }

    /// Draws the status line: what runs, for how long, and how much is done.
    pub(super) fn tick(&mut self) {
        if self.reader != Reader::Person || self.running.is_empty() {
            return;
        }
        let told = |(task, (began, doing)): (&String, &(Instant, String))| {
            format!("{task} ({doing}, {})", span::told(began.elapsed()))
        };
        let mut names: Vec<String> = self.running.iter().take(NAMED).map(told).collect();
        if self.running.len() > NAMED {
            names.push(format!("{} more", self.running.len() - NAMED));
        }
        let text = format!("  {}/{}  {}", self.ended.min(self.tasks), self.tasks, names.join(", "));
        self.status.draw(&text);
    }

    /// Takes the status line away: somebody else wants to write.
    pub(super) fn pause(&mut self) {
        self.status.clear();
    }

    /// A line for whoever watches.
    pub(super) fn line(&mut self, line: &str) {
        self.pause();
        if self.is_read() {
            self.output.talk(line.trim_end());
        }
    }
}
