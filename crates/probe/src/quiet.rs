//! Events that hosts have, and that one prompt without a terminal does not bring about.

/// Such an event.
#[derive(Debug)]
pub struct Quiet {
    /// As manifests write it.
    pub event: &'static str,
    /// Where it is so.
    pub hosts: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

/// All of them.
pub const ALL: &[Quiet] = &[
    Quiet { event: "SessionEnd", hosts: &["qwen"], why: "with `-p` it ends without it" },
    Quiet {
        event: "SessionEnd",
        hosts: &["opencode"],
        why: "a session ends when its user deletes it, and this one is kept",
    },
    Quiet {
        event: "PermissionRequest",
        hosts: &["codex", "claude", "opencode", "qwen"],
        why: "without a terminal nobody is asked",
    },
    Quiet {
        event: "Notification",
        hosts: &["claude", "gemini", "copilot"],
        why: "without a terminal it waits for nobody's attention",
    },
    Quiet {
        event: "PreCompact",
        hosts: &["codex", "claude", "opencode", "copilot", "qwen"],
        why: "the conversation is too short to be compacted",
    },
];

/// Those of one host.
pub fn of_host(host: &str) -> impl Iterator<Item = &'static Quiet> {
    ALL.iter().filter(move |it| it.hosts.contains(&host))
}
