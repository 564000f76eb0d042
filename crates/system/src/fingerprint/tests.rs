use super::*;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.0.path().join(name)).unwrap()
    }
    fn write(&self, name: &str, text: &str) -> Utf8PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path
    }
}

/// Gives `path` a time far enough back that it is not young.
fn age(path: &Utf8Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

fn same_time(path: &Utf8Path, text: &str) {
    let before = path.metadata().unwrap().modified().unwrap();
    fs_err::write(path, text).unwrap();
    std::fs::File::options().write(true).open(path).unwrap().set_modified(before).unwrap();
}

#[test]
fn a_rewrite_of_a_young_file_with_the_same_time_and_size_is_noticed() {
    let scratch = Scratch::new();
    let file = scratch.write("Cargo.lock", "one");
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    let fingerprint = inputs.finish();
    assert_eq!(fingerprint.check(), Freshness::FreshAfterReading);
    same_time(&file, "two");
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn an_old_unchanged_file_is_not_read_again() {
    let scratch = Scratch::new();
    let file = scratch.write("Cargo.lock", "one");
    age(&file);
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    assert_eq!(inputs.finish().check(), Freshness::Fresh);
}

#[cfg(unix)]
#[test]
fn a_rewrite_of_an_old_file_with_the_same_time_and_size_is_noticed_too() {
    let scratch = Scratch::new();
    let file = scratch.write("Cargo.lock", "one");
    age(&file);
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    let fingerprint = inputs.finish();
    assert_eq!(fingerprint.check(), Freshness::Fresh);
    // File systems note changes in steps of a few milliseconds.
    std::thread::sleep(Duration::from_millis(20));
    same_time(&file, "two");
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn a_file_from_the_future_is_always_compared_by_content() {
    let scratch = Scratch::new();
    let file = scratch.write("a", "one");
    let future = SystemTime::now() + Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(future).unwrap();
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    let fingerprint = inputs.finish().renewed();
    assert_eq!(fingerprint.check(), Freshness::FreshAfterReading);
    same_time(&file, "two");
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn renewing_makes_the_next_check_cheap_once_the_inputs_have_aged() {
    let scratch = Scratch::new();
    let file = scratch.write("a", "one");
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    let mut fingerprint = inputs.finish();
    assert_eq!(fingerprint.check(), Freshness::FreshAfterReading);
    fingerprint.taken += nanos(YOUNG) + nanos(Duration::from_secs(1));
    assert_eq!(fingerprint.check(), Freshness::Fresh);
}

#[test]
fn what_was_absent_must_stay_absent_and_what_was_present_present() {
    let scratch = Scratch::new();
    let mut inputs = Inputs::new();
    assert!(!inputs.exists(&scratch.path("a")));
    assert_eq!(inputs.read(&scratch.path("b")).unwrap(), None);
    let fingerprint = inputs.finish();
    assert_eq!(fingerprint.check(), Freshness::Fresh);
    let b = scratch.write("b", "");
    assert_eq!(fingerprint.check(), Freshness::Stale);
    fs_err::remove_file(b).unwrap();
    assert_eq!(fingerprint.check(), Freshness::Fresh);

    let c = scratch.write("c", "");
    let mut inputs = Inputs::new();
    assert!(inputs.exists(&c));
    let fingerprint = inputs.finish();
    fs_err::remove_file(c).unwrap();
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn a_new_name_in_a_directory_is_noticed_even_with_the_same_time() {
    let scratch = Scratch::new();
    scratch.write("d/one", "");
    let dir = scratch.path("d");
    let mut inputs = Inputs::new();
    assert_eq!(inputs.list(&dir).unwrap().unwrap(), ["one"]);
    let fingerprint = inputs.finish();
    let before = dir.metadata().unwrap().modified().unwrap();
    scratch.write("d/two", "");
    std::fs::File::open(&dir).unwrap().set_modified(before).unwrap();
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn existence_does_not_weaken_a_content_observation() {
    let scratch = Scratch::new();
    let file = scratch.write("a", "one");
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    inputs.exists(&file);
    let fingerprint = inputs.finish();
    fs_err::write(&file, "other").unwrap();
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn what_changes_between_two_looks_is_stale_from_the_start() {
    let scratch = Scratch::new();
    let file = scratch.write("d/a", "one");
    let absent = scratch.path("b");
    let look = |change: &dyn Fn()| {
        let mut inputs = Inputs::new();
        inputs.exists(&file);
        inputs.read(&file).unwrap();
        inputs.list(&scratch.path("d")).unwrap();
        inputs.read(&absent).unwrap();
        change();
        let mut again = Inputs::new();
        again.read(&file).unwrap();
        again.list(&scratch.path("d")).unwrap();
        inputs.read(&absent).unwrap();
        inputs.include(again);
        inputs.finish().check()
    };
    assert_eq!(look(&|| {}), Freshness::FreshAfterReading);
    assert_eq!(look(&|| drop(scratch.write("d/a", "two"))), Freshness::Stale);
    assert_eq!(look(&|| drop(scratch.write("d/c", ""))), Freshness::Stale);
    assert_eq!(look(&|| drop(scratch.write("b", ""))), Freshness::Stale);
}

#[test]
fn it_settles_when_everything_is_old_enough() {
    let scratch = Scratch::new();
    let file = scratch.write("a", "one");
    let look = || {
        let mut inputs = Inputs::new();
        inputs.read(&file).unwrap();
        inputs.exists(&scratch.path("absent"));
        inputs.finish()
    };
    assert!(!look().is_settled());
    age(&file);
    assert!(look().is_settled());
}

#[test]
fn the_content_is_the_same_whenever_it_was_written() {
    let scratch = Scratch::new();
    let file = scratch.write("a", "one");
    let look = || {
        let mut inputs = Inputs::new();
        inputs.read(&file).unwrap();
        inputs.finish()
    };
    let young = look();
    age(&file);
    assert_eq!(look().content(), young.content());
    assert_ne!(look().seen, young.seen);
    same_time(&file, "two");
    assert_ne!(look().content(), young.content());
}

#[test]
fn a_touched_file_is_restamped_and_a_changed_one_is_not() {
    let scratch = Scratch::new();
    let file = scratch.write("a", "one");
    scratch.write("dir/b", "");
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap();
    inputs.list(&scratch.path("dir")).unwrap();
    inputs.exists(&scratch.path("absent"));
    let fingerprint = inputs.finish();
    age(&file);
    assert_eq!(fingerprint.check(), Freshness::Stale);
    let restamped = fingerprint.restamped().unwrap();
    assert_ne!(restamped.check(), Freshness::Stale);
    scratch.write("dir/c", "");
    assert_eq!(fingerprint.restamped(), None);
    fs_err::remove_file(scratch.path("dir/c")).unwrap();
    assert!(fingerprint.restamped().is_some());
    scratch.write("absent", "");
    assert_eq!(fingerprint.restamped(), None);
    fs_err::remove_file(scratch.path("absent")).unwrap();
    scratch.write("a", "two");
    assert_eq!(fingerprint.restamped(), None);
}

#[cfg(unix)]
#[test]
fn what_is_not_a_regular_file_is_refused_and_never_waited_for() {
    let scratch = Scratch::new();
    let endless = scratch.path("endless");
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    let pipe = scratch.path("pipe");
    assert!(crate::process::Call::new("mkfifo").arg(pipe.as_str()).status().unwrap().success());
    for path in [&endless, &pipe, &scratch.path("")] {
        let error = Inputs::new().read(path).unwrap_err().to_string();
        assert!(error.ends_with(", not a file"), "{error}");
    }
}

#[test]
fn what_could_not_be_read_is_noticed_when_it_can_be() {
    let scratch = Scratch::new();
    let file = scratch.path("a.toml");
    fs_err::create_dir(&file).unwrap();
    let mut inputs = Inputs::new();
    inputs.read(&file).unwrap_err();
    let fingerprint = inputs.finish();
    assert_ne!(fingerprint.check(), Freshness::Stale);
    fs_err::remove_dir(&file).unwrap();
    fs_err::write(&file, "a = 1").unwrap();
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn a_directory_that_could_not_be_listed_is_noticed_when_it_can_be() {
    let scratch = Scratch::new();
    let dir = scratch.path("skills");
    fs_err::create_dir(&dir).unwrap();
    let mut inputs = Inputs::new();
    // Root may list everything, so that nothing here can be made to be refused.
    let denied: io::Result<Option<(Stamp, ())>> = Err(io::ErrorKind::PermissionDenied.into());
    inputs.noted(&dir, denied, |stamp, ()| Seen::Refused(stamp)).unwrap_err();
    let fingerprint = inputs.finish();
    assert_ne!(fingerprint.check(), Freshness::Stale);
    fs_err::write(dir.join("one"), "").unwrap();
    assert_eq!(fingerprint.check(), Freshness::Stale);
}

#[test]
fn a_file_that_is_far_too_large_is_refused() {
    let scratch = Scratch::new();
    let large = scratch.path("large");
    std::fs::File::create(&large).unwrap().set_len(MAX_FILE + 1).unwrap();
    let error = Inputs::new().read(&large).unwrap_err().to_string();
    assert!(error.ends_with("is larger than 32 MiB"), "{error}");
}

#[test]
fn what_was_too_large_is_refused_and_noticed_when_it_is_mended() {
    let scratch = Scratch::new();
    let file = scratch.write("a.md", "12345");
    let mut inputs = Inputs::new();
    assert_eq!(inputs.read_at_most(&file, 5).unwrap().as_deref(), Some(&b"12345"[..]));
    let mut refusing = Inputs::new();
    let error = refusing.read_at_most(&file, 4).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    let fingerprint = refusing.finish();
    assert_ne!(fingerprint.check(), Freshness::Stale);
    assert_eq!(fingerprint.restamped(), None, "what was not read cannot be compared");
    fs_err::write(&file, "1234").unwrap();
    assert_eq!(fingerprint.check(), Freshness::Stale);
    let mut missing = Inputs::new();
    assert_eq!(missing.read_at_most(&scratch.path("b.md"), 4).unwrap(), None);
}

/// As many as are looked at by two threads, in more than one directory, with names that begin alike.
#[test]
fn one_of_many_files_that_changed_is_noticed_wherever_it_lies() {
    let scratch = Scratch::new();
    let name = |at: usize| match at % 3 {
        0 => format!("one/plugin-{at}/SYMPOSIUM.toml"),
        1 => format!("one-more/plugin-{at}/SYMPOSIUM.toml"),
        _ => format!("file-{at}"),
    };
    let files: Vec<_> = (0..500).map(|at| scratch.write(&name(at), "text")).collect();
    files.iter().for_each(|it| age(it));
    std::fs::File::open(&files[7])
        .unwrap()
        .set_modified(UNIX_EPOCH - Duration::from_millis(1500))
        .unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&files[8], scratch.path("one/link")).unwrap();
    let fingerprint = || {
        let mut inputs = Inputs::new();
        files.iter().for_each(|it| drop(inputs.read(it).unwrap()));
        inputs.list(&scratch.path("one/plugin-0")).unwrap();
        #[cfg(unix)]
        inputs.read(&scratch.path("one/link")).unwrap();
        Fingerprint { taken: now() + nanos(YOUNG) * 2, ..inputs.finish() }
    };
    for at in [0, 1, 2, 8, 250, 251, 499] {
        let before = fingerprint();
        assert_eq!(before.check(), Freshness::Fresh);
        same_time(&files[at], "TEXT");
        assert_eq!(before.check(), Freshness::Stale, "{at}");
    }
    let before = fingerprint();
    fs_err::remove_file(&files[300]).unwrap();
    assert_eq!(before.check(), Freshness::Stale);
}
