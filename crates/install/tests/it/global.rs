//! `global = true`.

use agents_install::{CargoPlace, Installation, Source, Update};

use crate::world::{Also as _, World, from, output};

fn global(name: &str, version: Option<&str>) -> Installation {
    from(Some(Source::Cargo {
        name: name.to_owned(),
        version: version.map(str::to_owned),
        git: None,
        place: CargoPlace::Global,
    }))
    .executable(name)
}

#[test]
fn it_goes_to_the_cargo_home_once_and_tells_nobody() {
    let mut world = World::new();
    world.publish("gtool", "1.0.0", &["gtool"]);
    let note = format!("echo >> {}", world.path("made"));
    world.add("gtool", global("gtool", None).install_commands(&[&note]));
    assert_eq!(world.cached("gtool"), None);
    let runnable = world.resolve("gtool");
    assert_eq!(runnable.program, world.path("cargo-home/bin/gtool"));
    assert!(runnable.env.is_empty() && runnable.path_front.is_empty());
    assert_eq!(output(&runnable), "gtool 1.0.0");
    assert_eq!(world.resolve("gtool"), runnable);
    assert_eq!(world.cached("gtool"), Some(runnable));
    assert_eq!(world.lines("made").len(), 1);

    world.publish("gtool", "1.1.0", &["gtool"]);
    assert_eq!(world.run("gtool"), "gtool 1.0.0");
    assert_eq!(output(&world.update("gtool", Update::Check)), "gtool 1.1.0");
    assert_eq!(world.lines("made").len(), 2, "another content");
    world.update("gtool", Update::Check);
    assert_eq!(world.lines("made").len(), 2);
}

#[test]
fn what_the_user_has_is_not_replaced() {
    let mut world = World::new();
    world.publish("gtool", "1.0.0", &["gtool"]);
    world.publish("gtool", "2.0.0", &["gtool"]);
    world.add("two", global("gtool", Some("2.0.0")));
    world.add("one", global("gtool", Some("1.0.0")));
    assert_eq!(world.run("two"), "gtool 2.0.0");
    let kept = world.resolve("one");
    assert_eq!(output(&kept), "gtool 2.0.0");
    assert_eq!(
        kept.findings[0].message,
        "`gtool` 2.0.0 is installed, but the plugin asks for 1.0.0"
    );
}

#[test]
fn a_failed_check_keeps_what_is_there() {
    let mut world = World::new();
    world.publish("gtool", "1.0.0", &["gtool"]);
    world.add("gtool", global("gtool", None));
    world.resolve("gtool");
    fs_err::remove_dir_all(world.path("vendor/gtool-1.0.0")).unwrap();
    let kept = world.update("gtool", Update::Check);
    assert_eq!(output(&kept), "gtool 1.0.0");
    assert_eq!(
        kept.findings[0].message,
        "crate `gtool` could not be brought up to date: `cargo install` ended with exit code 101"
    );
    fs_err::remove_file(&kept.program).unwrap();
    let error = world.try_resolve("gtool", Update::Check).unwrap_err();
    assert!(world.shown(&error).contains("`cargo install` ended with exit code 101"));
}
