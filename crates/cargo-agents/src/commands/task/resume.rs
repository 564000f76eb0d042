//! `cargo agents task resume ID PROMPT`

use agents_system::finding::Finding;
use agents_task::{Batch, resume};

use super::{assignment::Input, grants, meant, transcripts, work::Job};
use crate::{args::ResumeArgs, failure::Failure, settings::Settings};

pub(super) fn job(settings: &Settings, args: &ResumeArgs, input: Input) -> Result<Job, Failure> {
    let prompt = if args.reads_input() { input.text()? } else { args.prompt.clone() };
    let store = transcripts(settings);
    let id = meant(&store, &args.id)?.to_string();
    let mut resumption = resume::prepare(&store, &id, &prompt)?;
    args.manner.complete(&mut resumption.request);
    Ok(Job {
        batch: Batch::from(resumption.request),
        modes: args.manner.modes(),
        allowed: grants(&args.manner.allow),
        secrets: args.manner.secrets.clone(),
        concurrency: None,
        carry: args.manner.carry(),
        settle: args.manner.settle(),
        named: args.named.agents.clone(),
        findings: resumption.damage.iter().map(Finding::warning).collect(),
    })
}
