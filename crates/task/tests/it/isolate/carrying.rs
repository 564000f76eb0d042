//! What a worktree begins with.

use std::os::unix::fs::PermissionsExt;

use agents_task::{
    TaskId,
    isolate::{Carry, State},
};
use agents_testkit::repo::Repo;

use super::{User, git_in, git_may_fail, listed};

const BINARY: &[u8] = b"\x00\xff\x01\n\x00binary";

/// Everything that a working tree can differ in.
fn make_dirty(user: &User) {
    let dir = user.repo.dir();
    user.repo.write("a.txt", "changed\n").write("staged.txt", "staged\n");
    user.repo.git(&["add", "staged.txt"]);
    user.repo.write("staged.txt", "staged, then changed\n");
    fs_err::remove_file(dir.join("b.txt")).unwrap();
    user.repo.write("new dir/ünïcode \"file\".txt", "untracked\n").write("bin", BINARY);
    user.repo.write("secret.ignored", "ignored\n");
    fs_err::os::unix::fs::symlink("a.txt", dir.join("link")).unwrap();
    user.repo.write("script.sh", "#!/bin/sh\n");
    fs_err::set_permissions(dir.join("script.sh"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn everything_is_carried_over_and_the_users_own_tree_stays_as_it_is() {
    let user = User::new();
    // The stash is the user's, too.
    user.repo.write("a.txt", "stashed\n");
    user.repo.git(&["stash"]);
    make_dirty(&user);
    let before = user.seen();
    // Looking at it, as `seen` does, may refresh the index; making a worktree does not.
    let index = || fs_err::read(user.repo.dir().join(".git/index")).unwrap();
    let untouched = index();
    let mut worktree = user.worktree(Carry::Everything);
    assert!(index() == untouched);
    assert_eq!(user.seen(), before);

    let root = worktree.root();
    let read = |path: &str| fs_err::read(root.join(path)).unwrap();
    assert_eq!(read("a.txt"), b"changed\n");
    assert_eq!(read("staged.txt"), b"staged, then changed\n");
    assert_eq!(read("new dir/ünïcode \"file\".txt"), b"untracked\n");
    assert_eq!(read("bin"), BINARY);
    assert_eq!(root.join("link").read_link_utf8().unwrap(), "a.txt");
    let mode = fs_err::metadata(root.join("script.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    for gone in ["b.txt", "secret.ignored"] {
        assert!(!root.join(gone).exists(), "{gone}");
    }
    // For git, there is nothing to commit in it, and nothing has been done.
    assert_eq!(git_in(&root, &["status", "--porcelain"]), "");
    let changes = worktree.collect().unwrap();
    assert!(changes.is_empty() && changes.files.is_empty() && changes.commits.is_empty());
    assert_eq!(worktree.remove().unwrap(), None);
    assert_eq!(user.seen(), before);
}

#[test]
fn only_what_the_agent_did_is_collected() {
    let user = User::new();
    make_dirty(&user);
    let mut worktree = user.worktree(Carry::Everything);
    fs_err::write(worktree.root().join("sub/c.txt"), "by the agent\n").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["M sub/c.txt"]);
    assert_eq!(changes.commits.len(), 1);
    let patch = fs_err::read_to_string(&changes.patch).unwrap();
    assert!(patch.contains("+by the agent") && !patch.contains("staged"), "{patch}");
}

#[test]
fn what_is_not_committed_stays_where_it_is_unless_asked_for() {
    let user = User::new();
    make_dirty(&user);
    let worktree = user.worktree(Carry::Committed);
    assert_eq!(worktree.record().base.as_deref(), Some(user.repo.head().as_str()));
    assert!(worktree.root().join("b.txt").exists() && !worktree.root().join("bin").exists());
    assert_eq!(git_in(&worktree.root(), &["status", "--porcelain"]), "");
}

#[test]
fn a_worktree_is_outside_of_the_repository_on_a_branch_of_its_own_and_locked() {
    let user = User::new();
    let worktree = user.worktree(Carry::Committed);
    let record = worktree.record();
    assert!(record.branch.starts_with("agents/work-on-it-"), "{}", record.branch);
    assert_eq!(record.state, State::Ready);
    assert_eq!(record.owner.pid, std::process::id());
    assert!(worktree.root().starts_with(user.home()));
    assert_eq!(git_in(&worktree.root(), &["branch", "--show-current"]), record.branch);
    // `git worktree prune` takes a worktree without its `.git` for gone, unless it is locked.
    fs_err::remove_file(worktree.root().join(".git")).unwrap();
    user.repo.git(&["worktree", "prune", "--expire=now"]);
    assert_eq!(user.known_worktrees(), 1);
}

#[test]
fn somebody_who_stands_in_a_directory_stands_in_the_same_one() {
    let user = User::new();
    let at = |dir: &str| {
        let repository = user.worktrees.usable(&user.repo.dir().join(dir)).unwrap();
        user.worktrees.create(&repository, TaskId::new(), "x", Carry::Committed).unwrap()
    };
    let worktree = at("sub");
    assert_eq!(worktree.cwd(), worktree.root().join("sub"));
    // One that is not committed is not there.
    fs_err::create_dir_all(user.repo.dir().join("sub/new/deep")).unwrap();
    let worktree = at("sub/new/deep");
    assert_eq!(worktree.cwd(), worktree.root().join("sub"));
}

#[test]
fn a_path_with_spaces_quotes_and_other_letters() {
    let user = User::at("mein \"Ordner\"/Çöl 工作 'x'");
    user.repo.write("sub/c.txt", "carried\n");
    let mut worktree = user.worktree(Carry::Everything);
    assert_eq!(fs_err::read_to_string(worktree.root().join("sub/c.txt")).unwrap(), "carried\n");
    fs_err::write(worktree.root().join("neu ä.txt"), "x\n").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["A neu ä.txt"]);
    worktree.apply().unwrap();
    assert_eq!(user.read("neu ä.txt"), "x\n");
    worktree.remove().unwrap();
    assert_eq!((user.known_worktrees(), user.branches().as_str()), (0, ""));
}

#[test]
fn a_worktree_of_a_worktree() {
    let user = User::new();
    user.repo.git(&["worktree", "add", "--quiet", "-b", "feature", "../linked"]);
    let linked = user.scratch.path("linked");
    fs_err::write(linked.join("a.txt"), "in the linked one\n").unwrap();
    let repository = user.worktrees.usable(&linked).unwrap();
    assert_eq!((&repository.root, repository.common_dir), (&linked, user.repo.dir().join(".git")));
    let repository = user.worktrees.usable(&linked).unwrap();
    let create = |repository| {
        user.worktrees.create(repository, TaskId::new(), "x", Carry::Everything).unwrap()
    };
    let mut worktree = create(&repository);
    fs_err::write(worktree.root().join("b.txt"), "by the parent\n").unwrap();

    // A task that the task starts: what it does goes to the parent's files, not to the user's.
    let mut child = create(&worktree.repository());
    assert_eq!(fs_err::read_to_string(child.root().join("b.txt")).unwrap(), "by the parent\n");
    assert_eq!(fs_err::read_to_string(child.root().join("a.txt")).unwrap(), "in the linked one\n");
    fs_err::write(child.root().join("child.txt"), "by the child\n").unwrap();
    child.collect().unwrap();
    child.apply().unwrap();
    child.remove().unwrap();
    assert!(!linked.join("child.txt").exists());

    assert_eq!(listed(&worktree.collect().unwrap()), ["M b.txt", "A child.txt"]);
    worktree.apply().unwrap();
    worktree.remove().unwrap();
    assert_eq!(fs_err::read_to_string(linked.join("child.txt")).unwrap(), "by the child\n");
    assert_eq!(user.seen()[0], "");
    assert_eq!(user.known_worktrees(), 1);
}

#[test]
fn a_repository_without_files_whose_worktrees_have_them() {
    let user = User::new();
    let bare = user.scratch.path("bare.git");
    user.repo.git(&["clone", "--quiet", "--bare", ".", bare.as_str()]);
    git_in(&bare, &["worktree", "add", "--quiet", "../of-bare", "main"]);
    let of_bare = user.scratch.path("of-bare");
    fs_err::write(of_bare.join("b.txt"), "carried\n").unwrap();
    let repository = user.worktrees.usable(&of_bare).unwrap();
    let mut worktree =
        user.worktrees.create(&repository, TaskId::new(), "x", Carry::Everything).unwrap();
    fs_err::write(worktree.root().join("b.txt"), "carried\nand changed\n").unwrap();
    assert_eq!(listed(&worktree.collect().unwrap()), ["M b.txt"]);
    worktree.apply().unwrap();
    assert_eq!(fs_err::read_to_string(of_bare.join("b.txt")).unwrap(), "carried\nand changed\n");
    worktree.remove().unwrap();
}

#[test]
fn what_will_be_different_is_told() {
    let user = User::new();
    let other = Repo::init(user.scratch.path("other"));
    other.write("x", "x").commit("x");
    user.repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "module",
    ]);
    user.repo.write(".gitattributes", "*.bin filter=lfs\n").write("big.bin", "pointer\n");
    user.repo
        .write("Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\ny = { path = \"../y\" }\n");
    user.repo.commit("more");
    user.repo.git(&["config", "filter.lfs.clean", "false"]);
    user.scratch.write(".cargo/config.toml", "");
    let mut worktree = user.worktree(Carry::Everything);
    let findings: Vec<&str> = worktree.findings().iter().map(|it| it.message.as_str()).collect();
    let config = user.scratch.path(".cargo/config.toml");
    assert_eq!(
        findings,
        [
            "1 files go through the filter `lfs`, which does not run for worktrees: there they are as git stores them",
            "the 1 submodules of the repository are empty in worktrees",
            &format!("`{config}` is above the repository, so it does not apply to worktrees"),
            "`Cargo.toml` depends on `../y`, which is outside of the repository: cargo does not find it from a worktree",
        ]
    );
    // A submodule is no change, neither empty in the worktree nor with files in the user's tree.
    assert!(worktree.collect().unwrap().is_empty());
    worktree.remove().unwrap();
}

#[test]
fn files_that_a_sparse_checkout_leaves_out_are_not_removed() {
    let user = User::new();
    user.repo.git(&["sparse-checkout", "set", "sub"]);
    assert!(user.repo.dir().join("a.txt").exists());
    user.repo.git(&["sparse-checkout", "set", "--no-cone", "/sub/"]);
    assert!(!user.repo.dir().join("a.txt").exists());
    user.repo.write("sub/c.txt", "carried\n");
    let mut worktree = user.worktree(Carry::Everything);
    fs_err::write(worktree.root().join("sub/new.txt"), "new\n").unwrap();
    fs_err::write(worktree.root().join("b.txt"), "outside of what is checked out\n").unwrap();
    let changes = worktree.collect().unwrap();
    assert_eq!(listed(&changes), ["M b.txt", "A sub/new.txt"]);
    worktree.remove().unwrap();
    assert!(
        git_may_fail(user.repo.dir(), &["cat-file", "-e", &format!("{}:a.txt", changes.head)])
            .is_ok()
    );
}
