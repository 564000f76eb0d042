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
    pub(crate) no_place: usize,
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
    let wanted = |it: &&Change| ground.only.as_ref().is_none_or(|only| it.name().contains(only));
    let switched: Vec<_> = switched.into_iter().filter(|(_, it)| wanted(it)).collect();
    let trials = Trials::new(&stage, &reached, &shelf, kept);
    trials.run(room, ground.jobs, &switched)?;
    let kept = trials.kept.into_inner().unwrap_or_else(PoisonError::into_inner).0;
    let mut tally = Tally { changes: changes.len(), failing: reached.failing, ..Tally::default() };
    tally.not_rust = weeds.not_rust.len();
    tally.no_place = weeds.no_place.len();
    for (_, change) in switched {
        match kept.outcomes.get(&change.key()) {
            Some(Outcome::Noticed) => tally.noticed += 1,
            Some(Outcome::Endless) => tally.endless += 1,
            Some(Outcome::NotNoticed) | None => tally.not_noticed.push(change.clone()),
        }
    }
    Ok(tally)
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
struct Trials<'a> {
    stage: &'a Stage,
    reached: &'a Reached,
    shelf: &'a Shelf,
    kept: Mutex<(Kept, Noticers)>,
}

/// Which tests noticed something, by the functions that were changed.
type Noticers = BTreeMap<String, Vec<Test>>;

impl<'a> Trials<'a> {
    fn new(stage: &'a Stage, reached: &'a Reached, shelf: &'a Shelf, kept: Kept) -> Self {
        Self { stage, reached, shelf, kept: Mutex::new((kept, Noticers::new())) }
    }

    fn run(
        &self,
        room: Room,
        jobs: NonZero<usize>,
        changes: &[(Switch, &Change)],
    ) -> anyhow::Result<()> {
        let waiting: Vec<_> = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = |it: &&(Switch, &Change)| !kept.0.outcomes.contains_key(&it.1.key());
            changes.iter().filter(is_new).copied().collect()
        };
        let (all, counted) = (waiting.len(), Mutex::new((0, 0)));
        say(&format!("{}: {all} changes to try", room.name));
        at_once::each(jobs, waiting, |(switch, change), scratch| {
            let (outcome, by) = self.try_change(switch, change, scratch)?;
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.0.outcomes.insert(change.key(), outcome);
            if let Some(by) = by {
                kept.1.entry(change.neighbourhood()).or_default().push(by.clone());
                kept.0.noticed_by.insert(change.key(), by);
            }
            self.shelf.save(&kept.0)?;
            let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
            counted.0 += 1;
            if outcome == Outcome::NotNoticed {
                counted.1 += 1;
                say(&format!("not noticed: {}", change.name()));
            }
            if counted.0 % 50 == 0 {
                let (done, missed) = *counted;
                say(&format!("{}: {done} of {all} tried, {missed} not noticed", room.name));
            }
            Ok(())
        })
    }

    fn try_change(
        &self,
        switch: Switch,
        change: &Change,
        scratch: &Utf8Path,
    ) -> anyhow::Result<(Outcome, Option<Test>)> {
        for reach in self.order(switch, change) {
            let patience = Patience::after(Duration::from_millis(reach.millis));
            let run = || self.stage.run(&reach.test, With::Change(switch), patience, scratch);
            let (ending, _) = run()?;
            // A busy machine lets a test fail, too, but hardly twice.
            if ending == Ending::Passed || run()?.0 == Ending::Passed {
                continue;
            }
            let outcome =
                if ending == Ending::Endless { Outcome::Endless } else { Outcome::Noticed };
            return Ok((outcome, Some(reach.test.clone())));
        }
        Ok((Outcome::NotNoticed, None))
    }

    /// The tests that reach a switch: the one that noticed it the last time, those that noticed something in the same function, the others.
    fn order(&self, switch: Switch, change: &Change) -> Vec<&Reach> {
        let mut tests: Vec<&Reach> = self.reached.tests.iter().collect();
        tests.retain(|it| it.switches.binary_search(&switch.0).is_ok());
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.0.noticed_by.get(&change.key());
        let near = kept.1.get(&change.neighbourhood());
        tests.sort_by_key(|it| {
            let is_near = near.is_some_and(|near| near.contains(&it.test));
            (before != Some(&it.test), !is_near)
        });
        tests
    }
}
