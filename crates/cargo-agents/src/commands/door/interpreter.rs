//! Being the interpreter of a script: see [`agents_tool::script`].

use std::ffi::OsString;

use agents_tool::script::Interpreter;

use crate::hands::Us;

/// What tells this program that it is one: the only argument.
const COMMAND: &str = "__interpret";

/// Whether this is such a call: looked at before anything else is.
pub(crate) fn called(argv: &[OsString]) -> bool {
    matches!(argv, [_, command] if command == COMMAND)
}

/// How this program is started as one.
pub(super) fn of(us: &Us) -> Interpreter {
    let (program, keeper) = (us.keeper.program.to_string(), us.keeper.clone());
    Interpreter { program, args: vec![COMMAND.to_owned()], keeper }
}
