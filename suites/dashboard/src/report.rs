//! The table of this suite.

use hosts_suite::table::{self, Page};

/// One thing that is done at the page.
pub(crate) type Row = table::Row<Column>;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Done,
    Quiet,
    Alone,
    Text,
}

impl table::Column for Column {
    const SUBJECT: &'static [&'static str] = &["what is done", "browser"];
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Done, "works"),
        (Self::Quiet, "no complaints"),
        (Self::Alone, "nobody else asked"),
        (Self::Text, "text stays text"),
    ];
}

/// Screenshots that pages of the book show, by the names that they have there.
pub(crate) const PICTURES: [(&str, &str); 2] =
    [("plan-running.png", "dashboard-plan.png"), ("tree.png", "dashboard-tasks.png")];

/// The page with the table.
pub(crate) const PAGE: Page<'static> = Page {
    name: "real-dashboard.md",
    before: "# In a real browser\n\n\
    Written by `cargo run -p dashboard-suite -- --update-docs`. Each row is a headless Chromium at the page of the real program, with a real supervisor and a scripted\n\
    model, in a network with nobody in it. What the page is for is in [dashboard.md](dashboard.md).\n",
    after: "\
    - **works**: what is described came to pass on the page and, where something was done, on the disk.\n\
    - **no complaints**: the browser's console has no error and no warning, and nothing was thrown; where the program is ended on purpose, only that it does not answer.\n\
    - **nobody else asked**: every request went to the address that the program printed.\n\
    - **text stays text**: no dialog opened, no script of an agent ran, and no element came from what an agent said.\n",
};
