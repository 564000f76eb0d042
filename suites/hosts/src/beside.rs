//! Another host in the same workspace, and what a host itself says about how often something happened.
//!
//! Copilot CLI also runs the hooks of Claude Code's file in the workspace. So both are configured at once, and a hook of the user's own
//! counts the events of the host: each must have reached the plugin's hook once.

use agents_probe::sample::{Counts, leave_mark};
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::table::Verdict;
use serde_json::{Map, Value, json};

use crate::events::Mapped;

/// Hosts that are configured together: the one that is looked at, and the one beside it.
pub(crate) const PAIRS: [(&str, &str); 2] = [("copilot", "claude"), ("claude", "copilot")];

/// Adds a hook of the user's own for each event, which leaves a mark in `dir`, to what the user has.
pub(crate) fn count_events(
    files: &mut Vec<(Utf8PathBuf, String)>,
    host: &str,
    mapped: &Mapped,
    dir: &Utf8Path,
) -> anyhow::Result<()> {
    let hooks: Map<String, Value> = mapped
        .iter()
        .map(|(event, called)| {
            let script = leave_mark(dir, event);
            let group = match host {
                "copilot" => json!([{"type": "command", "bash": script}]),
                _ => json!([{"hooks": [{"type": "command", "command": script}]}]),
            };
            (called.clone(), group)
        })
        .collect();
    if host == "copilot" {
        let text = format!("{:#}\n", json!({"version": 1, "hooks": hooks}));
        files.push((".copilot/hooks/own.json".into(), text));
        return Ok(());
    }
    for (_, text) in files.iter_mut().filter(|(path, _)| path == ".claude/settings.json") {
        let mut settings: Value = serde_json::from_str(text)?;
        settings["hooks"] = hooks.clone().into();
        *text = format!("{settings:#}\n");
    }
    Ok(())
}

/// Whether our hooks were run as often as the host's events happened, and those did.
pub(crate) fn once(happened: &Counts, ours: &Counts) -> Verdict {
    let events = happened.keys().chain(ours.keys());
    let of = |counts: &Counts, event: &str| counts.get(event).copied().unwrap_or_default();
    let wrong: Vec<String> = events
        .filter(|event| of(happened, event) != of(ours, event))
        .map(|event| format!("{event}: {} and {}", of(happened, event), of(ours, event)))
        .collect();
    Verdict::from(!happened.is_empty() && wrong.is_empty(), || {
        format!("happened, and reached us: {}", wrong.join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(all: &[(&str, usize)]) -> Counts {
        all.iter().map(|(event, count)| ((*event).to_owned(), *count)).collect()
    }

    #[test]
    fn an_event_that_reaches_us_twice_or_not_at_all_is_noticed() {
        let happened = counts(&[("Stop", 1), ("PreToolUse", 3)]);
        assert_eq!(once(&happened, &happened), Verdict::Yes);
        for ours in [
            counts(&[("Stop", 1), ("PreToolUse", 6)]),
            counts(&[("Stop", 1)]),
            counts(&[("Stop", 1), ("PreToolUse", 3), ("SessionEnd", 1)]),
        ] {
            assert!(matches!(once(&happened, &ours), Verdict::No(_)), "{ours:?}");
        }
        assert!(matches!(once(&counts(&[]), &counts(&[])), Verdict::No(_)), "nothing happened");
    }

    #[test]
    fn the_user_has_a_hook_for_each_event_besides_what_they_had() {
        let mapped: Mapped = [("Stop".to_owned(), "agentStop".to_owned())].into();
        let before = vec![(".claude/settings.json".into(), "{\"theme\": \"dark\"}".to_owned())];
        let mut files = before.clone();
        count_events(&mut files, "claude", &mapped, "/m".into()).unwrap();
        let settings: Value = serde_json::from_str(&files[0].1).unwrap();
        assert_eq!(settings["theme"], "dark");
        let command = settings["hooks"]["agentStop"][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(command.ends_with("echo >> '/m/Stop'"), "{command}");
        let mut files = before;
        count_events(&mut files, "copilot", &mapped, "/m".into()).unwrap();
        assert_eq!(files.len(), 2);
        assert!(files[1].1.contains("agentStop"));
    }
}
