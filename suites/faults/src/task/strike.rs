//! Whom it hits.

use crate::{
    fault::Fault,
    task::{
        processes::{self, Part},
        world::World,
    },
};
use agents_testkit::chance::Chance;

/// Lets it happen. Whether it did: there may be nobody to kill.
pub(crate) fn strike(fault: Fault, world: &World, chance: &mut Chance) -> anyhow::Result<bool> {
    let part = match fault {
        Fault::Supervisor => Part::Supervisor,
        Fault::Worker => Part::Worker,
        Fault::Client => Part::Client,
        Fault::Tool => Part::Tool,
        Fault::Keeper => Part::Keeper,
        Fault::FullDisk => return world.fill().map(|()| true),
        Fault::ReadOnly => return world.lock_out().map(|()| true),
        Fault::Massacre => {
            let mut all = processes::below(&world.root());
            all.retain(|_| chance.percent(70));
            all.iter().for_each(processes::Process::kill);
            return Ok(!all.is_empty());
        }
        // The clocks are wrong from the beginning; the others are not in this area.
        Fault::Clock | Fault::Kill | Fault::AtOnce | Fault::Nothing => return Ok(true),
    };
    let found = processes::of(&world.root(), part);
    let hit = chance.one(&found);
    hit.inspect(|it| it.kill());
    Ok(hit.is_some())
}

/// Makes it good again.
pub(crate) fn heal(fault: Fault, world: &World) -> anyhow::Result<()> {
    match fault {
        Fault::FullDisk => world.make_room(),
        Fault::ReadOnly => world.let_in(),
        _ => Ok(()),
    }
}
