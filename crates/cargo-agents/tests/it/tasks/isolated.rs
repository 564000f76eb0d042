//! Tasks in worktrees of their own.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use agents_testkit::scratch;
use serde_json::json;

use super::Stage;

impl Stage {
    /// The workspace becomes a repository with one commit.
    fn committed(self) -> Self {
        scratch::write(&self.world.sample.root().join(".gitignore"), "target\n");
        self.git(&["init", "-q"]);
        self.git(&["add", "-A"]);
        self.git(&["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all of it"]);
        self
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.world.sample.root());
        command.env("HOME", self.world.user()).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn branches(&self) -> Vec<String> {
        let all = self.git(&["branch", "--list", "agents/*", "--format", "%(refname:short)"]);
        all.lines().map(str::to_owned).collect()
    }
}

const WRITES: &str = r#"
[[replies]]
calls = [{ name = "write", input = { path = "new.txt", content = "made" } }]
[[replies]]
text = "Written."
"#;

#[test]
fn what_was_done_comes_back_when_the_task_has_completed() {
    let stage = Stage::new(WRITES).committed();
    let root = stage.world.sample.root();
    scratch::write(&root.join("mine.txt"), "not committed");
    let run = stage.run(&["run", "helper", "x", "--isolated", "--mode", "accept-edits"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "Written.\n", "1 file changed\n")
    );
    assert_eq!(std::fs::read_to_string(root.join("new.txt")).unwrap(), "made");
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? mine.txt\n?? new.txt\n");
    assert!(stage.branches().is_empty());
    assert!(stage.git(&["worktree", "list"]).lines().count() == 1);
}

/// Takes all build slots, until what this gives is dropped.
fn taken(builds: &camino::Utf8Path) -> Vec<std::fs::File> {
    let slot = |number: usize| {
        let file = std::fs::File::create(builds.join(format!("slot-{number}.lock"))).unwrap();
        file.lock().unwrap();
        file
    };
    (1..=256).map(slot).collect()
}

#[test]
fn whoever_waits_for_a_build_slot_says_so() {
    let stage = Stage::new(WRITES).committed();
    let builds = stage.world.home().join("cache/builds");
    std::fs::create_dir_all(&builds).unwrap();
    let slots = taken(&builds);
    let args = ["run", "helper", "x", "--isolated", "--mode", "accept-edits", "--json"];
    let mut command = stage.command(&args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["event"], "started");
    let waiting = lines.next().unwrap();
    assert_eq!((&waiting["event"], &waiting["what"]), (&json!("waiting"), &json!("build-slot")));
    drop(slots);
    let rest: Vec<serde_json::Value> = lines.collect();
    assert_eq!(rest.iter().filter(|it| it["event"] == "waiting").count(), 0, "it is said once");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest:?}");
    // People read it, too.
    let _slots = taken(&builds);
    let args = ["run", "helper", "x", "--isolated", "--max-time", "1s", "-v"];
    let mut command = stage.command(&args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.take_while(|it| !it.contains("waits for a build slot"));
    assert!(told.count() < 20);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_task_did_that_failed_stays_on_a_branch() {
    let script = WRITES.replace(
        "text = \"Written.\"",
        "calls = [{ name = \"yield\", input = { error = \"I cannot\" } }]",
    );
    let stage = Stage::new(&script).committed();
    let run = stage.run(&["run", "helper", "x", "--isolated", "--mode", "accept-edits"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let branches = stage.branches();
    let [branch] = branches.as_slice() else { panic!("{branches:?}") };
    assert!(
        run.stderr.contains(&format!(
            "1 file changed, on branch `{branch}` (the task did not complete): `git merge {branch}`"
        )),
        "{}",
        run.stderr
    );
    assert_eq!(stage.git(&["show", &format!("{branch}:new.txt")]), "made");
    assert!(!stage.world.sample.root().join("new.txt").exists());
}

#[test]
fn a_branch_if_that_is_wanted_and_uncommitted_work_if_that_is() {
    let script = r#"
[[replies]]
calls = [{ name = "read", input = { path = "mine.txt" } }, { name = "write", input = { path = "new.txt", content = "made" } }]
[[replies]]
when = { result = "not committed" }
text = "Read and written."
"#;
    let stage = Stage::new(script).committed();
    let root = stage.world.sample.root();
    scratch::write(&root.join("mine.txt"), "not committed");
    let run = stage.run(&[
        "run",
        "helper",
        "x",
        "--isolated",
        "--dirty",
        "--on-branch",
        "--mode",
        "accept-edits",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Read and written.\n"), "{run:?}");
    assert_eq!(stage.branches().len(), 1);
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? mine.txt\n");
}

#[test]
fn outside_of_a_repository_it_is_refused() {
    let stage = Stage::new(WRITES);
    let run = stage.run(&["run", "helper", "x", "--isolated"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(
        run.stderr.starts_with("error[E0139]: its own worktree cannot be made"),
        "{}",
        run.stderr
    );
}

#[test]
fn four_at_once_build_and_test_without_getting_in_each_others_way() {
    // Each changes another file, and all of it must build and pass.
    let script = r##"
[[replies]]
when = { text = "one" }
calls = [{ name = "write", input = { path = "tests/one.rs", content = "#[test] fn one() { assert_eq!(1, 1); }" } }]
[[replies]]
when = { text = "two" }
calls = [{ name = "write", input = { path = "tests/two.rs", content = "#[test] fn two() { assert_eq!(2, 2); }" } }]
[[replies]]
when = { text = "three" }
calls = [{ name = "write", input = { path = "tests/three.rs", content = "#[test] fn three() { assert_eq!(3, 3); }" } }]
[[replies]]
when = { text = "four" }
calls = [{ name = "write", input = { path = "tests/four.rs", content = "#[test] fn four() { assert_eq!(4, 5); }" } }]
[[replies]]
when = { result = "tests/" }
text = "It builds."
"##;
    let stage = Stage::new(script).committed();
    let root = stage.world.sample.root();
    let names = ["one", "two", "three", "four"];
    let tasks: Vec<String> = names
        .iter()
        .map(|name| format!("- {{name: {name}, agent: helper, prompt: {name}, isolated: true, done-when: {{commands: [cargo test --offline]}}, max-turns: 3}}"))
        .collect();
    scratch::write(&root.join("target/all.yaml"), format!("tasks:\n{}\n", tasks.join("\n")));
    let run = stage.run(&["batch", "target/all.yaml", "--mode", "accept-edits"]);
    for name in &names[..3] {
        assert!(run.stdout.contains(&format!("## {name}: completed\nIt builds.")), "{run:?}");
        assert!(root.join(format!("tests/{name}.rs")).exists(), "{run:?}");
    }
    // The fourth says that it is done, and is not.
    assert!(!run.stdout.contains("## four: completed"), "{run:?}");
    assert!(!root.join("tests/four.rs").exists());
    assert_eq!(stage.branches().len(), 1, "its work is kept");
    // Nothing was built among the user's files.
    assert!(!root.join("target/debug").exists());
}

/// A task that has written a file in its worktree, and was killed when it went on with `sleep <seconds>`.
fn killed_at_work(seconds: &str) -> Stage {
    let script = r#"
[[replies]]
calls = [{ name = "write", input = { path = "new.txt", content = "made" } }]
[[replies]]
calls = [{ name = "bash", input = { command = "sleep SECONDS" } }]
"#;
    let stage = Stage::new(&script.replace("SECONDS", seconds)).committed();
    let args = ["run", "helper", "x", "--isolated", "--mode", "accept-edits", "--allow", "bash"];
    let mut command = stage.command(&args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let sleeps = || super::is_running(&format!("sleep\0{seconds}\0"));
    while !sleeps() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Programs of an agent end with whoever started them, however that ends.
    while sleeps() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!stage.world.sample.root().join("new.txt").exists());
    stage
}

#[test]
fn the_work_of_a_task_that_was_killed_is_found_again() {
    let stage = killed_at_work("53.375");
    let would = stage.run(&["gc", "--dry-run"]);
    assert!(would.stdout.contains("would be removed"), "{would:?}");
    let done = stage.run(&["gc"]);
    let branches = stage.branches();
    let [branch] = branches.as_slice() else { panic!("{branches:?} {done:?}") };
    assert!(done.stdout.contains(&format!("what was done is on branch `{branch}`")), "{done:?}");
    assert_eq!(stage.git(&["show", &format!("{branch}:new.txt")]), "made");
    assert_eq!(stage.run(&["gc"]).stdout, "nothing to clean up\n");
}

#[test]
fn a_purge_leaves_the_work_of_such_a_task_to_git() {
    let stage = killed_at_work("53.625");
    let purged = stage.world.agents(&["uninstall", "--purge", "--yes"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let branches = stage.branches();
    let [branch] = branches.as_slice() else { panic!("{branches:?} {purged:?}") };
    assert_eq!(stage.git(&["show", &format!("{branch}:new.txt")]), "made");
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!stage.world.home().join("state").exists());
}

#[test]
fn whoever_an_isolated_agent_starts_works_where_it_does() {
    let script = r#"
[[replies]]
when = { text = "lead" }
calls = [{ name = "task", input = { tasks = [{ id = "child", agent = "writer", assignment = "write it" }] } }]
[[replies]]
when = { text = "write it" }
calls = [{ name = "write", input = { path = "new.txt", content = "made" } }]
[[replies]]
when = { result = "new.txt" }
text = "Written."
[[replies]]
when = { result = "1 of 1 tasks completed" }
text = "The child has written it."
"#;
    let stage = Stage::new(script).committed();
    stage.agent("lead", "spawns: [writer]\n");
    stage.agent("writer", "");
    let run =
        stage.run(&["run", "lead", "lead", "--isolated", "--on-branch", "--mode", "accept-edits"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "The child has written it.\n"),
        "{run:?}"
    );
    let branches = stage.branches();
    let [branch] = branches.as_slice() else { panic!("{branches:?}") };
    assert_eq!(stage.git(&["show", &format!("{branch}:new.txt")]), "made");
    assert!(!stage.world.sample.root().join("new.txt").exists());
}
