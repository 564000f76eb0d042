//! Programs that are not there.

use agents_install::{InstallationName, Installer, Update};
use agents_system::progress::Progress;
use agents_workspace::{Cargo, Network};

use crate::world::{World, krate};

#[test]
fn no_cargo() {
    let mut world = World::new();
    world.add("tool", krate("tool"));
    let cargo = Cargo::at("no-such-cargo", Network::Allowed);
    let (cache, progress) = (world.cache(), Progress::silent());
    let installer = Installer::new(&cache, &cargo, Update::None, &progress);
    let name = InstallationName::new("tool");
    let error = installer.resolve(&world.installations, &name, &world.root).unwrap_err();
    insta::assert_snapshot!(world.shown(&error), @r"
    Failure: cannot install `tool`
    cause: `cargo install` could not be started
    cause: there is no program `no-such-cargo`
    hint: make sure that `no-such-cargo` is on your `PATH`
    ");
}
