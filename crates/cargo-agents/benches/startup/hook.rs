//! What a hook costs, which hosts run before every tool call.

use camino::Utf8PathBuf;

use crate::{
    FLOOR, TARGET,
    ground::{Ground, LARGE, MEDIUM},
    measure::Case,
    report::{Goal, Row},
};

const CALL: [&str; 3] = ["hook", "claude", "pre-tool-use"];
const SIZES: [usize; 2] = [100, 1000];

/// Everything about hooks, for one build.
pub(crate) fn cases(ground: &Ground, build: usize, label: &str, program: &str) -> Vec<(Case, Row)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, plugins, dir: &str, home: &str, registry: &str, base, goal| {
        let home = format!("{home}-{build}");
        let command = ground.command_at(program, &CALL, dir, &home, registry);
        let case = Case::new(format!("{label} {name}").trim(), Some(plugins), command);
        cases.push((case.reading(&input(ground, dir)), Row { base, goal }));
        (cases.len() - 1, home)
    };
    for size in SIZES {
        let registry = format!("path = \"../registry-{size}\"");
        let home = format!("hook-path-{size}");
        add("idle", size, "workspace", &home, &registry, FLOOR, Goal::AtMost(2.0));
        let git = format!("git = \"{}\"", ground.git_registry(size));
        let home = format!("hook-git-{size}");
        let (_, home) = add("idle, git", size, "workspace", &home, &git, FLOOR, Goal::AtMost(2.0));
        let mut fetch = ground.command_at(program, &["plugin", "sync"], "workspace", &home, &git);
        agents_testkit::scratch::run(&mut fetch);
    }
    let registry = "path = \"../registry-1000\"";
    ground.scratch.write("elsewhere/notes.txt", "");
    add("outside", 1000, "elsewhere", "hook-outside", registry, FLOOR, Goal::AtMost(1.5));
    ground.hooked_registry("registry-hooked", 100);
    let hooked = "path = \"../registry-hooked\"";
    add("one handler", 100, "workspace", "hook-one", hooked, TARGET, Goal::AtMost(1.3));
    let mut changing = Vec::new();
    for (name, shape) in [("medium", MEDIUM), ("large", LARGE)] {
        let dir = format!("changing-{name}-{build}");
        ground.workspace(&dir, shape);
        let title = format!("lock changed, {}", shape.packages());
        let registry = "path = \"../registry-100\"";
        let home = format!("hook-{name}");
        changing.push((add(&title, 100, &dir, &home, registry, FLOOR, Goal::None).0, dir));
    }
    for (at, dir) in changing {
        let (case, row) = cases.remove(at);
        cases.insert(at, (case.after(rewriting(ground, &dir)), row));
    }
    cases
}

/// What the host sends.
fn input(ground: &Ground, dir: &str) -> Utf8PathBuf {
    let cwd = ground.scratch.path(dir);
    let sent = format!(
        "{{\"session_id\": \"s\", \"transcript_path\": \"/t\", \"cwd\": \"{cwd}\", \"hook_event_name\": \"PreToolUse\", \
         \"tool_name\": \"Bash\", \"tool_input\": {{\"command\": \"cargo test\"}}, \"tool_use_id\": \"t\"}}"
    );
    ground.scratch.write(format!("input-{dir}"), sent)
}

/// Changes one checksum of the lock file.
fn rewriting(ground: &Ground, dir: &str) -> impl FnMut() + 'static {
    let lock = ground.scratch.path(dir).join("Cargo.lock");
    let text = fs_err::read_to_string(&lock).unwrap();
    let other = text.replacen(&"0".repeat(64), &"1".repeat(64), 1);
    assert_ne!(text, other);
    let mut turn = 0;
    move || {
        turn += 1;
        fs_err::write(&lock, if turn % 2 == 0 { &text } else { &other }).unwrap();
    }
}
