//! What both programs are given, what must come of it, and what does.
//!
//! Each scene is one function, which both programs go through: what it says is what it saw on the disk, on the streams and among the
//! processes, and it does not know whose program it looks at.

mod commands;
mod faults;
mod files;
mod hooks;
mod skills;

use camino::Utf8Path;

use crate::{
    ground::{Afterwards, Ground},
    program::{Programs, Who},
};

/// One input.
pub(crate) struct Scene {
    /// What the command line calls it.
    pub(crate) name: &'static str,
    /// What is given.
    pub(crate) given: &'static str,
    /// What must come of it.
    pub(crate) wanted: &'static str,
    play: fn(&Stage<'_>) -> anyhow::Result<Seen>,
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Scene> {
    [hooks::SCENES, files::SCENES, skills::SCENES, faults::SCENES, commands::SCENES]
        .into_iter()
        .flatten()
}

impl Scene {
    pub(crate) fn play(&self, stage: &Stage<'_>) -> anyhow::Result<Seen> {
        (self.play)(stage)
    }
}

/// What a program did with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) verdict: Verdict,
    /// In few words.
    pub(crate) told: String,
}

/// Whether it is what must come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Bad,
}

impl Seen {
    /// Good or bad.
    pub(crate) fn new(good: bool, told: impl Into<String>) -> Self {
        let verdict = if good { Verdict::Good } else { Verdict::Bad };
        Self { verdict, told: told.into() }
    }

    /// Good if nothing is wrong.
    pub(crate) fn unless(wrong: &[String], good: &str) -> Self {
        if wrong.is_empty() { Self::new(true, good) } else { Self::new(false, wrong.join("; ")) }
    }
}

/// Where a program plays.
pub(crate) struct Stage<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) who: Who,
    /// How often what depends on the moment is tried.
    pub(crate) rounds: u32,
    pub(crate) afterwards: Afterwards,
}

impl Stage<'_> {
    pub(crate) fn ground(&self) -> anyhow::Result<Ground> {
        Ground::new(self.who, self.program(), self.afterwards)
    }

    pub(crate) fn bare_ground(&self) -> anyhow::Result<Ground> {
        Ground::bare(self.who, self.program(), self.afterwards)
    }

    fn program(&self) -> &Utf8Path {
        self.programs.of(self.who)
    }
}
