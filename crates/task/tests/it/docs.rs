//! The pages about sub-agents and dispatching name tests that exist, and every item of the interfaces that they follow.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

/// The methods and errors that the page must speak of.
const ITEMS: &[&str] = &[
    "new",
    "set_transcript_config",
    "set_stop_hooks",
    "load_definitions",
    "load_definitions_with_sources",
    "definitions",
    "definitions_mut",
    "spawn",
    "shutdown_all",
    "cancel",
    "approve_secret",
    "deliver_secret",
    "deny_secret",
    "try_recv_secret_request",
    "collect",
    "resume",
    "def_name_for_resume",
    "statuses",
    "agents_def",
    "spawn_for_task",
    "Debug",
    "NotFound",
    "Spawn",
    "Invalid",
    "Other",
    "StillRunning",
    "AmbiguousId",
    "Transcript",
];

fn sources(dir: &Utf8Path, found: &mut Vec<Utf8PathBuf>) {
    for entry in dir.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension() == Some("rs") {
            found.push(path);
        }
    }
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The code of everything that proves what the pages claim.
fn code() -> String {
    let rooms = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for dir in ["task/src", "task/tests", "tool/src", "system/src/keys", "cargo-agents/tests"] {
        sources(&rooms.join(dir), &mut files);
    }
    files.iter().map(|it| fs_err::read_to_string(it).unwrap()).collect()
}

#[test]
fn every_claim_of_other_pages_has_a_test_that_exists() {
    let (code, docs) = (code(), Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"));
    let mut claims = 0;
    for page in ["secrets.md", "tasks.md", "tools.md"] {
        let text = fs_err::read_to_string(docs.join(page)).unwrap();
        let mut rows = text.lines();
        while rows.by_ref().any(|it| it == "| claim | test |") {
            for row in rows.by_ref().take_while(|it| it.starts_with('|')).skip(1) {
                let (_, tests) = row.trim_matches('|').split_once(" | ").unwrap();
                claims += 1;
                assert!(quoted(tests).count() > 0, "{row}");
                for test in quoted(tests) {
                    assert!(code.contains(&format!("fn {test}(")), "{page}: no test `{test}`");
                }
            }
        }
    }
    assert!(claims >= 17, "{claims}");
}

#[test]
fn every_item_has_a_test_that_exists() {
    let room = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs_err::read_to_string(room.join("../../docs/subagents.md")).unwrap();
    let code = code();
    let mut items = BTreeSet::new();
    for row in page.lines().filter(|it| it.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let tests: Vec<&str> = match cells.as_slice() {
            [item, _, tests] => {
                items.extend(quoted(item).map(|it| it.split('(').next().unwrap().to_owned()));
                quoted(tests).collect()
            }
            [_, tests] if page.find(row) < page.find("## Transcripts") => quoted(tests).collect(),
            _ => continue,
        };
        assert!(!tests.is_empty() || row.contains("---") || row.contains("| test |"), "{row}");
        for test in tests {
            assert!(code.contains(&format!("fn {test}(")), "there is no test `{test}`");
        }
    }
    for item in ITEMS {
        assert!(items.contains(*item), "`{item}` is not on the page");
    }
}

/// What the page about dispatching must speak of.
const DISPATCHED: &[&str] = &[
    "TypeGeneralPurpose",
    "TypeExplore",
    "TypePlan",
    "ModelSonnet",
    "ModelHaiku",
    "DispatchSourceTaskTool",
    "ErrDuplicateSubagent",
    "ErrUnknownSubagent",
    "ErrNoMatchingSubagent",
    "ErrEmptyInstruction",
    "ErrDispatchUnauthorized",
    "WithContext",
    "WithDispatchSource",
    "WithTaskDispatch",
    "Context",
    "FromContext",
    "Allows",
    "Clone",
    "RestrictTools",
    "ToolList",
    "WithMetadata",
    "WithSession",
    "Definition",
    "BuiltinDefinition",
    "BuiltinDefinitions",
    "Validate",
    "Handler",
    "HandlerFunc",
    "Handle",
    "LoaderOptions",
    "UserHome",
    "EnableUser",
    "FS",
    "Manager",
    "NewManager",
    "Dispatch",
    "List",
    "Register",
    "Request",
    "Result",
    "SubagentFile",
    "SubagentMetadata",
    "SubagentRegistration",
    "LoadFromFS",
];

#[test]
fn every_item_of_dispatching_has_a_test_that_exists() {
    let room = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs_err::read_to_string(room.join("../../docs/dispatch.md")).unwrap();
    let mut tests = fs_err::read_to_string(room.join("tests/it/dispatch.rs")).unwrap();
    for inner in room.join("tests/it/dispatch").read_dir_utf8().unwrap() {
        tests.push_str(&fs_err::read_to_string(inner.unwrap().path()).unwrap());
    }
    let (mut items, mut proofs) = (BTreeSet::new(), BTreeSet::new());
    for row in page.lines().filter(|it| it.starts_with("| ") && !it.ends_with("proved by |")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [item, _, proof] = cells.as_slice() else { panic!("{row}") };
        items.extend(quoted(item));
        let proof: Vec<&str> = quoted(proof).collect();
        assert!(!proof.is_empty(), "{row}");
        for test in proof {
            assert!(tests.contains(&format!("#[test]\nfn {test}(")), "there is no test `{test}`");
            proofs.insert(test);
        }
    }
    for item in DISPATCHED {
        assert!(items.contains(item), "`{item}` is not on the page");
    }
    assert_eq!(proofs.len(), tests.matches("#[test]").count(), "every test proves something");
}
