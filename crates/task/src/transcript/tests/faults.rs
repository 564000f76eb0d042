//! What is left when a program was killed, a disk was full, or two wanted the same.

use camino::{Utf8Path, Utf8PathBuf};

use super::*;

#[test]
fn one_claim_at_a_time() {
    let scratch = Scratch::new();
    let (one, other) = (Store::new(&scratch.path("tasks")), Store::new(&scratch.path("tasks")));
    let id = run(&one, &talk());
    let claim = one.claim(id).unwrap().unwrap();
    assert!(one.claim(id).unwrap().is_none() && other.claim(id).unwrap().is_none());
    let copy = claim.clone();
    drop(claim);
    assert!(other.claim(id).unwrap().is_none(), "a copy is enough");
    drop(copy);
    let claim = other.claim(id).unwrap();
    assert!(claim.is_some());
    // Retention tidies up locks, and leaves those that are held.
    let lock = scratch.path(format!("tasks/owners/{id}.lock"));
    changed_days_ago(&lock, 3);
    one.sweep_by(Retention::FOREVER, Stamp::now()).unwrap();
    assert!(lock.exists());
    drop(claim);
    changed_days_ago(&lock, 3);
    one.sweep_by(Retention::FOREVER, Stamp::now()).unwrap();
    assert!(!lock.exists());
    assert!(one.claim(id).unwrap().is_some());
}

fn changed_days_ago(path: &Utf8Path, days: u64) {
    let then = std::time::SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

/// A clock that is set forward makes everything look old at once.
#[test]
fn what_belongs_to_nothing_is_left_to_programs_that_live() {
    let scratch = Scratch::new();
    let one = Store::new(&scratch.path("tasks"));
    let other = Store::new(&scratch.path("tasks"));
    one.ready().unwrap();
    let sweep = || other.sweep_by(Retention::FOREVER, Stamp::now()).unwrap();
    let locks = || fs_err::read_dir(scratch.path("tasks/owners")).unwrap().count();
    for lock in fs_err::read_dir(scratch.path("tasks/owners")).unwrap() {
        changed_days_ago(&Utf8PathBuf::try_from(lock.unwrap().path()).unwrap(), 5);
    }
    let unfinished = scratch.path(format!("tasks/{}1", agents_system::atomic::UNFINISHED));
    let records = scratch.path(format!("tasks/{}.jsonl", TaskId::new()));
    for (days, stays) in [(3, true), (7, false)] {
        for file in [&unfinished, &records] {
            fs_err::write(file, "").unwrap();
            changed_days_ago(file, days);
        }
        sweep();
        assert_eq!((unfinished.exists(), records.exists()), (stays, stays), "{days} days");
        assert_eq!(locks(), 1, "it lives");
    }
    fs_err::write(&unfinished, "").unwrap();
    changed_days_ago(&unfinished, 3);
    drop(one);
    sweep();
    assert!(!unfinished.exists());
}

#[test]
fn the_last_word_counts_even_if_metadata_was_never_written() {
    let scratch = Scratch::new();
    let reader = Store::new(&scratch.path("tasks"));
    for last_word in [true, false] {
        let store = Store::new(&scratch.path("tasks"));
        let opening = opening(None);
        let (id, file) = (opening.id, scratch.path(format!("tasks/{}.meta.json", opening.id)));
        let mut writer = store.begin(opening);
        writer.message(&Message::user("one"));
        let tokens = Usage { input: 7, ..Usage::default() };
        writer.spent(1, &tokens, Some(MicroDollars(5)));
        writer.message(&Message::assistant("two"));
        let before = fs_err::read(&file).unwrap();
        if last_word {
            let report = Report { turns: 1, usage: tokens, ..Report::default() };
            let ending = Ending::Completed;
            writer.end(&Outcome { id, path: TaskPath::root(), ending, report });
        }
        drop(writer);
        // As if the program had been killed before it could replace the file.
        fs_err::write(&file, before).unwrap();
        drop(store);
        let meta = reader.meta(id).unwrap();
        let expected =
            if last_word { Standing::Ended(State::Completed) } else { Standing::Interrupted };
        assert_eq!(reader.standing(&meta), expected);
        assert_eq!((meta.turns, meta.usage), (1, tokens), "what it took is known");
        assert_eq!(meta.finished_at.is_some(), last_word);
        assert_eq!(meta.cost, (!last_word).then_some(MicroDollars(5)));
    }
}

#[test]
fn a_store_that_insists_ends_what_it_cannot_write() {
    let scratch = Scratch::new();
    for insists in [true, false] {
        scratch.write(format!("{insists}"), "a file where the directory should be");
        let store = Store::new(&scratch.path(format!("{insists}")));
        let store = if insists { store.insisting() } else { store };
        assert!(store.ready().is_err());
        let writer = store.begin(opening(None));
        assert_eq!(writer.trouble().is_some(), insists);
    }
    let store = Store::new(&scratch.path("tasks")).insisting();
    store.ready().unwrap();
    let mut writer = store.begin(opening(None));
    writer.message(&Message::user("one"));
    assert_eq!(writer.trouble(), None);
}

/// A device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn what_could_not_be_written_once_is_a_reason_to_end_from_then_on() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks")).insisting();
    // Every record is written to the device by way of the name.
    let _others: Vec<Writer> = (0..256).map(|_| store.begin(opening(None))).collect();
    let opening = opening(None);
    let id = opening.id;
    let mut writer = store.begin(opening);
    writer.message(&Message::user("one"));
    assert_eq!(writer.trouble(), None);
    fs_err::rename(store.path(id), scratch.path("kept")).unwrap();
    std::os::unix::fs::symlink("/dev/full", store.path(id)).unwrap();
    writer.message(&Message::user("two"));
    assert!(writer.trouble().unwrap().contains("space"), "{:?}", writer.trouble());
    fs_err::remove_file(store.path(id)).unwrap();
    fs_err::rename(scratch.path("kept"), store.path(id)).unwrap();
    writer.message(&Message::user("three"));
    assert!(writer.trouble().is_some(), "there is a gap");
}

/// A directory in which nothing can be made stands in for a disk that is full: the end of a run is written when there is room again.
#[cfg(unix)]
#[test]
fn the_end_of_a_run_is_written_as_soon_as_it_can_be() {
    let scratch = Scratch::new();
    let (store, other) = (Store::new(&scratch.path("tasks")), Store::new(&scratch.path("tasks")));
    let opening = opening(None);
    let (id, file) = (opening.id, scratch.path(format!("tasks/{}.meta.json", opening.id)));
    let mut writer = store.begin(opening);
    // Nothing replaces a directory that is not empty.
    fs_err::remove_file(&file).unwrap();
    fs_err::create_dir_all(file.join("in-the-way")).unwrap();
    writer.end(&outcome(id, Ending::Completed));
    assert!(other.meta(id).is_err());
    fs_err::remove_dir_all(&file).unwrap();
    run(&store, &talk());
    assert_eq!(other.meta(id).unwrap().state, State::Completed);
}
