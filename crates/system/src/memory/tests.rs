use std::{cell::Cell, fs::File, os::unix::fs::PermissionsExt as _, thread::sleep, time::Duration};

use super::*;

/// A directory with a directory, files and a memory of its own.
struct Ground(tempfile::TempDir);

/// What is in a directory: the answer that is remembered here.
type Listing = Vec<(String, Option<Vec<u8>>)>;

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        for name in ["a", "b", "c"] {
            ground.put(&format!("dir/{name}"), "content");
        }
        ground.put("dir/below/d", "content");
        ground.put("beside", "content");
        ground
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.0.path().canonicalize().unwrap().join(name)).unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        fs_err::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs_err::write(self.path(name), text).unwrap();
    }

    fn file(&self) -> CacheFile {
        CacheFile::new(self.path("cache"), "test 1")
    }

    /// What is in the directory, and whether it was read.
    fn ask(&self) -> (Listing, bool) {
        let mut memory = Memory::load(self.file());
        let read = Cell::new(false);
        let answer = memory.ask("what", &self.path("dir"), |watch| {
            read.set(true);
            list(&self.path("dir"), watch)
        });
        memory.save();
        (answer, read.get())
    }
}

fn list(dir: &Utf8Path, watch: &mut Watch) -> Listing {
    watch.look(dir);
    let mut all = Listing::new();
    for entry in dir.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        watch.look(&path);
        if path.is_dir() {
            all.push((path.to_string(), None));
            all.extend(list(&path, watch));
        } else {
            all.push((path.to_string(), Some(fs_err::read(&path).unwrap())));
        }
    }
    all.sort();
    all
}

type Change<'c> = &'c dyn Fn(&Ground);

/// Long enough that nothing is young any more.
fn rest() {
    sleep(Duration::from_millis(2_100));
}

#[test]
fn what_has_just_changed_is_never_remembered() {
    let ground = Ground::new();
    assert!(ground.ask().1);
    // In the same tick of any clock, with the same size.
    fs_err::write(ground.path("dir/a"), "CONTENT").unwrap();
    let (now, read) = ground.ask();
    assert!(read && now[0].1.as_deref() == Some(b"CONTENT"));
    assert!(!ground.path("cache").exists());
}

#[test]
fn what_is_at_rest_is_read_once_and_every_change_is_noticed() {
    let same_time_and_size = |path: Utf8PathBuf| {
        let before = path.metadata().unwrap().modified().unwrap();
        fs_err::write(&path, "CONTENT").unwrap();
        File::options().write(true).open(path).unwrap().set_modified(before).unwrap();
    };
    let behind_a_link = |ground: &Ground, name: &str| {
        fs_err::rename(ground.path(name), ground.path("moved")).unwrap();
        fs_err::os::unix::fs::symlink(ground.path("moved"), ground.path(name)).unwrap();
    };
    let changes: [(&str, Change<'_>); 10] = [
        ("same time and size", &|it| same_time_and_size(it.path("dir/a"))),
        ("same time and size, deeper", &|it| same_time_and_size(it.path("dir/below/d"))),
        ("mode", &|it| {
            let mode = std::fs::Permissions::from_mode(0o755);
            fs_err::set_permissions(it.path("dir/b"), mode).unwrap();
        }),
        ("new file", &|it| it.put("dir/new", "")),
        ("new file, deeper", &|it| it.put("dir/below/new", "")),
        ("file gone", &|it| fs_err::remove_file(it.path("dir/c")).unwrap()),
        ("two files exchanged", &|it| {
            fs_err::rename(it.path("dir/a"), it.path("moved")).unwrap();
            fs_err::rename(it.path("dir/b"), it.path("dir/a")).unwrap();
            fs_err::rename(it.path("moved"), it.path("dir/b")).unwrap();
        }),
        ("file behind a link", &|it| behind_a_link(it, "dir/b")),
        ("directory behind a link", &|it| behind_a_link(it, "dir/below")),
        ("all of it replaced", &|it| {
            fs_err::rename(it.path("dir"), it.path("old")).unwrap();
            it.put("dir/a", "content");
        }),
    ];
    let grounds = changes.map(|change| (Ground::new(), change));
    rest();
    for (ground, (what, change)) in grounds {
        assert!(ground.ask().1, "{what}");
        assert!(!ground.ask().1, "{what}: nothing has changed yet");
        change(&ground);
        let (answer, read) = ground.ask();
        assert!(read, "{what}");
        assert_eq!(answer, list(&ground.path("dir"), &mut Watch::new()), "{what}");
    }
}

#[test]
fn what_is_not_asked_for_any_more_is_forgotten_and_damage_only_costs_time() {
    let ground = Ground::new();
    rest();
    ground.ask();
    let stored = fs_err::read(ground.path("cache")).unwrap();
    Memory::<Listing>::load(ground.file()).save();
    assert!(fs_err::read(ground.path("cache")).unwrap().len() < stored.len());
    let (answer, read) = ground.ask();
    assert!(read);
    fs_err::write(ground.path("cache"), &stored[..stored.len() - 1]).unwrap();
    assert_eq!(ground.ask(), (answer.clone(), true));
    assert_eq!(ground.ask(), (answer, false));
}

#[test]
fn links_and_what_lies_elsewhere_are_not_remembered() {
    let ground = Ground::new();
    let dir = ground.path("dir");
    fs_err::os::unix::fs::symlink("../beside", dir.join("link")).unwrap();
    rest();
    for elsewhere in [dir.join("link"), ground.path("beside"), dir.join("a/is/a/file")] {
        let mut memory = Memory::load(ground.file());
        memory.ask("what", &dir, |watch| watch.look(&elsewhere));
        memory.save();
        let known = Memory::<()>::load(ground.file()).known;
        assert!(known.is_empty(), "{elsewhere}: {known:?}");
    }
}
