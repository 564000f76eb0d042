//! `cargo agents task run`

use agents_task::{Batch, TaskRequest};

use super::{
    assignment::{Input, schema, text_or_file},
    grants,
    work::Job,
};
use crate::{args::RunArgs, failure::Failure, settings::Settings};

pub(super) fn job(settings: &Settings, args: &RunArgs, input: Input) -> Result<Job, Failure> {
    let prompt = if args.reads_input() { input.text()? } else { args.prompt.clone() };
    let mut request = TaskRequest { agent: args.agent.clone(), prompt, ..TaskRequest::default() };
    if let Some(text) = &args.schema {
        request.schema = Some(schema(text, &settings.cwd)?);
    }
    args.manner.complete(&mut request);
    let context = args.context.as_deref().map(|it| text_or_file(it, &settings.cwd)).transpose()?;
    Ok(Job {
        batch: Batch { context, tasks: vec![request] },
        modes: args.manner.modes(),
        allowed: grants(&args.manner.allow),
        secrets: args.manner.secrets.clone(),
        concurrency: None,
        carry: args.manner.carry(),
        settle: args.manner.settle(),
        named: args.named.agents.clone(),
        findings: Vec::new(),
    })
}
