//! `kill -9`, at any moment.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use agents_task::{
    TaskId,
    isolate::{Carry, Manner, What},
};

use super::{User, git_may_fail, worktrees};

/// Where the worker works; what it wrote is listed in `told`.
const SCRATCH: &str = "AGENTS_TEST_KILLED";

/// Not a test: what the test kills. It makes worktrees, works in them, collects and removes, without end. The name
/// of each file that it has written is told.
#[test]
#[ignore = "what the next test kills"]
fn worker() {
    use std::io::Write as _;
    #[expect(clippy::disallowed_methods, reason = "a test")]
    let root = camino::Utf8PathBuf::from(std::env::var(SCRATCH).unwrap());
    let worktrees = worktrees(&root, 1);
    let repository = worktrees.usable(&root.join("repo")).unwrap();
    let mut told =
        fs_err::OpenOptions::new().append(true).create(true).open(root.join("told")).unwrap();
    let parent = std::os::unix::process::parent_id();
    // Nobody else would end it if the test itself is killed.
    for round in (0..1000).take_while(|_| std::os::unix::process::parent_id() == parent) {
        let carry = if round % 2 == 0 { Carry::Everything } else { Carry::Committed };
        let mut worktree = worktrees.create(&repository, TaskId::new(), "loop", carry).unwrap();
        for step in 0..3 {
            let name = format!("{}-{step}", worktree.record().slug);
            fs_err::write(worktree.root().join(&name), &name).unwrap();
            told.write_all(format!("{name}\n").as_bytes()).unwrap();
            if step == 1 {
                super::git_in(&worktree.root(), &["add", "."]);
                super::git_in(&worktree.root(), &["commit", "--quiet", "-m", "half"]);
            }
        }
        worktree.collect().unwrap();
        worktree.remove().unwrap();
    }
}

fn start(user: &User) -> Child {
    #[expect(clippy::disallowed_methods, reason = "a test")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "isolate::killed::worker", "--ignored", "--nocapture"]);
    command.env(SCRATCH, user.scratch.root()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// What a process started, and what that started.
fn below(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let tasks = format!("/proc/{}/task", found[at]);
        for task in fs_err::read_dir(tasks).into_iter().flatten().flatten() {
            let children = fs_err::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_ascii_whitespace().map(|it| it.parse::<u32>().unwrap()));
        }
        at += 1;
    }
    found.split_off(1)
}

#[test]
fn nothing_of_the_work_is_lost() {
    let user = User::new();
    user.repo.write("sub/c.txt", "dirty\n").write("untracked.txt", "x");
    let before = user.seen();
    let mut seed = 0x9e37_79b9_u64;
    let mut by_chance = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut collected = 0;
    let told = user.scratch.path("told");
    let count = || fs_err::read_to_string(&told).unwrap_or_default().lines().count();
    // On a machine that is busy, it takes more rounds until enough has happened.
    for round in 0..150 {
        if round >= 25 && collected > 20 && count() > 40 {
            break;
        }
        let mut workers: Vec<Child> = (0..2).map(|_| start(&user)).collect();
        for worker in &mut workers {
            // Which moment does not matter, that they differ does.
            std::thread::sleep(Duration::from_millis(20 + by_chance(400)));
            assert!(worker.try_wait().unwrap().is_none(), "the worker failed by itself");
            // Either it alone, as by an impatient user, or the git that it runs as well, as by a machine that stops.
            let children = if by_chance(2) == 0 { below(worker.id()) } else { Vec::new() };
            worker.kill().unwrap();
            for child in children {
                // Some have ended meanwhile.
                agents_testkit::signal::destroy(child);
            }
            worker.wait().unwrap();
        }
        // A git that the worker had started may still be at it, and holds the lock; it ends soon.
        let all = loop {
            let all = user.worktrees.gc(Duration::ZERO, Manner::Do);
            if all.iter().all(|it| it.what != What::Live) {
                break all;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        // A git that is killed while it deletes a branch leaves this, whoever ran it, and git tells the user to remove it.
        let _ = fs_err::remove_file(user.repo.dir().join(".git/packed-refs.lock"));
        for one in &all {
            assert!(!matches!(one.what, What::Kept { .. }), "{round}: {one:?}");
        }
        collected += all.iter().filter(|it| matches!(it.what, What::Removed { .. })).count();
    }
    let told = fs_err::read_to_string(&told).unwrap();
    // The last line may be cut short.
    let told: Vec<&str> =
        told.split_inclusive('\n').filter_map(|it| it.strip_suffix('\n')).collect();
    for name in &told {
        let slug = name.rsplit_once('-').unwrap().0;
        let pattern = format!("refs/heads/agents/{slug}*");
        let branches = user.repo.git(&["for-each-ref", "--format=%(refname)", &pattern]);
        let holds = |branch: &str| {
            let file = format!("{branch}:{name}");
            git_may_fail(user.repo.dir(), &["cat-file", "-e", &file]).is_ok()
        };
        assert!(branches.lines().any(holds), "`{name}` is on none of {branches:?}");
    }
    assert!(told.len() > 20 && collected > 20, "{} files, {collected} collected", told.len());
    assert_eq!(user.seen(), before);
    assert_eq!(user.known_worktrees(), 0);
    assert_eq!(fs_err::read_dir(user.home().join("trees")).unwrap().count(), 0);
}
