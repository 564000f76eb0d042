//! `cargo agents task run`

use std::process::ExitCode;

use agents_task::{Batch, TaskRequest};

use super::{
    Job,
    assignment::{schema, standard_input, text_or_file},
    grants, run_all, told,
};
use crate::{args::RunArgs, failure::Failure, output::Output, settings::Settings};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &RunArgs,
) -> Result<ExitCode, Failure> {
    let (agent, prompt) = match args.words.as_slice() {
        [agent, prompt, ..] => (Some(agent.clone()), prompt),
        [prompt] => (None, prompt),
        [] => (None, &String::new()),
    };
    let prompt = if prompt == "-" { standard_input()? } else { prompt.clone() };
    let mut request = TaskRequest { agent, prompt, ..TaskRequest::default() };
    if let Some(text) = &args.schema {
        request.schema = Some(schema(text, &settings.cwd)?);
    }
    args.manner.complete(&mut request);
    let context = args.context.as_deref().map(|it| text_or_file(it, &settings.cwd)).transpose()?;
    let job = Job {
        batch: Batch { context, tasks: vec![request] },
        modes: args.manner.modes(),
        allowed: grants(&args.manner.allow),
        concurrency: None,
        carry: args.manner.carry(),
        settle: args.manner.settle(),
        named: args.named.agents.clone(),
    };
    let outcomes = run_all(settings, output, job)?;
    told::one(output, &outcomes)
}
