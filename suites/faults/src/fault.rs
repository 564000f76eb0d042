//! What goes wrong.

use std::io::Write as _;

use anyhow::Context as _;

use crate::{
    chance::Chance,
    processes::{self, Part},
    world::World,
};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The supervisor is killed.
    Supervisor,
    /// A process that runs tasks is killed.
    Worker,
    /// Somebody who typed `task run` is killed, with a task in front of them or one that is just being handed over.
    Client,
    /// A program that a tool runs is killed.
    Tool,
    /// The process that keeps such programs together is killed.
    Keeper,
    /// The disk is full.
    FullDisk,
    /// Nothing can be made in the directory of transcripts.
    ReadOnly,
    /// Several of them are killed at once, as by a machine that has no memory left.
    Massacre,
    /// Nothing: what is looked at must hold then, too.
    Nothing,
}

impl Fault {
    pub(crate) const ALL: [Self; 9] = [
        Self::Supervisor,
        Self::Worker,
        Self::Client,
        Self::Tool,
        Self::Keeper,
        Self::FullDisk,
        Self::ReadOnly,
        Self::Massacre,
        Self::Nothing,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Supervisor => "supervisor",
            Self::Worker => "worker",
            Self::Client => "client",
            Self::Tool => "tool",
            Self::Keeper => "keeper",
            Self::FullDisk => "full-disk",
            Self::ReadOnly => "read-only",
            Self::Massacre => "massacre",
            Self::Nothing => "nothing",
        }
    }

    pub(crate) fn needs_mounts(self) -> bool {
        self == Self::FullDisk
    }

    /// Whether a program of a tool may have been killed before it did what it was for.
    pub(crate) fn hits_tools(self) -> bool {
        !matches!(self, Self::Nothing | Self::FullDisk | Self::ReadOnly)
    }

    /// Lets it happen. Whether it did: there may be nobody to kill.
    pub(crate) fn strike(self, world: &World, chance: &mut Chance) -> anyhow::Result<bool> {
        let part = match self {
            Self::Supervisor => Part::Supervisor,
            Self::Worker => Part::Worker,
            Self::Client => Part::Client,
            Self::Tool => Part::Tool,
            Self::Keeper => Part::Keeper,
            Self::FullDisk => return fill(world).map(|()| true),
            Self::ReadOnly => return world.lock_out().map(|()| true),
            Self::Massacre => {
                let mut all = processes::below(&world.root());
                all.retain(|_| chance.percent(70));
                all.iter().for_each(processes::Process::kill);
                return Ok(!all.is_empty());
            }
            Self::Nothing => return Ok(true),
        };
        let found = processes::of(&world.root(), part);
        let hit = chance.one(&found);
        hit.inspect(|it| it.kill());
        Ok(hit.is_some())
    }

    /// Makes it good again.
    pub(crate) fn heal(self, world: &World) -> anyhow::Result<()> {
        match self {
            Self::FullDisk => Ok(fs_err::remove_file(world.filler())?),
            Self::ReadOnly => world.let_in(),
            _ => Ok(()),
        }
    }
}

/// Writes until nothing more can be written.
fn fill(world: &World) -> anyhow::Result<()> {
    let mut file = fs_err::File::create(world.filler())?;
    for size in [64 * 1024, 4096, 1] {
        let chunk = vec![b'x'; size];
        while file.write_all(&chunk).is_ok() {}
    }
    file.metadata().context("the file that fills the disk")?;
    Ok(())
}
