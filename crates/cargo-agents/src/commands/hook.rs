//! `cargo agents hook <host> <event>`: what hosts run, before every tool call and at some other moments.
//!
//! This is the shortest way through the house. Standard output carries the host's protocol and nothing else; what there is
//! to say goes to standard error; and no mistake of ours or of a plugin may look like a denial, so that nothing but
//! a denial ends with 2.

mod account;
mod answer;
mod explain;
mod handlers;
pub(crate) mod prewarm;
mod refresh;
mod session;
mod test;
mod trace;

use std::{ffi::OsString, process::ExitCode};

use agents_hook::Wire;
use agents_host::Event;
use agents_system::explain::{Code, ErrorKind};

use crate::{args::HookCommand, failure::Failure, output::Output, settings::Settings};

#[cfg(test)]
pub(crate) use {account::HookDocument, explain::HookExplainDocument, test::ReplayDocument};

/// The event that a host calls for, if this is such a call: looked at before anything else is.
pub(crate) fn called(argv: &[OsString]) -> Option<(Wire, Event)> {
    let [_, command, host, event] = argv else { return None };
    if command != "hook" {
        return None;
    }
    Some((Wire::of(host.to_str()?)?, Event::parse(event.to_str()?)?))
}

pub(crate) use answer::{answer, hooks_here};
pub(crate) use handlers::choose;

/// What people do with hooks.
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: Option<HookCommand>,
) -> Result<ExitCode, Failure> {
    match command {
        None => refuse(&[]),
        Some(HookCommand::Called(words)) => refuse(&words),
        Some(HookCommand::Test { host, event, input, record }) => {
            let (wire, event) = (host_named(&host)?, event_named(&event)?);
            test::run(settings, output, (wire, event), input.as_deref(), record.as_deref())
        }
        Some(HookCommand::Replay { file }) => test::replay(settings, output, &file),
        Some(HookCommand::Explain { host, event }) => {
            let event = event.map(|event| event_named(&event)).transpose()?;
            explain::run(settings, output, host_named(&host)?, event)
        }
    }
}

fn host_named(name: &str) -> Result<Wire, Failure> {
    Wire::of(name).ok_or_else(|| {
        let hosts = Wire::ALL.map(Wire::host).join(", ");
        Failure::new(ErrorKind::Usage, format!("`{name}` is not a host that calls hooks"))
            .code(Code::UnknownHost)
            .hint(format!("hosts: {hosts}"))
    })
}

fn event_named(name: &str) -> Result<Event, Failure> {
    Event::parse(name).ok_or_else(|| {
        let events = Event::ALL.map(Event::kebab).join(", ");
        Failure::new(ErrorKind::Usage, format!("`{name}` is not an event"))
            .hint(format!("events: {events}"))
    })
}

/// A call that [`called`] did not understand.
fn refuse(words: &[String]) -> Result<ExitCode, Failure> {
    let hosts = Wire::ALL.map(Wire::host).join(", ");
    let events = Event::ALL.map(Event::kebab).join(", ");
    let message = match words {
        [host, _] if Wire::of(host).is_none() => format!("`{host}` is not a host that calls hooks"),
        [_, event] => format!("`{event}` is not an event"),
        _ => "a hook is called with a host and an event".to_owned(),
    };
    // Not a usage error: hosts take that exit code for a denial.
    Err(Failure::new(ErrorKind::Failure, message)
        .details(format!("hosts: {hosts}\nevents: {events}"))
        .hint("`cargo agents sync` registers hooks as they must be called"))
}
