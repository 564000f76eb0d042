//! A workspace on another machine and back, with nothing in common but a file or a remote.

use agents_task::{
    TaskId,
    isolate::{Carry, IsolateError, Parcel, Source},
    workplace::{Delivery, Settle, Workplace},
};
use camino::Utf8PathBuf;

use super::{User, git_in, worktrees};

/// Packs, unpacks elsewhere, and tells where.
fn there(user: &User, parcel: &Parcel) -> Utf8PathBuf {
    let file = user.scratch.path("parcel");
    user.worktrees.pack(&user.repository(), parcel, &file).unwrap();
    user.worktrees
        .unpack(&user.scratch.path("elsewhere"), &parcel.commit, &Source::File(file))
        .unwrap()
        .tree
}

/// What a worker does: a worktree of what was unpacked, and its patch.
fn patch(user: &User, tree: &camino::Utf8Path, work: impl FnOnce(&camino::Utf8Path)) -> Vec<u8> {
    let own = worktrees(&user.scratch.path("worker"), 1);
    let repository = own.usable(tree).unwrap();
    let mut worktree = own.create(&repository, TaskId::new(), "there", Carry::Committed).unwrap();
    work(&worktree.root());
    fs_err::read(worktree.collect().unwrap().patch).unwrap()
}

#[test]
fn everything_arrives_and_what_was_done_comes_back() {
    let user = User::new();
    user.repo.write("a.txt", "changed\n").write("new.txt", "new\n").write("x.ignored", "mine\n");
    let before = user.seen();
    let parcel = user.worktrees.wrap(&user.repository(), Carry::Everything).unwrap();
    let tree = there(&user, &parcel);
    let read = |path: &str| fs_err::read_to_string(tree.join(path)).unwrap();
    assert_eq!((read("a.txt").as_str(), read("new.txt").as_str()), ("changed\n", "new\n"));
    assert!(!tree.join("x.ignored").exists());
    assert_eq!(git_in(&tree, &["log", "--format=%s"]), "A workspace for a worker");
    assert_eq!(user.seen(), before, "packing changes nothing");

    let patch = patch(&user, &tree, |root| {
        fs_err::write(root.join("new.txt"), "newer\n").unwrap();
        fs_err::write(root.join("made.bin"), [0, 159, 146, 150]).unwrap();
        fs_err::remove_file(root.join("b.txt")).unwrap();
    });
    // Meanwhile the user goes on.
    user.repo.write("sub/c.txt", "the user's\n");
    let named = (TaskId::new(), "there");
    let worktree =
        user.worktrees.take_back(&user.repository(), named, &parcel.base, &patch).unwrap();
    let settled = Workplace { worktree, settle: Settle::Apply }.close(true);
    assert_eq!(settled.state, Delivery::Applied, "{settled:?}");
    assert_eq!(user.read("new.txt"), "newer\n");
    assert_eq!(user.read("sub/c.txt"), "the user's\n");
    assert_eq!(fs_err::read(user.repo.dir().join("made.bin")).unwrap(), [0, 159, 146, 150]);
    assert!(!user.repo.dir().join("b.txt").exists());
    assert_eq!((user.branches().as_str(), user.known_worktrees()), ("", 0));

    // A driver that died before it wrote that down does it again, and nothing changes.
    let named = (TaskId::new(), "there");
    let worktree =
        user.worktrees.take_back(&user.repository(), named, &parcel.base, &patch).unwrap();
    let settled = Workplace { worktree, settle: Settle::Apply }.close(true);
    assert_eq!(settled.state, Delivery::None, "{settled:?}");
    assert_eq!(user.read("new.txt"), "newer\n");
}

/// Git makes the directory of a worktree before it writes into it that it is one.
#[test]
fn a_worktree_that_another_process_is_just_making_stays() {
    let user = User::new();
    let parcel = |text: &str| {
        user.repo.write("a.txt", text);
        user.worktrees.wrap(&user.repository(), Carry::Everything).unwrap()
    };
    there(&user, &parcel("one\n"));
    let half = user.scratch.path("elsewhere/store/worktrees/half");
    fs_err::create_dir(&half).unwrap();
    there(&user, &parcel("two\n"));
    assert!(half.exists());
}

#[test]
fn the_same_files_have_the_same_name_whoever_packs_them() {
    let (one, other) = (User::new(), User::at("elsewhere"));
    other.repo.write("d.txt", "d\n").commit("more history");
    other.repo.git(&["rm", "-q", "d.txt"]);
    other.repo.commit("and back");
    let name =
        |user: &User| user.worktrees.wrap(&user.repository(), Carry::Committed).unwrap().commit;
    assert_eq!(name(&one), name(&other));
    one.repo.write("a.txt", "changed\n");
    assert_eq!(name(&one), name(&other), "only what is committed counts");
    let all = one.worktrees.wrap(&one.repository(), Carry::Everything).unwrap();
    assert_ne!(all.commit, name(&other));
}

#[test]
fn a_remote_does_as_well_as_a_file() {
    let user = User::new();
    let remote = user.scratch.path("remote.git");
    user.repo.git(&["init", "--quiet", "--bare", remote.as_str()]);
    user.repo.write("new.txt", "new\n");
    let parcel = user.worktrees.wrap(&user.repository(), Carry::Everything).unwrap();
    let reference = user.worktrees.send(&user.repository(), &parcel, remote.as_str()).unwrap();
    let source = Source::Remote { url: remote.to_string(), reference };
    let home = user.scratch.path("elsewhere");
    let tree = user.worktrees.unpack(&home, &parcel.commit, &source).unwrap().tree;
    assert_eq!(fs_err::read_to_string(tree.join("new.txt")).unwrap(), "new\n");
    // It is there now: nobody asks the remote again.
    fs_err::remove_dir_all(&remote).unwrap();
    assert_eq!(user.worktrees.unpack(&home, &parcel.commit, &source).unwrap().tree, tree);
}

#[test]
fn who_was_killed_while_unpacking_leaves_nothing_that_is_believed() {
    let user = User::new();
    let parcel = user.worktrees.wrap(&user.repository(), Carry::Committed).unwrap();
    let tree = there(&user, &parcel);
    let done = tree.with_file_name(format!("{}.done", parcel.commit));
    fs_err::remove_file(&done).unwrap();
    fs_err::write(tree.join("a.txt"), "half").unwrap();
    let tree = there(&user, &parcel);
    assert!(fs_err::read_to_string(tree.join("a.txt")).unwrap().starts_with("one\ntwo\n"));
}

#[test]
fn what_is_not_what_it_is_said_to_be_is_refused() {
    let user = User::new();
    let parcel = user.worktrees.wrap(&user.repository(), Carry::Committed).unwrap();
    let file = user.scratch.write("broken", "# v2 git bundle\n");
    let home = user.scratch.path("elsewhere");
    let unpacked = user.worktrees.unpack(&home, &parcel.commit, &Source::File(file));
    assert!(matches!(unpacked, Err(IsolateError::Git(_))), "{unpacked:?}");

    let before = user.seen();
    let named = (TaskId::new(), "there");
    let patch = b"diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n";
    let taken = user.worktrees.take_back(&user.repository(), named, &parcel.base, patch);
    assert!(matches!(taken, Err(IsolateError::Git(_))), "{taken:?}");
    assert_eq!(user.seen(), before);
    assert_eq!((user.branches().as_str(), user.known_worktrees()), ("", 0));
}

#[test]
fn checkouts_that_are_too_many_go_the_longest_unused_first_and_never_one_that_is_used() {
    let user = User::new();
    let home = user.scratch.path("elsewhere");
    let file = user.scratch.path("parcel");
    let unpack = |number: u32| {
        user.repo.write("a.txt", format!("number {number}\n"));
        let parcel = user.worktrees.wrap(&user.repository(), Carry::Everything).unwrap();
        user.worktrees.pack(&user.repository(), &parcel, &file).unwrap();
        let source = Source::File(file.clone());
        let checkout = user.worktrees.unpack(&home, &parcel.commit, &source).unwrap();
        // Files have times that are as exact as the system makes them.
        std::thread::sleep(std::time::Duration::from_millis(20));
        checkout
    };
    let used = unpack(0);
    let unused = unpack(1).tree;
    let again = unpack(2).tree;
    for number in 3..10 {
        if number == 8 {
            // Whatever is used again is not the longest unused any more.
            unpack(2);
        }
        unpack(number);
    }
    let read = |tree: &Utf8PathBuf| fs_err::read_to_string(tree.join("a.txt")).unwrap();
    assert_eq!((read(&used.tree).as_str(), read(&again).as_str()), ("number 0\n", "number 2\n"));
    assert!(!unused.exists());
    let trees = || {
        let all = fs_err::read_dir(home.join("trees")).unwrap();
        all.filter(|it| it.as_ref().unwrap().file_type().unwrap().is_dir()).count()
    };
    assert_eq!(trees(), 9, "eight, and one that is used");
    assert_eq!(git_in(&home.join("store"), &["for-each-ref"]).lines().count(), 9);
    let old = used.tree.clone();
    drop(used);
    unpack(10);
    assert!(!old.exists() && trees() == 8);
    // What is needed again comes again.
    assert_eq!(read(&unpack(1).tree), "number 1\n");
}
