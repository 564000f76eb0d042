use agents_testkit::scratch::Scratch;
use std::os::unix::fs::symlink;

use super::*;

/// A root with a secret beside it, and both ways of opening.
fn areas() -> (Scratch, [Area; 2]) {
    let scratch = Scratch::new();
    scratch.write("root/file", "inside");
    scratch.write("root/dir/deep", "deep");
    scratch.write("outside/secret", "secret");
    let best = Area::workspace(&scratch.path("root")).unwrap();
    let steps = Area { opening: Opening::Steps, ..best.clone() };
    (scratch, [best, steps])
}

fn read(area: &Area, path: &str) -> Result<String, ConfineError> {
    let place = area.locate(path)?;
    Ok(String::from_utf8(area.read(&place, 1_000)?).unwrap())
}

fn write(area: &Area, path: &str) -> Result<(), ConfineError> {
    area.write(&area.locate(path)?, b"new")
}

#[test]
fn what_is_inside_can_be_had_and_what_is_outside_cannot() {
    let (scratch, areas) = areas();
    let root = scratch.path("root");
    for (name, target) in [
        ("inner", "dir/deep"),
        ("up", "../outside/secret"),
        ("out", "../outside"),
        ("dangling", "nowhere"),
        ("dangling-out", "../outside/new"),
        ("loop", "loop"),
        ("dir/back", "../file"),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    symlink(scratch.path("outside/secret"), root.join("absolute")).unwrap();
    symlink(root.join("file"), root.join("absolute-inner")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    for area in &areas {
        for (path, content) in [
            ("file", "inside"),
            ("./dir/../file", "inside"),
            ("dir/deep", "deep"),
            ("inner", "deep"),
            ("dir/back", "inside"),
            ("absolute-inner", "inside"),
            (root.join("file").as_str(), "inside"),
        ] {
            assert_eq!(read(area, path).unwrap(), content, "{path}");
        }
        for path in [
            "../outside/secret",
            "dir/../../outside/secret",
            scratch.path("outside/secret").as_str(),
            "/etc/passwd",
            "up",
            "out/secret",
            "absolute",
            "magic/etc/passwd",
            "dangling-out",
            "..",
            "/",
            root.join("../outside/secret").as_str(),
        ] {
            assert!(
                matches!(read(area, path), Err(ConfineError::Outside { .. })),
                "{path}: {:?}",
                read(area, path)
            );
            assert!(write(area, path).is_err(), "{path}");
        }
        for path in ["", "a\0b", "loop", "loop/x", "missing", "dir"] {
            assert!(read(area, path).is_err(), "{path:?}");
        }
        assert!(matches!(write(area, "dir"), Err(ConfineError::NotAFile { .. })));
        assert!(write(area, "").is_err());
    }
    assert!(!scratch.path("outside/new").exists());
    assert_eq!(fs_err::read_to_string(scratch.path("outside/secret")).unwrap(), "secret");
}

#[test]
fn a_file_is_written_whole_with_its_directories_and_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let (scratch, areas) = areas();
    for (index, area) in areas.iter().enumerate() {
        let path = format!("a{index}/b/c");
        write(area, &path).unwrap();
        assert_eq!(read(area, &path).unwrap(), "new");
        let script = scratch.write(format!("root/run{index}"), "old");
        fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
        write(area, &format!("run{index}")).unwrap();
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
        // A link is followed to what it means, and stays a link.
        symlink("file", scratch.path(format!("root/link{index}"))).unwrap();
        write(area, &format!("link{index}")).unwrap();
        assert!(scratch.path(format!("root/link{index}")).symlink_metadata().unwrap().is_symlink());
        assert_eq!(read(area, "file").unwrap(), "new");
        // A name that does not exist behind a link that leads nowhere is made where it leads.
        symlink(format!("made{index}"), scratch.path(format!("root/new{index}"))).unwrap();
        write(area, &format!("new{index}")).unwrap();
        assert_eq!(read(area, &format!("made{index}")).unwrap(), "new");
    }
    let left = scratch.path("root").read_dir_utf8().unwrap();
    assert!(left.flatten().all(|it| !it.file_name().starts_with(".writing")), "nothing is left");
}

#[test]
fn a_hard_link_is_replaced_and_not_written_through() {
    let (scratch, [area, _]) = areas();
    fs_err::hard_link(scratch.path("outside/secret"), scratch.path("root/hard")).unwrap();
    write(&area, "hard").unwrap();
    assert_eq!(fs_err::read_to_string(scratch.path("outside/secret")).unwrap(), "secret");
}

#[test]
fn a_link_that_appears_between_looking_and_opening_is_an_error() {
    let (scratch, areas) = areas();
    for area in &areas {
        let place = area.locate("dir/deep").unwrap();
        fs_err::rename(scratch.path("root/dir"), scratch.path("root/moved")).unwrap();
        symlink("../outside", scratch.path("root/dir")).unwrap();
        scratch.write("outside/deep", "secret");
        assert!(area.open(&place).is_err());
        assert!(area.kind(&place).is_err());
        assert!(area.write(&place, b"new").is_err());
        fs_err::remove_file(scratch.path("root/dir")).unwrap();
        fs_err::rename(scratch.path("root/moved"), scratch.path("root/dir")).unwrap();
        let file = area.locate("file").unwrap();
        fs_err::remove_file(scratch.path("root/file")).unwrap();
        symlink("../outside/secret", scratch.path("root/file")).unwrap();
        assert!(area.open(&file).is_err());
        assert!(area.kind(&file).is_err());
        assert!(matches!(area.write(&file, b"new"), Err(ConfineError::Raced { .. })));
        fs_err::remove_file(scratch.path("root/file")).unwrap();
        scratch.write("root/file", "inside");
    }
    assert_eq!(fs_err::read_to_string(scratch.path("outside/secret")).unwrap(), "secret");
    assert_eq!(fs_err::read_to_string(scratch.path("outside/deep")).unwrap(), "secret");
}

#[test]
fn a_directory_that_became_a_link_is_not_made_elsewhere() {
    let (scratch, [area, _]) = areas();
    symlink("../outside", scratch.path("root/link")).unwrap();
    for path in ["link", "link/new"] {
        assert!(Area::make_steps(&area.roots[0], path.into()).is_err(), "{path}");
    }
    assert!(Area::make_steps(&area.roots[0], "file".into()).is_err(), "nor is a file one");
    assert!(!scratch.path("outside/new").exists());
    assert!(Area::make_steps(&area.roots[0], "dir/new/deep".into()).is_ok());
    assert!(scratch.path("root/dir/new/deep").is_dir());
}

/// Somebody swaps a directory for a link as fast as they can, while we read and write through it.
#[test]
fn nobody_is_fast_enough() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (scratch, areas) = areas();
    let (dir, link) = (scratch.path("root/dir"), scratch.path("root/link"));
    symlink("../outside", &link).unwrap();
    scratch.write("outside/deep", "secret");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, dir.as_str(), CWD, link.as_str(), flags).unwrap();
            }
        });
        for area in &areas {
            for at in 0..2_000 {
                if let Ok(text) = read(area, "dir/deep") {
                    assert_ne!(text, "secret");
                }
                let _ = write(area, "dir/deep");
                let _ = write(area, "dir/other");
                let _ = write(area, &format!("dir/new{at}/deep"));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs_err::read_to_string(scratch.path("outside/deep")).unwrap(), "secret");
    let outside = scratch.path("outside").read_dir_utf8().unwrap();
    let mut outside: Vec<String> = outside.map(|it| it.unwrap().file_name().to_owned()).collect();
    outside.sort();
    assert_eq!(outside, ["deep", "secret"]);
}

#[test]
fn pipes_and_devices_are_no_files() {
    let (scratch, areas) = areas();
    let pipe = scratch.path("root/pipe");
    rustix::fs::mknodat(CWD, pipe.as_str(), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    for area in &areas {
        // And nobody waits for a writer.
        assert!(matches!(read(area, "pipe"), Err(ConfineError::NotAFile { .. })));
        assert!(matches!(write(area, "pipe"), Err(ConfineError::NotAFile { .. })));
        assert!(read(area, "pipe/file").is_err());
        assert!(write(area, "pipe/file").is_err());
        assert!(area.open_directory(&area.locate("file").unwrap()).is_err());
    }
}

#[test]
fn what_others_run_is_not_written() {
    let (scratch, [area, _]) = areas();
    scratch.write("root/.git/config", "old");
    symlink(".git", scratch.path("root/innocent")).unwrap();
    symlink(".git/hooks/pre-commit", scratch.path("root/hook")).unwrap();
    for path in [
        ".git/config",
        ".git/hooks/post-checkout",
        "innocent/config",
        "hook",
        ".GIT/config",
        ".cargo/config.toml",
    ] {
        assert!(matches!(write(&area, path), Err(ConfineError::Protected { .. })), "{path}");
    }
    assert_eq!(read(&area, ".git/config").unwrap(), "old", "it may be read");
    let place = area.locate(".git/config").unwrap();
    let agreed = area.under(Vec::new(), vec![place]);
    write(&agreed, ".git/config").unwrap();
    assert!(write(&agreed, ".git/hooks/x").is_err(), "only what was agreed to");
}

#[test]
fn roots_that_may_only_be_read_and_the_deepest_one_counts() {
    let scratch = Scratch::new();
    scratch.write("root/vendor/file", "v");
    scratch.write("root/file", "f");
    let roots = [
        (scratch.path("root"), RootAccess::Write),
        (scratch.path("root/vendor"), RootAccess::Read),
    ];
    let area = Area::new(roots).unwrap();
    write(&area, "file").unwrap();
    assert!(matches!(write(&area, "vendor/file"), Err(ConfineError::ReadOnly { .. })));
    assert_eq!(read(&area, "vendor/file").unwrap(), "v");
    let inner = area.at("vendor").unwrap();
    assert_eq!(read(&inner, "file").unwrap(), "v");
    assert!(area.at("file").is_err());
    assert!(area.at("..").is_err());
    // One that is named twice is what it was named first.
    for (first, second) in
        [(RootAccess::Write, RootAccess::Read), (RootAccess::Read, RootAccess::Write)]
    {
        let root = scratch.path("root");
        let area = Area::new([(&root, first), (&root, second)]).unwrap();
        assert_eq!(write(&area, "file").is_ok(), first == RootAccess::Write);
    }
}

#[test]
fn a_file_is_read_up_to_the_limit_and_not_in_part() {
    let (scratch, areas) = areas();
    scratch.write("root/ten", "0123456789");
    for area in &areas {
        let place = area.locate("ten").unwrap();
        assert_eq!(area.read(&place, 10).unwrap(), b"0123456789");
        let error = area.read(&place, 9).unwrap_err();
        let ConfineError::Io { path, source } = &error else { panic!("{error:?}") };
        assert_eq!((path.as_str(), source.kind()), ("ten", io::ErrorKind::FileTooLarge));
    }
}

#[test]
fn places_are_shown_from_the_first_root_and_whole_from_others() {
    let scratch = Scratch::new();
    scratch.write("one/a", "");
    scratch.write("two/b", "");
    let (one, two) = (scratch.path("one"), scratch.path("two"));
    let area = Area::new([(&one, RootAccess::Write), (&two, RootAccess::Read)]).unwrap();
    for (path, shown, absolute) in [
        (".", ".".to_owned(), one.clone()),
        ("a", "a".to_owned(), one.join("a")),
        ("new/b", "new/b".to_owned(), one.join("new/b")),
        (two.as_str(), two.to_string(), two.clone()),
        (two.join("b").as_str(), two.join("b").to_string(), two.join("b")),
    ] {
        let place = area.locate(path).unwrap();
        assert_eq!(area.shown(&place), shown, "{path}");
        // Byte by byte: paths that end in `/` are equal to those that do not.
        assert_eq!(area.absolute(&place).as_str(), absolute.as_str(), "{path}");
    }
}

#[test]
fn a_path_has_an_end_and_so_have_the_links_in_it() {
    let (scratch, areas) = areas();
    symlink("file", scratch.path("root/link1")).unwrap();
    for at in 2..=MAX_LINKS + 1 {
        let target = format!("link{}", at - 1);
        symlink(target, scratch.path(format!("root/link{at}"))).unwrap();
    }
    let longest = format!("{}file", "./".repeat(2046));
    for area in &areas {
        assert_eq!(read(area, &format!("link{MAX_LINKS}")).unwrap(), "inside");
        let error = read(area, &format!("link{}", MAX_LINKS + 1)).unwrap_err();
        assert!(matches!(error, ConfineError::Io { .. }), "{error:?}");
        assert_eq!(read(area, &longest).unwrap(), "inside");
        for path in ["", "a\0b", &format!("/{longest}")] {
            assert!(matches!(area.locate(path), Err(ConfineError::NoPath { .. })), "{path:?}");
        }
    }
}

/// Rules are compared with it, byte by byte.
#[test]
fn a_place_has_one_name_however_it_is_reached() {
    let (scratch, areas) = areas();
    symlink("./dir/./deep", scratch.path("root/dots")).unwrap();
    symlink("./../dir/deep", scratch.path("root/dir/around")).unwrap();
    symlink(".", scratch.path("root/here")).unwrap();
    for area in &areas {
        for path in ["dir/deep", "./dir//deep", "dots", "dir/around", "here/here/dots"] {
            assert_eq!(area.locate(path).unwrap().relative().as_str(), "dir/deep", "{path}");
        }
    }
}

/// Whatever a tool starts meanwhile must not have it.
#[test]
fn nothing_that_is_open_is_handed_on_to_programs() {
    use rustix::io::{FdFlags, fcntl_getfd};
    let (_scratch, areas) = areas();
    for area in &areas {
        let (file, dir) = (area.locate("dir/deep").unwrap(), area.locate("dir").unwrap());
        let file = OwnedFd::from(area.open(&file).unwrap());
        let new = fresh(&area.roots[0].dir).unwrap().1;
        for fd in [&area.roots[0].dir, &file, &area.open_directory(&dir).unwrap(), &new] {
            assert_eq!(fcntl_getfd(fd).unwrap(), FdFlags::CLOEXEC);
        }
    }
}
