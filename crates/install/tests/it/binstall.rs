//! `cargo binstall` is preferred, and never trusted.

use std::os::unix::fs::PermissionsExt as _;

use agents_testkit::scratch::write;

use crate::world::{Also as _, World, krate};

fn with_binstall(body: &str) -> World {
    let mut world = World::new();
    world.publish("tool", "1.0.0", &["tool"]);
    world.add("tool", krate("tool@1.0.0").executable("tool"));
    let log = world.path("asked");
    let script = format!("#!/bin/sh\necho \"$*\" >> {log}\n{body}\n");
    let path = write(&world.path("cargo-home/bin/cargo-binstall"), script);
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    world
}

const WRITE_IT: &str = r#"
while [ $# -gt 0 ]; do [ "$1" = --root ] && root=$2; shift; done
mkdir -p "$root/bin"
printf '#!/bin/sh\necho prebuilt\n' > "$root/bin/tool"
chmod +x "$root/bin/tool"
"#;

#[test]
fn what_it_brings_is_used() {
    let world = with_binstall(WRITE_IT);
    assert_eq!(world.run("tool"), "prebuilt");
    let asked = world.lines("asked");
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("binstall --no-confirm --no-symlinks --root "), "{asked:?}");
    assert!(asked[0].ends_with(" -- tool@1.0.0"), "{asked:?}");
    assert_eq!(world.resolve("tool").version.as_deref(), Some("1.0.0"));
}

#[test]
fn what_it_cannot_bring_is_built() {
    let half = format!("{WRITE_IT}\nexit 1");
    let other = WRITE_IT.replace("bin/tool", "bin/other");
    let track = r#"echo '[v1]' > "$root/.crates.toml"
        echo '"tool 2.0.0 (registry+https://x)" = ["tool"]' >> "$root/.crates.toml""#;
    let wrong_version = format!("{WRITE_IT}\n{track}");
    for body in ["exit 94", "exit 0", &half, &other, &wrong_version] {
        let world = with_binstall(body);
        assert_eq!(world.run("tool"), "tool 1.0.0", "{body}");
        assert_eq!(world.lines("asked").len(), 1);
    }
}
