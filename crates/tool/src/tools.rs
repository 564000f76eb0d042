//! The tools themselves.

mod bash;
mod edit;
mod find;
#[doc(hidden)]
pub mod lsp;
mod outline;
mod plugin_command;
mod read;
mod search;
mod task;
mod todo;
#[cfg(feature = "web")]
pub mod web;
mod write;
mod yields;

use std::sync::{Arc, LazyLock};

pub use bash::Bash;
#[doc(hidden)]
pub use edit::apply as apply_edits;
pub use edit::{Edit, EditInput, Replacement};
pub use find::{Find, FindInput};
pub use lsp::{Lsp, LspAction, LspInput};
pub use outline::{Outline, OutlineInput};
pub use plugin_command::PluginCommand;
pub use read::{Read, ReadInput};
pub use search::{Search, SearchInput};
pub use task::{AgentLine, Batch, Spawner, Task, TaskItem};
pub use todo::{Todo, TodoInput, TodoItem, TodoState};
pub use write::{Write, WriteInput};
pub use yields::{Receiver, Submission, Yield};

use crate::{
    catalogue::{Catalogue, TwoTools},
    confine::Place,
    context::CallContext,
    policy::Effects,
    rights::Subject,
    tool::{Intent, Tool, ToolError},
};

/// Larger files are not read whole.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// Adds the tools that work on files, and the one that runs programs if there is a keeper for them.
pub fn add_all(catalogue: &mut Catalogue, bash: Option<Bash>) -> Result<(), TwoTools> {
    // They keep nothing of whoever calls them: there is one of each for all agents.
    static ALL: LazyLock<[Arc<dyn Tool>; 6]> = LazyLock::new(|| {
        [
            Arc::new(Read),
            Arc::new(Write),
            Arc::new(Edit),
            Arc::new(Search::default()),
            Arc::new(Find),
            Arc::new(Outline),
        ]
    });
    ALL.iter().try_for_each(|tool| catalogue.add_shared(Arc::clone(tool)))?;
    bash.map_or(Ok(()), |bash| catalogue.add(bash))
}

/// A call about one file.
fn about(path: &str, effects: Effects, context: &CallContext) -> Result<Intent, ToolError> {
    let place = context.area.locate(path)?;
    let subject = Subject::Paths(vec![place.relative().to_owned()]);
    let changes = if effects.changes() { vec![place] } else { Vec::new() };
    Ok(Intent { effects, subject, changes })
}

/// Where a walk starts: a directory, without a link on the way.
fn start(path: Option<&str>, context: &CallContext) -> Result<Place, ToolError> {
    let place = context.area.locate(path.unwrap_or("."))?;
    context.area.open_directory(&place)?;
    Ok(place)
}
