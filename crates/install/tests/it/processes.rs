//! Several processes at once, and processes that are killed.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use agents_testkit::{scratch::write, signal};

use crate::world::{Also as _, World, krate, output, tree};

/// Set in children: the root of the world to work in.
const ROOT: &str = "AGENTS_TEST_CHILD_ROOT";

/// What a child does: acquire `tool`, run it, and write down what it printed, or why not.
#[test]
fn child() {
    let Ok(root) = std::env::var(ROOT) else {
        return;
    };
    let mut world = World::at(root.into());
    let text = fs_err::read(world.path("installations.json")).unwrap();
    world.installations = serde_json::from_slice(&text).unwrap();
    let said = match world.try_resolve("tool", agents_install::Update::None) {
        Ok(runnable) => output(&runnable),
        Err(error) => world.shown(&error),
    };
    write(&world.path(&format!("said/{}", std::process::id())), said);
}

fn child_of(world: &World) -> Command {
    let file = world.path("installations.json");
    // A child that was started before may be reading it.
    if !file.exists() {
        write(&file, serde_json::to_vec(&world.installations).unwrap());
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::child", "--nocapture"]).env(ROOT, world.root.as_str());
    command.stdout(Stdio::null());
    command
}

fn said(world: &World, child: &mut Child) -> String {
    assert!(child.wait().unwrap().success());
    fs_err::read_to_string(world.path(&format!("said/{}", child.id()))).unwrap()
}

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(30), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn many_processes_install_once_and_all_run() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    let slow = format!("sleep 0.3; echo >> {}", world.path("made"));
    world.add("tool", krate("tool").install_commands(&[&slow]));
    let mut children: Vec<_> = (0..4).map(|_| child_of(&world).spawn().unwrap()).collect();
    for child in &mut children {
        assert_eq!(said(&world, child), "tool 1.0.0");
    }
    assert_eq!(world.lines("made").len(), 1);
    assert_eq!(world.slot_names(), ["1.0.0", "current.json", "lock"]);
}

#[test]
fn killed_while_an_install_command_runs() {
    let mut world = World::new();
    let repo = world.repo("r", &[("tool", "#!/bin/sh\necho works\n")]);
    let root = &world.root;
    // In the killed process it waits, and goes on when nobody expects it any more.
    let command = format!(
        "if [ -n \"$SLOW\" ]; then touch {root}/started; while [ -e {root}/slow ]; do sleep 0.05; done; fi
         echo $$ >> $SYMPOSIUM_DIR_tool/made-by; [ -z \"$SLOW\" ] || touch {root}/orphan-ended"
    );
    write(&world.path("slow"), "");
    world.add("tool", tree(repo.url()).executable("tool").install_commands(&[&command]));

    let mut child = child_of(&world).env("SLOW", "1").spawn().unwrap();
    wait_for("the start", || world.path("started").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(world.cached("tool"), None, "half an installation is none");

    assert_eq!(world.run("tool"), "works");
    fs_err::remove_file(world.path("slow")).unwrap();
    wait_for("the end of the orphan", || world.path("orphan-ended").exists());
    let tool = world.resolve("tool");
    assert_eq!(output(&tool), "works");
    let made_by = fs_err::read_to_string(tool.program.with_file_name("made-by")).unwrap();
    assert_eq!(made_by.lines().count(), 1, "the orphan wrote into our tree");
}

#[test]
fn killed_while_cargo_builds() {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    let root = world.root.clone();
    let build = format!(
        r#"fn main() {{
            if std::env::var_os("SLOW").is_none() {{ return }}
            std::fs::write("{root}/started", "").unwrap();
            while std::path::Path::new("{root}/slow").exists() {{
                std::thread::sleep(std::time::Duration::from_millis(20));
            }}
            std::fs::write("{root}/orphan-ended", "").unwrap();
        }}"#
    );
    write(&world.path("vendor/tool-1.0.0/build.rs"), build);
    write(&world.path("slow"), "");
    world.add("tool", krate("tool"));

    let mut child = child_of(&world).env("SLOW", "1").spawn().unwrap();
    wait_for("the start", || world.path("started").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(world.cached("tool"), None);
    assert!(world.slot_names().iter().any(|name| name.starts_with("tmp-")));

    assert_eq!(world.run("tool"), "tool 1.0.0");
    fs_err::remove_file(world.path("slow")).unwrap();
    wait_for("the end of the orphan", || world.path("orphan-ended").exists());
    assert_eq!(world.run("tool"), "tool 1.0.0");
}

#[test]
fn a_killed_process_does_not_keep_others_waiting() {
    let mut world = World::new();
    let repo = world.repo("r", &[("tool", "#!/bin/sh\necho works\n")]);
    let root = &world.root;
    let command = format!(
        "if [ -n \"$SLOW\" ]; then touch {root}/started; while [ -e {root}/slow ]; do sleep 0.05; done; fi"
    );
    write(&world.path("slow"), "");
    world.add("tool", tree(repo.url()).executable("tool").install_commands(&[&command]));
    let mut first = child_of(&world).env("SLOW", "1").spawn().unwrap();
    wait_for("the start", || world.path("started").exists());
    let mut second = child_of(&world).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(second.try_wait().unwrap().is_none(), "it waits for the first");
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(said(&world, &mut second), "works");
    fs_err::remove_file(world.path("slow")).unwrap();
}

#[test]
fn killed_at_any_moment() {
    let mut world = World::new();
    let repo = world.repo("r", &[("src", "works")]);
    let make =
        ["sleep 0.05; cp src half", "{ echo '#!/bin/sh'; echo \"echo $(cat half)\"; } > tool"];
    world.add("tool", tree(repo.url()).executable("tool").install_commands(&make));
    let mut finished = 0;
    for round in 0..24 {
        let mut child = child_of(&world).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(tool) = world.cached("tool") {
            assert_eq!(output(&tool), "works", "round {round}");
            finished += 1;
        }
        if finished == 3 {
            break;
        }
    }
    assert_eq!(world.run("tool"), "works");
}

#[test]
fn ctrl_c_ends_it_and_leaves_nothing() {
    let mut world = World::new();
    let repo = world.repo("r", &[("tool", "#!/bin/sh\necho works\n")]);
    let started = world.path("started");
    let command = format!("echo $$ > {started}; sleep 60");
    world.add("tool", tree(repo.url()).executable("tool").install_commands(&[&command]));
    let mut child = child_of(&world).spawn().unwrap();
    wait_for("the start", || !world.lines("started").is_empty());
    assert!(signal::interrupt(child.id()));
    insta::assert_snapshot!(said(&world, &mut child), @r"
    Cancelled: cannot install `tool`
    cause: install command 1 of 1: `echo $$ > [ROOT]/started; sleep 60` was stopped
    cause: interrupted
    ");
    assert_eq!(world.slot_names(), ["lock"]);
    let orphan = format!("/proc/{}/stat", world.lines("started")[0]);
    let stat = fs_err::read_to_string(orphan).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the command still runs: {stat}");
}

#[test]
fn no_git() {
    let mut world = World::new();
    world.add("tool", tree("https://host.invalid/o/r").executable("x"));
    let mut child = child_of(&world).env("PATH", world.path("empty").as_str()).spawn().unwrap();
    insta::assert_snapshot!(said(&world, &mut child), @r"
    Failure: cannot install `tool`
    cause: `git ls-remote` could not be started
    cause: there is no program `git`
    hint: install git and make sure that it is on your `PATH`
    ");
}

#[test]
fn the_address_of_a_directory_in_a_browser() {
    let mut world = World::new();
    let repo = world.repo("owner/repo", &[("f", "")]);
    repo.branch("fix/it").write("tools/tool", "#!/bin/sh\necho from the branch\n").commit("tool");
    let url = "https://git.invalid/owner/repo/tree/fix/it/tools";
    world.add("tool", tree(url).executable("tool"));
    let config =
        format!("[url \"file://{}/\"]\n\tinsteadOf = https://git.invalid/\n", world.path("repos"));
    let config = write(&world.path("gitconfig"), config);
    let mut child = child_of(&world).env("GIT_CONFIG_GLOBAL", config.as_str()).spawn().unwrap();
    assert_eq!(said(&world, &mut child), "from the branch");
}
