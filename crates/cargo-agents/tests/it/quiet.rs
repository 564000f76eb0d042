//! What the program does *not* do: no thread, no log, no process, no network, no write, unless the command needs it.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::world::{World, subcommand};

/// A world with a git registry that was never fetched, a gated plugin and an open one; everything warm.
fn warm() -> World {
    let world = World::new();
    world.config("[[registry]]\nname = \"far\"\ngit = \"https://registry.invalid/plugins\"\n");
    world.plugin(
        "gated",
        &subcommand("gated", "crates = [\"serde\"]", "gated", "{ executable = \"true\" }"),
    );
    world.plugin(
        "open",
        &subcommand("open", "crates = [\"*\"]", "open", "{ executable = \"/bin/true\" }"),
    );
    age(world.sample.scratch().root());
    for args in [&["--help"][..], &["plugin", "list"], &["open"]] {
        world.ok(args);
    }
    world
}

/// Makes everything an hour old: what is younger than two seconds is read again, and a slow machine would see it settle.
fn age(dir: &Utf8Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for entry in dir.read_dir_utf8().unwrap().flatten() {
        let path = entry.into_path();
        if path.is_dir() {
            age(&path);
        } else if let Ok(file) = std::fs::File::open(&path) {
            file.set_modified(long_ago).unwrap();
        }
    }
    std::fs::File::open(dir).unwrap().set_modified(long_ago).unwrap();
}

/// Programs of these names, in front of the real ones, that write down that they were started.
fn watch_programs(world: &World) -> (String, Utf8PathBuf) {
    let log = world.sample.scratch().path("started");
    for name in ["cargo", "git", "rustc", "curl", "sh"] {
        world
            .sample
            .scratch()
            .script(format!("watched/{name}"), &format!("echo {name} >> {log}; exit 1"));
    }
    let path = std::env::var("PATH").unwrap();
    (format!("{}:{path}", world.sample.scratch().path("watched")), log)
}

#[test]
fn a_warm_command_starts_no_process_and_touches_no_network() {
    let world = warm();
    let (path, log) = watch_programs(&world);
    for args in [&["--help"][..], &["plugin", "list"], &["open"], &["gated"], &["--json"]] {
        let watched = world.sample.scratch().path("watched/cargo");
        let status = world
            .command(args)
            .env("PATH", &path)
            .env("CARGO_AGENTS_CARGO", watched)
            .env_remove("CARGO")
            .output()
            .unwrap();
        assert!(status.status.success(), "{args:?}: {status:?}");
        assert!(!log.exists(), "{args:?} started {}", std::fs::read_to_string(&log).unwrap());
    }
}

#[test]
fn no_thread_is_started() {
    let world = World::new();
    let seen = world.sample.scratch().path("threads");
    // The shell that a predicate runs sees its parent, which is us, in the middle of the work.
    let gate = format!("crates = [\"*\"]\npredicates = [\"shell(ls /proc/$PPID/task > {seen})\"]");
    world.plugin("p", &subcommand("p", &gate, "cmd", "{ executable = \"true\" }"));
    for args in [&["--help"][..], &["plugin", "list"], &["cmd"], &["plugin", "explain", "p"]] {
        world.ok(args);
        let threads = std::fs::read_to_string(&seen).unwrap();
        assert_eq!(threads.lines().count(), 1, "{args:?}: {threads}");
        std::fs::remove_file(&seen).unwrap();
    }
}

#[test]
fn no_log_is_opened_and_only_the_cache_is_written() {
    let world = warm();
    let outside_cache: Vec<_> = files(&world)
        .into_keys()
        .filter(|path| !path.starts_with(world.home().join("cache")))
        .filter(|path| !path.starts_with(world.home().join("plugins")))
        .collect();
    assert_eq!(outside_cache, [world.home().join("config.toml")]);
}

#[test]
fn a_second_run_changes_no_byte_and_no_time() {
    let world = warm();
    let before = files(&world);
    // Long enough for anything young to settle, which would be written down.
    std::thread::sleep(Duration::from_millis(2100));
    for args in [&["--help"][..], &["plugin", "list"], &["gated"]] {
        world.ok(args);
    }
    assert_eq!(before, files(&world));
}

fn files(world: &World) -> BTreeMap<Utf8PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![world.home()];
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir_utf8().unwrap().flatten() {
            let path = entry.into_path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let modified = path.metadata().unwrap().modified().unwrap();
                let content = std::fs::read(&path).unwrap();
                found.insert(path, (modified, content));
            }
        }
    }
    found
}
