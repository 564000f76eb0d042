//! Hooks: what reaches the host, and what the host has to wait for.

use std::{collections::BTreeMap, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::{
    ground::{Ground, hook_table},
    run::{Run, USUAL},
    scenes::{Scene, Seen, Stage},
    trace, wire,
};

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "deny-exit",
        given: "a plugin's hook ends with 2 and says why",
        wanted: "denied by each host's own rules, with the reason",
        play: |stage| denials(stage, &format!("cat > /dev/null; echo '{REASON}' >&2; exit 2")),
    },
    Scene {
        name: "deny-json",
        given: "a plugin's hook prints `decision: deny`",
        wanted: "denied by each host's own rules, with the reason",
        play: |stage| {
            let answer = json!({ "PreToolUse": { "decision": "deny", "reason": REASON,
                "additionalContext": REASON } });
            denials(stage, &format!("cat > /dev/null; echo '{answer}'"))
        },
    },
    Scene {
        name: "rewrite",
        given: "a plugin's hook prints `updatedInput` (Claude Code, Copilot, Antigravity)",
        wanted: "the tool is given that",
        play: rewrite,
    },
    Scene {
        name: "context-session",
        given: "two plugins have something to say when a session begins",
        wanted: "both are heard",
        play: |stage| contexts(stage, "SessionStart", "session-start"),
    },
    Scene {
        name: "context-tool",
        given: "two plugins have something to say before a tool is used",
        wanted: "both are heard",
        play: |stage| contexts(stage, "PreToolUse", "pre-tool-use"),
    },
    Scene {
        name: "several",
        given: "one plugin has two hooks for one event",
        wanted: "both run",
        play: several,
    },
    Scene {
        name: "bad-hook",
        given: "beside a hook with something to say, one prints no JSON and one ends with 1",
        wanted: "the tool runs, and what was said is heard",
        play: bad_hook,
    },
    Scene {
        name: "hang",
        given: "a hook does not end",
        wanted: "the host has its answer within 35 s, and nothing is left running",
        play: hang,
    },
    Scene {
        name: "flood",
        given: "a hook says a megabyte before it reads the megabyte that it is sent",
        wanted: "its answer is heard",
        play: flood,
    },
    Scene {
        name: "no-lock",
        given: "a hook is called in a workspace without `Cargo.lock`",
        wanted: "none is made",
        play: no_lock,
    },
    Scene {
        name: "default-network",
        given: "a hook is called before a tool is used, with a configuration that says nothing about the network",
        wanted: "nobody is asked over the network",
        play: default_network,
    },
];

/// Why a plugin denies.
const REASON: &str = "basalt-heron forbids it";

/// What plugins have to say.
const SAID: [&str; 2] = ["amber-plover is one", "quartz-lantern is two"];

/// The host's answer before a tool is used.
fn before_tool(ground: &Ground, host: &str) -> anyhow::Result<Run> {
    let payload = wire::before_tool(host, &ground.workspace(), "touch forbidden.txt");
    ground.call_hook(host, "pre-tool-use", &payload)?.wait(USUAL)
}

fn denials(stage: &Stage<'_>, script: &str) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    ground.hook("guard", "PreToolUse", script);
    ground.configure(&wire::HOSTS, "");
    let mut by_outcome: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut good = true;
    for host in wire::HOSTS {
        let run = before_tool(&ground, host)?;
        let outcome = match wire::denial(host, &run) {
            Some(reason) if reason.contains(REASON) => "denied with the reason".to_owned(),
            Some(_) => "denied without the reason".to_owned(),
            None => format!("**runs** ({}, prints {})", run.ending(), printed(&run)),
        };
        good &= outcome == "denied with the reason";
        by_outcome.entry(outcome).or_default().push(host);
    }
    Ok(Seen::new(good, listed(&by_outcome)))
}

fn printed(run: &Run) -> String {
    let text = run.stdout.trim();
    match text {
        "" => "nothing".to_owned(),
        _ if text.contains(REASON) => "the reason as context".to_owned(),
        _ if text.len() < 40 => format!("`{text}`"),
        _ => "something else".to_owned(),
    }
}

/// Outcomes, each with its hosts.
fn listed(by_outcome: &BTreeMap<String, Vec<&str>>) -> String {
    let each = by_outcome.iter().map(|(outcome, hosts)| match hosts.len() {
        count if count == wire::HOSTS.len() => format!("{outcome} in all {count}"),
        _ => format!("{outcome}: {}", hosts.join(", ")),
    });
    each.collect::<Vec<_>>().join("; ")
}

fn rewrite(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let answer = json!({ "PreToolUse": { "updatedInput": { "command": "touch other.txt" } } });
    ground.hook("guard", "PreToolUse", &format!("cat > /dev/null; echo '{answer}'"));
    ground.configure(&wire::HOSTS, "");
    let mut by_outcome: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut good = true;
    for host in ["claude", "copilot", "antigravity"] {
        let run = before_tool(&ground, host)?;
        let given = wire::rewritten(host, &run).map(|it| it.to_string()).unwrap_or_default();
        let is = given.contains("other.txt");
        good &= is;
        let outcome = if is { "given that" } else { "**given the old input**" };
        by_outcome.entry(outcome.to_owned()).or_default().push(host);
    }
    Ok(Seen::new(good, listed(&by_outcome)))
}

fn contexts(stage: &Stage<'_>, event: &str, word: &str) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    for (name, said) in ["one", "two"].into_iter().zip(SAID) {
        let answer = json!({ event: { "additionalContext": said } });
        ground.hook(name, event, &format!("cat > /dev/null; echo '{answer}'"));
    }
    ground.configure(&["claude"], "");
    let payload = match word {
        "session-start" => wire::session_start(&ground.workspace()),
        _ => wire::before_tool("claude", &ground.workspace(), "true"),
    };
    let run = ground.call_hook("claude", word, &payload)?.wait(USUAL)?;
    let heard = heard(&run);
    let count = SAID.iter().filter(|it| heard.contains(**it)).count();
    let told = ["**neither is heard**", "**one is heard**", "both are heard"];
    Ok(Seen::new(count == SAID.len() && run.succeeded(), told[count]))
}

/// What Claude Code tells its model.
fn heard(run: &Run) -> String {
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    let context = &answer["hookSpecificOutput"]["additionalContext"];
    context.as_str().unwrap_or_default().to_owned()
}

fn several(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let log = ground.sample().scratch().path("ran");
    let tables = ["first", "second"].map(|name| {
        let script = ground.script(name, &format!("cat > /dev/null; echo {name} >> '{log}'"));
        hook_table(name, "PreToolUse", &script)
    });
    ground.plugin("guards", &tables.concat());
    ground.configure(&["claude"], "");
    before_tool(&ground, "claude")?;
    let mut ran: Vec<String> = lines(&log);
    ran.sort();
    let told = if ran.is_empty() { "none runs".to_owned() } else { ran.join(" and ") + " run" };
    Ok(Seen::new(ran == ["first", "second"], told))
}

fn lines(path: &Utf8Path) -> Vec<String> {
    fs_err::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn bad_hook(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let answer = json!({ "PreToolUse": { "additionalContext": SAID[0] } });
    ground.hook("a-noise", "PreToolUse", "cat > /dev/null; echo 'not { json'");
    ground.hook("b-fails", "PreToolUse", "cat > /dev/null; echo oops >&2; exit 1");
    ground.hook("c-talks", "PreToolUse", &format!("cat > /dev/null; echo '{answer}'"));
    ground.configure(&["claude"], "");
    let run = before_tool(&ground, "claude")?;
    let mut wrong = Vec::new();
    if !run.succeeded() || wire::denial("claude", &run).is_some() {
        wrong.push(format!("**{}**", run.ending()));
    }
    if !heard(&run).contains(SAID[0]) {
        wrong.push("**what was said is lost**".to_owned());
    }
    Ok(Seen::unless(&wrong, "runs, and is heard"))
}

/// How long a host waits that waits as long as hosts do.
const PATIENCE: Duration = Duration::from_secs(35);

fn hang(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let id = ground.sample().scratch().path("id");
    ground.hook("sleeper", "PreToolUse", &format!("echo $$ > '{id}'; exec sleep 600"));
    ground.configure(&["claude"], "");
    let payload = wire::before_tool("claude", &ground.workspace(), "true");
    let run = ground.call_hook("claude", "pre-tool-use", &payload)?.wait(PATIENCE)?;
    let sleeper = fs_err::read_to_string(&id)?;
    let left = Utf8PathBuf::from(format!("/proc/{}", sleeper.trim())).exists();
    if let Ok(leader) = sleeper.trim().parse::<i32>() {
        let _ =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(leader), nix::sys::signal::SIGKILL);
    }
    let mut wrong = Vec::new();
    if !run.succeeded() {
        wrong.push(format!("**{}**", run.ending()));
    }
    // Who had to be ended could not tidy up.
    if left && run.status.is_some() {
        wrong.push("**the hook's process is left**".to_owned());
    }
    Ok(Seen::unless(&wrong, "ends with 0, nothing is left"))
}

fn flood(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let answer = json!({ "PreToolUse": { "additionalContext": SAID[0] } });
    let script = format!("head -c 1000000 /dev/zero >&2; cat > /dev/null; echo '{answer}'");
    ground.hook("talker", "PreToolUse", &script);
    ground.configure(&["claude"], "");
    let payload = wire::before_tool("claude", &ground.workspace(), &"x".repeat(1_000_000));
    let run = ground.call_hook("claude", "pre-tool-use", &payload)?.wait(PATIENCE)?;
    let good = run.succeeded() && heard(&run).contains(SAID[0]);
    let told = if good { "is heard".to_owned() } else { format!("**{}**", run.ending()) };
    Ok(Seen::new(good, told))
}

fn no_lock(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.bare_ground()?;
    ground.sample().package(".", "app", "0.1.0", "");
    ground.plugin("anything", "[[skills]]\nsource.path = \"skills\"\n");
    ground.configure(&["claude"], "");
    before_tool(&ground, "claude")?;
    let made = ground.workspace().join("Cargo.lock").exists();
    Ok(Seen::new(!made, if made { "**`Cargo.lock` is made**" } else { "none is made" }))
}

fn default_network(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    agents_testkit::scratch::write(&ground.config(), "[[agent]]\nname = \"claude\"\n");
    let payload = wire::before_tool("claude", &ground.workspace(), "true");
    let input = ground.sample().scratch().write("call.json", payload.to_string());
    let command = ground.command(&["hook", "claude", "pre-tool-use"]);
    let traced = trace::trace(ground.sample().scratch(), &command, Some(&input))?;
    let told = match (traced.asked.as_slice(), traced.code) {
        ([], Some(0)) => return Ok(Seen::new(true, "nobody is asked")),
        ([], code) => format!("**it ends with {code:?}**"),
        (asked, _) => format!("**attempts: {}** (ports {})", asked.len(), trace::ports(asked)),
    };
    Ok(Seen::new(false, told))
}
