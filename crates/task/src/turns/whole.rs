//! Programs that work with their own tools: a coding agent that is installed here, an ACP agent.
//!
//! Such a program gets the whole task at once, and its last message is the result. It cannot be given our tools, so it is kept to what
//! it can be kept to; where that is more than the agent may do without asking, it does not run.

use std::time::Duration;

use agents_model::{
    Hands, OwnRights, Work,
    event::{ToolNotice, ToolPhase},
};
use agents_tool::{Area, Confinement, Effect, Moment, Standing};
use serde_json::Value;

use super::{Ground, Task};
use crate::{
    effective::EffectiveAgent,
    event::{ToolState, What},
    outcome::Failure,
};

/// How long such a program may be silent: it may build something.
pub(super) const SILENCE: Duration = Duration::from_secs(30 * 60);

/// The whole task, if the program that answers works with its own tools.
///
/// # Errors
/// It cannot be kept to what the agent may do.
pub(super) fn whole(
    agent: &EffectiveAgent,
    ground: &Ground,
    now: Moment,
) -> Result<Option<Work>, Failure> {
    if ground.provider.hands() == Hands::Ours {
        return Ok(None);
    }
    let (area, confinement) = (&ground.context.area, &ground.context.confinement);
    work(&agent.standing, confinement, area, now).map(Some).ok_or_else(|| Failure::NotStarted {
        message: format!(
            "`{}` works with its own tools, and cannot be kept to what `{}` may do",
            ground.provider.name(),
            agent.name
        ),
        hint: Some("choose another model, or an agent that may read everything here".to_owned()),
    })
}

/// The task as a program with its own tools would do it. It cannot be confined by us, so for an agent that has to be it only looks.
fn work(standing: &Standing, confinement: &Confinement, area: &Area, now: Moment) -> Option<Work> {
    let unasked = standing.unasked(now);
    let may = |effect| unasked.has(effect);
    let rights = if !may(Effect::Reads) {
        return None;
    } else if *confinement != Confinement::None || !may(Effect::Writes) {
        OwnRights::Read
    } else if !may(Effect::Executes) || !may(Effect::Network) {
        OwnRights::Edit
    } else {
        OwnRights::All
    };
    Some(Work { cwd: area.cwd().to_owned(), rights })
}

/// What the use of a tool looks like from outside.
pub(super) fn shown(notice: &ToolNotice) -> What {
    let (call, tool) = (notice.id.clone(), notice.name.clone());
    let state = match notice.phase {
        ToolPhase::Begins => {
            let input = Value::String(notice.about.clone());
            return What::ToolStarted { call, tool, input };
        }
        ToolPhase::Done => ToolState::Done,
        ToolPhase::Failed => ToolState::Failed,
    };
    What::ToolEnded { call, tool, state }
}

impl Task {
    /// Whether the program that answers works with its own tools.
    pub(super) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }
}

#[cfg(test)]
mod tests {
    use agents_agent::definition::PermissionMode::{
        self, AcceptEdits, BypassPermissions, Default, Plan,
    };
    use agents_testkit::scratch::Scratch;
    use agents_tool::{Bypass, Rights, Sandbox};

    use super::*;

    #[test]
    fn no_more_than_the_agent_may_without_asking() {
        let scratch = Scratch::new();
        let area = Area::workspace(&scratch.path("")).unwrap();
        let rights = |rights: Rights, mode: PermissionMode, confinement: &Confinement| {
            let standing = Standing::root(rights, mode, Bypass::Allowed);
            work(&standing, confinement, &area, Moment::default()).map(|it| it.rights)
        };
        for (given, mode, wanted) in [
            (Rights::all(), BypassPermissions, Some(OwnRights::All)),
            (Rights::all(), AcceptEdits, Some(OwnRights::Edit)),
            (Rights::all(), Default, Some(OwnRights::Read)),
            (Rights::all(), Plan, Some(OwnRights::Read)),
            (Rights::all().without(["bash"]), BypassPermissions, Some(OwnRights::Edit)),
            (
                Rights::only(["read", "search", "find", "edit", "write", "bash(cargo *)"]),
                BypassPermissions,
                Some(OwnRights::Edit),
            ),
            (Rights::all().without(["write(secret/**)"]), BypassPermissions, Some(OwnRights::Read)),
            (Rights::only(["read(src/**)"]), BypassPermissions, None),
            (Rights::all().without(["read(.env)"]), BypassPermissions, None),
            (Rights::nothing(), BypassPermissions, None),
        ] {
            let shown = format!("{given} {mode:?}");
            assert_eq!(rights(given, mode, &Confinement::None), wanted, "{shown}");
        }
        let sandbox = Confinement::Sandbox(Sandbox::default());
        assert_eq!(rights(Rights::all(), BypassPermissions, &sandbox), Some(OwnRights::Read));
    }
}
