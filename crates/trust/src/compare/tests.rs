use super::*;
use crate::lock::{CrateFrom, Hash, RegistryFrom};

fn entry(name: &str, version: &str, content: &str) -> Entry {
    Entry {
        kind: Kind::Skill,
        name: name.to_owned(),
        source: Source::Crate {
            name: "sql".to_owned(),
            version: version.to_owned(),
            from: CrateFrom::CratesIo,
        },
        hash: Some(Hash::new(&agents_system::cache::digest(content.as_bytes()))),
    }
}

fn local(content: &str) -> Entry {
    let from = RegistryFrom::Path(None);
    let source = Source::Registry { name: "mine".to_owned(), from, path: ".".into() };
    Entry { source, ..entry("x", "", content) }
}

fn embedded(entry: Entry) -> Item {
    Item { entry, trust: Trust::Embedded }
}

fn run(items: Vec<Item>, lock: &Lock) -> Comparison {
    compare(items, lock, |_| false, |_| false)
}

#[test]
fn the_table_of_verdicts() {
    let lock = Lock::new([entry("x", "1.0.0", "a")]);
    let cases = [
        ("same", entry("x", "1.0.0", "a"), Verdict::Take, Verdict::Take),
        ("moved", entry("x", "1.1.0", "a"), Verdict::Take, Verdict::Take),
        ("changed", entry("x", "1.1.0", "b"), Verdict::Take, Verdict::Hold),
        ("altered", entry("x", "1.0.0", "b"), Verdict::Refuse, Verdict::Refuse),
        ("added", entry("y", "1.1.0", "b"), Verdict::Take, Verdict::Hold),
        ("same version, another gate", entry("y", "1.0.0", "b"), Verdict::Take, Verdict::Take),
    ];
    for (what, entry, vouched, by_itself) in cases {
        for (trust, expected) in [(Trust::Vouched, vouched), (Trust::Embedded, by_itself)] {
            let found = run(vec![Item { entry: entry.clone(), trust }], &lock);
            assert_eq!(found.items[0].verdict, expected, "{what} {trust:?}");
        }
    }
}

#[test]
fn what_somebody_has_just_looked_at_is_taken_also_under_the_same_version() {
    let lock = Lock::new([entry("x", "1.0.0", "a")]);
    for trust in [Trust::Vouched, Trust::Embedded] {
        let items = vec![Item { entry: entry("x", "1.0.0", "b"), trust }];
        let found = compare(items, &lock, |_| false, |item| item.entry == entry("x", "1.0.0", "b"));
        assert_eq!(found.agreed(&[]), Lock::new([entry("x", "1.0.0", "b")]), "{trust:?}");
    }
}

#[test]
fn a_directory_may_change_under_those_who_are_trusted_and_waits_otherwise() {
    let lock = Lock::new([local("a")]);
    let vouched = run(vec![Item { entry: local("b"), trust: Trust::Vouched }], &lock);
    assert_eq!(vouched.items[0].verdict, Verdict::Take);
    assert_eq!(vouched.agreed(&[]), Lock::new([local("b")]));
    let waiting = run(vec![embedded(local("b"))], &lock);
    assert_eq!(waiting.items[0].verdict, Verdict::Hold);
    assert_eq!(waiting.agreed(&[]), lock);
}

#[test]
fn what_is_refused_stays_as_it_was_agreed_to_and_waits_for_nobody() {
    let lock = Lock::new([entry("x", "1.0.0", "a")]);
    let mut found = run(vec![embedded(entry("x", "1.1.0", "b"))], &lock);
    assert_eq!(found.pending().count(), 1);
    found.items[0].refuse();
    assert_eq!(found.items[0].verdict, Verdict::Refuse);
    assert_eq!((found.pending().count(), found.agreed(&[])), (0, lock));
}

#[test]
fn what_only_moved_with_something_that_waits_is_not_worth_a_word() {
    let lock = Lock::new([entry("x", "1.0.0", "a"), entry("y", "1.0.0", "b")]);
    let items = vec![embedded(entry("x", "1.1.0", "other")), embedded(entry("y", "1.1.0", "b"))];
    let found = run(items, &lock);
    assert_eq!(found.items[1].verdict, Verdict::Hold, "it stays with the rest of its crate");
    let pending: Vec<&str> = found.pending().map(|it| it.item.entry.name.as_str()).collect();
    assert_eq!(pending, ["x"]);
}

#[test]
fn only_new_content_that_nobody_vouches_for_is_looked_at() {
    let lock = Lock::new([entry("x", "1.0.0", "a")]);
    let mut asked = Vec::new();
    let mut other = entry("n", "2.0.0", "n");
    other.source = Source::Workspace { path: "n".into() };
    let items = vec![
        embedded(entry("x", "1.0.0", "a")),
        Item { entry: local("b"), trust: Trust::Vouched },
        embedded(other),
    ];
    let found = compare(
        items,
        &lock,
        |item| {
            asked.push(item.entry.name.clone());
            true
        },
        |_| false,
    );
    assert_eq!(asked, ["n"]);
    assert_eq!(found.items[2].verdict, Verdict::Hold);
    assert_eq!(found.agreed(&[]).entries().len(), 2);
}

#[test]
fn what_a_new_version_adds_waits_until_it_is_accepted_however_often_it_is_looked_at() {
    let mut lock = Lock::new([entry("x", "1.0.0", "a")]);
    let items = || vec![embedded(entry("x", "1.1.0", "a")), embedded(entry("y", "1.1.0", "b"))];
    for _ in 0..3 {
        let found = run(items(), &lock);
        assert_eq!(found.pending().count(), 1);
        lock = found.agreed(&[]);
        assert_eq!(lock, Lock::new([entry("x", "1.0.0", "a")]));
    }
    let accepted = compare(items(), &lock, |_| true, |_| true);
    assert_eq!(accepted.pending().count(), 0);
    let now = accepted.agreed(&[]);
    assert_eq!(now, Lock::new([entry("x", "1.1.0", "a"), entry("y", "1.1.0", "b")]));
}

#[test]
fn two_versions_of_one_crate_keep_their_own_entries() {
    let lock = Lock::new([entry("x", "1.0.0", "a"), entry("x", "2.0.0", "b")]);
    let found =
        run(vec![embedded(entry("x", "2.0.0", "b")), embedded(entry("x", "1.1.0", "a"))], &lock);
    assert_eq!(found.items[0].status, Status::Same);
    assert_eq!(found.items[1].status, Status::Moved { before: entry("x", "1.0.0", "a") });
    assert_eq!(found.gone, []);
}

#[test]
fn what_is_gone_is_forgotten_unless_it_may_only_be_out_of_sight() {
    let lock = Lock::new([entry("x", "1.0.0", "a")]);
    let found = run(Vec::new(), &lock);
    assert_eq!(found.gone.len(), 1);
    assert_eq!(found.agreed(&[]), Lock::default());
    assert_eq!(found.agreed(&found.gone), lock);
}

#[test]
fn differences_are_said_one_by_one() {
    let before = Lock::new([entry("x", "1.0.0", "a"), entry("old", "1.0.0", "a"), local("a")]);
    let after = Lock::new([entry("x", "1.1.0", "b"), entry("y", "1.1.0", "c"), local("b")]);
    assert_eq!(
        differences(&before, &after),
        [
            "skill `x`: sql 1.0.0 -> sql 1.1.0, its content changed",
            "skill `x`: registry `mine`, its content changed",
            "skill `y` from sql 1.1.0 is new",
            "skill `old` from sql 1.0.0 is gone",
        ]
    );
    assert_eq!(differences(&before, &before), [""; 0]);
}
