//! `cargo agents task resume ID PROMPT`

use std::process::ExitCode;

use agents_system::finding::Finding;
use agents_task::{Batch, resume};

use super::{Job, assignment::standard_input, grants, meant, run_all, told, transcripts};
use crate::{args::ResumeArgs, failure::Failure, output::Output, settings::Settings};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &ResumeArgs,
) -> Result<ExitCode, Failure> {
    let prompt = if args.prompt == "-" { standard_input()? } else { args.prompt.clone() };
    let store = transcripts(settings);
    let id = meant(&store, &args.id)?.to_string();
    let mut resumption = resume::prepare(&store, &id, &prompt)?;
    let damage: Vec<Finding> = resumption.damage.iter().map(Finding::warning).collect();
    output.findings(&damage);
    args.manner.complete(&mut resumption.request);
    let job = Job {
        batch: Batch::from(resumption.request),
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
