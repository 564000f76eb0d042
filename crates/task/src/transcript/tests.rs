use std::{sync::Arc, time::Duration};

use agents_model::{
    Message, Part, Role, ToolCall, ToolInput, ToolResult, Usage,
    cost::MicroDollars,
    message::{Signature, Thinking, ToolStatus},
    wire::Wire,
};
use agents_testkit::scratch::Scratch;
use agents_tool::secrets::Mask;
use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::{Value, json};

mod faults;

use super::*;
use crate::{
    id::TaskPath,
    outcome::{Ending, Outcome, Report},
    recorder::Recorder as _,
};

fn opening(resumed_from: Option<TaskId>) -> Opening {
    Opening {
        id: TaskId::new(),
        agent: "worker".to_owned(),
        path: TaskPath::root().child("worker", &crate::id::Taken::default()),
        parent: None,
        resumed_from,
        model: "script/any".to_owned(),
        mask: Arc::default(),
    }
}

fn outcome(id: TaskId, ending: Ending) -> Outcome {
    Outcome { id, path: TaskPath::root(), ending, report: Report { turns: 2, ..Report::default() } }
}

/// A run that says these things and ends.
fn run(store: &Store, messages: &[Message]) -> TaskId {
    let opening = opening(None);
    let id = opening.id;
    let mut writer = store.begin(opening);
    for message in messages {
        writer.message(message);
    }
    writer.end(&outcome(id, Ending::Completed));
    id
}

fn call(id: &str, input: ToolInput) -> Message {
    let signature = Some(Signature { wire: Wire::ALL[0], data: "sig".to_owned() });
    let call = ToolCall { id: id.to_owned(), name: "read".to_owned(), input, signature };
    let thinking = Thinking { text: "hm".to_owned(), signature: None };
    let parts = vec![Part::Thinking(thinking), Part::Text("so".to_owned()), Part::ToolCall(call)];
    Message { role: Role::Assistant, parts }
}

fn answer(id: &str, content: &str, status: ToolStatus) -> Message {
    let (id, name, content) = (id.to_owned(), "read".to_owned(), content.to_owned());
    Message::results([ToolResult { id, name, content, status }])
}

fn talk() -> Vec<Message> {
    vec![
        Message::user("triage run 42"),
        call("c1", ToolInput::Json(json!({ "path": "ci.log" }))),
        answer("c1", "three lines", ToolStatus::Done),
        call("c2", ToolInput::Raw("{path".to_owned())),
        answer("c2", "not JSON", ToolStatus::Failed),
        Message::assistant("Root cause: …"),
    ]
}

#[test]
fn what_is_written_can_be_read() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let (talk, before) = (talk(), talk());
    let id = run(&store, &talk);
    assert_eq!(talk, before);
    let loaded = store.load(id).unwrap();
    assert!(loaded.messages().eq(&talk), "{loaded:?}");
    assert_eq!(loaded.damage, []);
    let seqs: Vec<u64> = loaded.entries.iter().map(|it| it.seq).collect();
    assert_eq!(seqs, (0..7).collect::<Vec<u64>>());
    assert_eq!(
        (loaded.meta.state, loaded.meta.turns, loaded.meta.records),
        (State::Completed, 2, 7)
    );
    store.settle().unwrap();
    assert_eq!(store.problems(), Vec::<String>::new());
}

#[test]
fn lines_have_the_form_that_others_know() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let id = run(&store, &talk());
    let text = fs_err::read_to_string(store.path(id)).unwrap();
    let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(
        lines[0]["message"],
        json!({ "role": "user", "content": "triage run 42", "parts": [], "metadata": { "visibility": "both" } })
    );
    assert_eq!(
        lines[2]["message"],
        json!({
            "role": "user", "content": "[tool_result: c1]", "metadata": { "visibility": "both" },
            "parts": [{ "kind": "tool_result", "tool_use_id": "c1", "name": "read", "content": "three lines", "is_error": false }],
        })
    );
    assert_eq!(lines[1]["message"]["parts"][2]["kind"], "tool_use");
    let stamp = lines[0]["timestamp"].as_str().unwrap();
    let shape: String = stamp.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    assert_eq!(shape, "9999-99-99T99:99:99Z");
    let meta: Value = serde_json::from_slice(
        &fs_err::read(scratch.path(format!("tasks/{id}.meta.json"))).unwrap(),
    )
    .unwrap();
    for key in [
        "agent_id",
        "agent_name",
        "def_name",
        "status",
        "started_at",
        "finished_at",
        "turns_used",
        "mcp_tool_names",
    ] {
        assert!(meta.get(key).is_some(), "{key}");
    }
    assert_eq!(meta["status"], "completed");
}

#[test]
fn parts_of_others_that_we_do_not_write_are_left_out_and_their_words_understood() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let id = run(&store, &[]);
    let line = json!({ "seq": 0, "timestamp": "2026-05-01T10:00:00Z", "message": {
        "role": "user", "content": "x", "parts": [{ "kind": "image", "data": "AAAA" }, { "kind": "text", "text": "y" }],
        "metadata": { "visibility": "agent_only" },
    } });
    fs_err::write(store.path(id), format!("{line}\n")).unwrap();
    assert!(store.load(id).unwrap().messages().eq(&[Message::user("y")]));
    for (word, state) in [
        ("Submitted", State::Running),
        ("Canceled", State::Cancelled),
        ("Completed", State::Completed),
    ] {
        assert_eq!(serde_json::from_value::<State>(json!(word)).unwrap(), state);
    }
}

#[test]
fn a_torn_last_line_is_said_and_the_rest_is_read() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let id = run(&store, &talk());
    let whole = fs_err::read(store.path(id)).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|it| *it == b'\n').unwrap() + 1;
    for cut in [last + 1, last + 20, whole.len() - 2] {
        fs_err::write(store.path(id), &whole[..cut]).unwrap();
        let loaded = store.load(id).unwrap();
        assert!(loaded.messages().eq(&talk()));
        assert_eq!(loaded.damage, [Damage { line: 7, harm: Harm::Torn }], "{cut}");
    }
}

/// Whoever reads on from where they stopped has everything, once, in whatever steps.
#[test]
fn a_transcript_can_be_read_in_parts() {
    use std::io::Write as _;
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let nothing = Stretch { entries: Vec::new(), next: 0, of: 0 };
    assert_eq!(store.stretch(TaskId::new(), 0, 100).unwrap(), nothing, "it is not there yet");
    let id = run(&store, &talk());
    let all = store.load(id).unwrap().entries;
    for most in [1, 300, 1 << 20] {
        let (mut seen, mut from) = (Vec::new(), 0);
        loop {
            let part = store.stretch(id, from, most).unwrap();
            from = part.next;
            seen.extend(part.entries);
            if part.next == part.of {
                break;
            }
        }
        assert_eq!(seen, all, "{most} bytes at a time");
    }
    let end = store.stretch(id, 0, 1 << 20).unwrap().next;
    let mut file = fs_err::OpenOptions::new().append(true).open(store.path(id)).unwrap();
    file.write_all(b"{\"seq\": 99").unwrap();
    let half = store.stretch(id, end, 1 << 20).unwrap();
    assert_eq!((half.entries.len(), half.next), (0, end), "half a line waits");
    let beyond = store.stretch(id, end + 1000, 1 << 20).unwrap();
    assert_eq!(beyond.entries, all, "a shorter file is another one");
}

#[test]
fn what_grows_can_be_followed() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let id = run(&store, &talk());
    let whole = fs_err::read(store.path(id)).unwrap();
    let mut follow = store.follow(id);
    fs_err::remove_file(store.path(id)).unwrap();
    assert_eq!(follow.more().unwrap(), [], "it is not there yet");
    let mut seen = Vec::new();
    for end in (0..=whole.len()).step_by(97).chain([whole.len()]) {
        fs_err::write(store.path(id), &whole[..end]).unwrap();
        seen.extend(follow.more().unwrap());
    }
    assert_eq!(seen, store.load(id).unwrap().entries);
    let shown: String = seen.iter().flat_map(Item::of).map(|it| it.text()).collect();
    assert!(
        shown.starts_with(
            "> triage run 42\n~ hm\nso\n[read] {\"path\":\"ci.log\"}\n  [read]\n  | three lines\n"
        ),
        "{shown}"
    );
}

#[test]
fn malformed_lines_are_left_out_and_missing_ones_noticed() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let id = run(&store, &talk());
    let text = fs_err::read_to_string(store.path(id)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = "not a record";
    lines.remove(3);
    lines.insert(0, "");
    fs_err::write(store.path(id), lines.join("\n") + "\n").unwrap();
    let loaded = store.load(id).unwrap();
    let (malformed, gap) = (Harm::Malformed, Harm::Gap);
    let harms: Vec<(usize, Harm)> =
        loaded.damage.into_iter().map(|it| (it.line, it.harm)).collect();
    assert_eq!(harms, [(3, malformed), (4, gap(1)), (5, gap(1))]);
    assert_eq!(loaded.entries.len(), 5);
}

#[test]
fn after_the_last_number_that_there_is_comes_whatever_comes() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let id = run(&store, &talk());
    let text = fs_err::read_to_string(store.path(id)).unwrap();
    let last = format!("\"seq\":{},", u64::MAX);
    fs_err::write(store.path(id), text.replace("\"seq\":1,", &last)).unwrap();
    let loaded = store.load(id).unwrap();
    assert_eq!(loaded.entries.len(), text.lines().count());
    let [damage] = &loaded.damage[..] else { panic!("{:?}", loaded.damage) };
    assert_eq!((damage.line, &damage.harm), (2, &Harm::Gap(u64::MAX - 1)));
}

#[test]
fn missing_and_broken_files_have_their_own_errors() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let unknown = TaskId::new();
    assert!(
        matches!(store.load(unknown), Err(TranscriptError::NotFound(id)) if id == unknown.to_string())
    );
    assert!(store.list().unwrap().0.is_empty(), "a directory that does not exist is empty");
    let id = run(&store, &[]);
    fs_err::write(store.path(id), "").unwrap();
    assert_eq!(store.load(id).unwrap().entries, []);
    fs_err::remove_file(store.path(id)).unwrap();
    assert!(matches!(store.load(id), Err(TranscriptError::Lost(lost)) if lost == id));
    scratch.write(format!("tasks/{id}.meta.json"), "{");
    assert!(matches!(store.load(id), Err(TranscriptError::Malformed { .. })));
    let (metas, wrong) = store.list().unwrap();
    assert_eq!((metas.len(), wrong.len()), (0, 1));
}

#[test]
fn found_by_the_beginning_of_an_id() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let ids = [run(&store, &[]), run(&store, &[])];
    let found = |prefix: &str| store.find_by_prefix(prefix);
    for id in ids {
        assert_eq!(found(&id.to_string()).unwrap(), id, "all of it");
        assert_eq!(found(&id.short().to_uppercase()).unwrap(), id, "its short form");
    }
    let common = &ids[0].to_string()[..6];
    match found(common) {
        Err(TranscriptError::Ambiguous { prefix, candidates }) => {
            assert_eq!((prefix.as_str(), candidates), (common, ids.to_vec()));
        }
        other => panic!("{other:?}"),
    }
    for nothing in ["zzzz", "", " "] {
        assert!(matches!(found(nothing), Err(TranscriptError::NotFound(_))), "{nothing:?}");
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    let dir = scratch.path("deep/tasks");
    let store = Store::new(&dir);
    let id = run(&store, &talk());
    let mode = |path: &camino::Utf8Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&store.path(id)), 0o600);
    assert_eq!(mode(&dir.join(format!("{id}.meta.json"))), 0o600);
}

#[test]
fn a_run_is_alive_as_long_as_its_program_is() {
    let scratch = Scratch::new();
    let (owner, other) = (Store::new(&scratch.path("tasks")), Store::new(&scratch.path("tasks")));
    let opening = opening(None);
    let id = opening.id;
    let writer = owner.begin(opening);
    let standing = || other.standing(&other.meta(id).unwrap());
    assert_eq!(standing(), Standing::Running);
    drop(writer);
    assert_eq!(standing(), Standing::Ended(State::Cancelled), "dropped in the middle");
    // As after a crash: nobody wrote how it ended.
    let path = scratch.path(format!("tasks/{id}.meta.json"));
    let text = fs_err::read_to_string(&path).unwrap().replace("\"cancelled\"", "\"running\"");
    fs_err::write(&path, text).unwrap();
    assert_eq!(standing(), Standing::Running, "its program is still there");
    drop(owner);
    assert_eq!(standing(), Standing::Interrupted);
}

#[test]
fn a_run_that_panics_has_failed() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let opening = opening(None);
    let id = opening.id;
    let writer = store.begin(opening);
    let broke = std::thread::spawn(move || {
        let _writer = writer;
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(broke.join().is_err());
    let meta = store.meta(id).unwrap();
    assert_eq!(meta.state, State::Failed);
    assert!(meta.finished_at.is_some());
}

#[test]
fn sweeping_keeps_the_last_ones_and_everything_alive() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let live = store.begin(opening(None));
    let ids: Vec<TaskId> = (0..4).map(|_| run(&store, &[])).collect();
    let later = opening(Some(ids[0]));
    let resumed = later.id;
    store.begin(later).end(&outcome(resumed, Ending::Cancelled));
    let keep = |files| Retention { files, age: None };
    assert_eq!(store.sweep_by(keep(0), Stamp::now()).unwrap(), []);
    assert_eq!(store.sweep_by(keep(6), Stamp::now()).unwrap(), []);
    let gone = store.sweep_by(keep(2), Stamp::now()).unwrap();
    assert_eq!(gone, ids[1..3], "not the one that lives, nor the one that another goes on from");
    assert_eq!(store.ids().unwrap().len(), 4);
    for id in gone {
        assert!(!store.path(id).exists());
    }
    let old = Stamp::from_second(Stamp::now().as_second() + 100);
    let age = Retention { files: 0, age: Some(Duration::from_secs(50)) };
    assert_eq!(store.sweep_by(age, old).unwrap().len(), 3);
    drop(live);
    assert_eq!(store.sweep_by(age, old).unwrap().len(), 1, "it lives no longer");
}

#[test]
fn a_store_with_rules_sweeps_by_itself() {
    let scratch = Scratch::new();
    let store = Store::with(&scratch.path("tasks"), Retention { files: 2, age: None }, None);
    for _ in 0..6 {
        run(&store, &[]);
        store.settle().unwrap();
    }
    assert!(store.ids().unwrap().len() <= 3);
}

#[test]
fn secrets_are_in_no_file() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let mask = Arc::new(Mask::default());
    let secrets = ["hunter2-hunter2", "line one\n\"two\"", "12345678901"];
    for secret in secrets {
        mask.register("a_token", &SecretString::from(secret));
    }
    let opening = Opening { mask, ..opening(None) };
    let id = opening.id;
    let mut writer = store.begin(opening);
    for secret in secrets {
        let quoted = serde_json::to_string(secret).unwrap();
        writer.message(&Message::user(format!("a {secret} b")));
        writer.message(&call(
            secret,
            ToolInput::Json(json!({ secret: [secret], "n": 12_345_678_901_u64 })),
        ));
        writer.message(&call("x", ToolInput::Raw(format!("{{{quoted}"))));
        writer.message(&answer(secret, &quoted, ToolStatus::Done));
    }
    let report = Report { text: secrets[0].to_owned(), ..Report::default() };
    writer.end(&Outcome { report, ..outcome(id, Ending::Completed) });
    for entry in fs_err::read_dir(scratch.path("tasks")).unwrap() {
        let Ok(text) = fs_err::read_to_string(entry.unwrap().path()) else { continue };
        for hidden in ["hunter2", "two\\\"", "two\\\\", "12345678901"] {
            assert!(!text.contains(hidden), "{hidden} in {text}");
        }
    }
    assert_eq!(store.load(id).unwrap().damage, []);
}

#[test]
fn a_directory_that_cannot_be_written_stops_nothing() {
    let scratch = Scratch::new();
    scratch.write("tasks", "a file where the directory should be");
    let store = Store::new(&scratch.path("tasks"));
    run(&store, &talk());
    let problems = store.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("is not complete"), "{problems:?}");
}

/// A device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_in_the_metadata() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let opening = opening(None);
    let id = opening.id;
    // Every record is written to the device by way of the name.
    let mut writers: Vec<Writer> = (0..256).map(|_| store.begin(self::opening(None))).collect();
    let mut writer = store.begin(opening);
    writer.message(&Message::user("one"));
    fs_err::rename(store.path(id), scratch.path("kept")).unwrap();
    std::os::unix::fs::symlink("/dev/full", store.path(id)).unwrap();
    writer.message(&Message::user("two"));
    fs_err::remove_file(store.path(id)).unwrap();
    fs_err::rename(scratch.path("kept"), store.path(id)).unwrap();
    writer.message(&Message::user("three"));
    writer.end(&outcome(id, Ending::Completed));
    writers.clear();
    let loaded = store.load(id).unwrap();
    assert!(loaded.meta.incomplete.is_some());
    assert!(loaded.messages().eq(&[Message::user("one"), Message::user("three")]));
    assert_eq!(loaded.meta.state, State::Completed);
}

fn chained(scratch: &Scratch, key: u8) -> Store {
    Store::with(&scratch.path("tasks"), Retention::FOREVER, Some(ChainKey::new([key; 32])))
}

#[test]
fn a_chain_tells_the_first_record_that_was_touched() {
    let scratch = Scratch::new();
    let store = chained(&scratch, 7);
    let id = run(&store, &talk());
    let verdict = |store: &Store| store.verify(id).unwrap().unwrap();
    assert_eq!(verdict(&store), Verdict::Intact { records: 7 });
    let whole = fs_err::read_to_string(store.path(id)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let with = |lines: &[&str]| {
        fs_err::write(store.path(id), lines.join("\n") + "\n").unwrap();
        verdict(&store)
    };
    let changed = |line| Verdict::Broken { line, why: Break::Changed };
    let edited = lines[2].replace("three", "seven");
    assert_eq!(
        with(&[&lines[..2], &[edited.as_str()], &lines[3..]].concat()),
        changed(3),
        "edited"
    );
    assert_eq!(with(&[&lines[..2], &lines[3..]].concat()), changed(3), "removed");
    assert_eq!(
        with(&[&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat()),
        changed(3),
        "swapped"
    );
    assert_eq!(with(&[lines[0], lines[0]]), changed(2), "repeated");
    let bare = &lines[3][..lines[3].find(",\"chain\"").unwrap()];
    let bare = format!("{bare}}}");
    let stripped = with(&[&lines[..3], &[bare.as_str()], &lines[4..]].concat());
    assert!(matches!(stripped, Verdict::Broken { line: 4 | 5, .. }), "{stripped:?}");
    assert_eq!(with(&lines[..5]), Verdict::Broken { line: 6, why: Break::CutOff }, "cut off");
    let bare: Vec<String> =
        lines.iter().map(|it| format!("{}}}", &it[..it.find(",\"chain\"").unwrap()])).collect();
    let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
    assert_eq!(with(&bare), Verdict::Broken { line: 1, why: Break::NoLink }, "all links gone");
    with(&lines);
    assert_eq!(verdict(&chained(&scratch, 8)), changed(1), "another key");
    assert_eq!(Store::new(&scratch.path("tasks")).verify(id).unwrap(), None, "no key");
    let path = scratch.path(format!("tasks/{id}.meta.json"));
    let meta = fs_err::read_to_string(&path).unwrap();
    fs_err::write(&path, meta.replace("\"turns_used\": 2", "\"turns_used\": 1")).unwrap();
    assert_eq!(verdict(&store), Verdict::Broken { line: 7, why: Break::Metadata });
}

#[test]
fn what_was_never_chained_is_not_broken_and_what_runs_is_intact() {
    let scratch = Scratch::new();
    let id = run(&Store::new(&scratch.path("tasks")), &talk());
    let store = chained(&scratch, 7);
    assert_eq!(store.verify(id).unwrap(), Some(Verdict::Unchained));
    let opening = opening(None);
    let id = opening.id;
    let mut writer = store.begin(opening);
    writer.message(&Message::user("one"));
    assert_eq!(store.verify(id).unwrap(), Some(Verdict::Intact { records: 1 }));
}

#[test]
fn a_key_is_made_once() {
    let scratch = Scratch::new();
    let path = scratch.path("key");
    let dir = scratch.path("tasks");
    let store = |key| Store::with(&dir, Retention::FOREVER, Some(key));
    let id = run(&store(ChainKey::load_or_create(&path).unwrap()), &talk());
    let again = store(ChainKey::load_or_create(&path).unwrap());
    assert_eq!(again.verify(id).unwrap(), Some(Verdict::Intact { records: 7 }));
    fs_err::write(&path, "short").unwrap();
    assert!(ChainKey::load_or_create(&path).is_err());
}

#[test]
fn what_a_run_that_was_cut_off_took_is_what_was_written() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let opening = opening(None);
    let id = opening.id;
    let mut writer = store.begin(opening);
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    writer.spent(1, &usage, Some(MicroDollars(3)));
    writer.spent(2, &usage, Some(MicroDollars(4)));
    writer.message(&Message::assistant("so far"));
    let (turns, spent, cost) = store.load(id).unwrap().spent();
    assert_eq!((turns, spent.input, cost), (2, 20, Some(MicroDollars(7))));
}

proptest! {
    /// Wherever a crash cuts the file, every record that was whole is read, and no other.
    #[test]
    fn cut_anywhere(at in 0..10_000_usize) {
        let scratch = Scratch::in_memory();
        let store = chained(&scratch, 1);
        let id = run(&store, &talk());
        let whole = fs_err::read(store.path(id)).unwrap();
        let cut = at % (whole.len() + 1);
        fs_err::write(store.path(id), &whole[..cut]).unwrap();
        let lines = whole[..cut].iter().filter(|it| **it == b'\n').count();
        let loaded = store.load(id).unwrap();
        // The last one may be whole but for the end of its line.
        prop_assert!(loaded.entries.len() == lines || (loaded.entries.len() == lines + 1 && loaded.damage.is_empty()));
        let verdict = store.verify(id).unwrap();
        prop_assert_eq!(verdict == Some(Verdict::Intact { records: 7 }), cut == whole.len());
    }
}
