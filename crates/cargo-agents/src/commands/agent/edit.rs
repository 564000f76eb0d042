//! `cargo agents agent edit <agent> KEY=VALUE…`

use std::process::ExitCode;

use agents_agent::{
    assign::assign,
    definition::Dialect,
    edit::{ChangeError, DefinitionFile, check_sayable},
};
use agents_system::explain::ErrorKind;

use super::{
    change::{Account, Doing, assignments, own_file, pen_for},
    found,
};
use crate::{args::EditAgentArgs, failure::Failure, output::Output, settings::Settings};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &EditAgentArgs,
) -> Result<ExitCode, Failure> {
    let changes = assignments(settings, &args.changes, &args.unset, args.prompt_file.as_deref())?;
    if changes.is_empty() {
        return Err(Failure::new(ErrorKind::Usage, "nothing to change")
            .hint("a change is written `KEY=VALUE`, or `--unset KEY`"));
    }
    let found = found(settings, &args.named.agents)?;
    let (candidate, file) = own_file(&found, &args.agent)?;
    let dialect = candidate.definition.as_ref().map_or(Dialect::Ours, |it| it.origin.dialect);
    let doing = Doing::new(args.dry_run);
    // Before it is read, so that of two changes made at the same time both count.
    let _pen = pen_for(settings, file, doing)?;
    let opened = DefinitionFile::open(file, dialect)?;
    // As it stands there: what a project may not say is not for us to take out.
    let (definition, findings) = opened.definition(candidate.source.clone());
    let Some(before) = definition else {
        return Err(ChangeError::NoDefinition { file: file.to_owned(), findings }.into());
    };
    let mut wanted = before.clone();
    let findings = assign(&mut wanted, &changes)?;
    check_sayable(Some(&before), &wanted, dialect)?;
    let plan = opened.plan_change(&wanted)?;
    if doing == Doing::It {
        opened.change(&wanted)?;
    }
    let (name, losses) = (&args.agent, &[][..]);
    let (before, after) = (Some(opened.text()), Some(plan.text.as_str()));
    Account { name, file, before, after, losses, findings }.report(output, doing)
}
