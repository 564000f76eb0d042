//! `cargo agents hook <host> <event>`: what hosts run, before every tool call and at some other moments.
//!
//! This is the shortest way through the house. Standard output carries the host's protocol and nothing else; what there is
//! to say goes to standard error; and no mistake of ours or of a plugin may look like a denial, so that nothing but
//! a denial ends with 2.

mod answer;
mod handlers;
mod session;

use std::{ffi::OsString, process::ExitCode};

use agents_hook::Wire;
use agents_host::Event;
use agents_system::explain::ErrorKind;

use crate::failure::Failure;

/// The event that a host calls for, if this is such a call: looked at before anything else is.
pub(crate) fn called(argv: &[OsString]) -> Option<(Wire, Event)> {
    let [_, command, host, event] = argv else { return None };
    if command != "hook" {
        return None;
    }
    Some((Wire::of(host.to_str()?)?, Event::parse(event.to_str()?)?))
}

pub(crate) use answer::answer;

/// A call that [`called`] did not understand.
pub(crate) fn refuse(words: &[String]) -> Result<ExitCode, Failure> {
    let hosts = Wire::ALL.map(Wire::host).join(", ");
    let events = Event::ALL.map(Event::kebab).join(", ");
    let message = match words {
        [host, _] if Wire::of(host).is_none() => format!("`{host}` is no host that calls hooks"),
        [_, event] => format!("`{event}` is no event"),
        _ => "a hook is called with a host and an event".to_owned(),
    };
    // Not a usage error: hosts take that exit code for a denial.
    Err(Failure::new(ErrorKind::Failure, message)
        .details(format!("hosts: {hosts}\nevents: {events}"))
        .hint("`cargo agents sync` registers hooks as they must be called"))
}
