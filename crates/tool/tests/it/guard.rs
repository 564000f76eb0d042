//! What the guard lets through.

use std::time::Duration;

use agents_agent::definition::PermissionMode;
use agents_tool::{Executor as _, Grant, GrantKind, Rights, grants::SecretKey};
use secrecy::SecretString;
use serde_json::json;

use crate::Agent;

#[test]
fn what_is_not_allowed_is_neither_shown_nor_done() {
    let agent = Agent::with(Rights::only(["Read", "Grep"]), PermissionMode::BypassPermissions);
    let names: Vec<String> =
        agent.executor.inner().offered().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["read", "search"]);
    let said = agent.refused("write", json!({"path": "a", "content": ""}));
    assert_eq!(
        said,
        "`write` was refused: `write` is not among the tools that are allowed: grep, read"
    );
    assert!(!agent.scratch.path("root/a").exists());
}

#[test]
fn in_plan_mode_everything_is_shown_and_nothing_is_changed() {
    let agent = Agent::with(Rights::all(), PermissionMode::Plan);
    agent.write("a", "x");
    assert_eq!(agent.executor.inner().offered().len(), 7);
    assert_eq!(agent.ok("read", json!({"path": "a"})), "1\tx");
    assert_eq!(
        agent.refused("write", json!({"path": "a", "content": ""})),
        "`write` was refused: in plan mode nothing is changed"
    );
    assert!(agent.bash("true").is_error);
}

#[test]
fn nobody_there_means_no_and_a_grant_means_yes_until_it_is_over() {
    let agent = Agent::with(Rights::all(), PermissionMode::Default);
    let write = json!({"path": "a", "content": "x"});
    assert_eq!(agent.refused("write", write.clone()), "`write` changes `a`: nobody agreed to that");
    let guard = agent.executor.inner();
    let kind = GrantKind::Tool("write".to_owned());
    guard.change(|it| it.add(Grant::lasting(kind, guard.now(), Duration::from_secs(600))));
    agent.ok("write", write.clone());
    guard.change(agents_tool::Grants::revoke_all);
    assert_eq!(
        agent.refused("write", write),
        "`write` was refused: the grant for it has expired or was revoked"
    );
}

#[test]
fn arguments_are_enforced() {
    let rights = Rights::only(["bash(echo *)", "read(src/**)", "grep(src/**)", "write"])
        .without(["read(src/.env)"]);
    let agent = Agent::with(rights, PermissionMode::BypassPermissions);
    for path in ["src/a", "src/.env", "src/env.txt", "b"] {
        agent.write(path, "needle");
    }
    assert_eq!(agent.bash("echo hello").content, "hello");
    for command in ["echo a; touch b", "touch b", "echo $(touch b)", "echo a > b"] {
        assert!(agent.bash(command).content.starts_with("`bash` was refused"), "{command}");
    }
    assert_eq!(agent.ok("read", json!({"path": "src/a"})), "1\tneedle");
    for path in ["b", "src/.env", "src/../b"] {
        agent.refused("read", json!({"path": path}));
    }
    std::os::unix::fs::symlink("../b", agent.scratch.path("root/src/link")).unwrap();
    agent.refused("read", json!({"path": "src/link"}));
    let found = agent.ok("search", json!({"pattern": "needle"}));
    assert_eq!(
        found, "src/a:1:needle\nsrc/env.txt:1:needle",
        "files outside are as if they were not there"
    );
}

#[test]
fn a_protected_file_needs_a_grant_that_names_it() {
    let agent = Agent::new();
    let write = json!({"path": ".git/config", "content": "[core]\nfsmonitor = evil\n"});
    let said = agent.refused("write", write.clone());
    assert_eq!(
        said,
        "`write` changes `.git/config`, which others run or trust: nobody agreed to that"
    );
    let guard = agent.executor.inner();
    for (pattern, agreed) in [("write", false), ("write(.git/config)", true)] {
        let kind = GrantKind::Tool(pattern.to_owned());
        guard.change(|it| it.add(Grant { kind, until: None }));
        assert_eq!(!agent.call("write", write.clone()).is_error, agreed, "{pattern}");
    }
}

#[test]
fn a_secret_is_there_while_it_is_granted_and_is_never_shown() {
    let mut agent = Agent::new();
    let value = "correct-horse-battery";
    agent.context.secrets = vec![("DB_KEY".to_owned(), SecretString::from(value))];
    assert_eq!(agent.bash("echo [$DB_KEY]").content, "[]", "not granted");
    let guard = agent.executor.inner();
    let kind = GrantKind::Secret(SecretKey::new("DB-KEY").unwrap());
    guard.change(|it| it.add(Grant { kind, until: None }));
    let shown = agent.bash("echo [$DB_KEY] ${#DB_KEY}").content;
    assert!(shown.starts_with("[<SECRET:generic:") && shown.ends_with(" 21"), "{shown}");
    agent.bash("echo $DB_KEY > file; seq 6000 > long; cat file long");
    let shown = agent.ok("read", json!({"path": "file"}));
    assert!(!shown.contains(value), "also in what other tools read");
    // Nor in what is kept because it is too long.
    agent.bash("cat file; seq 6000");
    let mut kept = 0;
    for entry in agent.scratch.path("artifacts").read_dir_utf8().unwrap().flatten() {
        assert!(!fs_err::read_to_string(entry.path()).unwrap().contains(value));
        kept += 1;
    }
    assert!(kept > 0);
    guard.change(agents_tool::Grants::revoke_all);
    assert_eq!(agent.bash("echo [$DB_KEY]").content, "[]");
}
