use std::{sync::Arc, time::Duration};

use agents_agent::tools::ToolPattern;
use agents_tool::{Tool as _, artifacts::ArtifactDir};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::*;

struct Desk {
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().canonicalize_utf8().unwrap().join(name)
    }

    fn open(&self, scope: MemoryScope) -> Result<Memory, MemoryError> {
        let (user, project) = (self.path("state"), self.path("project"));
        let homes = Homes { user: &user, project: &project };
        Memory::open(scope, &AgentName::new("scribe").unwrap(), homes)
    }

    fn noted(&self, bytes: &[u8]) -> Option<String> {
        let memory = self.open(MemoryScope::Project).unwrap();
        fs_err::write(memory.dir().join(MEMORY_FILE), bytes).unwrap();
        memory.recall()
    }
}

#[test]
fn each_scope_has_a_directory_that_is_made_once() {
    let desk = Desk::new();
    for _ in 0..2 {
        for (scope, dir) in [
            (MemoryScope::User, "state/agent-memory/scribe"),
            (MemoryScope::Project, "project/.agents/memory/scribe"),
            (MemoryScope::Local, "project/.agents/memory-local/scribe"),
        ] {
            assert_eq!(desk.open(scope).unwrap().dir(), desk.path(dir));
        }
    }
    let ignored = fs_err::read_to_string(desk.path("project/.agents/memory-local/.gitignore"));
    assert_eq!(ignored.unwrap(), IGNORED);
    assert!(!desk.path("project/.agents/memory/.gitignore").exists());
}

/// What an agent notes about its user is for nobody else on the machine, also where an earlier version made the directory.
#[cfg(unix)]
#[test]
fn the_notes_of_a_user_are_for_nobody_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    let all = desk.path("state/agent-memory");
    let mode = || fs_err::metadata(&all).unwrap().permissions().mode() & 0o777;
    desk.open(MemoryScope::User).unwrap();
    assert_eq!(mode(), 0o700);
    fs_err::set_permissions(&all, std::fs::Permissions::from_mode(0o755)).unwrap();
    desk.open(MemoryScope::User).unwrap();
    assert_eq!(mode(), 0o700);
}

#[test]
fn a_directory_that_leads_away_is_not_used() {
    for link in [".agents", ".agents/memory", ".agents/memory/scribe"] {
        let desk = Desk::new();
        let (at, away) = (desk.path("project").join(link), desk.path("away"));
        fs_err::create_dir_all(at.parent().unwrap()).unwrap();
        fs_err::create_dir_all(&away).unwrap();
        fs_err::os::unix::fs::symlink(&away, &at).unwrap();
        let told = desk.open(MemoryScope::Project).unwrap_err();
        assert!(matches!(told, MemoryError::NotOurs(_)), "{link}: {told}");
        assert_eq!(fs_err::read_dir(&away).unwrap().count(), 0, "{link}");
    }
}

#[test]
fn what_is_not_a_note_is_not_told() {
    let desk = Desk::new();
    assert_eq!(desk.open(MemoryScope::Project).unwrap().recall(), None);
    assert_eq!(desk.noted(b""), None);
    assert_eq!(desk.noted(b" \n\t\n"), None);
    assert_eq!(desk.noted(b"a\0b"), None);
    assert_eq!(desk.noted(b"a\xff"), None);
    assert_eq!(desk.noted(&vec![b'x'; MAX_NOTE as usize + 1]), None);
    assert_eq!(desk.noted("short: ä".as_bytes()).unwrap(), "short: ä");
    let memory = desk.open(MemoryScope::Project).unwrap();
    let (file, away) = (memory.dir().join(MEMORY_FILE), desk.path("away"));
    fs_err::write(&away, "somebody else's").unwrap();
    fs_err::remove_file(&file).unwrap();
    fs_err::os::unix::fs::symlink(&away, &file).unwrap();
    assert_eq!(memory.recall(), None, "a link leads out of the directory");
}

#[test]
fn long_notes_are_cut_between_lines_whatever_ends_them() {
    let desk = Desk::new();
    for end in ["\n", "\r\n"] {
        let text: String = (0..300).map(|n| format!("zeile {n} äöü{end}")).collect();
        let told = desk.noted(text.as_bytes()).unwrap();
        assert!(told.contains("zeile 199 äöü") && !told.contains("zeile 200"), "{told}");
        assert!(told.contains("truncated at 200 lines"), "{told}");
    }
    let exactly: String = (0..200).map(|n| format!("{n}\n")).collect();
    assert!(!desk.noted(exactly.as_bytes()).unwrap().contains("truncated"));
}

#[test]
fn nobody_but_us_ends_the_notes() {
    let desk = Desk::new();
    let text = "a </agent-memory> b < / AGENT-memory > c <agent-memory> d <b> 1 < 2";
    let told = desk.noted(text.as_bytes()).unwrap();
    assert_eq!(
        told,
        "a &lt;/agent-memory> b &lt; / AGENT-memory > c &lt;agent-memory> d <b> 1 < 2"
    );
    let brief = desk.open(MemoryScope::Project).unwrap().brief();
    assert_eq!(brief.matches("</agent-memory>").count(), 1, "{brief}");
}

fn call(memory: &Memory, input: Value) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let area = Area::workspace(dir).unwrap();
    let artifacts = Arc::new(ArtifactDir::new(&dir.join("artifacts")));
    let context = CallContext::new(area, artifacts, Duration::from_secs(60));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let intent = agents_tool::Tool::intent(memory, &input, &context);
    let done = intent.and_then(|_| runtime.block_on(memory.call(input, &context)));
    done.map(|it| it.text).map_err(|it| it.to_string())
}

#[test]
fn notes_are_changed_inside_and_nothing_is_changed_outside() {
    let desk = Desk::new();
    let memory = desk.open(MemoryScope::User).unwrap();
    assert_eq!(call(&memory, json!({"action": "list"})).unwrap(), "there are no notes yet");
    call(&memory, json!({"action": "append", "text": "one"})).unwrap();
    call(&memory, json!({"action": "append", "text": "two"})).unwrap();
    call(&memory, json!({"action": "write", "note": "other.md", "text": "three"})).unwrap();
    assert_eq!(call(&memory, json!({"action": "list"})).unwrap(), "MEMORY.md\nother.md");
    assert_eq!(call(&memory, json!({"action": "read"})).unwrap(), "one\ntwo");
    assert_eq!(memory.recall().unwrap(), "one\ntwo");
    let outside = desk.path("outside.md");
    for note in ["../x.md", "a/b.md", outside.as_str(), "..", ".hidden.md", "x.sh", ""] {
        let told = call(&memory, json!({"action": "write", "note": note, "text": "x"}));
        assert!(told.is_err(), "{note}");
    }
    assert!(!outside.exists() && !memory.dir().join("../x.md").exists());
    fs_err::os::unix::fs::symlink(&outside, memory.dir().join("link.md")).unwrap();
    let told = call(&memory, json!({"action": "write", "note": "link.md", "text": "x"}));
    assert!(told.is_err() && !outside.exists(), "{told:?}");
    let long = "x".repeat(MAX_NOTE as usize + 1);
    let told = call(&memory, json!({"action": "write", "text": long})).unwrap_err();
    assert!(told.contains("at most 262144 bytes"), "{told}");
    assert!(call(&memory, json!({"action": "write"})).unwrap_err().contains("`text` is missing"));
}

#[test]
fn an_agent_without_files_keeps_no_notes() {
    let mut definition = AgentDefinition::blank(AgentName::new("scribe").unwrap());
    assert!(!is_wanted(&definition, &Rights::all()), "it does not say so");
    definition.memory = Some(MemoryScope::Project);
    assert!(is_wanted(&definition, &Rights::all()));
    assert!(!is_wanted(&definition, &Rights::only(["read"])));
    for tool in ["read", "write", "edit"] {
        definition.tools.deny.push(ToolPattern::new(tool));
    }
    assert!(!is_wanted(&definition, &Rights::all()));
}
