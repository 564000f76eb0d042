//! What goes wrong.

use std::fmt;

use agents_testkit::harm::Noticed;

/// What goes wrong. Not everything can go wrong everywhere: [`Area::faults`](crate::area::Area::faults).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The program is killed, before one of its writes, in the middle of it, or at any moment.
    Kill,
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
    /// The disk is full, or has very little room left.
    FullDisk,
    /// Nothing can be made or changed in a directory.
    ReadOnly,
    /// The clock is wrong by up to ten years, or jumps.
    Clock,
    /// Several programs do the same at once.
    AtOnce,
    /// Several of them are killed at once, as by a machine that has no memory left.
    Massacre,
    /// Nothing: what is looked at must hold then, too.
    Nothing,
}

impl Fault {
    pub(crate) const ALL: [Self; 12] = [
        Self::Kill,
        Self::Supervisor,
        Self::Worker,
        Self::Client,
        Self::Tool,
        Self::Keeper,
        Self::FullDisk,
        Self::ReadOnly,
        Self::Clock,
        Self::AtOnce,
        Self::Massacre,
        Self::Nothing,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Supervisor => "supervisor",
            Self::Worker => "worker",
            Self::Client => "client",
            Self::Tool => "tool",
            Self::Keeper => "keeper",
            Self::FullDisk => "full-disk",
            Self::ReadOnly => "read-only",
            Self::Clock => "clock",
            Self::AtOnce => "at-once",
            Self::Massacre => "massacre",
            Self::Nothing => "nothing",
        }
    }

    pub(crate) fn needs_mounts(self) -> bool {
        self == Self::FullDisk
    }

    /// Whether it really happened, of those that programs come upon and are not killed by.
    pub(crate) fn happened(self, noticed: Noticed) -> bool {
        match self {
            Self::FullDisk => noticed.no_room,
            Self::ReadOnly => noticed.no_right,
            Self::Clock => noticed.clock,
            _ => true,
        }
    }

    /// Whether a program of a tool may have been killed before it did what it was for.
    pub(crate) fn hits_tools(self) -> bool {
        !matches!(self, Self::Nothing | Self::FullDisk | Self::ReadOnly | Self::Clock)
    }

    /// Whether a command that it happens to may end without having done what it was for.
    pub(crate) fn may_fail(self) -> bool {
        !matches!(self, Self::Nothing | Self::Clock | Self::AtOnce)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
