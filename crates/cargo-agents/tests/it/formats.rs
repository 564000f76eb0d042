//! What earlier versions keep is read, gone on with and taken back by this one.
//!
//! `tests/formats/` has, for every version that kept something in another way, what was in the home of one user after the same commands;
//! `tests/formats/make` wrote it with the program of that version.

use std::{
    fs,
    process::{Command, Stdio},
};

use agents_system::cache::name_hash;
use agents_testkit::scratch::{self, Scratch};
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;

use serde_json::json;

use self::{editor::Editor, shape::shapes};
use crate::world::Run;

mod editor;
mod shape;

/// The version that `make` was run for last.
const NEWEST: &str = "190c6da";

/// Where the home was when a version wrote into it.
const THERE: &str = "/tmp/cargo-agents-formats/home";

/// The home of the user, as a version left it.
struct Home {
    scratch: Scratch,
    version: String,
}

impl Home {
    fn as_left_by(version: &str) -> Self {
        let home = Self::of_the_user(version);
        home.lay(&formats().join(version));
        home
    }

    /// The one that nobody has written into yet.
    fn of_the_user(version: &str) -> Self {
        let home = Self { scratch: Scratch::new(), version: version.to_owned() };
        home.lay(&formats().join("user"));
        scratch::run(Command::new("git").args(["init", "-q"]).arg(home.path().join("ws")));
        home
    }

    fn path(&self) -> Utf8PathBuf {
        self.scratch.path("home")
    }

    fn state(&self) -> Utf8PathBuf {
        self.path().join(".local/state/cargo-agents")
    }

    fn lay(&self, from: &Utf8Path) {
        for file in files(from) {
            let text = fs::read_to_string(from.join(&file)).unwrap();
            let text = text.replace("@HOME@", self.path().as_str());
            let to = self.path().join(file);
            if let Some(database) = to.as_str().strip_suffix(".sql") {
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                Connection::open(database).unwrap().execute_batch(&text).unwrap();
            } else if to.parent().is_some_and(|it| it.ends_with("backups")) {
                scratch::write(&self.renamed(&to), text);
            } else {
                scratch::write(&to, text);
            }
        }
    }

    /// What a file had been before is found by the path of that file.
    fn renamed(&self, backup: &Utf8Path) -> Utf8PathBuf {
        let mut names = [".claude.json", ".claude/settings.json"].into_iter();
        let of = names.find(|name| {
            Some(name_hash(&format!("{THERE}/{name}")).as_str()) == backup.file_stem()
        });
        let of = of.unwrap_or_else(|| panic!("{backup} has another name today"));
        let name = name_hash(self.path().join(of).as_str());
        backup.with_file_name(name).with_extension(backup.extension().unwrap())
    }

    fn agents(&self, args: &[&str]) -> Run {
        Run::from(self.command().args(args).output().unwrap())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-agents"));
        command.arg("agents").current_dir(self.path().join("ws"));
        command.stdin(Stdio::null()).env_clear().env("HOME", self.path());
        command.env("CARGO_HOME", self.scratch.path("cargo"));
        for name in ["PATH", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            command.envs(std::env::var(name).map(|value| (name, value)));
        }
        // Where toolchains are, for a `cargo` that is rustup's.
        if let (Err(_), Ok(home)) = (std::env::var("RUSTUP_HOME"), std::env::var("HOME")) {
            command.env("RUSTUP_HOME", format!("{home}/.rustup"));
        }
        command
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let run = self.agents(args);
        assert_eq!(run.code, Some(0), "{}: {args:?}: {run:?}", self.version);
        run.stdout
    }

    fn json(&self, args: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(args);
        serde_json::from_str(&self.ok(&all)).unwrap()
    }
}

fn formats() -> Utf8PathBuf {
    Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// All files below a directory, from there.
fn files(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in next.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(path.strip_prefix(dir).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The homes that are there, as the versions that know `has` left them.
fn homes(has: &str) -> Vec<Home> {
    let entries = formats().read_dir_utf8().unwrap().map(|it| it.unwrap().into_path());
    let left = entries.filter(|it| it.join(has).exists() && !it.ends_with("user"));
    let mut versions: Vec<String> = left.map(|it| it.file_name().unwrap().to_owned()).collect();
    versions.sort();
    assert!(!versions.is_empty(), "nobody left {has}");
    versions.iter().map(|it| Home::as_left_by(it)).collect()
}

const STATE: &str = ".local/state/cargo-agents";

#[test]
fn a_sync_goes_on_from_what_an_earlier_one_did() {
    for home in homes(&format!("{STATE}/ledger.json")) {
        // What was agreed to is agreed to: nothing is asked for again.
        let status = home.ok(&["status"]);
        assert!(!status.contains("needs your approval"), "{}: {status}", home.version);
        home.ok(&["sync", "--locked"]);
        let again = home.ok(&["sync"]);
        assert!(again.starts_with("Nothing to do"), "{}: {again}", home.version);
        let skill = home.path().join("ws/.claude/skills/counting/SKILL.md");
        assert!(skill.exists(), "{}", home.version);
    }
}

#[test]
fn an_uninstall_takes_back_what_earlier_versions_wrote() {
    for home in homes(&format!("{STATE}/ledger.json")) {
        home.ok(&["uninstall"]);
        let user = formats().join("user");
        for file in files(&user) {
            let now = fs::read_to_string(home.path().join(&file)).unwrap();
            assert_eq!(now, fs::read_to_string(user.join(&file)).unwrap(), "{file}");
        }
        for gone in [".claude.json", "ws/.claude/skills", ".claude/agents"] {
            assert!(!home.path().join(gone).exists(), "{}: {gone} is left", home.version);
        }
    }
}

#[test]
fn tasks_of_earlier_versions_are_shown_and_resumed() {
    for home in homes(&format!("{STATE}/transcripts")) {
        let listed = home.json(&["task", "list"]);
        let tasks = listed["tasks"].as_array().unwrap();
        assert!(tasks.len() >= 2, "{}: {listed}", home.version);
        for task in tasks {
            let shown = home.ok(&["task", "show", task["id"].as_str().unwrap()]);
            assert!(shown.contains("two") || shown.contains("Two."), "{}: {shown}", home.version);
        }
        let mut counted = tasks.iter().filter(|it| it["agent"] == "counter" && it["turns"] == 2);
        let first = counted.next().unwrap_or_else(|| panic!("{listed}"));
        let id = first["id"].as_str().unwrap();
        let answer = home.ok(&["task", "resume", id, "And again?"]);
        assert_eq!(answer, "Still two.\n", "{}", home.version);
    }
}

#[test]
fn plans_of_earlier_versions_are_shown_and_run_again() {
    for home in homes(&format!("{STATE}/plans")) {
        let plans = fs::read_dir(home.state().join("plans")).unwrap().map(|it| it.unwrap());
        let run = plans.filter(|it| it.path().is_dir()).map(|it| it.file_name()).next().unwrap();
        let run = run.to_str().unwrap();
        home.ok(&["plan", "check-journal", run]);
        let shown = home.ok(&["plan", "show", run]);
        assert!(shown.contains("first") && shown.contains("completed"), "{shown}");
        let forked = home.ok(&["plan", "fork", run, "--from", "second"]);
        assert!(forked.contains("Still two."), "{}: {forked}", home.version);
    }
}

#[test]
fn what_was_looked_at_under_an_earlier_version_counts() {
    for home in homes("ws/agents-audits.toml") {
        let audit = home.json(&["audit"]).to_string();
        assert!(audit.contains("\"note\":\"read it\""), "{}: {audit}", home.version);
    }
}

#[test]
fn an_agent_remembers_what_it_wrote_down_under_an_earlier_version() {
    for home in homes(&format!("{STATE}/agent-memory")) {
        let answer = home.ok(&["task", "run", "keeper", "And now?"]);
        assert_eq!(answer, "Two, as I remember.\n", "{}", home.version);
    }
}

#[test]
fn an_editor_goes_on_with_a_session_of_an_earlier_version() {
    for home in homes(&format!("{STATE}/sessions")) {
        let kept = files(&home.state().join("sessions"));
        let id = kept.iter().find_map(|it| it.as_str().strip_suffix(".json")).unwrap();
        let (mut editor, cwd) = (Editor::of(home.command()), home.path().join("ws"));
        let session = json!({ "sessionId": id, "cwd": cwd, "mcpServers": [] });
        let (_, told) = editor.ask("session/load", &session);
        let told = json!(told).to_string();
        assert!(told.contains("Count the files.") && told.contains("Two."), "{told}");
        let prompt = json!([{ "type": "text", "text": "And again?" }]);
        let (_, told) = editor.ask("session/prompt", &json!({ "sessionId": id, "prompt": prompt }));
        assert!(json!(told).to_string().contains("Still two."), "{}: {told:?}", home.version);
    }
}

/// Where this fails, something is kept in another way than by all versions before: have `make` write down what the program keeps
/// now, and name that here. The other tests then hold for both.
#[test]
fn nothing_is_kept_in_another_way_without_being_written_down() {
    let before = Home::as_left_by(NEWEST);
    let now = Home::of_the_user("now");
    now.ok(&["init", "--yes", "--add-agent", "claude"]);
    now.ok(&["sync"]);
    now.ok(&["use", "dep"]);
    let config = now.path().join(".config/cargo-agents/config.toml");
    let script = format!("\n[providers.script]\nscript = \"{}/script.toml\"\n", now.path());
    fs::write(&config, fs::read_to_string(&config).unwrap() + &script).unwrap();
    now.ok(&["task", "run", "counter", "How many?"]);
    now.ok(&["task", "resume", "last", "And again?"]);
    now.ok(&["plan", "run", "count.toml"]);
    now.ok(&["audit", "record", "counting", "--note", "read it"]);
    now.ok(&["task", "run", "keeper", "Remember how many there were."]);
    Editor::of(now.command()).says(&now.path().join("ws"), "Count the files.");
    fs::remove_dir_all(now.path().join(".cache")).unwrap();
    assert_eq!(shapes(&now.path()), shapes(&before.path()));
}

/// What a later version keeps in another way is left as it is, and told.
#[test]
fn what_a_later_version_wrote_is_not_touched() {
    let home = homes(&format!("{STATE}/plans")).pop().unwrap();
    let ledger = home.state().join("ledger.json");
    let text = fs::read_to_string(&ledger).unwrap();
    let later = text.replacen("\"version\": 1", "\"version\": 9", 1);
    assert_ne!(text, later);
    fs::write(&ledger, &later).unwrap();
    let run = home.agents(&["sync"]);
    assert_ne!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("later version") && run.stderr.contains("ledger.json"), "{run:?}");
    assert_eq!(fs::read_to_string(&ledger).unwrap(), later);

    let lock = home.path().join("ws/agents.lock");
    let text = fs::read_to_string(&lock).unwrap().replacen("version = 1", "version = 9", 1);
    fs::write(&lock, &text).unwrap();
    fs::write(&ledger, later.replacen("\"version\": 9", "\"version\": 1", 1)).unwrap();
    let run = home.agents(&["sync"]);
    assert_ne!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("later version") && run.stderr.contains("agents.lock"), "{run:?}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), text);
}
