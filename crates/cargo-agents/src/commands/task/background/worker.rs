//! The process that runs tasks for the supervisor: what was typed, in the environment of whoever typed it.

use std::{
    collections::HashMap,
    io::{self, BufRead as _, Write as _},
    process::ExitCode,
    sync::Arc,
};

use agents_agent::AgentDefinition;
use agents_system::{
    explain::ErrorKind,
    finding::{Finding, Severity},
    process::{self, daemon},
};
use agents_task::{
    EffectiveAgent, Outcome, Refused, Running, TaskId, TaskPath, broker::Ask, event::Event,
};
use clap::Parser as _;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        asks::YES,
        assignment::Input,
        live::told,
        place::Place,
        secrets::Attended,
        terminal::TICK,
        work::{Front, Job, Wish, run_all},
    },
    lines,
    wire::{Began, Control, Report, Taken, Task, Trouble, VERSION},
};
use crate::{
    args::{Args, ColorWhen, Command, Flags},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// Runs what the first line on standard input says; what happens is told on standard output. Once standard input ends, so does
/// this process, at once: nobody could reach its tasks any more, and what they did so far is written down.
pub(super) fn run() -> ExitCode {
    let mut first = String::new();
    let read = io::stdin().lock().read_line(&mut first);
    let Ok(Control::Work { argv, input, mask, protocol }) =
        read.and_then(|_| Ok(serde_json::from_str(&first)?))
    else {
        return ExitCode::from(ErrorKind::Usage.exit_code());
    };
    daemon::set_mask(mask);
    let done = if protocol == VERSION {
        work(&argv, input)
    } else {
        let message = "this program is no longer the one that the supervisor was started as";
        Err(Failure::new(ErrorKind::Failure, message)
            .hint("end the old one with `cargo agents task supervisor --stop`"))
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = report(&Report::Trouble(Trouble::from(failure)));
            ExitCode::FAILURE
        }
    }
}

fn work(argv: &[String], input: Option<String>) -> Result<(), Failure> {
    let wrong = |error: clap::Error| Failure::new(ErrorKind::Usage, error.to_string());
    let args = Args::try_parse_from(argv).map_err(wrong)?;
    let flags = Flags { quiet: true, json: false, color: ColorWhen::Never, ..args.flags };
    let settings = Settings::new(&flags)?;
    let job = match args.command {
        Some(Command::Task { command }) => Job::of(&command.0, &settings, Input::Read(input))?,
        _ => None,
    };
    let Some(job) = job else {
        return Err(Failure::new(ErrorKind::Usage, "there is nothing to be run"));
    };
    let output = Output::new(&flags);
    run_all(&settings, job, &mut Line::new(&output)).map(drop)
}

/// Tells the supervisor.
fn report(report: &Report) -> io::Result<()> {
    let line = lines::line(report)?;
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// The front whose user is at the other end of the line.
struct Line<'a> {
    output: &'a Output,
    controls: mpsc::UnboundedReceiver<Control>,
    told: Vec<String>,
    /// Findings that are told when the tasks have begun; afterwards they are told at once.
    before: Option<Vec<String>>,
    ids: HashMap<TaskPath, TaskId>,
    asks: Vec<(u64, Ask)>,
    asked: u64,
}

impl<'a> Line<'a> {
    fn new(output: &'a Output) -> Self {
        let (send, controls) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if let Ok(control) = serde_json::from_str(&line) {
                    // Whoever no longer listens is about to end.
                    drop(send.send(control));
                }
            }
            std::process::exit(i32::from(ErrorKind::Cancelled.exit_code()));
        });
        let (told, before) = (Vec::new(), Some(Vec::new()));
        let (ids, asks, asked) = (HashMap::new(), Vec::new(), 0);
        Self { output, controls, told, before, ids, asks, asked }
    }

    fn note(&mut self, finding: &Finding) {
        let text = self.output.render_finding(finding);
        match &mut self.before {
            Some(before) => before.push(text),
            None => drop(report(&Report::Note { text })),
        }
    }

    /// Questions that nobody waits for any more.
    fn forget(&mut self) {
        self.asks.retain(|(number, ask)| {
            if ask.is_over() {
                let _ = report(&Report::Settled { number: *number, taken: Taken::No });
            }
            !ask.is_over()
        });
    }

    fn obey(&mut self, control: &Control) -> Wish {
        match *control {
            Control::Cancel { task } => Wish::End(task),
            Control::Answer { number, reply } => {
                self.forget();
                if let Some(at) = self.asks.iter().position(|it| it.0 == number) {
                    let (_, ask) = self.asks.remove(at);
                    ask.answer(reply);
                    let _ = report(&Report::Settled { number, taken: Taken::Yes });
                }
                Wish::Nothing
            }
            Control::Work { .. } => Wish::Nothing,
        }
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(ErrorKind::Failure, format!("the supervisor is gone: {error}"))
}

impl Front for Line<'_> {
    fn attended(&self) -> Attended {
        Attended::Later
    }

    fn findings(&mut self, findings: &[Finding]) {
        findings.iter().filter(|it| it.severity >= Severity::Warning).for_each(|it| self.note(it));
    }

    fn begins(&mut self, place: &Place, agents: &[EffectiveAgent], known: &[Arc<AgentDefinition>]) {
        self.told = agents.iter().map(|agent| told(place, agent, known)).collect();
        agents.iter().for_each(|agent| self.findings(&agent.model.findings));
    }

    fn started(&mut self, tasks: &[Running]) -> Result<(), Failure> {
        let task = |(it, told): (&Running, String)| Task { id: it.id, path: it.path.clone(), told };
        let told = std::mem::take(&mut self.told);
        self.ids.extend(tasks.iter().map(|it| (it.path.clone(), it.id)));
        let tasks = tasks.iter().zip(told).map(task).collect();
        let findings = self.before.take().unwrap_or_default();
        report(&Report::Began(Began { tasks, findings })).map_err(|it| lost(&it))
    }

    fn refused(&mut self, refusal: Refused) -> Result<Vec<Outcome>, Failure> {
        Err(refusal.into())
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        self.ids.entry(event.path.clone()).or_insert(event.task);
        report(&Report::Event(event.clone())).map_err(|it| lost(&it))
    }

    fn ask<'a>(&'a mut self, ask: Ask, _: &'a CancellationToken) -> LocalBoxFuture<'a, ()> {
        if let Some(task) = self.ids.get(&ask.path).copied() {
            self.asked += 1;
            let (path, question) = (ask.path.clone(), ask.question.to_string());
            let means = YES.map(|reply| reply.means(&ask.question));
            let _ = report(&Report::Asks { number: self.asked, task, path, question, means });
            self.asks.push((self.asked, ask));
        }
        Box::pin(std::future::ready(()))
    }

    fn wish(&mut self) -> LocalBoxFuture<'_, Wish> {
        Box::pin(async move {
            tokio::select! {
                biased;
                Some(control) = self.controls.recv() => self.obey(&control),
                () = tokio::time::sleep(TICK) => {
                    self.forget();
                    if process::interrupted() { Wish::EndAll } else { Wish::Nothing }
                }
            }
        })
    }

    fn over(&mut self) {
        self.forget();
    }
}
