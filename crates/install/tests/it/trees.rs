//! `source = "github"`, and git in general.

use std::os::unix::fs::PermissionsExt as _;

use agents_install::Update;
use agents_workspace::Network;

use crate::world::{Also as _, World, output, tree};

const HELLO: &str = "#!/bin/sh\necho hello $*\n";

#[test]
fn a_tree_is_fetched_and_its_executable_made_executable() {
    let mut world = World::new();
    let repo = world.repo("r", &[("bin/hello", HELLO)]);
    world.add("hello", tree(repo.url()).executable("./bin/hello").args(&["you"]));
    assert_eq!(world.cached("hello"), None);
    let runnable = world.resolve("hello");
    assert_eq!(output(&runnable), "hello you");
    assert_eq!(runnable.commit, Some(repo.head()));
    let mode = fs_err::metadata(&runnable.program).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(world.cached("hello"), Some(runnable));
    assert_eq!(world.slot_names(), [repo.head().as_str(), "current.json", "lock"]);
}

#[test]
fn a_link_out_of_a_tree_changes_no_permissions_elsewhere() {
    let mut world = World::new();
    let secret = world.path("secret");
    fs_err::write(&secret, "#!/bin/sh\n").unwrap();
    fs_err::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let repo = world.repo("r", &[("f", "")]);
    fs_err::os::unix::fs::symlink(&secret, repo.dir().join("tool")).unwrap();
    repo.commit("a link");
    world.add("tool", tree(repo.url()).executable("tool"));
    let error = world.error("tool");
    assert!(error.contains("is not executable"), "{error}");
    assert_eq!(fs_err::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_script_is_run_by_sh() {
    let mut world = World::new();
    let repo = world.repo("r", &[("run me.sh", "echo script $0 $*")]);
    world.add("it", tree(repo.url()).script("run me.sh").args(&["x"]));
    let runnable = world.resolve("it");
    assert_eq!(runnable.program, "sh");
    assert!(output(&runnable).ends_with("run me.sh x"));
}

#[test]
fn commits_are_followed_when_asked_and_old_ones_stay() {
    let mut world = World::new();
    let repo = world.repo("r", &[("hello", HELLO)]);
    let made = world.path("made");
    let note = format!("git rev-parse HEAD >> {made}");
    world.add("hello", tree(repo.url()).executable("hello").install_commands(&[&note]));
    let first = world.resolve("hello");
    assert_eq!(world.update("hello", Update::Check), first);
    assert_eq!(world.lines("made").len(), 1);

    repo.write("hello", "#!/bin/sh\necho newer\n").commit("newer");
    assert_eq!(world.resolve("hello"), first);
    let second = world.update("hello", Update::Check);
    assert_eq!(output(&second), "newer");
    assert_eq!(output(&first), "hello", "whoever still runs the old one can");
    assert_eq!(world.lines("made").len(), 2);

    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(world.update("hello", Update::Check), first, "back to what was there");
    assert_eq!(world.lines("made").len(), 2, "its commands were run long ago");

    let again = world.update("hello", Update::Fetch);
    assert_eq!(again.commit, first.commit);
    assert_ne!(again.program, first.program);
    assert_eq!(world.lines("made").len(), 3);
}

#[test]
fn install_commands_see_where_they_are_and_can_make_the_executable() {
    let mut world = World::new();
    let repo = world.repo("r", &[("src/x", "made")]);
    let make = r#"[ "$PWD" = "$SYMPOSIUM_DIR_my_tool" ] && { echo '#!/bin/sh'; echo "echo $(cat src/x)"; } > tool"#;
    let noise = "echo this must not reach our standard output";
    let it = tree(repo.url()).executable("tool").install_commands(&[make, noise]);
    world.add("my-tool", it);
    assert_eq!(world.run("my-tool"), "made");
}

#[test]
fn a_failing_install_command_is_shown_and_leaves_nothing() {
    let mut world = World::new();
    let repo = world.repo("r", &[("hello", HELLO)]);
    let fails = ["true", "echo out; echo err >&2; exit 7", "true"];
    world.add("hello", tree(repo.url()).executable("hello").install_commands(&fails));
    insta::assert_snapshot!(world.error("hello"), @r"
    Failure: cannot install `hello`
    cause: install command 2 of 3: `echo out; echo err >&2; exit 7` ended with exit code 7
    details: err
    out
    ");
    assert_eq!(world.cached("hello"), None);
    assert_eq!(world.slot_names(), ["lock"]);
}

#[test]
fn paths_out_of_the_tree_are_refused() {
    let mut world = World::new();
    let repo = world.repo("r", &[("hello", HELLO)]);
    world.add("up", tree(repo.url()).executable("../../current.json"));
    world.add("abs", tree(repo.url()).script("/etc/passwd"));
    world.add("gone", tree(repo.url()).executable("no/such"));
    world.add("dir", tree(repo.url()).executable("."));
    insta::assert_snapshot!(world.error("up"), @r"
    Usage: cannot run `up`
    cause: `../../current.json` leads out of what was installed
    ");
    insta::assert_snapshot!(world.error("abs"), @r"
    Usage: cannot run `abs`
    cause: `/etc/passwd` leads out of what was installed
    ");
    let gone = world.error("gone");
    assert!(
        gone.starts_with("Usage: cannot run `gone`\ncause: there is no file `no/such` in `"),
        "{gone}"
    );
    assert!(
        gone.ends_with("hint: if it was there before, `--update fetch` brings it back"),
        "{gone}"
    );
    assert!(world.error("dir").contains("there is no file"));
}

#[test]
fn without_a_network_only_what_is_there() {
    let mut world = World::new();
    let repo = world.repo("r", &[("hello", HELLO)]);
    world.add("hello", tree(repo.url()).executable("hello"));
    world.network = Network::Offline;
    insta::assert_snapshot!(world.error("hello"), @r"
    Network: cannot install `hello`
    cause: file://[ROOT]/repos/r is not in the cache and the network is off
    hint: run it once without `--offline`
    ");
    world.network = Network::Allowed;
    world.resolve("hello");
    world.network = Network::Offline;
    repo.write("hello", "x").commit("newer");
    assert_eq!(output(&world.update("hello", Update::Check)), "hello");
}

#[test]
fn a_repository_that_is_not_there() {
    let mut world = World::new();
    world.add("it", tree(format!("file://{}/nowhere", world.root)).executable("x"));
    world.add("odd", tree("owner/repo").executable("x"));
    let error = world.error("it");
    assert!(error.starts_with("Network: cannot install `it`\ncause: `git ls-remote` ended with exit code 128\ndetails: "), "{error}");
    insta::assert_snapshot!(world.error("odd"), @r"
    Usage: cannot install `odd`
    cause: `owner/repo` is not an address that git can fetch from
    hint: write `https://...`, `ssh://...`, `git@host:path` or `file:///...`
    ");
}
