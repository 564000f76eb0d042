//! Newer versions of the program itself: found by cargo, mentioned to people, installed when asked for.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use agents_testkit::{
    scratch,
    terminal::{Size, Terminal},
    vendor::cargo_program,
};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::{
    registries::NO_DEFAULTS,
    world::{Run, World},
};

const CURRENT: &str = env!("CARGO_PKG_VERSION");
const BIG: Size = Size { columns: 120, rows: 40 };

/// A user whose cargo knows a crate `cargo-agents` in some version, and writes down what it is called for.
struct Machine {
    world: World,
    cargo: Utf8PathBuf,
    calls: Utf8PathBuf,
}

impl Machine {
    fn with(version: &str) -> Self {
        Self::with_made_of(version, "agents-system")
    }

    fn with_made_of(version: &str, room: &str) -> Self {
        let world = World::new();
        world.config(&format!("hosts = [\"claude\"]\n{NO_DEFAULTS}"));
        let main = format!("fn main() {{ println!(\"this is {version}\") }}\n");
        let vendor = world.sample.vendor();
        vendor.library(room, "1.0.0", "");
        let rooms = format!("[dependencies]\n{room} = \"1\"\n");
        vendor.krate("cargo-agents", version, &rooms, &[("src/main.rs", &main)]);
        let (cargo, calls) = world.sample.recording_cargo();
        let machine = Self { world, cargo, calls };
        // What cargo has to say about the workspace itself is said.
        machine.world.ok(&["plugin", "list"]);
        machine
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        command.env("CARGO_AGENTS_CARGO", &self.cargo);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    /// What a person sees.
    fn at_terminal(&self, args: &[&str]) -> String {
        let ended = Terminal::start(&self.command(args), BIG).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.screen
    }

    /// How often cargo was called for something like this.
    fn called(&self, word: &str) -> usize {
        let calls = std::fs::read_to_string(&self.calls).unwrap_or_default();
        calls.lines().filter(|call| call.contains(word)).count()
    }

    fn stored(&self) -> Utf8PathBuf {
        self.world.home().join("state/update-check.json")
    }

    /// The program that cargo installed, if it did.
    fn installed(&self) -> Option<String> {
        let program = self.world.sample.home().join("bin/cargo-agents");
        let ran = Command::new(program).output().ok()?;
        Some(String::from_utf8(ran.stdout).unwrap())
    }

    /// A day goes by.
    fn tomorrow(&self) {
        let text = std::fs::read_to_string(self.stored()).unwrap();
        let mut found: Value = serde_json::from_str(&text).unwrap();
        found["checked"] = json!(found["checked"].as_u64().unwrap() - 24 * 60 * 60);
        scratch::write(&self.stored(), found.to_string());
    }
}

const AVAILABLE: &str = "cargo agents 99.0.0 is available";

#[test]
fn self_update_installs_what_is_newer() {
    let machine = Machine::with("99.0.0");
    let run = machine.run(&["self-update"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(
        run.stdout,
        format!("Updating cargo agents {CURRENT} to 99.0.0\nUpdated to 99.0.0\n")
    );
    assert!(run.stderr.contains("Installing"), "cargo talks to the user itself: {run:?}");
    assert_eq!(machine.installed().as_deref(), Some("this is 99.0.0\n"));
    assert_eq!(machine.called("install cargo-agents --force"), 1);
}

#[test]
fn self_update_says_so_when_there_is_nothing_newer() {
    for version in [CURRENT, "0.0.1"] {
        let machine = Machine::with(version);
        let run = machine.run(&["self-update"]);
        assert_eq!(run.stdout, format!("cargo agents {CURRENT} is up to date\n"), "{run:?}");
        assert_eq!(run.code, Some(0));
        assert_eq!(machine.called("install"), 0, "never a downgrade");
    }
}

#[test]
fn another_program_of_the_same_name_does_not_take_our_place() {
    let machine = Machine::with_made_of("99.0.0", "something-else");
    let run = machine.run(&["self-update"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("`cargo-agents` 99.0.0 of the registry is another"), "{run:?}");
    assert_eq!(machine.called("install"), 0);
    assert!(!machine.at_terminal(&["sync"]).contains(AVAILABLE));
}

#[test]
fn self_update_without_an_index_is_a_failure_of_the_network() {
    let machine = Machine::with("99.0.0");
    machine.world.sample.scratch().script(
        "bin/cargo",
        "echo 'error: failed to download from index: [6] Could not resolve host' >&2; exit 101",
    );
    let run = machine.run(&["self-update"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("Could not resolve host"), "{run:?}");
    let run = machine.run(&["self-update", "--offline"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let run = machine.run(&["self-update", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["error"]["kind"], "network");
}

#[test]
fn an_installation_that_fails_is_said_and_is_not_our_bug() {
    let machine = Machine::with("99.0.0");
    machine.world.sample.scratch().script(
        "bin/cargo",
        &format!(
            "case \" $* \" in *' install '*) exit 101;; esac\nexec '{}' \"$@\"",
            cargo_program()
        ),
    );
    let run = machine.run(&["self-update"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("ended with exit code 101"), "{run:?}");
    assert!(run.stderr.contains("what was installed before is still there"), "{run:?}");
}

#[test]
fn people_hear_of_it_once_a_day_after_the_work_is_done() {
    let machine = Machine::with("99.0.0");
    let screen = machine.at_terminal(&["sync"]);
    let (work, notice) = screen.split_once(AVAILABLE).unwrap_or_else(|| panic!("{screen}"));
    assert!(work.contains("unchanged."), "{screen}");
    assert!(notice.contains("`cargo agents self-update` installs it"), "{screen}");
    assert_eq!(machine.called("generate-lockfile"), 1);
    for args in [&["sync"][..], &["status"], &["init", "--yes"]] {
        machine.at_terminal(args);
    }
    assert_eq!(machine.called("generate-lockfile"), 1, "not again today");
    machine.tomorrow();
    assert!(machine.at_terminal(&["init", "--yes"]).contains(AVAILABLE));
    assert_eq!(machine.called("generate-lockfile"), 2);
    assert_eq!(machine.called("install"), 0, "`warn` installs nothing");
}

#[test]
fn nobody_looks_where_nobody_reads_it_or_wants_it() {
    let machine = Machine::with("99.0.0");
    machine.run(&["sync"]);
    machine.run(&["status"]);
    for args in [
        &["sync", "--json"][..],
        &["sync", "--quiet"],
        &["status", "--offline"],
        &["plugin", "list"],
        &["config", "path"],
    ] {
        machine.at_terminal(args);
    }
    let mut in_ci = machine.command(&["sync"]);
    in_ci.env("CI", "1");
    assert_eq!(Terminal::start(&in_ci, BIG).end().code, Some(0));
    machine.world.config(&format!("hosts = [\"claude\"]\nauto-update = \"off\"\n{NO_DEFAULTS}"));
    machine.at_terminal(&["sync"]);
    assert_eq!(machine.called("generate-lockfile"), 0);
    assert!(!machine.stored().exists());
}

#[test]
fn a_look_that_fails_changes_nothing_and_is_not_repeated_at_once() {
    let machine = Machine::with("99.0.0");
    let calls = &machine.calls;
    machine.world.sample.scratch().script(
        "bin/cargo",
        &format!(
            "echo \"$@\" >> '{calls}'\necho 'error: [6] Could not resolve host' >&2; exit 101"
        ),
    );
    for _ in 0..2 {
        let screen = machine.at_terminal(&["status"]);
        assert!(!screen.contains("resolve host"), "{screen}");
    }
    assert_eq!(machine.called("generate-lockfile"), 1, "the failure counts for a day");
    machine.tomorrow();
    let screen = machine.at_terminal(&["status", "-v"]);
    assert!(screen.contains("note: cannot tell whether there is a newer version"), "{screen}");
}

#[test]
fn on_installs_it_in_front_of_the_user_and_nowhere_else() {
    let machine = Machine::with("99.0.0");
    machine.world.config(&format!("hosts = [\"claude\"]\nauto-update = \"on\"\n{NO_DEFAULTS}"));
    machine.run(&["sync"]);
    assert_eq!(machine.installed(), None, "in a pipe nobody watches");
    let screen = machine.at_terminal(&["sync"]);
    assert!(screen.contains("installing it, because of `auto-update = \"on\"`"), "{screen}");
    assert_eq!(machine.installed().as_deref(), Some("this is 99.0.0\n"));
}

#[test]
fn a_session_hears_what_was_found_and_no_hook_ever_looks() {
    let machine = Machine::with("99.0.0");
    let session = || {
        let mut command = machine.command(&["hook", "claude", "session-start"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = b"{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s\"}";
        child.stdin.take().unwrap().write_all(input).unwrap();
        Run::from(child.wait_with_output().unwrap()).stdout
    };
    assert!(!session().contains("99.0.0"), "nothing is known yet");
    assert_eq!(machine.called(""), 0, "no process at all");
    machine.at_terminal(&["status"]);
    let before = machine.called("");
    let said = session();
    assert!(said.contains(AVAILABLE) && said.contains("do not do it yourself"), "{said}");
    machine.tomorrow();
    assert!(session().contains(AVAILABLE), "it only reads");
    assert_eq!(machine.called(""), before);
    machine.world.config(&format!("auto-update = \"off\"\n{NO_DEFAULTS}"));
    assert!(!session().contains("99.0.0"), "off is off");
}

#[test]
fn a_word_that_the_setting_does_not_know_is_an_error() {
    let world = World::new();
    world.config("auto-update = \"sometimes\"\n");
    let run = world.agents(&["plugin", "list"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("auto-update"), "{run:?}");
}
