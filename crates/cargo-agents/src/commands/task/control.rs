//! `cargo agents task cancel|asks|approve|deny|supervisor`

use std::process::ExitCode;

use agents_system::explain::{Code, ErrorKind};
use agents_task::{
    TaskId,
    broker::Reply,
    transcript::{Standing, Store},
};
use serde::Serialize;

use super::{
    background::{
        Home,
        client::{Start, ask, unexpected},
        wire::{Asked, How, Request, Running, Say, Status},
    },
    meant, transcripts,
};
use crate::{
    args::Lasting,
    commands::order::{Action, Done, Object, Told, tell_all},
    failure::Failure,
    output::Output,
    settings::Settings,
};

impl From<Lasting> for Reply {
    fn from(lasting: Lasting) -> Self {
        match lasting {
            Lasting::Once => Self::Once,
            Lasting::Task => Self::Task,
            Lasting::Tree => Self::Tree,
        }
    }
}

/// What `task supervisor` is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    IfIdle,
    Everything,
}

impl Stop {
    pub(super) fn said(stop: bool, cancel: bool) -> Self {
        match (stop, cancel) {
            (false, _) => Self::No,
            (true, false) => Self::IfIdle,
            (true, true) => Self::Everything,
        }
    }
}

/// Ends tasks, and says so when they have ended.
pub(super) fn cancel(
    settings: &Settings,
    output: &Output,
    prefixes: &[String],
) -> Result<ExitCode, Failure> {
    let store = transcripts(settings);
    let ids: Result<Vec<TaskId>, Failure> =
        prefixes.iter().map(|prefix| meant(&store, prefix)).collect();
    let done = ids?.into_iter().map(|id| cancel_one(settings, &store, id));
    tell_all(done, output, Told::Aside)?;
    Ok(ExitCode::SUCCESS)
}

/// Ends a task, and says what became of it when it has ended.
pub(crate) fn cancel_one(settings: &Settings, store: &Store, id: TaskId) -> Result<Done, Failure> {
    let meta = store.meta(id)?;
    let standing = store.standing(&meta);
    if standing != Standing::Running {
        let said = format!("`{}` ({}) has ended: {}", meta.path, id.short(), standing.word());
        let done = Done::new(Action::None, Object::Task, said);
        return Ok(done.id(id.to_string()).state(standing.word()));
    }
    let said = ask(settings, &Request::Cancel { task: id }, Start::Never)?;
    let how = match said {
        Some(Say::Done { how }) => how,
        Some(_) => return Err(unexpected()),
        None => return Err(elsewhere(id)),
    };
    let state = store.standing(&store.meta(id)?);
    let hard = if how == How::Hard { " (it did not end by itself)" } else { "" };
    let said = format!("`{}` ({}): {}{hard}", meta.path, id.short(), state.word());
    Ok(Done::new(Action::Cancelled, Object::Task, said).id(id.to_string()).state(state.word()))
}

/// A task that runs, and not for the supervisor.
pub(super) fn elsewhere(id: TaskId) -> Failure {
    let message = format!("task `{}` does not run in the background", id.short());
    Failure::new(ErrorKind::Usage, message).code(Code::NotInBackground).hint(
        "it runs in another terminal: Ctrl-C ends it there, `task logs --follow` shows it here",
    )
}

/// `cargo agents task asks --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskAsksDocument {
    /// The oldest task first
    asks: Vec<AskView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AskView {
    /// For `task approve` and `task deny`
    ask: String,
    task: String,
    /// Where the task stands in its tree, with slashes
    path: String,
    /// What it wants to do, in words
    question: String,
}

/// The questions that wait for an answer.
fn open_asks(settings: &Settings) -> Result<Vec<Asked>, Failure> {
    match ask(settings, &Request::Asks, Start::Never)? {
        None => Ok(Vec::new()),
        Some(Say::Asks { asks }) => Ok(asks),
        Some(_) => Err(unexpected()),
    }
}

#[cfg(feature = "http")]
impl TaskAsksDocument {
    /// Those that wait now.
    pub(crate) fn now(settings: &Settings) -> Result<Self, Failure> {
        Ok(Self::from(open_asks(settings)?))
    }
}

impl From<Vec<Asked>> for TaskAsksDocument {
    fn from(asks: Vec<Asked>) -> Self {
        let view = |it: Asked| AskView {
            ask: it.ask,
            task: it.task.to_string(),
            path: it.path.to_string(),
            question: it.question,
        };
        Self { asks: asks.into_iter().map(view).collect() }
    }
}

pub(super) fn asks(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    let asks = open_asks(settings)?;
    if output.is_json() {
        output.document(&TaskAsksDocument::from(asks))?;
        return Ok(ExitCode::SUCCESS);
    }
    if asks.is_empty() {
        output.talk("no background task waits for an answer");
    }
    for Asked { ask, path, question, .. } in asks {
        output.line(format!("{ask}  {path}: {question}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn answer(
    settings: &Settings,
    output: &Output,
    asked: &str,
    reply: Reply,
) -> Result<ExitCode, Failure> {
    answer_one(settings, asked, reply)?.tell(output, Told::Aside)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a question, and says how.
pub(crate) fn answer_one(settings: &Settings, asked: &str, reply: Reply) -> Result<Done, Failure> {
    let request = Request::Answer { ask: asked.trim().to_owned(), reply };
    match ask(settings, &request, Start::Never)? {
        Some(Say::Done { .. }) => {
            let (action, word) = match reply {
                Reply::No => (Action::Denied, "denied"),
                Reply::Once | Reply::Task | Reply::Tree => (Action::Approved, "approved"),
            };
            let said = format!("{word}: `{asked}`");
            Ok(Done::new(action, Object::Question, said).id(asked.trim()))
        }
        Some(_) => Err(unexpected()),
        None => Err(Failure::new(ErrorKind::Usage, "no task runs in the background")
            .code(Code::NotInBackground)),
    }
}

/// `cargo agents task supervisor --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskSupervisorDocument {
    /// Its process, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    /// The version that it is of
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The processes that run tasks, one for each `task run`
    workers: Vec<u32>,
    /// The file that says what happened
    log: String,
}

pub(super) fn supervisor(
    settings: &Settings,
    output: &Output,
    stop: Stop,
) -> Result<ExitCode, Failure> {
    let log = Home::of(&settings.dirs).log_file();
    let running = match stop {
        Stop::No => return status(settings, output, log.as_str()),
        Stop::IfIdle => Running::Keep,
        Stop::Everything => Running::Cancel,
    };
    let (action, said) = match ask(settings, &Request::Stop { running }, Start::Never)? {
        None => (Action::None, "there is no supervisor: nothing runs in the background"),
        Some(Say::Done { .. }) => (Action::Stopped, "the supervisor has ended"),
        Some(_) => return Err(unexpected()),
    };
    Done::new(action, Object::Supervisor, said).tell(output, Told::Aside)?;
    Ok(ExitCode::SUCCESS)
}

fn status(settings: &Settings, output: &Output, log: &str) -> Result<ExitCode, Failure> {
    let status = match ask(settings, &Request::Status, Start::Never)? {
        None => None,
        Some(Say::Status(status)) => Some(status),
        Some(_) => return Err(unexpected()),
    };
    if output.is_json() {
        output.document(&TaskSupervisorDocument {
            process: status.as_ref().map(|it| it.process),
            version: status.as_ref().map(|it| it.program.clone()),
            workers: status.map(|it| it.workers).unwrap_or_default(),
            log: log.to_owned(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    match status {
        None => output.line("there is no supervisor: nothing runs in the background")?,
        Some(Status { process, program, workers }) => {
            let runs = match workers.len() {
                0 => "nothing runs".to_owned(),
                1 => "1 run".to_owned(),
                many => format!("{many} runs"),
            };
            output.line(format!("process {process}, version {program}, {runs}"))?;
            output.line(format!("log: {log}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
