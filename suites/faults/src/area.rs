//! What is broken.

use agents_testkit::chance::Chance;
use camino::Utf8Path;

use crate::{
    agent, fault::Fault, hooks, install, plan, records, seen::Seen, sync, task, trust, upkeep,
};

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// `sync`, `uninstall` and `init`.
    Sync,
    /// Programs of plugins.
    Install,
    /// What hosts are answered.
    Hooks,
    /// `update` and `use`.
    Trust,
    /// Definitions of agents.
    Agent,
    /// Tasks.
    Task,
    /// Plans.
    Plan,
    /// What several write down about plugins.
    Records,
    /// What is fetched, cleared up and replaced.
    Upkeep,
    /// The tests of single rooms that break things at every point.
    Exhaustive,
}

impl Area {
    pub(crate) const ALL: [Self; 10] = [
        Self::Sync,
        Self::Install,
        Self::Hooks,
        Self::Trust,
        Self::Agent,
        Self::Task,
        Self::Plan,
        Self::Records,
        Self::Upkeep,
        Self::Exhaustive,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Install => "install",
            Self::Hooks => "hooks",
            Self::Trust => "trust",
            Self::Agent => "agent",
            Self::Task => "task",
            Self::Plan => "plan",
            Self::Records => "records",
            Self::Upkeep => "upkeep",
            Self::Exhaustive => "exhaustive",
        }
    }

    /// What can go wrong there.
    pub(crate) fn faults(self) -> &'static [Fault] {
        use Fault::{
            AtOnce, Client, Clock, FullDisk, Keeper, Kill, Massacre, Nothing, ReadOnly, Supervisor,
            Tool, Worker,
        };
        match self {
            Self::Sync => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Install => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Hooks => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Trust => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Agent => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Task => &[
                Supervisor, Worker, Client, Tool, Keeper, FullDisk, ReadOnly, Clock, Massacre,
                Nothing,
            ],
            Self::Plan => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Records => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Upkeep => &[Kill, FullDisk, ReadOnly, Clock, AtOnce, Massacre, Nothing],
            Self::Exhaustive => &[Kill],
        }
    }

    /// What must be true afterwards, for the page.
    pub(crate) fn promise(self) -> &'static str {
        match self {
            Self::Sync => {
                "`sync`, `uninstall` and `init` for four hosts with files of the user's own, in three workspaces of one home: \
                 every line of the user's still stands, every file is whole, every skill is whole, the ledger can be read; the next `sync` comes to the same state as one \
                 that nothing happened to, leaves no unfinished file, and after `uninstall` everything is as it was to the byte"
            }
            Self::Install => {
                "a program that a plugin brings from git: whoever runs it gets what it says or an error that says why, it is installed once, never half, and the next run works"
            }
            Self::Hooks => {
                "six hosts ask about a command that a plugin denies and one that it does not: each is answered as if nothing had happened, in its own format"
            }
            Self::Trust => {
                "`update`, `use` and `sync` of a dependency with changed content: `agents.lock` and `config.toml` are the old or the new ones, never in between, the installed skill is \
                 whole, and afterwards `update` and `sync --locked` work"
            }
            Self::Agent => {
                "`agent new`, `edit`, `remove` and `unpack`: the definition is the old or the new one, never in between, the same command works afterwards, what several change at \
                 once is all there, and nothing lies beside it"
            }
            Self::Task => {
                "every task is in one documented state, everything that the model saw is in the transcript, nothing was done twice, no process is left, and what did not complete goes on"
            }
            Self::Records => {
                "`audit record`, `audit import` and `disable`: the file is the old or the new one, never in between, the same command works afterwards, what several write down at once is all there, \
                 and nothing lies beside it"
            }
            Self::Upkeep => {
                "`plugin sync` of a git registry, `plugin cache prune`, `doctor --fix`, `task gc`, `plan gc`, `man --dir`, `self-update` and `uninstall --purge`: the same command works afterwards, \
                 the program is the old or the new one, what plugins bring is whole, and nothing of the user's is gone"
            }
            Self::Exhaustive => {
                "the tests of single rooms that take minutes, and that `cargo test` leaves out: every write of a sync and hundreds of other moments, hundreds of histories of syncs, every write of the \
                 journal of a plan of fifty tasks, each once as a kill before it and, for the journal, once torn in the middle"
            }
            Self::Plan => {
                "every run can be resumed and ends with all results; what had ended is not paid for again, no effect is missing, the journal is sound"
            }
        }
    }

    /// Breaks it once, and looks at what is left.
    pub(crate) fn round(
        self,
        fault: Fault,
        chance: &mut Chance,
        program: &Utf8Path,
    ) -> anyhow::Result<Seen> {
        match self {
            Self::Sync => sync::round(fault, chance, program),
            Self::Install => install::round(fault, chance, program),
            Self::Hooks => hooks::round(fault, chance, program),
            Self::Trust => trust::round(fault, chance, program),
            Self::Agent => agent::round(fault, chance, program),
            Self::Task => task::round::round(fault, chance, program),
            Self::Plan => plan::round(fault, chance, program),
            Self::Records => records::round(fault, chance, program),
            Self::Upkeep => upkeep::round(fault, chance, program),
            Self::Exhaustive => anyhow::bail!("these are no rounds"),
        }
    }
}
