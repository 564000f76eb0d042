//! An installed host that answers as a model: its own program, its own login, run without a terminal.
//!
//! The host works with its own tools ([`Hands::Own`]), within the rights that it is given: it may only read, unless the
//! configuration says otherwise or the request is a whole task ([`Work`](crate::request::Work)) with rights of its own. Tools of the
//! request cannot be handed to it; a request that brings some is refused, so that nobody waits for calls that never
//! come. What the host does by itself is told as [`Event::ToolNotice`].

use std::sync::Arc;

use agents_host::host::{Headless, HeadlessFormat, Rights};
use agents_system::process::Call;
use camino::Utf8PathBuf;
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tokio::{process::ChildStdout, sync::Semaphore};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::{More, Source, asking_program},
    child::{Lines, Running, feed},
    error::{ModelError, Problem},
    event::Event,
    keys::Mask,
    provider::{EventStream, Hands, ModelInfo, Provider},
    request::{OwnRights, Request},
};

mod format;
mod prompt;

use format::Reader;
pub(crate) use prompt::prompt;

/// What an answer in this format says, line by line, until the host says that something went wrong.
#[doc(hidden)]
#[must_use]
pub fn read_lines(format: HeadlessFormat, text: &str) -> Vec<Event> {
    let (mut reader, mut events) = (Reader::new(format), Vec::new());
    for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        if reader.read(&line, &mut events).is_err() {
            break;
        }
    }
    events
}

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
    /// What it may at most do by itself, if the configuration says so.
    pub rights: Option<OwnRights>,
    /// Where it runs.
    pub cwd: Utf8PathBuf,
    /// The models that it is known to have.
    pub models: Vec<String>,
    /// How many may run at a time.
    pub permits: Arc<Semaphore>,
}

/// What a host is started with to have these rights.
pub(crate) trait With {
    /// `None` if it cannot be kept to them.
    fn with(&self, rights: OwnRights) -> Option<&Rights>;
}

impl With for Headless {
    fn with(&self, rights: OwnRights) -> Option<&Rights> {
        match rights {
            OwnRights::Read => Some(&self.read),
            OwnRights::Edit => self.edit.as_ref(),
            OwnRights::All => self.all.as_ref(),
        }
    }
}

impl HostProvider {
    /// The command line of a request, and what is given to it on standard input.
    fn call(&self, request: &Request) -> Result<(Call, String), Problem> {
        let headless = &self.headless;
        let rights = granted(&self.hands(), self.rights, request)?;
        let rights = headless.with(rights).ok_or_else(|| Problem::Settings {
            what: format!("it cannot be kept to the rights `{}`", rights.word()),
        })?;
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
        let cwd = request.work.as_ref().map_or(&self.cwd, |work| &work.cwd);
        call = call.args(&headless.last).cwd(cwd);
        for (name, value) in &rights.env {
            call = call.env(name, value);
        }
        for name in &headless.unset {
            call = call.without_env(name);
        }
        Ok((call, text))
    }

    fn begin(&self, request: &Request) -> Result<Answer, Problem> {
        refuse_tools(request)?;
        let (call, text) = self.call(request)?;
        let (running, stdin, stdout) = Running::start(&call)?;
        tokio::spawn(feed(stdin, text));
        let reader = Reader::new(self.headless.format);
        Ok(Answer { running, lines: Lines::new(stdout), reader, said: false })
    }
}

/// What a program may do for a request. For a whole task that is what the task may, but not more than the configuration says, and
/// what it can be kept to. For a question it is exactly what the configuration says, else reading.
pub(crate) fn granted(
    hands: &Hands,
    configured: Option<OwnRights>,
    request: &Request,
) -> Result<OwnRights, Problem> {
    let Some(work) = &request.work else { return Ok(configured.unwrap_or_default()) };
    let most = work.rights.min(configured.unwrap_or(OwnRights::All));
    hands.at_most(most).ok_or(Problem::Unconfined)
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

    fn hands(&self) -> Hands {
        let levels = OwnRights::WORDS.into_iter().map(|(_, rights)| rights);
        Hands::Own { kept_to: levels.filter(|it| self.headless.with(*it).is_some()).collect() }
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        let asking = asking_program(&self.name, &self.permits, &request, cancel);
        async move { asking.ask(|| std::future::ready(self.begin(&request))).await }.boxed()
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        std::future::ready(Ok(ModelInfo::named(&self.models))).boxed()
    }
}

/// An answer that is being read.
struct Answer {
    running: Running,
    lines: Lines<ChildStdout>,
    reader: Reader,
    /// Everything is said; the program only has to end.
    said: bool,
}

impl Source for Answer {
    async fn read(&mut self, out: &mut Vec<Event>) -> Result<More, Problem> {
        if self.said {
            self.running.end().await;
            return Ok(More::No);
        }
        let Some(line) = self.lines.next().await? else {
            // Some programs only say how it went by the way they end.
            return Err(self.running.failed("it did not finish its answer").await);
        };
        let Ok(value) = serde_json::from_slice::<Value>(&line) else {
            // Banners and warnings: nothing to read, but perhaps the only thing that says what is wrong.
            self.running.tail().push(&line);
            self.running.tail().push(b"\n");
            return Ok(More::Yes);
        };
        self.reader.read(&value, out).map_err(|what| Problem::Program {
            what: Mask::of_environment().hide(&what),
            details: self.running.tail().text(),
        })?;
        self.said = out.iter().any(|event| matches!(event, Event::Stopped(_)));
        Ok(More::Yes)
    }

    fn complete(&mut self, _: &mut Vec<Event>) -> bool {
        self.said
    }
}

#[cfg(test)]
mod tests;
