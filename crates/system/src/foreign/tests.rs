use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;
use crate::explain::{ErrorKind, Explain as _};

struct Scratch(
    #[expect(dead_code, reason = "deleted when dropped")] tempfile::TempDir,
    Utf8PathBuf,
);

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap();
        Self(dir, path)
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        self.1.join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Utf8PathBuf {
        let path = self.path(name);
        fs_err::write(&path, content).unwrap();
        path
    }

    fn is_of_root(&self) -> bool {
        self.1.metadata().unwrap().uid() == 0
    }

    /// Everything in it, hidden files too.
    fn names(&self) -> Vec<String> {
        let entries = fs_err::read_dir(&self.1).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn load(path: &Utf8Path) -> ForeignFile {
    ForeignFile::load(path).unwrap()
}

fn read(path: &Utf8Path) -> String {
    fs_err::read_to_string(path).unwrap()
}

#[test]
fn a_file_is_replaced_with_its_mode_and_nothing_is_left_behind() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "old");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let file = load(&path);
    assert_eq!((file.text(), file.mode()), (Some("old"), Some(0o640)));
    assert_eq!(file.replace("new").unwrap(), Written::Replaced);
    assert_eq!(read(&path), "new");
    assert_eq!(load(&path).mode(), Some(0o640));
    assert_eq!(scratch.names(), ["s.json"]);
    assert_ne!(load(&path).digest(), file.digest());
}

#[test]
fn the_same_text_is_not_written_again() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "\u{feff}same");
    let before = path.metadata().unwrap();
    assert_eq!(load(&path).replace("same").unwrap(), Written::Unchanged);
    let after = path.metadata().unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn a_byte_order_mark_stays() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "\u{feff}old\r\n");
    let file = load(&path);
    assert!(file.has_bom());
    assert_eq!((file.text(), file.line_ending()), (Some("old\r\n"), "\r\n"));
    file.replace("new\r\n").unwrap();
    assert_eq!(read(&path), "\u{feff}new\r\n");
    load(&path).replace("\u{feff}newer").unwrap();
    assert_eq!(read(&path), "\u{feff}newer");
}

#[test]
fn a_byte_order_mark_can_be_added() {
    let scratch = Scratch::new();
    for path in [scratch.file("s.json", "old"), scratch.path("new.json")] {
        load(&path).replace("\u{feff}new").unwrap();
        assert_eq!(read(&path), "\u{feff}new");
    }
}

#[test]
fn a_file_may_be_as_large_as_the_limit_and_no_larger() {
    let scratch = Scratch::new();
    let path = scratch.path("large");
    let file = fs_err::File::create(&path).unwrap();
    let limit = 32 << 20;
    file.set_len(limit as u64).unwrap();
    assert_eq!(load(&path).text().map(str::len), Some(limit));
    file.set_len(limit as u64 + 1).unwrap();
    assert!(matches!(ForeignFile::load(&path), Err(ForeignError::TooLarge { .. })));
}

#[test]
fn a_missing_file_is_created_with_its_directory() {
    let scratch = Scratch::new();
    let path = scratch.path("a/b/s.json");
    let file = load(&path);
    assert_eq!(
        (file.text(), file.digest(), file.mode(), file.line_ending()),
        (None, None, None, "\n")
    );
    assert_eq!(file.replace("new").unwrap(), Written::Created);
    assert_eq!(read(&path), "new");
    assert!(matches!(file.replace("newer"), Err(ForeignError::Changed { .. })));
    let other = scratch.file("other", "");
    assert_eq!(load(&path).mode(), load(&other).mode());
}

#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let scratch = Scratch::new();
    fs_err::create_dir_all(scratch.path("dotfiles")).unwrap();
    let target = scratch.file("dotfiles/s.json", "old");
    let link = scratch.path("s.json");
    symlink("dotfiles/s.json", &link).unwrap();
    let second = scratch.path("second.json");
    symlink("s.json", &second).unwrap();
    let file = load(&second);
    assert_eq!((file.real_path(), file.path()), (target.as_path(), second.as_path()));
    assert_eq!(file.replace("new").unwrap(), Written::Replaced);
    assert!(link.is_symlink() && second.is_symlink() && !target.is_symlink());
    assert_eq!(read(&target), "new");
    assert_eq!(scratch.names(), ["dotfiles", "s.json", "second.json"]);
    let file = load(&link);
    fs_err::remove_file(&link).unwrap();
    symlink("nowhere", &link).unwrap();
    assert!(matches!(file.replace("x"), Err(ForeignError::Changed { .. })));
    let error = ForeignFile::load(&link).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("`{link}` is a symbolic link to `nowhere`, which does not exist")
    );
    assert_eq!(error.hint().unwrap(), "create `nowhere` or delete the link");
    symlink("dotfiles", scratch.path("linked")).unwrap();
    let missing = load(&scratch.path("linked/missing.json"));
    assert_eq!(missing.real_path(), scratch.path("dotfiles/missing.json"));
}

#[test]
fn a_file_that_somebody_else_wrote_is_kept() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "old");
    let file = load(&path);
    scratch.file("s.json", "theirs");
    let error = file.replace("ours").unwrap_err();
    assert!(matches!(error, ForeignError::Changed { .. }));
    assert_eq!((error.path(), error.kind()), (path.as_path(), ErrorKind::Failure));
    assert!(matches!(file.remove(), Err(ForeignError::Changed { .. })));
    assert_eq!((read(&path).as_str(), scratch.names()), ("theirs", vec!["s.json".to_owned()]));
    // Also when it appeared, or disappeared, in between.
    let absent = load(&scratch.path("new"));
    scratch.file("new", "theirs");
    assert!(matches!(absent.replace("ours"), Err(ForeignError::Changed { .. })));
    let file = load(&path);
    fs_err::remove_file(&path).unwrap();
    assert!(matches!(file.replace("ours"), Err(ForeignError::Changed { .. })));
    assert!(!path.exists());
}

#[test]
fn a_file_is_removed_only_if_it_is_still_the_same() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "ours");
    assert_eq!(load(&path).remove().unwrap(), Written::Removed);
    assert_eq!(load(&path).remove().unwrap(), Written::Unchanged);
    scratch.file("target", "ours");
    symlink("target", scratch.path("link")).unwrap();
    assert_eq!(load(&scratch.path("link")).remove().unwrap(), Written::Removed);
    assert!(scratch.names().is_empty());
}

#[test]
fn what_is_no_text_file_is_refused() {
    let scratch = Scratch::new();
    let refused = |path: &Utf8Path| ForeignFile::load(path).unwrap_err();
    let path = scratch.file("latin1", b"ab\xe9c");
    assert_eq!(refused(&path).to_string(), format!("`{path}` is not valid UTF-8 (byte 2)"));
    assert!(matches!(refused(&scratch.1), ForeignError::NotAFile { what: "a directory", .. }));
    let fifo = scratch.path("fifo");
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, fifo.as_str(), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(matches!(refused(&fifo), ForeignError::NotAFile { .. }));
    }
    let large = fs_err::File::create(scratch.path("large")).unwrap();
    large.set_len(MAX_FILE + 1).unwrap();
    let error = refused(&scratch.path("large"));
    assert!(error.to_string().ends_with("is larger than 32 MiB"), "{error}");
    symlink("loop", scratch.path("loop")).unwrap();
    assert!(matches!(refused(&scratch.path("loop")), ForeignError::Io { .. }));
    let below = scratch.file("file", "").join("below");
    assert!(ForeignFile::load(&below).is_err());
    for error in [refused(&path), refused(&scratch.1), error] {
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_read_only_file_stays() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "old");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let error = load(&path).replace("new").unwrap_err();
    assert_eq!(error.to_string(), format!("`{path}` is read-only"));
    assert!(error.hint().unwrap().contains("chmod"));
    assert_eq!(load(&path).replace("old").unwrap(), Written::Unchanged);
    assert_eq!(read(&path), "old");
}

#[test]
fn a_directory_that_cannot_be_written_is_said_so() {
    for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
        let error = ForeignError::io("write", "/x".into())(kind.into());
        assert_eq!(error.to_string(), "no permission to write `/x`");
        assert!(error.hint().is_some());
    }
    let full = ForeignError::io("write", "/x".into())(io::ErrorKind::StorageFull.into());
    assert!(matches!(full, ForeignError::Io { .. }) && full.hint().is_none());
    let scratch = Scratch::new();
    if scratch.is_of_root() {
        return;
    }
    fs_err::create_dir(scratch.path("closed")).unwrap();
    let path = scratch.file("closed/s.json", "old");
    let closed = scratch.path("closed");
    fs_err::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    assert!(matches!(load(&path).replace("new"), Err(ForeignError::Denied { .. })));
    fs_err::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(read(&path), "old");
}

#[test]
fn the_owner_stays_when_we_may_say_so() {
    let scratch = Scratch::new();
    if !scratch.is_of_root() {
        return;
    }
    let path = scratch.file("s.json", "old");
    std::os::unix::fs::chown(&path, Some(1234), Some(4321)).unwrap();
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o4711)).unwrap();
    load(&path).replace("new").unwrap();
    let now = path.metadata().unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1234, 4321, 0o4711));
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let scratch = Scratch::new();
    let text = |c: char| c.to_string().repeat(200_000);
    let path = scratch.file("s.json", text('a'));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let seen = read(&path);
                let first = seen.chars().next().unwrap();
                assert!(seen == text(first), "half a file: {} bytes", seen.len());
            }
        });
        for c in "bcdefghij".chars() {
            load(&path).replace(&text(c)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn of_two_writers_one_wins_and_the_other_is_told() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "old");
    let (one, two) = (load(&path), load(&path));
    assert_eq!(one.replace("one").unwrap(), Written::Replaced);
    assert!(matches!(two.replace("two"), Err(ForeignError::Changed { .. })));
    assert_eq!(read(&path), "one");
}

#[test]
fn the_original_is_kept_once() {
    let scratch = Scratch::new();
    let (path, backups) = (scratch.file("s.json", "\u{feff}old"), scratch.path("backups"));
    assert_eq!(original(&path, &backups).unwrap(), None);
    let kept = backup(&load(&path), &backups).unwrap();
    load(&path).replace("new").unwrap();
    assert_eq!(backup(&load(&path), &backups).unwrap(), kept);
    fs_err::remove_file(&path).unwrap();
    assert_eq!(backup(&load(&path), &backups).unwrap(), kept);
    let bytes = "\u{feff}old".as_bytes().to_vec();
    assert_eq!(original(&path, &backups).unwrap(), Some(Original::Bytes(bytes)));
    assert_eq!(kept.metadata().unwrap().mode() & 0o777, 0o600);
    // That there was nothing is kept too.
    let absent = scratch.path("absent");
    let kept = backup(&load(&absent), &backups).unwrap();
    assert_eq!(read(&kept), format!("{absent}\n"));
    load(&absent).replace("new").unwrap();
    assert_eq!(backup(&load(&absent), &backups).unwrap(), kept);
    assert_eq!(original(&absent, &backups).unwrap(), Some(Original::Absent));
    assert_eq!(fs_err::read_dir(&backups).unwrap().count(), 2);
}

#[test]
fn a_renewed_backup_is_the_only_one() {
    let scratch = Scratch::new();
    let (path, backups) = (scratch.file("s.json", "one"), scratch.path("backups"));
    backup(&load(&path), &backups).unwrap();
    for now in [Some("two"), None, None, Some("three")] {
        match now {
            Some(text) => fs_err::write(&path, text).unwrap(),
            None => drop(fs_err::remove_file(&path)),
        }
        renew_backup(&load(&path), &backups).unwrap();
        let expected = now.map_or(Original::Absent, |text| Original::Bytes(text.into()));
        assert_eq!(original(&path, &backups).unwrap(), Some(expected));
        assert_eq!(fs_err::read_dir(&backups).unwrap().count(), 1);
    }
}

#[test]
fn what_a_killed_writer_left_goes_and_nothing_that_looks_like_it() {
    let scratch = Scratch::new();
    let path = scratch.file("s.json", "mine");
    symlink(&path, scratch.path("link")).unwrap();
    let left = [".s.json.agents-ZZZZZZ", ".s.json.agents-a1B2c3"];
    let others = [
        ".s.json.agents-a1B2",
        ".s.json.agents-a1B2c3d4",
        ".s.json.agents-a1_2c3",
        ".t.json.agents-a1B2c3",
        "link",
        "s.json",
        "s.json.agents-a1B2c3",
    ];
    for name in left.iter().chain(&others).filter(|it| !scratch.path(it).exists()) {
        scratch.file(name, "half of a text");
    }
    let mut found = unfinished(&scratch.path("link"));
    found.sort();
    assert_eq!(found, left.map(|it| scratch.path(it)));
    remove_unfinished(&path);
    assert_eq!(scratch.names(), others);
    assert_eq!(read(&path), "mine");
}

#[test]
fn what_is_wrong_with_a_backup_is_told() {
    let scratch = Scratch::new();
    let (path, backups) = (scratch.file("s.json", "old"), scratch.path("backups"));
    let (bytes, absent) = backup_paths(&path, &backups);
    fs_err::create_dir_all(&absent).unwrap();
    let error = renew_backup(&load(&path), &backups).unwrap_err();
    assert!(error.to_string().contains(absent.as_str()), "{error}");
    fs_err::remove_file(&bytes).unwrap();
    fs_err::create_dir(&bytes).unwrap();
    let error = original(&path, &backups).unwrap_err();
    assert!(error.to_string().contains(bytes.as_str()), "{error}");
}
