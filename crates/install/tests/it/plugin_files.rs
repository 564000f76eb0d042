//! No source: the plugin's own files and the user's programs.

use agents_testkit::scratch::write;

use crate::world::{Also as _, World, local, output};

fn world(files: &[(&str, &str)]) -> World {
    let world = World::new();
    for (path, text) in files {
        write(&world.path("plugin").join(path), text);
    }
    world
}

#[test]
fn paths_are_relative_to_the_plugin() {
    let mut world = world(&[("bin/it.sh", "echo it $*"), ("bare.sh", "echo bare")]);
    world.add("it", local().script("bin/it.sh").args(&["1"]));
    world.add("dotted", local().script("./bin/it.sh"));
    world.add("bare", local().script("bare.sh"));
    let absolute = world.path("plugin/bare.sh");
    world.add("absolute", local().script(absolute.as_str()));
    assert_eq!(world.run("it"), "it 1");
    assert_eq!(world.run("dotted"), "it");
    assert_eq!(world.run("bare"), "bare");
    assert_eq!(world.run("absolute"), "bare");
    let it = world.cached("it").unwrap();
    assert_eq!(it.path_front, [world.path("plugin/bin")]);
    assert_eq!(it.env, [("SYMPOSIUM_it".to_owned(), world.path("plugin/bin/it.sh").into_string())]);
    assert!(!world.cache().exists(), "nothing was acquired, nothing was written");
}

#[test]
fn bare_names_are_looked_up_on_the_path() {
    let mut world = world(&[]);
    world.add("echo", local().executable("echo").args(&["hi"]));
    let echo = world.resolve("echo");
    assert_eq!(output(&echo), "hi");
    assert!(echo.program.is_absolute());
    assert!(echo.path_front.is_empty(), "it is on the path already");
}

#[test]
fn what_cannot_be_run_is_explained() {
    let mut world = world(&[("plain", "#!/bin/sh\n"), ("text", "echo hi\n")]);
    write(&world.path("plugin/sub/x"), "");
    agents_testkit::scratch::run(
        std::process::Command::new("chmod").arg("+x").arg(world.path("plugin/text")),
    );
    world.add("nowhere", local().executable("no-such-program"));
    world.add("no-file", local().executable("./no-such-file"));
    world.add("plain", local().executable("plain"));
    world.add("text", local().executable("./text"));
    world.add("dir", local().executable("./sub"));
    world.add("nothing", local());
    insta::assert_snapshot!(world.error("nowhere"), @r"
    Failure: cannot run `nowhere`
    cause: there is no `no-such-program` in `[ROOT]/plugin` or on your `PATH`
    ");
    insta::assert_snapshot!(world.error("no-file"), @r"
    Usage: cannot run `no-file`
    cause: there is no file `[ROOT]/plugin/no-such-file`
    ");
    insta::assert_snapshot!(world.error("plain"), @r"
    Usage: cannot run `plain`
    cause: `[ROOT]/plugin/plain` is not executable
    hint: `chmod +x [ROOT]/plugin/plain`, or name it as `script` to run it with `sh`
    ");
    insta::assert_snapshot!(world.error("text"), @r"
    Usage: cannot run `text`
    cause: `[ROOT]/plugin/text` is text and does not begin with `#!`
    hint: name it as `script` to run it with `sh`, or begin it with `#!/bin/sh`
    ");
    insta::assert_snapshot!(world.error("dir"), @r"
    Usage: cannot run `dir`
    cause: there is no file `[ROOT]/plugin/sub`
    ");
    insta::assert_snapshot!(world.error("nothing"), @r"
    Usage: cannot run `nothing`
    cause: it has neither `executable` nor `script`
    ");
}

#[test]
fn set_up_commands_are_run_once_in_the_plugin() {
    let mut world = world(&[("it.sh", "echo it")]);
    world.add("set-up", local().install_commands(&["echo x >> made"]));
    world.add("it", local().script("it.sh").requirements(&["set-up"]));
    assert_eq!(world.cached("it"), None);
    assert_eq!(world.run("it"), "it");
    assert_eq!(world.run("it"), "it");
    assert!(world.cached("it").is_some());
    assert_eq!(world.lines("plugin/made").len(), 1);
    world.add("set-up", local().install_commands(&["echo y >> made"]));
    assert_eq!(world.cached("it"), None, "other commands are other content");
    world.run("it");
    assert_eq!(world.lines("plugin/made"), ["x", "y"]);
}
