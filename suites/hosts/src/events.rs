//! Which events a host really fires.
//!
//! The plugin of this suite has a hook for every event that leaves a mark. What the host's description maps must leave one, in
//! an ordinary session or in one of its own ([`occasion`](crate::occasion)). What an ordinary session does not bring about must not
//! leave one there: an exception that is none any more is noticed, too.

use std::collections::BTreeMap;

use agents_probe::{quiet, seen::Events};
use anyhow::Context as _;
use hosts_suite::table::Verdict;
use serde_json::Value;

use crate::ground::Ground;

/// The events that a host has, with what it calls them.
pub(crate) type Mapped = BTreeMap<String, String>;

/// What the host's description maps, as our program tells it.
pub(crate) fn mapped(ground: &Ground, host: &str) -> anyhow::Result<Mapped> {
    let told = ground.agents(&["hook", "explain", host, "--json"])?.stdout_text();
    let told: Value = serde_json::from_str(&told)?;
    let events = told["events"].as_array().context("no events in `hook explain`")?;
    let pair =
        |it: &Value| Some((it["event"].as_str()?.to_owned(), it["called"].as_str()?.to_owned()));
    Ok(events.iter().filter_map(pair).collect())
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
    fn what_one_session_does_not_bring_about_has_another() {
        let (program, path) = ("/c".into(), "/".as_ref());
        let (home, workspace) = ("/h".into(), "/w".into());
        let place = Place { program, path, home, workspace, url: "http://x", model: "m" };
        let mut told = Vec::new();
        for client in client::all() {
            let host = client.host();
            told.extend(occasion::of(client.as_ref(), &place).iter().map(|it| (it.event, host)));
        }
        told.sort_unstable();
        let pairs = quiet::ALL.iter().flat_map(|it| it.hosts.iter().map(|host| (it.event, *host)));
        let mut quiet: Vec<(&str, &str)> = pairs.collect();
        quiet.sort_unstable();
        assert_eq!(told, quiet);
    }
}
