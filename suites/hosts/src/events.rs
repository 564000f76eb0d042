//! Which events a host really fires in a session without a terminal.
//!
//! The plugin of this suite has a hook for every event that leaves a mark. What the host's description maps must leave one;
//! what cannot is listed here, with its reason, and must not: an exception that is none any more is noticed, too.

use std::collections::BTreeSet;

use agents_probe::client::Client;
use anyhow::Context as _;
use camino::Utf8Path;
use hosts_suite::table::Verdict;
use serde_json::Value;

use crate::ground::Ground;

/// An event that a host has, and that a session of this suite does not see.
pub(crate) struct Exception {
    pub(crate) event: &'static str,
    /// Where it is so.
    pub(crate) hosts: &'static [&'static str],
    pub(crate) why: &'static str,
}

pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception { event: "SessionEnd", hosts: &["qwen"], why: "with `-p` it ends without it" },
    Exception {
        event: "SessionEnd",
        hosts: &["opencode"],
        why: "a session ends when its user deletes it, and this one is kept",
    },
    Exception {
        event: "PermissionRequest",
        hosts: &["codex", "claude", "opencode", "qwen"],
        why: "without a terminal nobody is asked",
    },
    Exception {
        event: "Notification",
        hosts: &["claude", "gemini", "copilot"],
        why: "without a terminal it waits for nobody's attention",
    },
    Exception {
        event: "PreCompact",
        hosts: &["codex", "claude", "opencode", "copilot", "qwen"],
        why: "the conversation of this suite is too short to be compacted",
    },
];

/// What the host's description maps, as our program tells it.
fn mapped(ground: &Ground, host: &str) -> anyhow::Result<BTreeSet<String>> {
    let told = ground.agents(&["hook", "explain", host, "--json"])?.stdout_text();
    let told: Value = serde_json::from_str(&told)?;
    let events = told["events"].as_array().context("no events in `hook explain`")?;
    let events = events.iter().filter(|it| it["called"].is_string());
    Ok(events.filter_map(|it| it["event"].as_str().map(str::to_owned)).collect())
}

/// Whether each event that the host has left its mark.
pub(crate) fn fired(ground: &Ground, client: &dyn Client) -> anyhow::Result<Verdict> {
    Ok(judge(client.host(), &mapped(ground, client.host())?, &left(&ground.marks())?))
}

fn left(marks: &Utf8Path) -> anyhow::Result<BTreeSet<String>> {
    let entries = marks.read_dir_utf8()?;
    entries.map(|entry| Ok(entry?.file_name().to_owned())).collect()
}

fn judge(host: &str, mapped: &BTreeSet<String>, left: &BTreeSet<String>) -> Verdict {
    let excepted: BTreeSet<String> = EXCEPTIONS
        .iter()
        .filter(|it| it.hosts.contains(&host))
        .map(|it| it.event.to_owned())
        .collect();
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
    let line = |it: &Exception| {
        let hosts: Vec<String> = it.hosts.iter().map(|host| format!("`{host}`")).collect();
        format!("  - `{}` in {}: {}.\n", it.event, hosts.join(", "), it.why)
    };
    EXCEPTIONS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(events: &[&str]) -> BTreeSet<String> {
        events.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn an_event_without_a_mark_is_noticed_and_so_is_an_exception_with_one() {
        let mapped = set(&["Stop", "SessionStart"]);
        assert_eq!(judge("none", &mapped, &mapped), Verdict::Yes);
        assert_eq!(
            judge("none", &mapped, &set(&["Stop"])),
            Verdict::No("nothing was run for SessionStart".to_owned())
        );
        for Exception { event, hosts, .. } in EXCEPTIONS {
            assert!(agents_plugin::manifest::EVENTS.contains(event), "{event}");
            let has = set(&[event, "Stop"]);
            assert_eq!(judge(hosts[0], &has, &set(&["Stop"])), Verdict::Yes, "{event}");
            assert!(matches!(judge(hosts[0], &has, &has), Verdict::No(_)), "{event}");
        }
    }
}
