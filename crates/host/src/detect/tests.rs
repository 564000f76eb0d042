use super::*;
use crate::testing::{built_in, pick, plain};

#[test]
fn a_program_is_enough() {
    let hosts = built_in();
    let found = |name: &str| name == "codex" || name == "droid";
    let installed = hosts.iter().filter(|host| host.sign(&plain(), found, |_| false).is_some());
    let ids: Vec<&str> = installed.map(|host| host.id.as_str()).collect();
    assert_eq!(ids, ["codex", "factory"]);
}

#[test]
fn so_is_what_the_host_left_in_the_home() {
    let hosts = built_in();
    let exists = |path: &Utf8Path| path == "/h/.gemini/antigravity-cli";
    let installed = hosts.iter().filter(|host| host.sign(&plain(), |_| false, exists).is_some());
    let ids: Vec<&str> = installed.map(|host| host.id.as_str()).collect();
    assert_eq!(ids, ["antigravity"], "the directory it shares with Gemini CLI says nothing");
}

#[test]
fn a_moved_home_is_looked_at_instead() {
    let hosts = built_in();
    let codex = pick(&hosts, &["codex"])[0];
    let env = |name: &str| (name == "CODEX_HOME").then(|| "/c".to_owned());
    let roots = Roots { env: &env, ..plain() };
    let sign = codex.sign(&roots, |_| false, |path| path.starts_with("/c"));
    assert_eq!(sign, Some(Sign::Path("/c/config.toml".into())));
    assert_eq!(codex.sign(&roots, |_| false, |path| path.starts_with("/h")), None);
}

#[test]
fn names_that_other_programs_have_too_are_no_sign() {
    let hosts = built_in();
    for host in pick(&hosts, &["goose", "zed"]) {
        let found = |name: &str| name == "goose" || name == "zed";
        assert_eq!(host.sign(&plain(), found, |_| false), None);
    }
}

#[test]
fn the_disk_is_asked_by_default() {
    let dir = tempfile::tempdir().unwrap();
    let home = Utf8Path::from_path(dir.path()).unwrap();
    let hosts = built_in();
    let kiro = pick(&hosts, &["kiro"])[0];
    let roots = Roots { home, ..plain() };
    assert!(!kiro.is_installed(&roots, |_| false));
    std::fs::create_dir(home.join(".kiro")).unwrap();
    assert!(kiro.is_installed(&roots, |_| false));
    assert!(kiro.is_installed(&plain(), |name| name == "kiro-cli"));
}
