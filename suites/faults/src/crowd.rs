//! Several commands at once, some of which may be killed.

use std::{
    process::{Child, Output},
    thread,
};

use agents_testkit::chance::Chance;

use crate::fault::Fault;

/// Waits for one of several, or kills it within so many milliseconds: then there is nothing that it must have said.
pub(crate) fn ending(
    mut child: Child,
    fault: Fault,
    chance: &mut Chance,
    within: usize,
) -> anyhow::Result<Option<Output>> {
    let mut dies = fault == Fault::Massacre && chance.percent(60);
    if dies {
        thread::sleep(chance.moment(within));
        dies = child.try_wait()?.is_none();
        child.kill()?;
    }
    let output = child.wait_with_output()?;
    Ok((!dies).then_some(output))
}
