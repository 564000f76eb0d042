//! `cargo agents doctor --probe`: what a host loads is told, what it does not is told too, and nothing stays behind.
//!
//! The hosts are programs of ours that behave like Claude Code in several versions; the real ones are probed by `suites/hosts`.

mod host;

use std::process::Command;

use agents_testkit::{
    scratch,
    terminal::{Size, Terminal, keys},
};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::{
    sync::tree,
    world::{Run, World},
};

/// A machine with one host on `PATH`.
struct Machine {
    world: World,
}

impl Machine {
    fn new() -> Self {
        let world = World::new();
        std::fs::create_dir_all(world.sample.scratch().path("tmp")).unwrap();
        // Whoever reads the user's own files fails: this is no JSON.
        scratch::write(&world.user().join(".claude/settings.json"), "of the user");
        scratch::write(&world.user().join(".claude.json"), "of the user");
        Self { world }
    }

    /// Claude Code in one of our versions; each notes the environment that it is started in.
    fn claude(kind: &str) -> Self {
        let version = if kind == "old" { "1.0.1" } else { proven() };
        let me = std::env::current_exe().unwrap();
        Self::running(&format!(
            "[ \"$1\" = --version ] && exec echo '{version} (Claude Code)'\n\
             env > \"$(dirname \"$0\")/env\"\n\
             {}={kind} exec {} --exact probe::host::is_a_host --nocapture",
            host::VERSION,
            me.display()
        ))
    }

    fn running(script: &str) -> Self {
        let machine = Self::new();
        machine.world.sample.scratch().script("programs/claude", script);
        machine
    }

    fn temporary(&self) -> Utf8PathBuf {
        self.world.sample.scratch().path("tmp")
    }

    fn programs(&self) -> Utf8PathBuf {
        self.world.sample.scratch().path("programs")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(&[&["doctor", "--probe"], args].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.programs()));
        command.env("TMPDIR", self.temporary()).env("ANTHROPIC_API_KEY", "the-key-of-the-user");
        command
    }

    fn probe(&self, args: &[&str]) -> Run {
        let before = tree(&self.world.user());
        let run = Run::from(self.command(args).output().unwrap());
        assert_eq!(tree(&self.world.user()), before, "the user's own home was touched");
        self.nothing_is_left();
        run
    }

    fn document(&self, args: &[&str], code: i32) -> Value {
        let run = self.probe(&[args, &["--json"]].concat());
        assert_eq!(run.code, Some(code), "{run:?}");
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }

    fn nothing_is_left(&self) {
        let left: Vec<_> = self.temporary().read_dir_utf8().unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Whether the process that a script noted in `pid` is gone.
    fn is_gone(&self) -> bool {
        let id = std::fs::read_to_string(self.programs().join("pid")).unwrap();
        let state = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        state.map_or(true, |it| it.contains(") Z "))
    }
}

/// The version of Claude Code in which everything was seen.
fn proven() -> &'static str {
    agents_probe::client::of_host("claude").unwrap().proven()
}

/// The one host that was started.
fn only(document: &Value) -> &Value {
    let mut started =
        document["hosts"].as_array().unwrap().iter().filter(|it| it["program"].is_string());
    let one = started.next().unwrap_or_else(|| panic!("{document:#}"));
    assert!(started.next().is_none(), "{document:#}");
    one
}

/// What it did not load.
fn lost(host: &Value) -> Vec<&str> {
    let things = host["things"].as_array().unwrap().iter().filter(|it| it["loaded"] == false);
    things.map(|it| it["thing"].as_str().unwrap()).collect()
}

#[test]
fn a_host_that_loads_everything() {
    let machine = Machine::claude("new");
    let document = machine.document(&[], 0);
    let host = only(&document);
    assert_eq!((host["host"].as_str(), host["version"].as_str()), (Some("claude"), Some(proven())));
    assert_eq!((&host["state"], lost(host)), (&json!("probed"), vec![]), "{host:#}");
    assert_eq!(host["things"].as_array().unwrap().len(), 12);
    let unasked = host["unasked"].as_array().unwrap();
    assert!(unasked.iter().any(|it| it["event"] == "PreCompact"), "{host:#}");
    assert_eq!(document["loaded"], true);
    let env = std::fs::read_to_string(machine.programs().join("env")).unwrap();
    assert!(!env.contains("the-key-of-the-user"), "{env}");
    assert!(!env.contains(machine.world.user().as_str()), "{env}");
}

#[test]
fn each_server_by_itself_in_the_workspace() {
    let machine = Machine::claude("new");
    machine.world.config("hook-scope = \"project\"\nmcp-register = \"each\"\n");
    let document = machine.document(&["claude"], 0);
    assert_eq!((&document["scope"], &document["servers"]), (&json!("project"), &json!("each")));
    assert_eq!(lost(only(&document)), Vec::<&str>::new());
}

#[test]
fn an_old_version_that_knows_no_hooks() {
    let machine = Machine::claude("old");
    let document = machine.document(&["claude"], 1);
    let host = only(&document);
    assert_eq!(lost(host), ["context", "deny", "reason", "events"], "{host:#}");
    let hint = format!("update Claude Code: {} is known to load everything", proven());
    assert_eq!(host["hint"], hint.as_str());

    let run = machine.probe(&["claude"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    for line in [
        "host       version     skill  context  tool  answer  deny  reason  others  agent  task  events  clean  alone",
        "claude     1.0.1       yes    NO       yes   yes     NO    NO      yes     yes    yes   NO      yes    yes",
        "claude: failed: deny blocks: `forbidden.txt` was made",
        &format!("  hint: {hint}"),
        "not asked for: PreCompact of claude: the conversation is too short to be compacted",
        "1 host: 4 of 12 checks failed.",
    ] {
        assert!(
            run.stdout.lines().any(|it| it.trim_end() == line),
            "no {line:?} in {}",
            run.stdout
        );
    }
}

#[test]
fn an_event_without_its_hook_is_told_by_name() {
    let document = Machine::claude("deaf").document(&["claude"], 1);
    let host = only(&document);
    assert_eq!(lost(host), ["events"], "{host:#}");
    let events = host["things"].as_array().unwrap().iter().find(|it| it["thing"] == "events");
    assert_eq!(events.unwrap()["seen"], "nothing was run for SubagentStop");
}

#[test]
fn what_is_still_there_after_uninstall_is_told() {
    let machine = Machine::claude("clinging");
    let document = machine.document(&["claude"], 1);
    let host = only(&document);
    assert_eq!(lost(host), ["clean", "alone"], "{host:#}");
    let seen = |thing: &str| {
        let things = host["things"].as_array().unwrap();
        things.iter().find(|it| it["thing"] == thing).unwrap()["seen"].as_str().unwrap()
    };
    assert!(seen("clean").contains("settings.json` is not as before"), "{host:#}");
    assert_eq!(seen("alone"), "it still knows the skill");
    assert!(host["hint"].as_str().unwrap().contains("please report it"), "{host:#}");
}

#[test]
fn a_host_that_does_not_start_without_us_is_told() {
    let machine = Machine::claude("new");
    let script = machine.programs().join("claude");
    let once = std::fs::read_to_string(&script).unwrap();
    // It starts as long as our hooks are in its settings.
    let only = "[ \"$1\" = --version ] || grep -q hooks \"$HOME/.claude/settings.json\" || { echo 'no settings' >&2; exit 3; }";
    std::fs::write(&script, once.replacen('\n', &format!("\n{only}\n"), 1)).unwrap();
    let run = machine.probe(&["claude"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let line = "claude: failed: starts without us: it ended with exit code 3: no settings\n";
    assert!(run.stdout.contains(line), "{run:?}");
}

#[test]
fn a_host_that_hangs_is_ended_with_everything_that_it_started() {
    let machine = Machine::running(
        "[ \"$1\" = --version ] && exec echo 2.1.325\n\
         sh -c 'echo $$ > \"$0/pid\"; trap \"\" TERM; while :; do sleep 1; done' \"$(dirname \"$0\")\" &\nwait",
    );
    let document = machine.document(&["claude", "--timeout", "2"], 1);
    let host = only(&document);
    assert_eq!(host["state"], "no-session", "{host:#}");
    assert!(host["trouble"].as_str().unwrap().contains("did not finish within 2 s"), "{host:#}");
    assert!(machine.is_gone());
}

#[test]
fn a_host_that_fails_says_why() {
    let machine = Machine::running("echo 'this needs a newer kernel' >&2; exit 7");
    let run = machine.probe(&["claude"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stdout.contains("claude: it ended with exit code 7: this needs a newer kernel\n"),
        "{run:?}"
    );
    assert!(run.stdout.contains("claude     ?           no session\n"), "{run:?}");
}

#[test]
fn what_is_not_there_and_what_nobody_can_start_is_told() {
    let machine = Machine::new();
    let run = machine.probe(&[]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("not installed: claude, codex, "), "{run:?}");
    assert!(run.stdout.ends_with("no host was started.\n"), "{run:?}");
    // Whoever names one wants to know about it.
    assert_eq!(machine.probe(&["claude"]).code, Some(1));
    assert_eq!(machine.probe(&["cluade"]).code, Some(2));

    machine.world.sample.scratch().script("programs/kiro-cli", "exit 9");
    let run = machine.probe(&["kiro"]);
    assert!(run.stdout.contains("not known how to start it without a terminal"), "{run:?}");
}

#[test]
fn ctrl_c_ends_the_host_and_leaves_nothing() {
    let machine = Machine::running(
        "[ \"$1\" = --version ] && exec echo 2.1.325\necho $$ > \"$(dirname \"$0\")/pid\"\nwhile :; do sleep 1; done",
    );
    let mut terminal = Terminal::start(&machine.command(&["claude"]), Size::USUAL);
    terminal.wait_for("Starting Claude Code");
    let noted = machine.programs().join("pid");
    terminal.wait_until("the host runs", |_| noted.exists());
    terminal.press([keys::CTRL_C]);
    assert_eq!(terminal.end().code, Some(130));
    machine.nothing_is_left();
    assert!(machine.is_gone());
}

#[test]
fn the_flags_of_a_probe_need_one() {
    let world = World::new();
    for args in
        [&["doctor", "claude"][..], &["doctor", "--timeout", "3"], &["doctor", "--fix", "--probe"]]
    {
        assert_eq!(world.agents(args).code, Some(2), "{args:?}");
    }
}
