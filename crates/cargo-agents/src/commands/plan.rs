//! `cargo agents plan …`

mod board;
pub(crate) mod check;
#[cfg(feature = "restate")]
mod cluster;
pub(crate) mod draft;
mod drive;
mod facts;
mod inquiry;
mod live;
mod orders;
pub(crate) mod runs;
pub(crate) mod show;
mod start;
pub(crate) mod team;
mod told;
pub(crate) mod view;
pub(crate) mod work;

use std::process::ExitCode;

use agents_plan::journal::{Journals, RunId};
use agents_system::{
    explain::{Code, ErrorKind},
    nearest::quoted_list,
};

use crate::{args::PlanCommand, failure::Failure, output::Output, settings::Settings};

/// The most runs that are named where one is meant.
const NAMED: usize = 5;

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &PlanCommand,
) -> Result<ExitCode, Failure> {
    match command {
        PlanCommand::Check { file, named } => check::run(settings, output, file, &named.agents),
        PlanCommand::New(args) => draft::run(settings, output, args),
        PlanCommand::Show(args) => show::run(settings, output, args),
        PlanCommand::Run(args) => start::run(settings, output, args),
        PlanCommand::Resume(args) => start::resume(settings, output, args),
        PlanCommand::Retry(args) => start::retry(settings, output, args),
        PlanCommand::Fork(args) => start::fork(settings, output, args),
        PlanCommand::Add(args) => start::add(settings, output, args),
        PlanCommand::List { most } => runs::list(settings, output, *most),
        PlanCommand::Logs { run, follow } => {
            let follow = if *follow { runs::Follow::Until } else { runs::Follow::No };
            runs::logs(settings, output, run, follow)
        }
        PlanCommand::CheckJournal { run } => check::journals(settings, output, run.as_deref()),
        PlanCommand::Pause { run } => runs::pause(settings, output, run),
        PlanCommand::Cancel { run, task } => runs::cancel(settings, output, run, task.as_deref()),
        PlanCommand::Gc { older_than, keep } => runs::gc(settings, output, *older_than, *keep),
    }
}

/// Where runs are kept.
pub(super) fn journals(settings: &Settings) -> Journals {
    Journals::new(settings.dirs.state.join("plans"))
}

/// The run that is meant: its name, a part of it, or `last` for the newest one.
pub(super) fn meant(journals: &Journals, text: &str) -> Result<RunId, Failure> {
    let exact = RunId::parse(text).filter(|it| journals.home(it).is_dir());
    if let Some(id) = exact.filter(|_| text != "last") {
        return Ok(id);
    }
    let ids = journals.list()?.into_iter().map(|it| it.map_or_else(|(id, _)| id, |it| it.id));
    let mut fitting: Vec<RunId> =
        ids.filter(|id| text == "last" || id.as_str().contains(text)).collect();
    match fitting.len() {
        0 if text == "last" => Err(Failure::new(ErrorKind::Usage, "no plan has run yet")
            .code(Code::UnknownRun)
            .hint("`cargo agents plan run` starts one")),
        0 => Err(Failure::new(ErrorKind::Usage, format!("there is no run `{text}`"))
            .code(Code::UnknownRun)
            .hint("`cargo agents plan list` shows the runs")),
        _ if text == "last" || fitting.len() == 1 => Ok(fitting.remove(0)),
        many => {
            let names: Vec<&str> = fitting.iter().take(NAMED).map(RunId::as_str).collect();
            Err(Failure::new(ErrorKind::Usage, format!("`{text}` can mean {many} runs"))
                .code(Code::AmbiguousId)
                .hint(format!("say which: {}", quoted_list(&names, "or"))))
        }
    }
}
