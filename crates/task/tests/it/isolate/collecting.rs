//! What becomes of what was done.

use std::{os::unix::fs::PermissionsExt, time::Duration};

use agents_task::isolate::{Carry, IsolateError, Manner, State, What, Worktrees};

use super::{User, git_in, listed};

#[test]
fn every_kind_of_change_is_in_the_commit_and_in_the_patch() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    fs_err::write(root.join("bin"), b"\x00\x01\xff").unwrap();
    fs_err::rename(root.join("a.txt"), root.join("renamed.txt")).unwrap();
    fs_err::remove_file(root.join("b.txt")).unwrap();
    fs_err::set_permissions(root.join("sub/c.txt"), PermissionsExt::from_mode(0o755)).unwrap();
    fs_err::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
    fs_err::write(root.join("x.ignored"), "ignored").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["D b.txt", "A bin", "A link", "R renamed.txt", "M sub/c.txt"]);
    assert_eq!(changes.commits.len(), 1);
    let commit = user.repo.git(&["show", "-s", "--format=%an <%ae>%n%cn%n%P", &changes.head]);
    assert_eq!(
        commit.lines().collect::<Vec<_>>(),
        ["cargo agents <cargo-agents@localhost>", "cargo agents", &user.repo.head()]
    );
    // The patch alone makes the same tree.
    user.repo.git(&["apply", "--index", changes.patch.as_str()]);
    let tree = user.repo.git(&["write-tree"]);
    assert_eq!(tree, user.repo.git(&["rev-parse", &format!("{}^{{tree}}", changes.head)]));
    // Again is the same.
    assert_eq!(worktree.collect().unwrap(), changes);
    assert_eq!(worktree.remove().unwrap(), Some(changes.branch.clone()));
    assert_eq!(user.branches(), changes.branch);
    assert!(!root.exists() && changes.patch.is_file());
}

#[test]
fn commits_of_the_agent_stay_and_the_rest_comes_on_top() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    for number in 1..=2 {
        fs_err::write(root.join("b.txt"), format!("{number}\n")).unwrap();
        git_in(&root, &["commit", "--quiet", "-am", &format!("step {number}")]);
    }
    // What is ignored and committed nevertheless is work; so is what is only staged.
    fs_err::write(root.join("forced.ignored"), "x").unwrap();
    git_in(&root, &["add", "-f", "forced.ignored"]);
    git_in(&root, &["commit", "--quiet", "-m", "step 3"]);
    fs_err::write(root.join("staged.ignored"), "x").unwrap();
    git_in(&root, &["add", "-f", "staged.ignored"]);
    fs_err::write(root.join("new.txt"), "not committed\n").unwrap();
    let changes = worktree.collect().unwrap();
    let subjects: Vec<&str> = changes.commits.iter().map(|it| it.subject.as_str()).collect();
    let last = format!("What `{}` did and did not commit", worktree.record().slug);
    assert_eq!(subjects, ["step 1", "step 2", "step 3", &last]);
    assert_eq!(listed(&changes), ["M b.txt", "A forced.ignored", "A new.txt", "A staged.ignored"]);
    worktree.remove().unwrap();
    assert_eq!(user.repo.git(&["rev-parse", &changes.branch]), changes.head);
}

#[test]
fn nothing_is_removed_that_is_not_collected() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let why = |worktree: &mut agents_task::isolate::Worktree| match worktree.remove() {
        Err(IsolateError::HoldsMore { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&mut worktree), "what was done in it has not been collected");
    let root = worktree.root();
    fs_err::write(root.join("new.txt"), "1").unwrap();
    worktree.collect().unwrap();
    // The same size, in the same moment.
    fs_err::write(root.join("new.txt"), "2").unwrap();
    assert_eq!(why(&mut worktree), "files have changed since they were collected");
    worktree.collect().unwrap();
    git_in(&root, &["commit", "--quiet", "--allow-empty", "-m", "one more"]);
    assert_eq!(why(&mut worktree), "commits have been made since they were collected");
    let changes = worktree.collect().unwrap();
    user.repo.git(&["update-ref", "-d", &format!("refs/heads/{}", changes.branch)]);
    assert!(why(&mut worktree).ends_with("and the patch do not hold it any more"));
    assert!(root.join("new.txt").exists());
    // Collecting brings it back.
    worktree.collect().unwrap();
    worktree.remove().unwrap();
    assert_eq!(user.repo.git(&["show", &format!("{}:new.txt", changes.branch)]), "2");
}

#[test]
fn more_than_commits_should_hold_stays_where_it_is() {
    let user = User::new();
    let settings = agents_task::isolate::IsolationSettings {
        largest: 1000,
        ..agents_task::isolate::IsolationSettings::default()
    };
    let worktrees = Worktrees::new(&user.home(), &user.scratch.path("builds"), settings);
    let repository = user.repository();
    let create = |carry| worktrees.create(&repository, agents_task::TaskId::new(), "x", carry);
    let mut worktree = create(Carry::Everything).unwrap();
    let huge = worktree.root().join("huge");
    fs_err::write(&huge, [0; 2000]).unwrap();
    let error = worktree.collect().unwrap_err();
    assert!(matches!(error, IsolateError::TooLarge { size: 2000, largest: 1000 }), "{error}");
    drop(worktree);
    let collected = worktrees.gc(Duration::ZERO, Manner::Do);
    assert!(matches!(&collected[0].what, What::Kept { why } if why.contains("MiB")));
    assert!(huge.exists());
    // The user's tree may be too large, too; then nothing is left of the attempt.
    user.repo.write("huge", [0; 2000]);
    assert!(matches!(create(Carry::Everything), Err(IsolateError::TooLarge { .. })));
    assert_eq!(
        (worktrees.gc(Duration::ZERO, Manner::OnlyShow).len(), user.known_worktrees()),
        (1, 1)
    );
}

#[test]
fn gc_collects_what_dead_owners_left_and_leaves_the_living_alone() {
    let user = User::new();
    let live = user.worktree(Carry::Committed);
    let dirty = user.worktree(Carry::Committed);
    let untouched = user.worktree(Carry::Committed);
    fs_err::write(live.root().join("live.txt"), "x").unwrap();
    fs_err::write(dirty.root().join("dirty.txt"), "x").unwrap();
    // Somebody took their own rights away.
    let locked = dirty.root().join("locked");
    fs_err::create_dir(&locked).unwrap();
    fs_err::write(locked.join("file.txt"), "x").unwrap();
    fs_err::set_permissions(&locked, PermissionsExt::from_mode(0o555)).unwrap();
    let (dirty_root, branch) = (dirty.root(), dirty.record().branch.clone());
    drop((dirty, untouched));
    let slow = Duration::from_secs(3600);
    let gc = |older_than, manner| {
        let mut what: Vec<What> =
            user.worktrees.gc(older_than, manner).into_iter().map(|it| it.what).collect();
        what.sort_by_key(|it| format!("{it:?}"));
        what
    };
    assert_eq!(gc(slow, Manner::Do), [What::Live, What::Young, What::Young]);
    assert_eq!(gc(Duration::ZERO, Manner::OnlyShow).len(), 3);
    assert!(dirty_root.join("dirty.txt").exists());
    let removed = |branch| What::Removed { branch };
    assert_eq!(
        gc(Duration::ZERO, Manner::Do),
        [What::Live, removed(None), removed(Some(branch.clone()))]
    );
    assert!(live.root().join("live.txt").exists() && !dirty_root.exists());
    assert_eq!(user.repo.git(&["show", &format!("{branch}:dirty.txt")]), "x");
    assert_eq!(user.repo.git(&["show", &format!("{branch}:locked/file.txt")]), "x");
    // The patch stays for its time; of what was nothing, nothing stays.
    assert_eq!(gc(Duration::ZERO, Manner::Do), [What::Live, What::Young]);
    assert_eq!(user.known_worktrees(), 1);
    assert_eq!(live.record().state, State::Ready);
}

#[test]
fn gc_keeps_what_it_cannot_collect_and_says_why() {
    let user = User::new();
    let worktree = user.worktree(Carry::Committed);
    let (root, slug) = (worktree.root(), worktree.record().slug.clone());
    fs_err::write(root.join("new.txt"), "x").unwrap();
    drop(worktree);
    let strange = user.home().join("trees/strange");
    fs_err::create_dir_all(&strange).unwrap();
    let why = || {
        let all = user.worktrees.gc(Duration::ZERO, Manner::Do).into_iter();
        let kept = all.filter_map(|it| match it.what {
            What::Kept { why } => Some((it.name, why)),
            _ => None,
        });
        kept.collect::<std::collections::BTreeMap<_, _>>()
    };
    // The repository moved away.
    let (at, aside) = (user.repo.dir().to_owned(), user.scratch.path("aside"));
    fs_err::rename(&at, &aside).unwrap();
    let kept = why();
    assert_eq!(kept[&slug], format!("its repository, `{}`, is gone", at.join(".git")));
    assert_eq!(kept["strange"], "nothing is remembered of it");
    fs_err::rename(&aside, &at).unwrap();
    // A file that cannot be read.
    fs_err::set_permissions(root.join("new.txt"), PermissionsExt::from_mode(0o000)).unwrap();
    if fs_err::read(root.join("new.txt")).is_err() {
        assert!(why()[&slug].contains("git add"));
    }
    fs_err::set_permissions(root.join("new.txt"), PermissionsExt::from_mode(0o644)).unwrap();
    // A record that is damaged.
    let record = user.home().join(format!("records/{slug}.json"));
    let whole = fs_err::read(&record).unwrap();
    fs_err::write(&record, "{").unwrap();
    assert!(why()[&slug].starts_with("its record cannot be read"));
    fs_err::write(&record, whole).unwrap();
    assert!(root.join("new.txt").exists() && strange.exists());
    assert_eq!(why().len(), 1);
    assert!(!root.exists());
}

#[test]
fn a_branch_that_a_crash_left_locked_is_kept_under_another_name() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    fs_err::write(worktree.root().join("new.txt"), "x").unwrap();
    let lock = user.repo.dir().join(format!(".git/refs/heads/{}.lock", worktree.record().branch));
    fs_err::write(&lock, "").unwrap();
    let changes = worktree.collect().unwrap();
    assert!(changes.branch.ends_with("-left-1"), "{}", changes.branch);
    assert_eq!(worktree.remove().unwrap().as_ref(), Some(&changes.branch));
    assert_eq!(user.repo.git(&["rev-parse", &changes.branch]), changes.head);
}

#[test]
fn names_that_are_no_text_and_a_git_of_the_user_that_is_at_work() {
    use std::os::unix::ffi::OsStrExt as _;
    let user = User::new();
    user.repo.write(".git/index.lock", "");
    let mut worktree = user.worktree(Carry::Everything);
    let name = std::ffi::OsStr::from_bytes(b"a\xff\nb");
    fs_err::write(worktree.root().as_std_path().join(name), "x").unwrap();
    assert_eq!(worktree.collect().unwrap().files.len(), 1);
    worktree.apply().unwrap();
    assert_eq!(fs_err::read(user.repo.dir().as_std_path().join(name)).unwrap(), b"x");
    worktree.remove().unwrap();
    assert_eq!(fs_err::read(user.repo.dir().join(".git/index.lock")).unwrap(), b"");
}

#[test]
fn files_that_others_run_are_told_apart() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    for path in [".github/workflows/x.yml", "src/lib.rs", "x/.cargo/config.toml"] {
        let path = worktree.root().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, "x").unwrap();
    }
    let changes = worktree.collect().unwrap();
    let protected: Vec<&str> = changes.protected().map(|it| it.0).collect();
    assert_eq!(protected, [".github/workflows/x.yml", "x/.cargo/config.toml"]);
}

#[test]
fn somebody_else_goes_on_where_an_owner_died() {
    let user = User::new();
    let worktree = user.worktree(Carry::Committed);
    let slug = worktree.record().slug.clone();
    fs_err::write(worktree.root().join("first.txt"), "x").unwrap();
    assert!(matches!(user.worktrees.adopt(&slug), Err(IsolateError::Taken(_))));
    drop(worktree);
    let mut worktree = user.worktrees.adopt(&slug).unwrap();
    fs_err::write(worktree.root().join("second.txt"), "x").unwrap();
    assert_eq!(listed(&worktree.collect().unwrap()), ["A first.txt", "A second.txt"]);
    worktree.remove().unwrap();
    drop(worktree);
    assert!(matches!(user.worktrees.adopt(&slug), Err(IsolateError::Unfinished(_))));
    assert!(matches!(user.worktrees.adopt("never"), Err(IsolateError::Unknown(_))));
    assert_eq!(user.worktrees.records().len(), 1);
}
