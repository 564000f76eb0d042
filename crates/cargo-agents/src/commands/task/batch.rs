//! `cargo agents task batch FILE`

use agents_system::explain::{Code, ErrorKind};
use agents_task::{Batch, batch_file};
use camino::Utf8Path;

use super::{assignment::Input, grants, work::Job};
use crate::{
    args::{BatchArgs, tool_rule},
    failure::Failure,
    given,
    settings::Settings,
};

pub(super) fn job(settings: &Settings, args: &BatchArgs, input: Input) -> Result<Job, Failure> {
    let (file, text) = if args.reads_input() {
        ("standard input".into(), input.text()?)
    } else {
        let file = settings.cwd.join(&args.file);
        let text = given::text_in(&file)
            .map_err(|error| Failure::new(ErrorKind::Usage, error.to_string()))?;
        (file, text)
    };
    let mut batch = parse(&file, &text)?;
    for tool in batch.tasks.iter().flat_map(|task| &task.tools) {
        tool_rule(tool).map_err(|why| refused(&file, &why))?;
    }
    batch.tasks.iter_mut().for_each(|task| args.manner.complete(task));
    if args.concurrency == Some(0) {
        return Err(Failure::new(ErrorKind::Usage, "`--concurrency` is at least 1"));
    }
    Ok(Job {
        batch,
        modes: args.manner.modes(),
        allowed: grants(&args.manner.allow),
        secrets: args.manner.secrets.clone(),
        concurrency: args.concurrency,
        carry: args.manner.carry(),
        settle: args.manner.settle(),
        named: args.named.agents.clone(),
        findings: Vec::new(),
    })
}

fn parse(file: &Utf8Path, text: &str) -> Result<Batch, Failure> {
    batch_file::parse(file, text).map_err(|message| refused(file, &message))
}

fn refused(file: &Utf8Path, message: &str) -> Failure {
    Failure::new(ErrorKind::Usage, format!("`{file}` is not a batch: {message}"))
        .code(Code::BadRequest)
        .hint("`cargo agents task batch --help` shows one")
}
