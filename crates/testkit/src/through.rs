//! A command that is started through another program, which prepares something and then becomes it.

use std::{os::unix::fs::MetadataExt as _, process::Command};

/// The same program, arguments, directory and environment, behind `before`. Standard streams are not taken over.
#[must_use]
pub fn through(before: &[&str], command: &Command) -> Command {
    let words = before.iter().map(std::ffi::OsStr::new);
    let mut words = words.chain([command.get_program()]).chain(command.get_args());
    let mut behind = Command::new(words.next().unwrap());
    behind.args(words);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => behind.env(name, value),
            None => behind.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        behind.current_dir(dir);
    }
    behind
}

/// The command, started so that file modes count, for the superuser too (who needs `setpriv` of util-linux for that).
#[must_use]
pub fn bound_by_modes(command: &Command) -> Command {
    let before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    through(if user == 0 { &before } else { &[] }, command)
}
