//! Being a process that outlives whoever started it.

use std::io;

use rustix::fs::Mode;

/// Leaves the terminal and the process group of whoever started us; files that are made from now on are for their owner only.
///
/// # Errors
/// We lead a process group already.
pub fn leave() -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::umask(Mode::from_raw_mode(0o077));
    Ok(())
}

/// What files that we make are not given, as in `umask`. There is no way to look at it without changing it, so no file must be
/// made meanwhile.
#[must_use]
#[allow(clippy::useless_conversion, reason = "it is smaller on other systems")]
pub fn mask() -> u32 {
    let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    mask.as_raw_mode().into()
}

/// Sets it.
#[allow(clippy::useless_conversion, reason = "it is smaller on other systems")]
pub fn set_mask(mask: u32) {
    let mask = (mask & 0o777).try_into().unwrap_or(0o077);
    rustix::process::umask(Mode::from_raw_mode(mask));
}

/// Whose processes are our own: the user that we act as.
#[must_use]
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}
