//! Signals to the processes of a test. The program `kill` is not on every machine.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// What Ctrl-C sends.
pub fn interrupt(pid: u32) -> bool {
    send(pid, Signal::SIGINT)
}

/// What a system sends that shuts down.
pub fn terminate(pid: u32) -> bool {
    send(pid, Signal::SIGTERM)
}

/// What a terminal sends that is closed.
pub fn hang_up(pid: u32) -> bool {
    send(pid, Signal::SIGHUP)
}

/// What nobody can ignore.
pub fn destroy(pid: u32) -> bool {
    send(pid, Signal::SIGKILL)
}

/// Whether anybody was there to get it.
fn send(pid: u32, signal: Signal) -> bool {
    i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), signal).is_ok())
}
