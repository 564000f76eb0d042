//! `requirements` and what a child is told about them.

use agents_testkit::scratch::write;

use crate::world::{Also as _, World, krate, local, output, tree};

#[test]
fn requirements_are_acquired_first_and_the_child_is_told_where_they_are() {
    let mut world = World::new();
    world.publish("helper", "1.0.0", &["helper", "other"]);
    let repo = world.repo("r", &[("lib/data.sh", "echo data")]);
    write(&world.path("plugin/main.sh"), "helper; other; env | grep SYMPOSIUM_ | sort; echo $PATH");
    let order = format!("echo $0 >> {}", world.path("order"));
    world.add("helper", krate("helper").install_commands(&[&order.replace("$0", "helper")]));
    let data = tree(repo.url()).script("lib/data.sh").requirements(&["helper"]);
    world.add("my data", data.install_commands(&["helper", &order.replace("$0", "data")]));
    world.add("main", local().script("main.sh").requirements(&["helper", "my data"]));

    let runnable = world.resolve("main");
    assert_eq!(world.lines("order"), ["helper", "data"]);
    assert_eq!(world.cached("main"), Some(runnable.clone()));
    let front: Vec<_> = runnable.path_front.iter().map(|dir| dir.as_str()).collect();
    assert_eq!(front.len(), 3);
    assert_eq!(front[0], world.path("plugin"));
    assert!(front[1].ends_with("/lib"), "{front:?}");
    assert!(front[2].ends_with("/1.0.0/bin"), "{front:?}");

    let said = output(&runnable);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[..2], ["helper 1.0.0 ", "other 1.0.0 "]);
    let names: Vec<_> = lines[2..6].iter().map(|line| line.split('=').next().unwrap()).collect();
    assert_eq!(
        names,
        ["SYMPOSIUM_DIR_helper", "SYMPOSIUM_DIR_my_data", "SYMPOSIUM_main", "SYMPOSIUM_my_data"]
    );
    assert!(lines[6].starts_with(&front.join(":")), "{}", lines[6]);
}

#[test]
fn a_failed_requirement_is_named() {
    let mut world = World::new();
    write(&world.path("plugin/main.sh"), "true");
    world.add("tool", local().executable("no-such-program"));
    world.add("main", local().script("main.sh").requirements(&["tool"]));
    world.add("loop", local().script("main.sh").requirements(&["pool"]));
    world.add("pool", local().requirements(&["loop"]));
    world.add("gap", local().requirements(&["absent"]));
    insta::assert_snapshot!(world.error("main"), @r"
    Failure: cannot run `tool`
    cause: there is no `no-such-program` in `[ROOT]/plugin` or on your `PATH`
    ");
    insta::assert_snapshot!(world.error("loop"), @r"
    Usage: installations require each other: `loop` -> `pool` -> `loop`
    hint: remove one of these `requirements`
    ");
    insta::assert_snapshot!(world.error("gap"), @r#"
    Usage: there is no installation `absent`, which `gap` requires
    hint: declare it in the manifest: `[[installations]]` with `name = "absent"`
    "#);
    insta::assert_snapshot!(world.error("nobody"), @r#"
    Usage: there is no installation `nobody`
    hint: declare it in the manifest: `[[installations]]` with `name = "nobody"`
    "#);
}
