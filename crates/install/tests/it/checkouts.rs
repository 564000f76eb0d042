//! Trees for others to read.

use agents_install::{
    AcquireError, Update,
    git::{Checkouts, GitAddress, TreeStanding},
};
use agents_system::progress::Progress;
use agents_workspace::Network;
use camino::Utf8Path;

use crate::world::World;

fn with<T>(world: &World, use_it: impl FnOnce(&Checkouts<'_>) -> T) -> T {
    let progress = Progress::silent();
    use_it(&Checkouts::new(&world.cache(), Network::Allowed, &progress))
}

fn address(url: &str, tree: Option<&str>) -> GitAddress {
    let address = GitAddress::parse(url).unwrap();
    tree.map_or(address.clone(), |tree| address.at(tree).unwrap())
}

fn read(dir: &Utf8Path, file: &str) -> String {
    fs_err::read_to_string(dir.join(file)).unwrap()
}

#[test]
fn branches_with_slashes_tags_commits_and_directories() {
    let world = World::new();
    let repo = world.repo("r", &[("d/f", "main")]);
    repo.branch("feature");
    let feature = repo.write("d/f", "feature").commit("2");
    repo.tag("v1").switch("main").branch("topic/deep/one");
    repo.write("d/f", "topic").write("f", "top").commit("3");
    repo.switch("main");
    let check = |tree: Option<&str>, file: &str, text: &str| {
        let address = address(&repo.url(), tree);
        let checkout = with(&world, |it| it.checkout(&address, Update::None)).unwrap();
        assert_eq!(read(&checkout.dir, file), text, "{tree:?}");
        assert_eq!(with(&world, |it| it.current(&address)).unwrap(), checkout);
    };
    check(None, "d/f", "main");
    check(Some("main/d"), "f", "main");
    check(Some("feature"), "d/f", "feature");
    check(Some("v1/d"), "f", "feature");
    check(Some("topic/deep/one"), "f", "top");
    check(Some("topic/deep/one/d"), "f", "topic");
    check(Some(&feature), "d/f", "feature");
    check(Some(&format!("{feature}/d")), "f", "feature");
    let fails = |tree: &str| {
        with(&world, |it| it.checkout(&address(&repo.url(), Some(tree)), Update::None)).unwrap_err()
    };
    assert!(matches!(fails("nothing/d"), AcquireError::NoSuchReference { .. }));
    assert!(matches!(fails("main/nothing"), AcquireError::NoSuchDirectory { .. }));
    assert!(matches!(fails("main/d/f"), AcquireError::NoSuchDirectory { .. }));
}

#[test]
fn the_same_commit_is_nothing_to_do_and_a_new_one_is_a_new_directory() {
    let world = World::new();
    let repo = world.repo("r", &[("f", "1")]);
    let at = address(&repo.url(), None);
    assert_eq!(with(&world, |it| it.current(&at)), None);
    assert_eq!(with(&world, |it| it.last_checked(&at)), None);
    let first = with(&world, |it| it.checkout(&at, Update::None)).unwrap();
    assert_eq!(with(&world, |it| it.last_checked(&at)), Some(first.fetched));
    assert_eq!(with(&world, |it| it.checkout(&at, Update::Check)).unwrap(), first);
    repo.write("f", "2").commit("2");
    assert_eq!(with(&world, |it| it.checkout(&at, Update::None)).unwrap(), first);
    let second = with(&world, |it| it.checkout(&at, Update::Check)).unwrap();
    assert_eq!((read(&first.dir, "f"), read(&second.dir, "f")), ("1".into(), "2".into()));
    assert_eq!(with(&world, |it| it.current(&at)).unwrap(), second);

    fs_err::rename(repo.dir(), world.path("moved")).unwrap();
    let kept = with(&world, |it| it.checkout(&at, Update::Check)).unwrap();
    assert_eq!((&kept.dir, kept.findings.len()), (&second.dir, 1));
    assert!(with(&world, |it| it.checkout(&at, Update::Fetch)).is_err());
}

#[test]
fn a_link_out_of_the_repository_is_not_a_directory_of_it() {
    let world = World::new();
    let repo = world.repo("r", &[("f", "1")]);
    std::os::unix::fs::symlink("/etc", repo.dir().join("etc")).unwrap();
    repo.commit("link");
    let at = address(&repo.url(), Some("main/etc"));
    let error = with(&world, |it| it.checkout(&at, Update::None)).unwrap_err();
    assert!(matches!(error, AcquireError::NoSuchDirectory { .. }), "{error}");
}

#[test]
fn whatever_is_changed_in_a_tree_shows() {
    let world = World::new();
    let repo = world.repo("r", &[("d/f", "main"), ("other", "x")]);
    for tree in [None, Some("main/d")] {
        with(&world, |checkouts| {
            let got = checkouts.checkout(&address(&repo.url(), tree), Update::None).unwrap();
            let dir = checkouts.trees().around(&got.dir).unwrap();
            let before = checkouts.look(&dir).unwrap();
            assert_eq!(before.standing, TreeStanding::AsFetched, "{tree:?}");
            fs_err::write(got.dir.join("planted"), "y").unwrap();
            let after = checkouts.look(&dir).unwrap();
            assert_eq!(after.standing, TreeStanding::Changed, "{tree:?}");
            assert_ne!(after.digest, before.digest, "{tree:?}");
            assert_eq!(checkouts.trees().around(&world.cache()), None);
        });
    }
}
