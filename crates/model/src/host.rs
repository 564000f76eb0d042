//! An installed host that answers as a model: its own program, its own login, run without a terminal.
//!
//! The host works with its own tools, within the rights that it is given here: by default it may only read. Tools of the
//! request cannot be handed to it; a request that brings some is refused, so that nobody waits for calls that never
//! come. What the host does by itself is told as [`Event::ToolNotice`].

use std::{collections::VecDeque, time::Duration};

use agents_host::host::Headless;
use agents_system::process::Call;
use camino::Utf8PathBuf;
use futures_util::{FutureExt as _, future::BoxFuture, stream};
use serde_json::Value;
use tokio::{
    process::ChildStdout,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    child::{Lines, Running, feed},
    error::{Deadline, ModelError, Problem},
    event::Event,
    provider::{EventStream, ModelInfo, Provider},
    request::{Deadlines, Request},
    settings::HostRights,
};

mod format;
mod prompt;

use format::Reader;
pub(crate) use prompt::prompt;

/// The model that a host takes if none is named.
pub const DEFAULT_MODEL: &str = "default";
/// The longest instructions that go onto a command line.
const MAX_ARGUMENT: usize = 64 * 1024;

/// A host that answers as a model.
#[derive(Debug)]
pub struct HostProvider {
    /// The name of the provider.
    pub name: String,
    /// The program and what stands in front of all other arguments.
    pub command: Vec<String>,
    /// How it is run.
    pub headless: Headless,
    /// What it may do by itself.
    pub rights: HostRights,
    /// Where it runs.
    pub cwd: Utf8PathBuf,
    /// The models that it is known to have.
    pub models: Vec<String>,
}

impl HostProvider {
    /// The command line of a request, and what is given to it on standard input.
    fn call(&self, request: &Request) -> (Call, String) {
        let headless = &self.headless;
        let rights = match self.rights {
            HostRights::Read => &headless.read,
            HostRights::Edit => &headless.edit,
        };
        let mut words = self.command.iter();
        let program = words.next().cloned().unwrap_or_default();
        let mut call = Call::new(program).args(words).args(&headless.args).args(&rights.args);
        if let Some(flag) = &headless.model
            && request.model != DEFAULT_MODEL
        {
            call = call.arg(flag).arg(&request.model);
        }
        if let (Some(flag), Some(effort)) = (&headless.effort, request.effort) {
            call = call.arg(flag).arg(prompt::effort(effort));
        }
        let flag = headless.system.as_ref().filter(|_| request.system.len() <= MAX_ARGUMENT);
        let (system, text) = prompt(request);
        let text = match flag {
            Some(flag) if !system.is_empty() => {
                call = call.arg(flag).arg(system);
                text
            }
            _ if system.is_empty() => text,
            _ => format!("{system}\n\n{text}"),
        };
        call = call.args(&headless.last).cwd(&self.cwd);
        for (name, value) in &rights.env {
            call = call.env(name, value);
        }
        for name in &headless.unset {
            call = call.without_env(name);
        }
        (call, text)
    }

    fn begin(&self, request: &Request, cancel: CancellationToken) -> Result<EventStream, Problem> {
        refuse_tools(request)?;
        let (call, text) = self.call(request);
        let (running, stdin, stdout) = Running::start(&call)?;
        tokio::spawn(feed(stdin, text));
        let answer = Answer {
            provider: self.name.clone(),
            running,
            lines: Lines::new(stdout),
            reader: Reader::new(self.headless.format),
            waiting: VecDeque::new(),
            clock: Clock::start(request.deadlines),
            cancel,
            state: State::Reading,
        };
        Ok(Box::pin(stream::unfold(answer, |mut answer| async {
            answer.next().await.map(|item| (item, answer))
        })))
    }
}

/// A program that brings its own tools cannot be given others.
pub(crate) fn refuse_tools(request: &Request) -> Result<(), Problem> {
    if request.tools.is_empty() {
        return Ok(());
    }
    Err(Problem::Unsupported { what: "a request with tools".to_owned() })
}

impl Provider for HostProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        async move {
            if cancel.is_cancelled() {
                return Err(Problem::Cancelled.at(&self.name));
            }
            self.begin(&request, cancel).map_err(|problem| problem.at(&self.name))
        }
        .boxed()
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        let models = self.models.iter();
        let models = models.map(|id| ModelInfo { id: id.clone(), title: None, context: None });
        let models = models.collect();
        async move { Ok(models) }.boxed()
    }
}

/// When the next event is due.
#[derive(Debug)]
pub(crate) struct Clock {
    deadlines: Deadlines,
    started: Instant,
    last: Option<Instant>,
}

impl Clock {
    pub(crate) fn start(deadlines: Deadlines) -> Self {
        Self { deadlines, started: Instant::now(), last: None }
    }

    /// Something was said.
    pub(crate) fn heard(&mut self) {
        self.last = Some(Instant::now());
    }

    /// Until when to wait, and which deadline that is.
    pub(crate) fn due(&self) -> (Instant, Deadline, Duration) {
        let Deadlines { first_token, idle, total } = self.deadlines;
        let whole = (self.started + total, Deadline::Total, total);
        let next = match self.last {
            None => (self.started + first_token, Deadline::FirstToken, first_token),
            Some(last) => (last + idle, Deadline::Idle, idle),
        };
        if next.0 < whole.0 { next } else { whole }
    }
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The last event waits to be taken.
    Said,
    Over,
}

/// An answer that is being read.
struct Answer {
    provider: String,
    running: Running,
    lines: Lines<ChildStdout>,
    reader: Reader,
    waiting: VecDeque<Event>,
    clock: Clock,
    cancel: CancellationToken,
    state: State,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(Ok(event));
            }
            match self.state {
                State::Over => return None,
                State::Said => {
                    self.running.end().await;
                    self.state = State::Over;
                }
                State::Reading => {
                    if let Err(problem) = self.read().await {
                        self.state = State::Over;
                        return Some(Err(problem.at(&self.provider)));
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<(), Problem> {
        let (until, deadline, after) = self.clock.due();
        let line = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(Problem::Cancelled),
            line = timeout_at(until, self.lines.next()) => line,
        };
        let Ok(line) = line else { return Err(Problem::Timeout { deadline, after }) };
        let Some(line) = line? else {
            // Some programs only say how it went by the way they end.
            return Err(self.running.failed("it did not finish its answer").await);
        };
        let Ok(value) = serde_json::from_slice::<Value>(&line) else {
            // Banners and warnings: nothing to read, but perhaps the only thing that says what is wrong.
            self.running.tail().push(&line);
            self.running.tail().push(b"\n");
            return Ok(());
        };
        let mut events = Vec::new();
        self.reader.read(&value, &mut events).map_err(|what| Problem::Program {
            what: crate::keys::Mask::of_environment().hide(&what),
            details: self.running.tail().text(),
        })?;
        if !events.is_empty() {
            self.clock.heard();
        }
        if events.iter().any(|event| matches!(event, Event::Stopped(_))) {
            self.state = State::Said;
        }
        self.waiting.extend(events);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
