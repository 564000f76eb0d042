//! Whatever is left is noticed, and what a client did is none of it.

use super::*;

/// Files with their texts; what ends with `/` is a directory.
fn disk(all: &[(&str, &str)]) -> Disk {
    let (dirs, files): (Vec<_>, Vec<_>) = all.iter().partition(|(path, _)| path.ends_with('/'));
    Disk {
        files: files
            .into_iter()
            .map(|(path, text)| (path.into(), text.as_bytes().into()))
            .collect(),
        dirs: dirs.into_iter().map(|(path, _)| path.trim_end_matches('/').into()).collect(),
    }
}

fn clean(times: [&[(&str, &str)]; 4]) -> bool {
    let [before, synced, used, after] = times.map(disk);
    let (root, loaded) = ("/tmp/cargo-agents-probe-1".into(), &["w".into(), ".host/skills".into()]);
    let times =
        Times { root, loaded, before: &before, synced: &synced, used: &used, after: &after };
    times.clean() == Seen::Yes
}

const BEFORE: &[(&str, &str)] = &[("a", "1"), ("mine", "x")];
const SYNCED: &[(&str, &str)] = &[("a", "1 ours"), ("mine", "x"), ("new", "ours")];

#[test]
fn a_file_that_is_left_or_lost_is_noticed() {
    let after = |after: &[(&str, &str)]| clean([BEFORE, SYNCED, SYNCED, after]);
    assert!(after(BEFORE));
    assert!(!after(SYNCED));
    assert!(!after(&[("a", "1 ours"), ("mine", "x")]));
    assert!(!after(&[("mine", "x")]));
    assert!(!after(&[("a", "1"), ("mine", "x"), ("new", "ours")]));
}

#[test]
fn in_a_file_that_the_client_wrote_too_its_own_words_may_be_left_and_none_of_ours() {
    let used = &[("a", "1 ours theirs"), ("mine", "x"), ("new", "ours")];
    let after = |text: &str| clean([BEFORE, SYNCED, used, &[("a", text), ("mine", "x")]]);
    assert!(after("1 theirs"));
    for ours in OURS {
        assert!(!after(&format!("1 {ours} theirs")), "{ours}");
    }
    assert!(after("1 [projects.\"/tmp/cargo-agents-probe-1/work\"]"), "a path is no trace");
    assert!(after("plugins:\n  /w/.agents/plugins/cargo-agents:\n    enabled: true\n"));
    assert!(!clean([BEFORE, SYNCED, used, &[("mine", "x")]]), "the user's own file is gone");
}

#[test]
fn a_client_may_say_what_it_likes_in_files_of_its_own_and_agreements_stay() {
    let history = ("history", "they brought tiny-sql-queries and cargo-agents");
    let synced = &[SYNCED, &[("w/agents.lock", "1")]].concat();
    let used = &[synced, &[history][..]].concat();
    assert!(clean([BEFORE, synced, used, &[BEFORE, &[("w/agents.lock", "1"), history]].concat()]));
}

#[test]
fn what_comes_after_a_sync_is_noticed_where_hosts_would_load_it() {
    let after = |more: &[(&str, &str)]| clean([BEFORE, SYNCED, SYNCED, &[BEFORE, more].concat()]);
    assert!(after(&[("w/notes", "theirs"), (".host/skills/a", "theirs")]));
    assert!(after(&[(".host/sessions/a", "cargo-agents"), ("w/agents.lock", "cargo-agents")]));
    assert!(!after(&[("w/notes", "by cargo-agents")]));
    assert!(!after(&[(".host/skills/a/SKILL.md", "name: tiny-sql-queries")]));
    assert!(!after(&[(".host/skills/tiny-sql-queries/more.md", "more")]), "by its name");
    assert!(!after(&[(".host/skills/tiny-sql-queries/", "")]), "a directory");
    let own = &[("w/own", "cargo-agents, which I like")][..];
    assert!(clean([own, own, own, own]), "it was there before");
    assert!(!clean([own, own, own, &[("w/own", "cargo-agents cargo-agents")]]));
}

#[test]
fn hosts_load_from_the_workspace_and_from_what_their_descriptions_name() {
    let all = loaded_from(None, "/h".into(), "/w".into());
    let has = |path: &str| all.iter().any(|it| Utf8Path::new(path).starts_with(it));
    for path in ["/w/any", "/h/.claude/skills/a/SKILL.md", "/h/.agents/skills/a", "/h/.claude.json"]
    {
        assert!(has(path), "{path}");
    }
    assert!(!has("/h/.claude/projects/session.jsonl") && !has("/h/.codex/sessions/a"));
}

#[test]
fn an_empty_directory_of_ours_is_noticed_unless_the_client_uses_it() {
    let dirs = &[("d/", ""), ("d/e/", "")][..];
    let after = |after: &[(&str, &str)]| clean([&[], dirs, dirs, after]);
    assert!(after(&[]));
    assert!(!after(dirs));
    assert!(!after(&[("d/", "")]));
    assert!(after(&[("d/", ""), ("d/theirs", "x")]));
    assert!(after(&[("d/", ""), ("d/theirs/", "")]));
    assert!(!after(&[("d/", ""), ("d/e/", ""), ("d/theirs", "x")]), "the one inside is ours");
    let (synced, used) = (&[("d/", ""), ("d/f", "ours")], &[("d/", ""), ("d/f", "ours theirs")]);
    assert!(clean([&[], synced, used, &[("d/", ""), ("d/f", "theirs")]]), "it holds their words");
    assert!(clean([dirs, dirs, dirs, dirs]), "it was there before");
    assert!(clean([&[], &[], dirs, dirs]), "the client made it");
}

#[test]
fn what_is_our_own_does_not_count_nor_what_holds_it() {
    let scratch = agents_testkit::scratch::Scratch::new();
    scratch.write("home/.cache/cargo-agents/x", "");
    scratch.write("home/.codex/config.toml", "a");
    scratch.write("work/Cargo.toml", "b");
    let disk = Disk::of_user(&scratch.path("home"), &scratch.path("work")).unwrap();
    let files: Vec<_> = disk.files.keys().cloned().collect();
    assert_eq!(files, [scratch.path("home/.codex/config.toml"), scratch.path("work/Cargo.toml")]);
    assert_eq!(disk.dirs, BTreeSet::from([scratch.path("home/.codex")]));
}
