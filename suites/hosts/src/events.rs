//! Which events a host really fires in a session without a terminal.
//!
//! The plugin of this suite has a hook for every event that leaves a mark. What the host's description maps must leave one, in
//! an ordinary session or in one of its own ([`occasion`](crate::occasion)); what cannot is listed here, with what was tried, and must not: an exception
//! that is none any more is noticed, too.

use agents_probe::{quiet, seen::Events};
use anyhow::Context as _;
use hosts_suite::table::Verdict;
use serde_json::Value;

use crate::ground::Ground;

/// An event that a host has, and that no session of this suite sees.
pub(crate) struct Exception {
    event: &'static str,
    host: &'static str,
    /// What was tried.
    tried: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        event: "SessionEnd",
        host: "qwen",
        tried: "with `-p` it ends without it, also after `/compress` and with `--continue`",
    },
    Exception {
        event: "PermissionRequest",
        host: "opencode",
        tried: "with `\"bash\": \"ask\"` it requests permission and refuses by itself, without the plugin's `permission.ask`",
    },
    Exception {
        event: "PermissionRequest",
        host: "qwen",
        tried: "`-p` without `--yolo`: no hook is run for a command that would need permission",
    },
    Exception {
        event: "Notification",
        host: "claude",
        tried: "a tool that needs permission is refused without one",
    },
    Exception {
        event: "Notification",
        host: "gemini",
        tried: "without `--yolo` a tool that needs permission is not offered to the model at all",
    },
];

/// What the host's description maps, as our program tells it.
pub(crate) fn mapped(ground: &Ground, host: &str) -> anyhow::Result<Events> {
    let told = ground.agents(&["hook", "explain", host, "--json"])?.stdout_text();
    let told: Value = serde_json::from_str(&told)?;
    let events = told["events"].as_array().context("no events in `hook explain`")?;
    let events = events.iter().filter(|it| it["called"].is_string());
    Ok(events.filter_map(|it| it["event"].as_str().map(str::to_owned)).collect())
}

/// Whether each event that the host has left its mark; `brought` are those that had a session of their own.
pub(crate) fn judge(host: &str, mapped: &Events, left: &Events, brought: &[&str]) -> Verdict {
    let quiet = quiet::of_host(host).map(|it| it.event).filter(|it| !brought.contains(it));
    let excepted: Events = quiet.map(str::to_owned).collect();
    let list = |events: Vec<&String>| {
        events.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let missing: Vec<&String> =
        mapped.iter().filter(|it| !left.contains(*it) && !excepted.contains(*it)).collect();
    if !missing.is_empty() {
        return Verdict::No(format!("nothing was run for {}", list(missing)));
    }
    let after_all: Vec<&String> = excepted.intersection(left).collect();
    Verdict::from(after_all.is_empty(), || {
        format!("listed as not fired, and fired: {}", list(after_all))
    })
}

/// The exceptions, for the page.
pub(crate) fn exceptions() -> String {
    let line = |Exception { event, host, tried }: &Exception| {
        format!("  - `{event}` in `{host}`: {tried}.\n")
    };
    EXCEPTIONS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use agents_probe::{
        client::{self, Place},
        quiet::Quiet,
    };

    use super::*;
    use crate::occasion;

    fn set(events: &[&str]) -> Events {
        events.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn an_event_without_a_mark_is_noticed_and_so_is_an_exception_with_one() {
        let mapped = set(&["Stop", "SessionStart"]);
        assert_eq!(judge("none", &mapped, &mapped, &[]), Verdict::Yes);
        assert_eq!(
            judge("none", &mapped, &set(&["Stop"]), &[]),
            Verdict::No("nothing was run for SessionStart".to_owned())
        );
        for Quiet { event, hosts, .. } in quiet::ALL {
            assert!(agents_plugin::manifest::EVENTS.contains(event), "{event}");
            let (has, only) = (set(&[event, "Stop"]), set(&["Stop"]));
            assert_eq!(judge(hosts[0], &has, &only, &[]), Verdict::Yes, "{event}");
            assert!(matches!(judge(hosts[0], &has, &has, &[]), Verdict::No(_)), "{event}");
            assert!(matches!(judge(hosts[0], &has, &only, &[event]), Verdict::No(_)), "{event}");
            assert_eq!(judge(hosts[0], &has, &has, &[event]), Verdict::Yes, "{event}");
        }
    }

    #[test]
    fn what_one_session_does_not_bring_about_has_another_or_a_reason() {
        let (program, path) = ("/c".into(), "/".as_ref());
        let (home, workspace) = ("/h".into(), "/w".into());
        let place = Place { program, path, home, workspace, url: "http://x", model: "m" };
        let mut told = Vec::new();
        for client in client::all() {
            let host = client.host();
            told.extend(occasion::of(client.as_ref(), &place).iter().map(|it| (it.event, host)));
        }
        told.extend(EXCEPTIONS.iter().map(|it| (it.event, it.host)));
        told.sort_unstable();
        let pairs = quiet::ALL.iter().flat_map(|it| it.hosts.iter().map(|host| (it.event, *host)));
        let mut quiet: Vec<(&str, &str)> = pairs.collect();
        quiet.sort_unstable();
        assert_eq!(told, quiet);
    }
}
