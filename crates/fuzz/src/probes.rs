//! What hosts say to the parts of a probe.

use agents_probe::{client, notes::Notes};
use camino::Utf8PathBuf;
use serde_json::Value;

/// Whatever a host says to the server of a probe: every line that asks is answered once, with its id and in its turn, whatever stands between
/// them; what is not text is no reason to end.
pub fn notes_server(data: &[u8]) {
    thread_local! {
        static DIR: tempfile::TempDir = tempfile::tempdir().expect("a scratch directory");
    }
    let dir = DIR.with(|it| Utf8PathBuf::try_from(it.path().to_owned()).expect("UTF-8"));
    let notes = Notes { log: dir.join("log"), token: "token".to_owned() };
    let mut heard = Vec::new();
    notes.serve(data, &mut heard).expect("nobody goes away");
    fs_err::remove_file(&notes.log).ok();
    let asked = data.split(|it| *it == b'\n').filter_map(|line| {
        let message: Value = serde_json::from_slice(line).ok()?;
        message.get("id").cloned()
    });
    let answered = std::str::from_utf8(&heard).expect("answers are text").lines().map(|line| {
        let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        let is_result = answer.get("result").is_some();
        assert_ne!(is_result, answer.get("error").is_some(), "{answer}");
        answer["id"].clone()
    });
    assert!(asked.eq(answered), "{}", String::from_utf8_lossy(&heard));
    // What tools of hosts answer leads to a next call, or to none.
    if let Ok(text) = std::str::from_utf8(data) {
        for client in client::all() {
            drop(client.hear()(text));
        }
    }
}
