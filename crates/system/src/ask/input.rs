//! What the person types, waited for in a way that signals can end.

use std::{
    io,
    time::{Duration, Instant},
};

use super::{AskError, Withdrawal};
use crate::process::{interrupted, listen_for_ctrl_c};

/// More than anybody types between two looks; what follows is read next time.
const AT_ONCE: usize = 1024;
/// How soon a signal or a new size of the window is noticed.
const GLANCE: Duration = Duration::from_millis(100);

/// What came of waiting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Bytes(Vec<u8>),
    /// Nothing until the patience was at its end.
    Nothing,
}

/// From now on a signal ends questions, not us.
pub(super) fn listen() {
    listen_for_ctrl_c();
}

/// An error if there will be no answer, whatever is typed.
fn go_on(withdrawal: &Withdrawal) -> Result<(), AskError> {
    if interrupted() {
        return Err(AskError::Interrupted);
    }
    if withdrawal.is_withdrawn() { Err(AskError::Withdrawn) } else { Ok(()) }
}

/// Waits for the next bytes; `None` for a tenth of a second, after which the caller may look around.
#[cfg(unix)]
pub(super) fn wait(patience: Option<Duration>, withdrawal: &Withdrawal) -> Result<Typed, AskError> {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
        stdio::stdin,
    };
    let until = Instant::now() + patience.unwrap_or(GLANCE);
    loop {
        go_on(withdrawal)?;
        let left = until.saturating_duration_since(Instant::now()).min(GLANCE);
        let left = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        let stdin = stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&left)) {
            Ok(0) if Instant::now() >= until => return Ok(Typed::Nothing),
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let mut bytes = vec![0; AT_ONCE];
        match rustix::io::read(stdin, &mut bytes) {
            // The terminal is gone, or its user has typed the end of the input.
            Ok(0) | Err(Errno::IO) => return Err(AskError::Interrupted),
            Ok(length) => {
                bytes.truncate(length);
                return Ok(Typed::Bytes(bytes));
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// The next line, without its end.
#[cfg(unix)]
pub(super) fn line(withdrawal: &Withdrawal) -> Result<String, AskError> {
    let mut line = Vec::new();
    loop {
        let Typed::Bytes(bytes) = wait(None, withdrawal)? else { continue };
        line.extend(bytes);
        if line.ends_with(b"\n") || line.len() > AT_ONCE {
            return Ok(String::from_utf8_lossy(&line).trim().to_owned());
        }
    }
}

/// The next line, without its end.
#[cfg(not(unix))]
pub(super) fn line(withdrawal: &Withdrawal) -> Result<String, AskError> {
    let mut line = String::new();
    let length = io::stdin().read_line(&mut line)?;
    if length == 0 {
        return Err(AskError::Interrupted);
    }
    go_on(withdrawal)?;
    Ok(line.trim().to_owned())
}
