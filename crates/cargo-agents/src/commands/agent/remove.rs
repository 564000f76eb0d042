//! `cargo agents agent remove <agent>`

use std::process::ExitCode;

use agents_agent::{Standing, definition::Dialect, edit::DefinitionFile};
use agents_system::finding::Finding;
use camino::Utf8PathBuf;

use super::{
    change::{Account, Doing, own_file, pen_for},
    found,
};
use crate::{failure::Failure, output::Output, settings::Settings};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    name: &str,
    doing: Doing,
    named: &[Utf8PathBuf],
) -> Result<ExitCode, Failure> {
    let found = found(settings, named)?;
    let (candidate, file) = own_file(&found, name)?;
    let dialect = candidate.definition.as_ref().map_or(Dialect::Ours, |it| it.origin.dialect);
    let _pen = pen_for(settings, file, doing)?;
    let opened = DefinitionFile::open(file, dialect)?;
    let before = opened.text().to_owned();
    // Whoever it hid has the name from now on.
    let next = found.agents.chain(name).find(|it| matches!(it.standing, Standing::ShadowedBy(_)));
    let findings: Vec<Finding> = next
        .map(|next| Finding::warning(format!("`{name}` now means {}", next.place())))
        .into_iter()
        .collect();
    if doing == Doing::It {
        opened.delete()?;
    }
    let before = Some(before.as_str());
    Account { name, file, before, after: None, losses: &[], findings }.report(output, doing)
}
