use agents_system::process::Call;
use agents_testkit::scratch::Scratch;
use proptest::prelude::*;

use super::*;

fn hash(of: &str) -> Hash {
    Hash::new(&agents_system::cache::digest(of.as_bytes()))
}

fn krate(name: &str, version: &str, from: CrateFrom) -> Source {
    Source::Crate { name: name.to_owned(), version: version.to_owned(), from }
}

fn skill(name: &str, source: Source) -> Entry {
    let hash = Some(hash(name));
    Entry { kind: Kind::Skill, name: name.to_owned(), source, hash }
}

fn sources() -> Vec<Source> {
    let commit = "0123456789abcdef".to_owned();
    let url = "https://example.com/r".to_owned();
    let git = || RegistryFrom::Git { url: url.clone(), commit: commit.clone() };
    let registry = |from| Source::Registry { name: "team".to_owned(), from, path: "a/b".into() };
    vec![
        Source::Workspace { path: ".".into() },
        krate("a", "1.0.0", CrateFrom::CratesIo),
        krate("a", "1.0.0", CrateFrom::Index("sparse+https://example.com/i/".to_owned())),
        krate("a", "1.0.0", CrateFrom::Git { url: url.clone(), commit: commit.clone() }),
        krate("a", "1.0.0", CrateFrom::Path(Some("tools/a".into()))),
        krate("a", "1.0.0", CrateFrom::Path(None)),
        registry(git()),
        registry(RegistryFrom::Path(None)),
        registry(RegistryFrom::Path(Some("plugins".into()))),
        Source::Git { url: url.clone(), commit: commit.clone(), path: "skills/x".into() },
    ]
}

fn parse(text: &str) -> Result<Lock, LockFileError> {
    Lock::parse("agents.lock".into(), text)
}

#[test]
fn the_file_as_it_looks() {
    let lock = Lock::new([
        skill("usage", krate("tiny-sql", "0.3.1", CrateFrom::CratesIo)),
        Entry { hash: None, ..skill("house", Source::Workspace { path: "skills/house".into() }) },
        Entry { kind: Kind::Plugin, ..skill("lints", sources()[6].clone()) },
    ]);
    let text = lock.render();
    let (header, rest) = text.split_once("version").unwrap();
    assert!(header.lines().all(|line| line.starts_with('#')), "{header}");
    let expected = " = 1

[[plugin]]
name = \"lints\"
registry = \"team\"
from = \"git https://example.com/r\"
commit = \"0123456789abcdef\"
path = \"a/b\"
hash = \"blake3-128:e4cfb4a0e57e4e5eeac6bd4d64d22ce8\"

[[skill]]
name = \"house\"
path = \"skills/house\"

[[skill]]
name = \"usage\"
crate = \"tiny-sql\"
version = \"0.3.1\"
from = \"crates.io\"
hash = \"blake3-128:9e8f5ab1a6fa1b1c8ecfa5e1b5e8e4a9\"
";
    let without_hashes = |text: &str| -> String {
        text.lines().filter(|line| !line.starts_with("hash")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_hashes(rest), without_hashes(expected));
    assert_eq!(rest.matches("hash = \"blake3-128:").count(), 2);
}

#[test]
fn what_is_rendered_is_read_back_and_the_order_of_making_does_not_matter() {
    let entries: Vec<Entry> = sources().into_iter().map(|source| skill("x", source)).collect();
    let lock = Lock::new(entries.clone());
    assert_eq!(lock.entries().len(), entries.len());
    assert_eq!(parse(&lock.render()).unwrap(), lock);
    let backwards = Lock::new(entries.into_iter().rev());
    assert_eq!(backwards.render(), lock.render());
}

proptest! {
    #[test]
    fn any_name_survives(name in "\\PC{0,20}|[\\x00-\\x7f]{0,20}", at in 0_usize..10) {
        let lock = Lock::new([skill(&name, sources().swap_remove(at))]);
        prop_assert_eq!(parse(&lock.render()).unwrap(), lock);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }
}

#[test]
fn what_cannot_be_believed_is_an_error_and_never_empty() {
    let good = Lock::new([skill("x", sources().swap_remove(1))]).render();
    let local =
        Source::Registry { name: "r".to_owned(), from: RegistryFrom::Path(None), path: "x".into() };
    let registry = Lock::new([skill("x", local)]).render();
    let twice = format!("{good}{}", good.split_once("version = 1\n").unwrap().1);
    assert_eq!(parse(&twice).unwrap().entries().len(), 1, "the same entry from two branches");
    let (other, contradiction) = (hash("other").to_string(), hash("x").to_string());
    let contradicting = format!("{good}{}", twice[good.len()..].replace(&contradiction, &other));
    for (what, text) in [
        ("two hashes", contradicting),
        ("nothing", String::new()),
        ("no version", good.replace("version = 1\n", "")),
        ("an unknown key", good.replace("name = \"x\"", "name = \"x\"\nmood = \"good\"")),
        ("an unknown table", format!("{good}\n[[hat]]\nname = \"x\"\n")),
        ("a short hash", good.replace("blake3-128:", "blake3-128:0")),
        ("an unknown place", good.replace("crates.io", "the moon")),
        ("an unknown place of one word", good.replace("crates.io", "moon")),
        ("an unknown place of a registry", registry.replace("\"path\"", "\"moon\"")),
        ("not TOML", "version = 1\n[[skill".to_owned()),
    ] {
        let error = parse(&text).expect_err(what);
        assert!(matches!(error, LockFileError::Invalid { .. }), "{what}: {error:?}");
        assert!(!error.findings().is_empty(), "{what}");
    }
}

/// Each source, and the same place in another version or commit.
fn later(source: &Source) -> Source {
    let mut source = source.clone();
    let later = || "fedcba9876543210".to_owned();
    match &mut source {
        Source::Workspace { .. } => {}
        Source::Crate { version, .. } => *version = "2.0.0".to_owned(),
        Source::Registry { from: RegistryFrom::Git { commit, .. }, .. }
        | Source::Git { commit, .. } => *commit = later(),
        Source::Registry { from, .. } => *from = RegistryFrom::Path(Some("moved".into())),
    }
    source
}

#[test]
fn a_place_is_the_same_in_every_version_and_no_other_place_is() {
    let (other, elsewhere) = ("other".to_owned(), Utf8PathBuf::from("elsewhere"));
    for source in sources() {
        assert!(source.is_same_place(&later(&source)), "{source}");
        let others = match later(&source) {
            Source::Workspace { .. } => vec![Source::Workspace { path: elsewhere.clone() }],
            Source::Crate { version, from, .. } => {
                vec![Source::Crate { name: other.clone(), version, from }]
            }
            Source::Registry { name, from, path } => vec![
                Source::Registry { name: other.clone(), from: from.clone(), path },
                Source::Registry { name, from, path: elsewhere.clone() },
            ],
            Source::Git { url, commit, path } => vec![
                Source::Git { url: other.clone(), commit: commit.clone(), path },
                Source::Git { url, commit, path: elsewhere.clone() },
            ],
        };
        for other in others {
            assert!(!source.is_same_place(&other) && !other.is_same_place(&source), "{other}");
        }
    }
    let all = sources();
    assert!(!all[0].is_same_place(&all[1]) && !all[6].is_same_place(&all[9]));
}

#[test]
fn a_version_is_short_enough_to_be_read() {
    let versions: Vec<_> = sources().iter().map(Source::version).collect();
    let (version, commit) = (Some("1.0.0".to_owned()), Some("0123456789ab".to_owned()));
    let crates = vec![version; 5];
    let others = [commit.clone(), None, None, commit];
    assert_eq!(versions, [vec![None], crates, others.to_vec()].concat());
}

#[test]
fn a_later_layout_and_a_conflict_say_what_to_do() {
    let newer = parse("version = 2\n[[hat]]\n").unwrap_err();
    assert!(matches!(newer, LockFileError::Newer { found: 2, .. }), "{newer:?}");
    let text = "version = 1\n<<<<<<< HEAD\n[[skill]]\n=======\n>>>>>>> other\n";
    let conflict = parse(text).unwrap_err();
    assert!(matches!(conflict, LockFileError::Conflict { line: 2, .. }), "{conflict:?}");
    assert!(conflict.hint().unwrap().contains("cargo agents sync"));
}

#[test]
fn two_branches_that_add_an_entry_each_are_merged_by_git() {
    let scratch = Scratch::new();
    let repo = agents_testkit::repo::Repo::init(scratch.path("repo"));
    let lock = |names: &[&str]| {
        let at = |name: &&str| skill(name, krate(name, "1.0.0", CrateFrom::CratesIo));
        Lock::new(names.iter().map(at))
    };
    let commit = |names: &[&str]| {
        repo.write(LOCK_FILE, lock(names).render());
        repo.commit("lock");
    };
    let read = || fs_err::read_to_string(repo.dir().join(LOCK_FILE)).unwrap();
    commit(&["clap", "serde", "tokio"]);
    repo.branch("left");
    commit(&["anyhow", "clap", "serde", "tokio"]);
    repo.switch("main").branch("right");
    commit(&["clap", "serde", "tokio", "toml"]);
    repo.git(&["merge", "--quiet", "--no-edit", "left"]);
    let merged = parse(&read()).unwrap();
    assert_eq!(merged, lock(&["anyhow", "clap", "serde", "tokio", "toml"]));
    assert_eq!(read(), merged.render(), "and byte for byte what we would have written");
    // In one place.
    repo.switch("main").branch("one");
    commit(&["clap", "rand", "serde", "tokio"]);
    repo.switch("main").branch("two");
    commit(&["clap", "regex", "serde", "tokio"]);
    // Whoever runs this need not have told git who they are.
    let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let merge = Call::new("git").args(who).args(["merge", "--quiet", "one"]);
    assert!(!merge.cwd(repo.dir()).status().unwrap().success());
    assert!(read().contains("<<<<<<<"), "{}", read());
    // Git does not know that the two can stand beside each other; we do.
    assert_eq!(parse(&read()).unwrap(), lock(&["clap", "rand", "regex", "serde", "tokio"]));
}

#[test]
fn what_either_side_of_a_conflict_agreed_to_was_agreed_to_unless_they_contradict() {
    let at = |name: &str, version: &str| skill(name, krate(name, version, CrateFrom::CratesIo));
    let (old, new) = (at("sql", "1.0.0"), at("sql", "1.1.0"));
    let body = |entry: &Entry| {
        Lock::new([entry.clone()]).render().split_once("\n\n").unwrap().1.to_owned()
    };
    let base = "version = 1\n\n";
    let text = |ours: &str, theirs: &str, style: &str| {
        format!("{base}<<<<<<< HEAD\n{ours}{style}=======\n{theirs}>>>>>>> other\n")
    };
    for style in ["", "||||||| 123\n[[skill]]\n"] {
        let both = parse(&text(&body(&old), &body(&new), style)).unwrap();
        assert_eq!(both, Lock::new([old.clone(), new.clone()]), "{style}");
    }
    let other = Entry { hash: Some(Hash::parse(&"0".repeat(32)).unwrap()), ..old.clone() };
    for (ours, theirs) in [(body(&old), body(&other)), (body(&old), "[[skill]]\n".to_owned())] {
        let said = parse(&text(&ours, &theirs, "")).unwrap_err();
        assert!(matches!(said, LockFileError::Conflict { line: 3, .. }), "{said:?}");
    }
    for broken in ["<<<<<<< a\n<<<<<<< b\n", "=======\n", "<<<<<<< a\n=======\n"] {
        let said = parse(&format!("{base}{broken}")).unwrap_err();
        assert!(matches!(said, LockFileError::Conflict { .. }), "{said:?}");
    }
}
