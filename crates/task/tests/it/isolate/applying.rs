//! What was done, merged into what the user did meanwhile.

use agents_task::isolate::{Applied, Carry, Changes, State, Worktree};

use super::{User, with_line};

/// An agent that changes line 2 of `a.txt`, removes `b.txt` and makes a new file.
fn worked(user: &User) -> (Worktree, Changes) {
    let mut worktree = user.worktree(Carry::Everything);
    let root = worktree.root();
    let text = fs_err::read_to_string(root.join("a.txt")).unwrap();
    fs_err::write(root.join("a.txt"), with_line(&text, 2, "by the agent")).unwrap();
    fs_err::remove_file(root.join("b.txt")).unwrap();
    fs_err::create_dir_all(root.join("new/dir")).unwrap();
    fs_err::write(root.join("new/dir/file.txt"), "new\n").unwrap();
    let changes = worktree.collect().unwrap();
    (worktree, changes)
}

fn conflicts(applied: Applied) -> Vec<String> {
    match applied {
        Applied::Conflicts { files, .. } => files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn changes_arrive_uncommitted_and_what_is_staged_stays_staged() {
    let user = User::new();
    user.repo.write("sub/c.txt", "staged\n");
    user.repo.git(&["add", "."]);
    user.repo.write("sub/c.txt", "staged, then changed\n");
    let staged = user.repo.git(&["diff", "--cached"]);
    let (mut worktree, changes) = worked(&user);
    match worktree.apply().unwrap() {
        Applied::Clean { files } => assert_eq!(files, changes.files),
        other => panic!("{other:?}"),
    }
    assert_eq!(user.read("a.txt").lines().nth(1), Some("by the agent"));
    assert_eq!(user.read("new/dir/file.txt"), "new\n");
    assert!(!user.repo.dir().join("b.txt").exists());
    assert_eq!(user.read("sub/c.txt"), "staged, then changed\n");
    assert_eq!(user.repo.git(&["diff", "--cached"]), staged);
    assert_eq!(user.repo.git(&["stash", "list"]), "");
    assert_eq!(user.repo.git(&["rev-list", "--count", "HEAD"]), "1");
    // A second time there is nothing to do, and the branch is not needed any more.
    assert_eq!(worktree.record().state, State::Applied);
    assert_eq!(worktree.apply().unwrap(), Applied::NothingToDo);
    assert_eq!(worktree.remove().unwrap(), None);
    assert_eq!(user.branches(), "");
    assert!(changes.patch.is_file());
}

#[test]
fn another_line_of_the_same_file_is_merged() {
    let user = User::new();
    let (mut worktree, _) = worked(&user);
    user.repo.write("a.txt", with_line(&user.read("a.txt"), 6, "by the user"));
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert_eq!(user.read("a.txt"), "one\nby the agent\nthree\nfour\nfive\nby the user\nseven\n");
}

#[test]
fn what_the_user_changed_too_stops_everything() {
    let user = User::new();
    let (mut worktree, changes) = worked(&user);
    user.repo.write("a.txt", with_line(&user.read("a.txt"), 2, "by the user"));
    let before = user.seen();
    let applied = worktree.apply().unwrap();
    let Applied::Conflicts { files, branch, command } = applied else { panic!("{applied:?}") };
    assert_eq!(files, ["a.txt"]);
    assert_eq!(command, format!("git merge {branch}"));
    assert_eq!(user.seen(), before);
    assert!(user.repo.dir().join("b.txt").exists());
    // The branch stays, and the command that was told works.
    assert_eq!(worktree.remove().unwrap(), Some(changes.branch));
    user.repo.commit("by the user");
    assert!(super::git_may_fail(user.repo.dir(), &["merge", &branch]).is_err());
    assert!(user.read("a.txt").contains("by the agent"));
}

#[test]
fn a_file_that_the_user_removed_or_changed_otherwise_is_a_conflict() {
    let user = User::new();
    let (mut worktree, _) = worked(&user);
    fs_err::remove_file(user.repo.dir().join("a.txt")).unwrap();
    assert_eq!(conflicts(worktree.apply().unwrap()), ["a.txt"]);
    user.repo.git(&["checkout", "--", "a.txt"]);
    // The agent removed it.
    user.repo.write("b.txt", "the user still needs it\n");
    assert_eq!(conflicts(worktree.apply().unwrap()), ["b.txt"]);
    assert_eq!(user.read("b.txt"), "the user still needs it\n");
    user.repo.git(&["checkout", "--", "b.txt"]);
    // Both made it.
    user.repo.write("new/dir/file.txt", "by the user\n");
    assert_eq!(conflicts(worktree.apply().unwrap()), ["new/dir/file.txt"]);
    // In its place.
    fs_err::remove_dir_all(user.repo.dir().join("new")).unwrap();
    user.repo.write("new", "a file\n");
    assert!(!conflicts(worktree.apply().unwrap()).is_empty());
    assert_eq!(user.read("new"), "a file\n");
}

#[test]
fn an_ignored_file_of_the_user_is_never_overwritten() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    for path in ["x.ignored", "target/deep/file"] {
        fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs_err::write(root.join(path), "by the agent").unwrap();
        super::git_in(&root, &["add", "-f", path]);
    }
    worktree.collect().unwrap();
    user.repo.write("x.ignored", "the user's secrets");
    user.repo.write("target", "not even a directory");
    assert_eq!(conflicts(worktree.apply().unwrap()), ["x.ignored"]);
    assert_eq!(user.read("x.ignored"), "the user's secrets");
    fs_err::remove_file(user.repo.dir().join("x.ignored")).unwrap();
    assert_eq!(conflicts(worktree.apply().unwrap()), ["target"]);
    assert_eq!(user.read("target"), "not even a directory");
    // A link that leads elsewhere is no directory.
    fs_err::remove_file(user.repo.dir().join("target")).unwrap();
    let elsewhere = user.scratch.path("elsewhere");
    fs_err::create_dir(&elsewhere).unwrap();
    fs_err::os::unix::fs::symlink(&elsewhere, user.repo.dir().join("target")).unwrap();
    assert_eq!(conflicts(worktree.apply().unwrap()), ["target"]);
    assert_eq!(fs_err::read_dir(&elsewhere).unwrap().count(), 0);
    fs_err::remove_file(user.repo.dir().join("target")).unwrap();
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert_eq!(user.read("target/deep/file"), "by the agent");
}

#[test]
fn ignored_files_in_a_directory_are_never_taken_away_with_it() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    fs_err::write(root.join("new"), "by the agent").unwrap();
    fs_err::remove_dir_all(root.join("sub")).unwrap();
    fs_err::write(root.join("sub"), "by the agent").unwrap();
    fs_err::create_dir(root.join("both")).unwrap();
    fs_err::write(root.join("both/file"), "by the agent").unwrap();
    worktree.collect().unwrap();
    // A directory that only gets something more keeps what is in it.
    user.repo.write("both/z.ignored", "the user's");
    for path in ["new/x.ignored", "sub/deep/y.ignored"] {
        user.repo.write(path, "the user's");
    }
    let blocked = ["new/x.ignored", "sub/deep/y.ignored"];
    assert_eq!(conflicts(worktree.apply().unwrap()), blocked);
    for path in blocked {
        assert_eq!(user.read(path), "the user's");
        fs_err::remove_file(user.repo.dir().join(path)).unwrap();
    }
    // What is removed by the merge, and directories without anything in them, are in nobody's way.
    assert_eq!(user.read("sub/c.txt"), "c\n");
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    for path in ["new", "sub", "both/file"] {
        assert_eq!(user.read(path), "by the agent");
    }
    assert_eq!(user.read("both/z.ignored"), "the user's");
}

#[test]
fn a_file_becomes_a_directory_and_back() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    fs_err::remove_file(root.join("b.txt")).unwrap();
    fs_err::create_dir(root.join("b.txt")).unwrap();
    fs_err::write(root.join("b.txt/inner"), "x").unwrap();
    fs_err::remove_dir_all(root.join("sub")).unwrap();
    fs_err::write(root.join("sub"), "x").unwrap();
    worktree.collect().unwrap();
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert_eq!((user.read("b.txt/inner"), user.read("sub")), ("x".to_owned(), "x".to_owned()));
    worktree.remove().unwrap();
}

#[test]
fn commits_and_another_branch_of_the_user_do_not_matter() {
    let user = User::new();
    user.repo.write("sub/c.txt", "carried\n");
    let (mut worktree, _) = worked(&user);
    user.repo.branch("elsewhere").write("d.txt", "d\n").commit("more");
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert_eq!(user.read("sub/c.txt"), "carried\n");
    assert_eq!(user.read("d.txt"), "d\n");
    assert_eq!(user.read("a.txt").lines().nth(1), Some("by the agent"));
}

#[test]
fn carried_changes_are_no_part_of_the_command_that_is_told() {
    let user = User::new();
    user.repo.write("sub/c.txt", "carried\n");
    let (mut worktree, _) = worked(&user);
    user.repo.write("a.txt", with_line(&user.read("a.txt"), 2, "by the user"));
    let applied = worktree.apply().unwrap();
    let Applied::Conflicts { command, .. } = applied else { panic!("{applied:?}") };
    user.repo.git(&["checkout", "--", "a.txt"]);
    worktree.remove().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    user.repo.git(&words);
    assert_eq!(user.read("a.txt").lines().nth(1), Some("by the agent"));
    assert_eq!(user.read("sub/c.txt"), "carried\n");
}

#[test]
fn the_command_that_is_told_works_where_the_agent_began_a_history_of_its_own() {
    let mut user = User::new();
    user.worktrees = super::worktrees(&user.scratch.path("it's here"), 4);
    user.repo.write("sub/c.txt", "carried\n");
    let mut worktree = user.worktree(Carry::Everything);
    let root = worktree.root();
    let text = fs_err::read_to_string(root.join("a.txt")).unwrap();
    fs_err::write(root.join("a.txt"), with_line(&text, 2, "by the agent")).unwrap();
    super::git_in(&root, &["checkout", "--quiet", "--orphan", "fresh"]);
    super::git_in(&root, &["commit", "--quiet", "--all", "--message", "all"]);
    worktree.collect().unwrap();
    user.repo.write("a.txt", with_line(&user.read("a.txt"), 2, "by the user"));
    let applied = worktree.apply().unwrap();
    let Applied::Conflicts { command, .. } = applied else { panic!("{applied:?}") };
    assert!(command.starts_with("git apply --3way "), "{command}");
    user.repo.git(&["checkout", "--", "a.txt"]);
    #[expect(clippy::disallowed_methods, reason = "a test")]
    let mut shell = std::process::Command::new("sh");
    let done = shell.args(["-c", &command]).current_dir(user.repo.dir()).output().unwrap();
    assert!(done.status.success(), "{command}: {done:?}");
    assert_eq!(user.read("a.txt").lines().nth(1), Some("by the agent"));
    assert_eq!(user.read("sub/c.txt"), "carried\n");
}

#[test]
fn a_merge_that_the_user_is_in_is_left_alone() {
    let user = User::new();
    let (mut worktree, changes) = worked(&user);
    user.repo.branch("other").write("sub/c.txt", "other\n").commit("other");
    user.repo.switch("main").write("sub/c.txt", "main\n").commit("main");
    super::git_may_fail(user.repo.dir(), &["merge", "other"]).unwrap_err();
    let before = user.seen();
    let applied = worktree.apply().unwrap();
    assert!(
        matches!(&applied, Applied::Kept { branch, .. } if *branch == changes.branch),
        "{applied:?}"
    );
    assert_eq!(user.seen(), before);
}

#[test]
fn two_at_once_both_arrive() {
    let user = User::new();
    let made: Vec<Worktree> = (0..4)
        .map(|number| {
            let mut worktree = user.worktree(Carry::Committed);
            fs_err::write(worktree.root().join(format!("{number}.txt")), "x").unwrap();
            worktree.collect().unwrap();
            worktree
        })
        .collect();
    std::thread::scope(|scope| {
        for mut worktree in made {
            scope.spawn(move || {
                assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
                worktree.remove().unwrap();
            });
        }
    });
    for number in 0..4 {
        assert_eq!(user.read(&format!("{number}.txt")), "x");
    }
    assert_eq!((user.known_worktrees(), user.branches().as_str()), (0, ""));
}

#[test]
fn what_the_user_told_git_not_to_see_is_not_overwritten() {
    for option in ["--assume-unchanged", "--skip-worktree"] {
        let user = User::new();
        user.repo.git(&["update-index", option, "a.txt", "b.txt"]);
        user.repo.write("a.txt", with_line(&user.read("a.txt"), 7, "local"));
        user.repo.write("b.txt", "password\n");
        let mut worktree = user.worktree(Carry::Everything);
        let root = worktree.root();
        // It stays out of what is carried over.
        let text = fs_err::read_to_string(root.join("a.txt")).unwrap();
        assert!(text.ends_with("seven\n"), "{option}");
        fs_err::write(root.join("a.txt"), with_line(&text, 1, "agent")).unwrap();
        worktree.collect().unwrap();
        assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }), "{option}");
        assert_eq!(user.read("a.txt"), "agent\ntwo\nthree\nfour\nfive\nsix\nlocal\n");
        fs_err::write(root.join("b.txt"), "agent\n").unwrap();
        worktree.collect().unwrap();
        assert_eq!(conflicts(worktree.apply().unwrap()), ["b.txt"], "{option}");
        assert_eq!(user.read("b.txt"), "password\n");
        // What the agent hides is its work nevertheless.
        super::git_in(&root, &["update-index", option, "sub/c.txt"]);
        fs_err::write(root.join("sub/c.txt"), "hidden\n").unwrap();
        let changes = worktree.collect().unwrap();
        let held = user.repo.git(&["show", &format!("{}:sub/c.txt", changes.branch)]);
        assert_eq!(held, "hidden", "{option}");
    }
}

#[test]
fn what_was_not_touched_by_the_agent_is_not_even_read() {
    let user = User::new();
    user.repo.write("sub/c.txt", "carried, not committed\n").write("notes.txt", "untracked\n");
    let (mut worktree, _) = worked(&user);
    let objects =
        |user: &User| user.repo.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    user.repo.write("huge.txt", "made meanwhile\n").write("sub/c.txt", "changed meanwhile\n");
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert_eq!(user.read("sub/c.txt"), "changed meanwhile\n");
    assert_eq!(user.read("notes.txt"), "untracked\n");
    let id = user.repo.git(&["hash-object", "huge.txt"]);
    assert!(!objects(&user).contains(&id));
}

#[test]
fn a_file_that_one_side_renamed() {
    let user = User::new();
    // The agent renames, the user changes.
    let mut worktree = user.worktree(Carry::Committed);
    fs_err::rename(worktree.root().join("a.txt"), worktree.root().join("z.txt")).unwrap();
    worktree.collect().unwrap();
    user.repo.write("a.txt", with_line(&user.read("a.txt"), 6, "by the user"));
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert!(user.read("z.txt").contains("by the user") && !user.repo.dir().join("a.txt").exists());
    // The user renames, the agent changes: only git's own renames are seen.
    let user = User::new();
    let (mut worktree, _) = worked(&user);
    fs_err::rename(user.repo.dir().join("a.txt"), user.repo.dir().join("z.txt")).unwrap();
    assert_eq!(conflicts(worktree.apply().unwrap()), ["a.txt"]);
    user.repo.git(&["add", "--all"]);
    assert!(matches!(worktree.apply().unwrap(), Applied::Clean { .. }));
    assert!(user.read("z.txt").contains("by the agent"));
}
