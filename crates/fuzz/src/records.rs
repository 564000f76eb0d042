//! What we wrote ourselves, and may find torn, edited, or from another version.

use agents_plan::{event::Event, graph::Graph};
use agents_task::{
    TaskId, TaskPath,
    transcript::{Opening, Store},
};
use agents_trust::{
    audit::Records,
    lock::{Lock, LockFileError},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::files::check_findings;

/// A lock file that can be read is written again without a loss, also out of a conflict that git left.
pub fn agents_lock(text: &str) {
    let file = Utf8Path::new("agents.lock");
    match Lock::parse(file, text) {
        Ok(lock) => {
            let written = lock.render();
            let again = Lock::parse(file, &written).expect("what was written can be read");
            assert_eq!(again, lock, "{written}");
            assert_eq!(again.render(), written);
        }
        // A conflict is read side by side, so that what is wrong may stand anywhere.
        Err(LockFileError::Invalid { findings, .. }) => check_findings(&findings, text),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let file = Utf8Path::new("audits.toml");
    match Records::parse(file, text) {
        Ok(records) => {
            let written = records.render();
            let again = Records::parse(file, &written).expect("what was written can be read");
            assert_eq!(again.render(), written);
        }
        Err(findings) => check_findings(&findings, text),
    }
}

/// A transcript of any bytes can be read, followed in pieces and verified; pieces say the same as the whole.
pub fn transcript(data: &[u8]) {
    thread_local! {
        static PLACE: (tempfile::TempDir, Store, TaskId) = place();
    }
    PLACE.with(|(_, store, id)| {
        let file = store.path(*id);
        fs_err::write(&file, data).expect("the file is ours");
        let loaded = store.load(*id).expect("bytes can be read");
        assert!(loaded.messages().count() <= data.len());
        let _ = (loaded.begin(), loaded.outcome(), loaded.spent());
        let whole = store.follow(*id).more().expect("bytes can be read");
        fs_err::write(&file, &data[..data.len() / 2]).expect("the file is ours");
        let mut follow = store.follow(*id);
        let mut pieces = follow.more().expect("bytes can be read");
        fs_err::write(&file, data).expect("the file is ours");
        pieces.extend(follow.more().expect("bytes can be read"));
        assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
        drop(store.verify(*id));
        drop(store.stretch(*id, u64::try_from(data.len() / 3).unwrap_or(0), 100));
    });
}

fn place() -> (tempfile::TempDir, Store, TaskId) {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("it is UTF-8");
    let (store, id) = (Store::new(&root), TaskId::new());
    let opening = Opening {
        id,
        agent: "helper".to_owned(),
        path: TaskPath::root(),
        parent: None,
        resumed_from: None,
        model: "script/demo".to_owned(),
        mask: std::sync::Arc::default(),
    };
    drop(store.begin(opening));
    (dir, store, id)
}

/// Events and graphs of a journal are kept as they are.
pub fn journal(data: &[u8]) {
    if let Ok(event) = serde_json::from_slice::<Event>(data) {
        let written = serde_json::to_string(&event).expect("it can be kept");
        assert_eq!(serde_json::from_str::<Event>(&written).ok().as_ref(), Some(&event));
    }
    if let Ok(graph) = serde_json::from_slice::<Graph>(data) {
        let written = serde_json::to_value(&graph).expect("it can be kept");
        let again: Graph = serde_json::from_value(written.clone()).expect("it can be read");
        assert_eq!(serde_json::to_value(&again).ok(), Some(written) as Option<Value>);
        for index in graph.indices() {
            drop((graph.node(index), graph.dependents(index), graph.from(index)));
        }
    }
}
