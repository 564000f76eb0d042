//! The process is killed at every write of the journal, one after the other, and each time the plan is resumed: everything that was
//! acknowledged is there, nothing that was acknowledged runs again, and the results are those of a plan that nobody disturbed.

use std::{
    collections::BTreeMap,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use agents_plan::{
    engine::Driver,
    event::{Ending, Event, Millis, What},
    journal::{Journals, Moment, Options, Origin},
    schedule::State,
};
use agents_testkit::scratch::Scratch;
use camino::Utf8Path;
use serde_json::Value;

use crate::bodies::{Bodies, fifty, only_run, results, runs};

const WHERE: &str = "AGENTS_PLAN_TEST_CRASH";

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Drives the plan in a directory to its end, from wherever it is.
pub(crate) fn drive(dir: &Utf8Path, options: Options) -> BTreeMap<String, (State, Value)> {
    let journals = Journals::new(dir.join("plans"));
    let run = match only_run(&journals) {
        Some(id) => journals.open(&id, options).unwrap(),
        None => journals.create(&fifty(), Millis(1), &Origin::default(), options).unwrap(),
    };
    let acknowledged = dir.join("acknowledged");
    block_on(async {
        let driver = Driver::new(run, Arc::new(Bodies { log: dir.join("bodies") }));
        let watcher = Arc::new(move |event: &Event, _: &_| {
            Bodies::append(&acknowledged, event.what.word());
        });
        let (_, scheduler) = driver.watched(watcher).run().await.unwrap();
        results(&scheduler)
    })
}

/// Run by [`killed_at_every_write`] in a process of its own.
#[test]
fn child() {
    let Ok(told) = std::env::var(WHERE) else { return };
    let [dir, write, moment] = told.split(';').collect::<Vec<_>>().try_into().unwrap();
    let write: u64 = write.parse().unwrap();
    let moment = match moment {
        "before" => Moment::Before,
        "written" => Moment::Written,
        _ => Moment::Committed,
    };
    let count = AtomicU64::new(0);
    let on_write = move |now: Moment, _: u64| {
        if now == moment && count.fetch_add(1, Ordering::Relaxed) + 1 == write {
            nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL)
                .unwrap();
            // Nothing after this must happen, however long the signal takes.
            loop {
                std::thread::park();
            }
        }
    };
    drive(Utf8Path::new(dir), Options { on_write: Some(Box::new(on_write)), ..Options::default() });
}

#[test]
fn killed_at_every_write() {
    let undisturbed = Scratch::in_memory();
    let expected = drive(undisturbed.root(), Options::default());
    assert_eq!(expected.len(), 50);
    assert_eq!(expected.values().filter(|(state, _)| *state == State::Failed).count(), 2);
    let mut killed = 0;
    for moment in ["before", "written", "committed"] {
        for write in 1.. {
            let scratch = Scratch::in_memory();
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["crash::child", "--exact", "--nocapture"])
                .env(WHERE, format!("{};{write};{moment}", scratch.root()))
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            if status.success() {
                assert!(write > 20, "there are fewer writes than expected: {write}");
                break;
            }
            killed += 1;
            let place = format!("killed at write {write}, {moment}");
            resume(&scratch, &expected, &place);
        }
    }
    assert!(killed > 60, "{killed}");
}

/// Checks what is left, goes on to the end, and checks that.
fn resume(scratch: &Scratch, expected: &BTreeMap<String, (State, Value)>, place: &str) {
    let journals = Journals::new(scratch.path("plans"));
    let log = scratch.path("bodies");
    let id = only_run(&journals).unwrap();
    let before = journals.view(&id).unwrap().events().unwrap();
    let acknowledged = std::fs::read_to_string(scratch.path("acknowledged")).unwrap_or_default();
    assert!(before.len() >= acknowledged.lines().count(), "an event is lost, {place}");
    let bodies = runs(&log);
    let paid: Vec<String> = before
        .iter()
        .filter_map(|(_, event)| match &event.what {
            What::Ended { attempt, outcome } if outcome.ending == Ending::Completed => {
                Some(fifty().nodes()[attempt.node.at()].id.to_string())
            }
            _ => None,
        })
        .collect();
    assert_eq!(drive(scratch.root(), Options::default()), *expected, "{place}");
    let after = runs(&log);
    for id in &paid {
        assert_eq!(after[id], bodies[id], "`{id}` was acknowledged and ran again, {place}");
    }
    let events = journals.view(&id).unwrap().events().unwrap();
    assert_eq!(events[..before.len()], before[..], "{place}");
    let checked = journals.check(&id).unwrap();
    assert!(checked.problems.is_empty(), "{:?}, {place}", checked.problems);
}

/// The files as they are after some write, with the end of the write-ahead log cut off or overwritten.
#[test]
fn torn_writes_lose_whole_groups_from_the_end_and_nothing_else() {
    let scratch = Scratch::in_memory();
    let kept = scratch.path("kept");
    std::fs::create_dir(&kept).unwrap();
    let (plans, copy, count) = (scratch.path("plans"), kept.clone(), AtomicU64::new(0));
    let on_write = move |moment: Moment, _: u64| {
        // SQLite empties the log when the last one who uses it is gone, so the copy is taken in the middle.
        if moment == Moment::Committed && count.fetch_add(1, Ordering::Relaxed) == 15 {
            let run = std::fs::read_dir(&plans).unwrap().next().unwrap().unwrap();
            for name in ["journal.db", "journal.db-wal"] {
                std::fs::copy(run.path().join(name), copy.join(name)).unwrap();
            }
            let name = run.file_name().to_str().unwrap().to_owned();
            std::fs::write(copy.join("id"), name).unwrap();
        }
    };
    let options = Options { on_write: Some(Box::new(on_write)), ..Options::default() };
    let expected = drive(scratch.root(), options);
    let id = std::fs::read_to_string(kept.join("id")).unwrap();
    let log = std::fs::read(kept.join("journal.db-wal")).unwrap();
    assert!(log.len() > 16 * 4096, "the copy holds no log: {}", log.len());
    let all = Journals::new(scratch.path("plans"))
        .view(&only_run(&Journals::new(scratch.path("plans"))).unwrap());
    let all = all.unwrap().events().unwrap();
    let mut lengths = Vec::new();
    for (lost, overwrite) in [
        (0, false),
        (1, false),
        (100, false),
        (4096, false),
        (4120, true),
        (9000, true),
        (30_000, false),
        (30_000, true),
        (60_000, true),
    ] {
        let torn = Scratch::in_memory();
        let dir = torn.path(format!("plans/{id}"));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy(kept.join("journal.db"), dir.join("journal.db")).unwrap();
        let keep = log.len() - lost;
        let mut bytes = log[..keep].to_vec();
        if overwrite {
            bytes.extend(log[keep..].iter().map(|it| it ^ 0x5a));
        }
        std::fs::write(dir.join("journal.db-wal"), bytes).unwrap();
        let journals = Journals::new(torn.path("plans"));
        let run = agents_plan::journal::RunId::parse(&id).unwrap();
        let checked = journals.check(&run).unwrap();
        assert!(checked.problems.is_empty(), "{lost}: {:?}", checked.problems);
        let left = journals.view(&run).unwrap().events().unwrap();
        assert_eq!(
            left[..],
            all[..left.len()],
            "what is left is not a beginning of what was there"
        );
        lengths.push(left.len());
        assert_eq!(drive(torn.root(), Options::default()), expected, "{lost}");
    }
    let [whole, one, .., most] = lengths[..] else { panic!() };
    assert!(whole > one && one > most && most > 0, "{lengths:?}");
}
