//! All changes of a room, one at a time, each with the tests that reach it.

use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::say;

use crate::{
    at_once,
    change::{self, Change, Switch},
    compile::Copy,
    copy::Files,
    kept::{Kept, Outcome, Reach, Reached, Shelf},
    room::Room,
    trial::{Ending, Patience, Stage, Test, With},
    weed::{Garden, Weeds},
};

/// Where everything is, and how much at once.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The project.
    pub(crate) root: Utf8PathBuf,
    /// Where `cargo mutants` is.
    pub(crate) tools: Utf8PathBuf,
    /// The copy, where it is built, and what is known.
    pub(crate) scratch: Utf8PathBuf,
    pub(crate) jobs: NonZero<usize>,
    pub(crate) before: Before,
    /// Only changes whose names have this in them.
    pub(crate) only: Option<String>,
}

/// What becomes of earlier results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Kept,
    Forgotten,
}

/// What came of all changes of a room.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) changes: usize,
    pub(crate) not_rust: usize,
    pub(crate) noticed: usize,
    pub(crate) endless: usize,
    pub(crate) not_noticed: Vec<Change>,
    /// Tests that fail without a change.
    pub(crate) failing: Vec<Test>,
}

/// Tries the changes of a room.
pub(crate) fn attempt(room: Room, ground: &Ground) -> anyhow::Result<Tally> {
    let (scratch, files) = (&ground.scratch, Files::of(&ground.root)?);
    let changes = change::list(&ground.root, &ground.tools, &room.package())?;
    let shelf = Shelf::new(scratch, room.name);
    if ground.before == Before::Forgotten {
        shelf.forget()?;
    }
    // Another suite may find a place where this one did not, and whether a change is Rust is for types of any room to say.
    let everything = ["crates", "Cargo.lock", "suites/mutants"].map(Utf8Path::new);
    let everything = files.fingerprint(everything);
    let mut kept = shelf.load(&everything);
    let garden = Garden {
        room: &room,
        changes: &changes,
        root: &ground.root,
        files: &files,
        copy: Copy { tree: &scratch.join("tree"), target: &scratch.join("target") },
    };
    say(&format!("{}: building {} changes into one program", room.name, changes.len()));
    let programs = garden.build(&mut kept.weeds)?;
    shelf.save(&kept)?;
    let stage = Stage { programs, room: scratch.join("tree").join(room.path()) };
    let weeds = kept.weeds.clone();
    let switched = changes.iter().zip(1..).map(|(change, number)| (Switch(number), change));
    let switched: Vec<_> = switched.filter(|(_, it)| is_switched(&weeds, it)).collect();
    let numbered = numbered(&everything, &switched);
    let reached = match shelf.load_reached(&numbered) {
        Some(reached) => reached,
        None => {
            let mut reached = reach(&stage, ground.jobs)?;
            shelf.save_reached(&mut reached, &numbered)?;
            reached
        }
    };
    let is_wanted = |it: &Change| ground.only.as_ref().is_none_or(|only| it.name().contains(only));
    let wanted: Vec<&Change> = changes.iter().filter(|it| is_wanted(it)).collect();
    let switched: Vec<_> = switched.into_iter().filter(|(_, it)| is_wanted(it)).collect();
    let is_alone = |it: &&Change| weeds.no_place.contains(&it.key());
    let alone: Vec<&Change> = wanted.iter().copied().filter(is_alone).collect();
    let trials = Trials::new(room, &stage, &reached, &shelf, kept);
    trials.run(ground.jobs, switched)?;
    trials.run_alone(&garden, ground.jobs, alone)?;
    let kept = trials.kept.into_inner().unwrap_or_else(PoisonError::into_inner).0;
    Ok(Tally::of(&wanted, &kept, reached.failing))
}

impl Tally {
    fn of(wanted: &[&Change], kept: &Kept, failing: Vec<Test>) -> Self {
        let mut tally = Self { changes: wanted.len(), failing, ..Self::default() };
        for change in wanted {
            let outcome = match kept.weeds.not_rust.contains(&change.key()) {
                true => Some(&Outcome::NotRust),
                false => kept.outcomes.get(&change.key()),
            };
            match outcome {
                Some(Outcome::NotRust) => tally.not_rust += 1,
                Some(Outcome::Noticed) => tally.noticed += 1,
                Some(Outcome::Endless) => tally.endless += 1,
                Some(Outcome::NotNoticed) | None => tally.not_noticed.push((*change).clone()),
            }
        }
        tally
    }
}

/// Under which what tests reach is believed: numbers mean something else as soon as one change more or less is listed.
fn numbered(everything: &str, switched: &[(Switch, &Change)]) -> String {
    let line = |(switch, change): &(Switch, &Change)| format!("{} {}\n", switch.0, change.key());
    let list: String = switched.iter().map(line).collect();
    format!("{everything} {}", blake3::hash(list.as_bytes()).to_hex())
}

fn is_switched(weeds: &Weeds, change: &Change) -> bool {
    let key = change.key();
    !weeds.not_rust.contains(&key) && !weeds.no_place.contains(&key)
}

/// Runs every test once without a change.
fn reach(stage: &Stage, jobs: NonZero<usize>) -> anyhow::Result<Reached> {
    let tests = stage.tests()?;
    say(&format!("running {} tests once, to see what each of them reaches", tests.len()));
    let reached = Mutex::new(Reached::default());
    at_once::each(jobs, tests, |test, scratch| {
        let file = scratch.join("reached");
        let own = scratch.join("t");
        fs_err::create_dir(&own)?;
        let run = || stage.run(&test, With::Record(&file), Patience::FIRST, &own);
        let (mut ending, mut took) = run()?;
        if ending != Ending::Passed {
            // On a busy machine once is not enough.
            (ending, took) = run()?;
        }
        let text = fs_err::read_to_string(&file).unwrap_or_default();
        let mut switches: Vec<u32> = text.lines().filter_map(|it| it.parse().ok()).collect();
        switches.sort_unstable();
        switches.dedup();
        let mut reached = reached.lock().unwrap_or_else(PoisonError::into_inner);
        if ending == Ending::Passed {
            let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            reached.tests.push(Reach { test, millis, switches });
        } else {
            say(&format!("fails without a change: {} {}", test.program, test.name));
            reached.failing.push(test);
        }
        Ok(())
    })?;
    let mut reached = reached.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The quickest first; the names, so that it is the same order every time.
    reached.tests.sort_by(|a, b| (a.millis, &a.test).cmp(&(b.millis, &b.test)));
    Ok(reached)
}

/// Trials of changes, several at once.
pub(crate) struct Trials<'a> {
    room: Room,
    stage: &'a Stage,
    reached: &'a Reached,
    shelf: &'a Shelf,
    kept: Mutex<(Kept, Noticers)>,
}

/// Which tests noticed something, by the functions that were changed.
type Noticers = BTreeMap<String, Vec<Test>>;

/// What came of a change, and which test noticed it.
type Found = (Outcome, Option<Test>);

impl<'a> Trials<'a> {
    fn new(
        room: Room,
        stage: &'a Stage,
        reached: &'a Reached,
        shelf: &'a Shelf,
        kept: Kept,
    ) -> Self {
        Self { room, stage, reached, shelf, kept: Mutex::new((kept, Noticers::new())) }
    }

    fn run(&self, jobs: NonZero<usize>, changes: Vec<(Switch, &Change)>) -> anyhow::Result<()> {
        let waiting: Vec<_> = changes.into_iter().filter(|(_, it)| self.is_new(it)).collect();
        let (all, done) = (waiting.len(), Mutex::new(0));
        say(&format!("{}: {all} changes to try", self.room.name));
        at_once::each(jobs, waiting, |(switch, change), scratch| {
            self.keep(change, self.try_change(switch, change, scratch)?)?;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            if *done % 50 == 0 {
                say(&format!("{}: {done} of {all} tried", self.room.name));
            }
            Ok(())
        })
    }

    /// Those without a switch, each in a build of its own and with every test of the room.
    fn run_alone(
        &self,
        garden: &Garden<'_>,
        jobs: NonZero<usize>,
        changes: Vec<&Change>,
    ) -> anyhow::Result<()> {
        let waiting: Vec<_> = changes.into_iter().filter(|it| self.is_new(it)).collect();
        say(&format!("{}: {} changes to build alone", self.room.name, waiting.len()));
        for change in waiting {
            let found = match garden.build_alone(change)? {
                Ok(programs) => {
                    let stage = Stage { programs, room: self.stage.room.clone() };
                    self.try_alone(&stage, change, jobs)?
                }
                Err(_) => (Outcome::NotRust, None),
            };
            self.keep(change, found)?;
        }
        Ok(())
    }

    fn is_new(&self, change: &Change) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        !kept.0.outcomes.contains_key(&change.key())
    }

    fn keep(&self, change: &Change, (outcome, by): Found) -> anyhow::Result<()> {
        if outcome == Outcome::NotNoticed {
            say(&format!("not noticed: {}", change.name()));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.outcomes.insert(change.key(), outcome);
        if let Some(by) = by {
            kept.1.entry(change.neighbourhood()).or_default().push(by.clone());
            kept.0.noticed_by.insert(change.key(), by);
        }
        self.shelf.save(&kept.0)
    }

    fn try_change(
        &self,
        switch: Switch,
        change: &Change,
        scratch: &Utf8Path,
    ) -> anyhow::Result<Found> {
        for reach in self.order(change).filter(|it| it.switches.binary_search(&switch.0).is_ok()) {
            if let Some(found) = try_test(self.stage, reach, With::Change(switch), scratch)? {
                return Ok(found);
            }
        }
        Ok((Outcome::NotNoticed, None))
    }

    fn try_alone(
        &self,
        stage: &Stage,
        change: &Change,
        jobs: NonZero<usize>,
    ) -> anyhow::Result<Found> {
        let found = Mutex::new(None);
        at_once::each(jobs, self.order(change).collect(), |reach, scratch| {
            let is_found = || found.lock().unwrap_or_else(PoisonError::into_inner);
            if is_found().is_none()
                && let Some(new) = try_test(stage, reach, With::Built, scratch)?
            {
                is_found().get_or_insert(new);
            }
            Ok(())
        })?;
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(found.unwrap_or((Outcome::NotNoticed, None)))
    }

    /// All tests: the one that noticed the change the last time, those that noticed something in the same function, the others.
    fn order(&self, change: &Change) -> impl Iterator<Item = &'a Reach> {
        let mut tests: Vec<&Reach> = self.reached.tests.iter().collect();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.0.noticed_by.get(&change.key());
        let near = kept.1.get(&change.neighbourhood());
        tests.sort_by_key(|it| {
            let is_near = near.is_some_and(|near| near.contains(&it.test));
            (before != Some(&it.test), !is_near)
        });
        tests.into_iter()
    }
}

/// What is found if this test notices the change.
fn try_test(
    stage: &Stage,
    reach: &Reach,
    with: With<'_>,
    scratch: &Utf8Path,
) -> anyhow::Result<Option<Found>> {
    let patience = Patience::after(Duration::from_millis(reach.millis));
    let run = || stage.run(&reach.test, with, patience, scratch);
    let (ending, _) = run()?;
    // A busy machine lets a test fail, too, but hardly twice.
    if ending == Ending::Passed || run()?.0 == Ending::Passed {
        return Ok(None);
    }
    let outcome = if ending == Ending::Endless { Outcome::Endless } else { Outcome::Noticed };
    Ok(Some((outcome, Some(reach.test.clone()))))
}
