use super::*;
use crate::testing::{built_in, pick, plain};

#[test]
fn copilot_runs_the_hooks_of_the_project_that_are_claudes() {
    let hosts = built_in();
    let picked = pick(&hosts, &["claude", "codex", "copilot"]);
    let shared = shared_hooks(&picked, Scope::Project, &plain());
    let [one] = shared.as_slice() else { panic!("{shared:?}") };
    assert_eq!(one.file, "/w/.claude/settings.json");
    assert_eq!(one.written_for.as_str(), "claude");
    assert_eq!(one.also_run_by.iter().map(HostId::as_str).collect::<Vec<_>>(), ["copilot"]);
}

#[test]
fn it_does_not_run_those_of_the_user() {
    let hosts = built_in();
    let picked = pick(&hosts, &["claude", "copilot"]);
    assert_eq!(shared_hooks(&picked, Scope::User, &plain()), []);
}

#[test]
fn alone_nothing_is_shared() {
    let hosts = built_in();
    for host in &hosts {
        assert_eq!(shared_hooks(&[host], Scope::Project, &plain()), []);
    }
}
