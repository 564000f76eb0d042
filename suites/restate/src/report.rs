//! The table of this suite.

use hosts_suite::table::{self, Page};

/// One kind of fault.
pub(crate) type Row = table::Row<Column>;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Completed,
    Files,
    Once,
    Events,
    Nothing,
}

impl table::Column for Column {
    const SUBJECT: &'static [&'static str] = &["what happens", "server", "rounds", "seed"];
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Completed, "same results"),
        (Self::Files, "same files"),
        (Self::Once, "nothing paid after it was acknowledged"),
        (Self::Events, "one end each"),
        (Self::Nothing, "nothing left behind"),
    ];
}

/// The page with the table.
pub(crate) const PAGE: Page<'static> = Page {
    name: "real-engine.md",
    before: "# With a real Restate server\n\n\
    Written by `cargo run -p restate-suite -- --update-docs`. Each round is a plan of twelve tasks on two workers, with a real server from npm in a network of its own and a\n\
    scripted model; the faults come at random moments. How it works is in [plans.md](plans.md#on-a-cluster); before the rounds, every command\n\
    of [the guide](guides/cluster.md) is typed and printed what it says.\n",
    after: "\
    - **same results**: the plan ended as `completed`, with the results that it has when nothing happens.\n\
    - **same files**: what the tasks wrote at the workers is in the user's files, as it is when nothing happens.\n\
    - **nothing paid after it was acknowledged**: the model saw no request for a task after the server had acknowledged its step.\n\
    - **one end each**: in the journal every task has exactly one end.\n\
    - **nothing left behind**: afterwards the server has no task that is still to be done.\n",
};
