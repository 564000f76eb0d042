//! Where no task can have a worktree.

use agents_testkit::repo::Repo;

use super::{User, git_in, worktrees};

#[test]
fn each_place_says_why() {
    let user = User::new();
    let (scratch, repo) = (&user.scratch, &user.repo);
    let why = |dir: &str| match user.worktrees.usable(&scratch.path(dir)) {
        Ok(_) => "usable".to_owned(),
        Err(why) => why.to_string().replace(scratch.root().as_str(), ""),
    };
    fs_err::create_dir(scratch.path("plain")).unwrap();
    assert_eq!(why("plain"), "`/plain` is not in a git repository");
    let _ = Repo::init(scratch.path("unborn"));
    assert_eq!(why("unborn"), "the repository `/unborn` has no commit yet");
    repo.git(&["clone", "--quiet", "--bare", ".", scratch.path("bare").as_str()]);
    assert_eq!(why("bare"), "`/bare` is in a bare repository, which has no files to work on");
    assert_eq!(why("repo/.git"), "`/repo/.git` is inside of git's own directory");
    Repo::init(scratch.path("other")).write("x", "x").commit("x");
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "module",
    ]);
    assert_eq!(why("repo/module"), "`/repo/module` is a submodule of `/repo`");
    assert_eq!(why("repo/sub"), "usable");

    let inside = worktrees(&repo.dir().join("sub"), 1);
    let why = inside.usable(repo.dir()).unwrap_err().to_string();
    assert_eq!(
        why.replace(scratch.root().as_str(), ""),
        "worktrees are kept in `/repo/sub/state`, which is inside of the repository `/repo`"
    );
}

#[test]
fn a_link_to_a_repository_is_that_repository() {
    let user = User::new();
    let link = user.scratch.path("link");
    fs_err::os::unix::fs::symlink(user.repo.dir().join("sub"), &link).unwrap();
    let repository = user.worktrees.usable(&link).unwrap();
    assert_eq!((repository.root.as_path(), repository.within.as_str()), (user.repo.dir(), "sub"));
}

#[test]
fn a_branch_that_is_in_the_way_leaves_nothing_behind() {
    let user = User::new();
    // Then `agents/...` cannot be a branch.
    git_in(user.repo.dir(), &["branch", "agents"]);
    let repository = user.repository();
    let task = agents_task::TaskId::new();
    let carry = agents_task::isolate::Carry::Committed;
    let error = user.worktrees.create(&repository, task, "x", carry).unwrap_err();
    assert!(error.to_string().contains("git worktree"), "{error}");
    assert_eq!(user.known_worktrees(), 0);
    let all = user.worktrees.gc(std::time::Duration::ZERO, agents_task::isolate::Manner::OnlyShow);
    assert_eq!(all, []);
}
