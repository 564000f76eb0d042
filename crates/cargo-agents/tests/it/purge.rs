//! `cargo agents uninstall --purge`: nothing of us is left, and nothing goes that somebody still needs.

use agents_system::lock::Lock;
use agents_testkit::{
    scratch,
    terminal::{Size, Terminal},
};
use serde_json::Value;

use crate::sync::{SKILL, Synced, tree};

const PURGE: [&str; 3] = ["uninstall", "--purge", "--yes"];

/// A user who has synced, and of whose tasks something is remembered.
fn used() -> Synced {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    scratch::write(&synced.world.home().join("state/transcripts/7f3a.jsonl"), "what it said\n");
    scratch::write(&synced.world.home().join("state/plans/0001/lock"), "");
    synced
}

#[test]
fn nothing_of_us_is_left_and_what_goes_is_said_before() {
    let synced = used();
    let home = synced.world.home();
    let before = tree(&home);
    let told = synced.ok(&["uninstall", "--purge", "--dry-run"]);
    for word in ["your settings", "your own plugins", "what tasks said and did", ".mcp.json"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(told.ends_with("Nothing was written.\n"), "{told}");
    // Nobody is there to agree.
    let run = synced.run(&["uninstall", "--purge"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("`--yes` agrees, after you have read what `--dry-run` says"));
    assert_eq!(tree(&home), before);
    assert!(synced.root().join(".mcp.json").exists());

    let told = synced.ok(&PURGE);
    assert!(told.contains("`cargo uninstall cargo-agents` removes the program"), "{told}");
    assert!(!home.exists(), "{:?}", tree(&home));
    assert!(!synced.root().join(".mcp.json").exists() && !synced.root().join(".claude").exists());
    // The second time there is nothing to do, and nothing comes back.
    synced.ok(&PURGE);
    assert!(!home.exists(), "{:?}", tree(&home));
}

#[test]
fn scripts_are_told_what_goes_and_what_stays() {
    let synced = used();
    let diary = scratch::write(&synced.world.home().join("diary.txt"), "mine");
    let parsed = |args: &[&str]| -> Value { serde_json::from_str(&synced.ok(args)).unwrap() };
    let would = parsed(&["uninstall", "--purge", "--dry-run", "--json"]);
    let done = parsed(&["uninstall", "--purge", "--yes", "--json"]);
    assert_eq!((&would["applied"], &done["applied"]), (&Value::Bool(false), &Value::Bool(true)));
    for document in [&would, &done] {
        assert_eq!(document["left"], serde_json::json!([diary]));
        let own = document["own"].as_array().unwrap();
        let of = |name: &str| own.iter().find(|it| it["path"].as_str().unwrap().ends_with(name));
        assert_eq!(of("transcripts").unwrap()["lost"], true);
        assert_eq!(of("ledger.json").unwrap()["lost"], false);
        assert!(!document["changes"].as_array().unwrap().is_empty());
    }
    let left: Vec<_> = tree(&synced.world.home()).into_keys().collect();
    assert_eq!(left, ["diary.txt"]);
}

#[test]
fn nothing_goes_while_something_of_ours_is_at_work() {
    let synced = used();
    let lock = synced.world.home().join("state/plans/0001/lock");
    let held = Lock::try_acquire(&lock).unwrap().unwrap();
    let before = (tree(&synced.world.home()), tree(&synced.root()));
    let run = synced.run(&PURGE);
    assert_eq!(run.code, Some(1), "{run:?}");
    let said = format!("error[E0006]: cargo agents is running: it holds `{lock}`");
    assert!(run.stderr.contains(&said), "{run:?}");
    assert_eq!((tree(&synced.world.home()), tree(&synced.root())), before);
    // What it would be can be seen all the same.
    synced.ok(&["uninstall", "--purge", "--dry-run"]);
    drop(held);
    synced.ok(&PURGE);
}

/// One that waits for its server is at work, too.
#[cfg(feature = "restate")]
#[test]
fn nothing_goes_while_a_worker_waits() {
    use std::{io::BufRead as _, process::Stdio};
    let synced = used();
    let nobody = ["--ingress", "http://127.0.0.1:9", "--admin", "http://127.0.0.1:9"];
    let mut command = synced.world.command(&["worker", "--listen", "127.0.0.1:0"]);
    let mut worker = command.args(nobody).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    std::io::BufReader::new(worker.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("listens"), "{said}");
    let run = synced.run(&PURGE);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("cargo agents is running"), "{run:?}");
    worker.kill().unwrap();
    worker.wait().unwrap();
    synced.ok(&PURGE);
}

#[test]
fn what_could_not_be_taken_back_is_not_forgotten() {
    let synced = used();
    let skill = synced.root().join(".claude/skills/serde-derive/SKILL.md");
    scratch::write(&skill, format!("{SKILL}And I say so.\n"));
    let run = synced.run(&PURGE);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("1 thing that `sync` wrote could not be taken back"), "{run:?}");
    assert!(skill.exists() && synced.world.home().join("state/transcripts/7f3a.jsonl").exists());
    synced.ok(&["uninstall", "--purge", "--yes", "--overwrite"]);
    assert!(!skill.exists() && !synced.world.home().exists());
}

#[test]
fn a_skill_that_somebody_made_their_own_stays_and_is_in_nobodys_way() {
    let synced = used();
    let skill = synced.root().join(".claude/skills/serde-derive/SKILL.md");
    scratch::write(&skill, format!("{SKILL}And I say so.\n"));
    synced.ok(&["uninstall"]);
    std::fs::remove_file(skill.with_file_name(".symposium")).unwrap();
    synced.ok(&PURGE);
    assert!(skill.exists() && !synced.world.home().exists());
}

#[test]
fn after_a_kill_the_same_command_removes_the_rest() {
    let synced = used();
    let home = synced.world.home();
    // As it looks after one in the middle of it.
    synced.ok(&["uninstall"]);
    std::fs::rename(home.join("state/transcripts"), home.join("state/.removed-transcripts"))
        .unwrap();
    std::fs::remove_file(home.join("state/ledger.json")).unwrap();
    std::fs::remove_dir_all(home.join("cache")).unwrap();
    synced.ok(&PURGE);
    assert!(!home.exists(), "{:?}", tree(&home));
}

#[test]
fn at_a_terminal_somebody_is_asked_and_no_is_the_usual_answer() {
    let synced = used();
    let home = synced.world.home();
    let size = Size { columns: 160, rows: 40 };
    for (key, code, there) in [("\r", 130, true), ("y", 0, false)] {
        let command = synced.world.command(&["uninstall", "--purge"]);
        let mut terminal = Terminal::start(&command, size);
        let screen = terminal.wait_for("Remove all of it?");
        assert!(screen.contains("All of this would be lost"), "{screen}");
        terminal.press([key]);
        let ended = terminal.end();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(home.exists(), there, "{ended:?}");
        assert_eq!(synced.root().join(".mcp.json").exists(), there);
    }
}
