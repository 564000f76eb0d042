//! What can happen to the program while it writes a journal, at every write of it: it is killed, what it writes is torn, the disk is full, the
//! clock jumps. Each time the run is resumed, and ends as if nothing had happened.
//!
//! `cargo test -p cargo-agents --test it -- plans::crash --ignored` takes every write; the other tests take some of them.

use std::collections::BTreeMap;

use agents_testkit::{
    harm::{self, Harm, Place},
    scratch,
};
use serde_json::Value;

use super::Stage;
use crate::world::Run;

/// Fifty tasks: chains that split and meet, some of which write the same paths.
fn fifty() -> (String, String) {
    let mut plan = "plan = \"fifty\"\n[concurrency]\ntotal = 5\n".to_owned();
    let mut script = String::new();
    for at in 0..50_usize {
        let needs: Vec<usize> = match at {
            0 => Vec::new(),
            _ if at % 7 == 0 => vec![at - 1, at / 2],
            _ if at % 3 == 0 => vec![at - 3],
            _ => vec![at / 2],
        };
        let refers: String =
            needs.iter().map(|on| format!(" ${{{{ tasks.t{on}.text }}}}")).collect();
        let writes =
            if at % 4 == 0 { format!("writes = [\"d{}\"]\n", at % 3) } else { String::new() };
        plan.push_str(&format!(
            "[[tasks]]\nid = \"t{at}\"\nagent = \"helper\"\nprompt = \"TASK {at}:{refers}\"\n{writes}"
        ));
        let told: String = needs.iter().map(|on| format!(" result {on}")).collect();
        // An answer only for what it must be told.
        script.push_str(&format!(
            "[[replies]]\nwhen = {{ text = \"TASK {at}:{told}\" }}\ntext = \"result {at}\"\n"
        ));
    }
    (script, plan)
}

/// What is written when a plan is carried out.
const JOURNAL: Place<'static> = Place::File("journal.db-wal");

struct Fifty {
    stage: Stage,
}

impl Fifty {
    fn new() -> Self {
        let (script, plan) = fifty();
        Self { stage: Stage::new(&script, &plan) }
    }

    fn run(&self, args: &[&str], harm: Option<Harm>) -> Run {
        let mut command = self.stage.command(&[args, &["--fresh", "--json"]].concat());
        match harm {
            Some(harm) => harm.put(JOURNAL, &mut command),
            None => harm::count(JOURNAL, &mut command, &self.stage.world.home().join("writes")),
        }
        Run::from(command.output().unwrap())
    }

    /// How often the journal was written and flushed.
    fn writes(&self) -> usize {
        std::fs::read(self.stage.world.home().join("writes")).unwrap().len()
    }

    /// What became of every task.
    fn results(&self) -> BTreeMap<String, (String, String)> {
        let document = self.stage.document(&["show", "last"]);
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let tasks = document["tasks"].as_array().unwrap().iter();
        tasks
            .map(|it| (text(&it["task"]), (text(&it["state"]), text(&it["outcome"]["text"]))))
            .collect()
    }

    fn events(&self) -> Vec<Value> {
        self.stage.document(&["logs", "last"])["events"].as_array().unwrap().clone()
    }

    /// How often an agent worked for each task.
    fn bodies(&self) -> BTreeMap<String, usize> {
        let run = self.stage.world.agents(&["task", "list", "--json", "-n", "1000"]);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let mut bodies = BTreeMap::new();
        for task in document["tasks"].as_array().unwrap() {
            let name = task["path"].as_str().unwrap().split('-').next().unwrap();
            *bodies.entry(name.to_owned()).or_default() += 1;
        }
        bodies
    }

    /// The run was left in the middle: what is there is whole, and resuming it leads to the same end.
    fn resumed(&self, killed: &Run, expected: &BTreeMap<String, (String, String)>, place: &str) {
        let runs = self.stage.document(&["list"])["runs"].clone();
        if runs.as_array().unwrap().is_empty() {
            // It was killed before there was anything to resume, and said nothing.
            assert!(!killed.stdout.contains("\"line\":\"event\""), "{place}: {killed:?}");
            let run = self.run(&["run", "plan.toml"], None);
            assert_eq!((run.code, &self.results()), (Some(0), expected), "{place}: {run:?}");
            return;
        }
        let before = self.events();
        let told: Vec<Value> = killed
            .stdout
            .lines()
            .filter_map(|it| serde_json::from_str::<Value>(it).ok())
            .filter(|it| it["line"] == "event")
            .collect();
        assert!(told.len() <= before.len(), "an event is lost, {place}");
        for (told, kept) in told.iter().zip(&before) {
            assert_eq!((&told["task"], &told["event"]), (&kept["task"], &kept["event"]), "{place}");
        }
        let paid: Vec<&str> = before
            .iter()
            .filter(|it| it["event"] == "ended")
            .filter_map(|it| it["task"].as_str())
            .collect();
        let bodies = self.bodies();
        if runs[0]["state"] != "completed" {
            let run = self.run(&["resume", "last"], None);
            assert_eq!(run.code, Some(0), "{place}: {run:?}");
        }
        assert_eq!(&self.results(), expected, "{place}");
        let after = self.bodies();
        for task in paid {
            assert_eq!(after[task], bodies[task], "`{task}` was paid for, and ran again, {place}");
        }
        assert_eq!(self.events()[..before.len()], before[..], "{place}");
        let checked = self.stage.document(&["check-journal", "last"]);
        assert_eq!(checked["runs"][0]["problems"], serde_json::json!([]), "{place}");
    }
}

/// How a run ends that nobody disturbs, and how often it writes.
fn undisturbed() -> (BTreeMap<String, (String, String)>, usize) {
    let fifty = Fifty::new();
    let run = fifty.run(&["run", "plan.toml"], None);
    assert_eq!(run.code, Some(0), "{run:?}");
    let results = fifty.results();
    assert_eq!(results.len(), 50);
    assert!(results.values().all(|it| it.0 == "completed"), "{results:?}");
    assert!(fifty.bodies().values().all(|it| *it == 1), "{:?}", fifty.bodies());
    let writes = fifty.writes();
    assert!(writes > 60, "{writes}");
    (results, writes)
}

#[expect(clippy::print_stderr, reason = "the suite of faults says how many there were")]
fn killed_at(points: impl Fn(usize) -> Vec<usize>, harm: fn(usize) -> Harm) {
    let (expected, writes) = undisturbed();
    let mut killed = 0;
    for at in points(writes) {
        let fifty = Fifty::new();
        let run = fifty.run(&["run", "plan.toml"], Some(harm(at)));
        // Events come together in other ways each time, so there may be fewer writes.
        assert!(run.code.is_none() || (run.code == Some(0) && at > writes / 2), "{at}: {run:?}");
        killed += usize::from(run.code.is_none());
        fifty.resumed(&run, &expected, &format!("{:?} of {writes}", harm(at)));
    }
    eprintln!("{writes} writes, {killed} kills");
    assert!(killed > 0);
}

/// Some of them, spread out, and not all at the same place of a commit.
fn some(writes: usize) -> Vec<usize> {
    (1..=writes).step_by(writes / 4 + 1).collect()
}

#[test]
fn killed_at_some_writes() {
    killed_at(some, Harm::Before);
}

#[test]
fn torn_at_some_writes() {
    killed_at(|writes| some(writes).iter().map(|it| it + 7).collect(), Harm::Torn);
}

#[test]
#[ignore = "takes every write of a plan of fifty tasks: minutes"]
fn killed_at_every_write() {
    killed_at(|writes| (1..=writes).collect(), Harm::Before);
}

#[test]
#[ignore = "takes every write of a plan of fifty tasks: minutes"]
fn torn_at_every_write() {
    killed_at(|writes| (1..=writes).collect(), Harm::Torn);
}

#[test]
fn a_full_disk_stops_the_run_and_loses_nothing() {
    let (expected, writes) = undisturbed();
    for at in [writes / 5, writes / 2] {
        let fifty = Fifty::new();
        let run = fifty.run(&["run", "plan.toml"], Some(Harm::Full(at)));
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stdout.contains("make room on the disk, then resume the run"), "{run:?}");
        fifty.resumed(&run, &expected, &format!("full at write {at} of {writes}"));
    }
}

const DAY: i64 = 24 * 60 * 60;

#[test]
fn a_clock_that_jumps_hastens_nothing_and_turns_no_time_back() {
    let (expected, writes) = undisturbed();
    for by in [DAY, -DAY] {
        let fifty = Fifty::new();
        // Whoever is stopped by a day that never passed would fail.
        let plan = fifty.stage.world.sample.root().join("plan.toml");
        let timed = std::fs::read_to_string(&plan).unwrap().replace(
            "agent = \"helper\"",
            "agent = \"helper\"\nlimits = { time = \"10m\", idle = \"10m\" }",
        );
        scratch::write(&plan, &timed);
        let run = fifty.run(&["run", "plan.toml"], Some(Harm::Jump { at: writes / 3, by }));
        assert_eq!((run.code, &fifty.results()), (Some(0), &expected), "{by}: {run:?}");

        let killed = Fifty::new();
        let run = killed.run(&["run", "plan.toml"], Some(Harm::Before(writes / 3)));
        assert_eq!(run.code, None, "{run:?}");
        let run = killed.run(&["resume", "last"], Some(Harm::Clock(by)));
        assert_eq!((run.code, &killed.results()), (Some(0), &expected), "{by}: {run:?}");
        for fifty in [&fifty, &killed] {
            let times: Vec<jiff::Timestamp> = fifty
                .events()
                .iter()
                .map(|it| it["at"].as_str().unwrap().parse().unwrap())
                .collect();
            assert!(times.is_sorted(), "{by}: {times:?}");
        }
    }
}
