//! Being the keeper of a program that an agent runs: see [`agents_system::process::keeper`].

use std::ffi::OsString;

/// What tells this program that it is one: the only argument. Whoever starts it names it in
/// [`Keeper::args`](agents_system::process::keeper::Keeper::args).
pub(crate) const COMMAND: &str = "__keep";

/// Whether this is such a call: looked at before anything else is.
pub(crate) fn called(argv: &[OsString]) -> bool {
    matches!(argv, [_, command] if command == COMMAND)
}
