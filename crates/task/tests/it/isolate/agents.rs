//! Agents that do strange things to their worktree. Nothing is lost by any of them.

use std::time::Duration;

use agents_task::isolate::{Carry, IsolateError, Manner, What};

use super::{User, git_in, git_may_fail, listed};

#[test]
fn one_that_works_on_a_branch_of_its_own() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    fs_err::write(root.join("on-ours.txt"), "x").unwrap();
    git_in(&root, &["add", "."]);
    git_in(&root, &["commit", "--quiet", "-m", "on ours"]);
    let ours = git_in(&root, &["rev-parse", "HEAD"]);
    git_in(&root, &["switch", "--quiet", "-c", "idea", "main"]);
    fs_err::write(root.join("on-idea.txt"), "x").unwrap();
    git_in(&root, &["add", "."]);
    git_in(&root, &["commit", "--quiet", "-m", "on idea"]);
    fs_err::write(root.join("loose.txt"), "x").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["A loose.txt", "A on-idea.txt"]);
    // What stood on our branch before has one of its own now.
    assert_eq!(changes.also.len(), 1);
    assert_eq!(user.repo.git(&["rev-parse", &changes.also[0]]), ours);
    assert_eq!(worktree.collect().unwrap(), changes);
    worktree.remove().unwrap();
    assert_eq!(user.repo.git(&["rev-parse", &changes.branch]), changes.head);
    assert_eq!(user.repo.git(&["rev-parse", "idea"]), format!("{}", changes.commits[0].id));
}

#[test]
fn one_that_leaves_a_rebase_half_way() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    for name in ["first", "second"] {
        fs_err::write(root.join("b.txt"), format!("{name}\n")).unwrap();
        git_in(&root, &["commit", "--quiet", "-am", name]);
    }
    let before = git_in(&root, &["rev-parse", "HEAD"]);
    git_in(&root, &["branch", "other", "HEAD~2"]);
    git_in(&root, &["switch", "--quiet", "--detach", "other"]);
    fs_err::write(root.join("b.txt"), "other\n").unwrap();
    git_in(&root, &["commit", "--quiet", "-am", "other"]);
    let onto = git_in(&root, &["rev-parse", "HEAD"]);
    let branch = worktree.record().branch.clone();
    git_in(&root, &["switch", "--quiet", &branch]);
    git_may_fail(&root, &["rebase", &onto]).unwrap_err();
    let changes = worktree.collect().unwrap();
    assert!(changes.notes.contains(&"a rebase was not finished".to_owned()), "{:?}", changes.notes);
    // The files as they are, with their conflicts, and the commits as they were.
    let now = user.repo.git(&["show", &format!("{}:b.txt", changes.branch)]);
    assert!(now.contains("<<<<<<<") && now.contains("first"), "{now}");
    let held: Vec<String> =
        changes.also.iter().map(|it| user.repo.git(&["rev-parse", it])).collect();
    assert!(held.contains(&before), "{held:?}");
    worktree.remove().unwrap();
}

#[test]
fn one_that_leaves_a_merge_half_way() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    git_in(&root, &["switch", "--quiet", "--detach"]);
    fs_err::write(root.join("b.txt"), "theirs\n").unwrap();
    git_in(&root, &["commit", "--quiet", "-am", "theirs"]);
    let theirs = git_in(&root, &["rev-parse", "HEAD"]);
    let branch = worktree.record().branch.clone();
    git_in(&root, &["switch", "--quiet", &branch]);
    fs_err::write(root.join("b.txt"), "ours\n").unwrap();
    git_in(&root, &["commit", "--quiet", "-am", "ours"]);
    git_may_fail(&root, &["merge", &theirs]).unwrap_err();
    let changes = worktree.collect().unwrap();
    assert_eq!(changes.notes, ["a merge was not finished"]);
    assert_eq!(user.repo.git(&["rev-parse", &changes.also[0]]), theirs);
    assert!(user.repo.git(&["show", &format!("{}:b.txt", changes.head)]).contains("======="));
    worktree.remove().unwrap();
}

#[test]
fn one_that_removes_what_git_knows_of_it() {
    for what in ["file", "file and directory", "index", "everything"] {
        let user = User::new();
        let mut worktree = user.worktree(Carry::Committed);
        let root = worktree.root();
        fs_err::write(root.join("b.txt"), "committed\n").unwrap();
        git_in(&root, &["commit", "--quiet", "-am", "work"]);
        fs_err::write(root.join("new.txt"), "x").unwrap();
        let kept = user.repo.dir().join(".git/worktrees").join(&worktree.record().slug);
        match what {
            "file" => fs_err::remove_file(root.join(".git")).unwrap(),
            "index" => fs_err::write(kept.join("index"), "nonsense").unwrap(),
            "everything" => fs_err::remove_dir_all(&root).unwrap(),
            _ => {
                fs_err::remove_file(root.join(".git")).unwrap();
                fs_err::remove_dir_all(&kept).unwrap();
            }
        }
        let changes = worktree.collect().unwrap();
        match what {
            "everything" => assert_eq!(listed(&changes), ["M b.txt"], "{what}"),
            _ => assert_eq!(listed(&changes), ["M b.txt", "A new.txt"], "{what}"),
        }
        worktree.remove().unwrap();
        assert_eq!(user.repo.git(&["rev-parse", &changes.branch]), changes.head, "{what}");
        assert_eq!(user.known_worktrees(), 0, "{what}");
    }
}

#[test]
fn one_that_makes_repositories_of_its_own_keeps_its_worktree() {
    for commits in [false, true] {
        let user = User::new();
        let mut worktree = user.worktree(Carry::Committed);
        let nested = worktree.root().join("nested");
        fs_err::create_dir(&nested).unwrap();
        git_in(&nested, &["init", "--quiet"]);
        fs_err::write(nested.join("file"), "x").unwrap();
        if commits {
            git_in(&nested, &["add", "."]);
            git_in(&nested, &["commit", "--quiet", "-m", "x"]);
        }
        fs_err::write(worktree.root().join("new.txt"), "x").unwrap();
        let changes = worktree.collect().unwrap();
        assert_eq!(
            (listed(&changes), &changes.left_out),
            (vec!["A new.txt".to_owned()], &vec!["nested".to_owned()])
        );
        assert!(matches!(worktree.remove(), Err(IsolateError::HoldsMore { .. })));
        drop(worktree);
        let collected = user.worktrees.gc(Duration::ZERO, Manner::Do);
        let what = &collected[0].what;
        assert!(matches!(what, What::Kept { why } if why.contains("`nested`")), "{what:?}");
        assert!(nested.join("file").exists());
    }
}

#[test]
fn one_that_begins_a_history_of_its_own() {
    let user = User::new();
    let mut worktree = user.worktree(Carry::Committed);
    let root = worktree.root();
    git_in(&root, &["switch", "--quiet", "--orphan", "fresh"]);
    fs_err::write(root.join("only.txt"), "x").unwrap();
    let changes = worktree.collect().unwrap();
    assert!(listed(&changes).contains(&"A only.txt".to_owned()));
    git_in(&root, &["add", "."]);
    git_in(&root, &["commit", "--quiet", "-m", "fresh"]);
    let changes = worktree.collect().unwrap();
    let odd = "what was done does not stand on the commit that it began from".to_owned();
    assert!(changes.notes.contains(&odd), "{:?}", changes.notes);
    worktree.remove().unwrap();
}
