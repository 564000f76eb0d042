//! `cargo agents agent new`, `edit` and `remove`.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use agents_testkit::harm::{Harm, Place};
use agents_testkit::scratch;
use insta::assert_snapshot;

use crate::{agents::shown, world::World};

const CLAUDE: &str = "---
name: reviewer
description: Reviews   # when
tools: Read, Grep
x-team: core # ours
---

You review.
";

/// A project with an agent in the format of Claude Code.
fn world() -> World {
    let world = World::new();
    write(&world, "tree/ws/.claude/agents/reviewer.md", CLAUDE);
    world
}

fn write(world: &World, file: &str, text: &str) {
    scratch::write(&world.sample.scratch().path(file), text);
}

fn read(world: &World, file: &str) -> String {
    fs_err::read_to_string(world.sample.scratch().path(file)).unwrap()
}

fn exists(world: &World, file: &str) -> bool {
    world.sample.scratch().path(file).exists()
}

#[test]
fn new_writes_an_agent_that_can_be_used() {
    let world = World::new();
    write(&world, "tree/ws/prompt.txt", "You look twice.\n");
    let args = ["agent", "new", "careful", "--description", "Use when: it matters"];
    let more = ["tools=read,grep", "limits.turns=20", "--prompt-file", "prompt.txt"];
    let args = [&args[..], &more].concat();
    assert_snapshot!(shown(&world, &args), @"created    [scratch]/user/.agents/agents/careful.md");
    assert_snapshot!(read(&world, "user/.agents/agents/careful.md"), @r#"
    ---
    name: careful
    description: "Use when: it matters"
    tools:
      - read
      - grep
    limits:
      turns: 20
    ---

    You look twice.
    "#);
    let listed = world.ok(&["agent", "list"]);
    assert!(listed.starts_with("careful          user     Use when: it matters\n"), "{listed}");
    assert_snapshot!(shown(&world, &args), @r"
    exit 2
    ----- stderr
    error[E0083]: `[scratch]/user/.agents/agents/careful.md` is there already
    hint: `--force` replaces it
    explained by `cargo agents explain E0083`
    ");
    let forced = world.json(&[&args[..], &["--force", "priority=3"]].concat());
    assert_eq!((&forced["action"], &forced["applied"]), (&"changed".into(), &true.into()));
}

#[test]
fn new_writes_for_a_host_into_its_own_place() {
    let world = World::new();
    let args = ["agent", "new", "x", "--description", "d", "prompt=Be.", "--for", "codex"];
    let user = shown(&world, &args);
    assert_eq!(user, "created    [scratch]/user/.codex/agents/x.toml\n");
    let project = shown(&world, &[&args[..], &["--project", "--dry-run"]].concat());
    assert_snapshot!(project, @r#"
    --- /dev/null
    +++ [scratch]/tree/ws/.codex/agents/x.toml
    @@ -0,0 +1,5 @@
    +name = "x"
    +description = "d"
    +developer_instructions = """
    +Be.
    +"""
    "#);
    assert!(!exists(&world, "tree/ws/.codex"));
    let args = ["agent", "new", "y", "--description", "d", "prompt=Be.", "--dialect"];
    let omp = shown(&world, &[&args[..], &["oh-my-pi"]].concat());
    assert_eq!(omp, "created    [scratch]/user/.omp/agent/agents/y.md\n");
    let nowhere = world.agents(&[&args[..], &["agentsdk"]].concat());
    assert!(nowhere.stderr.contains("hint: name one with `--dir`"), "{nowhere:?}");
    let elsewhere = shown(&world, &[&args[..], &["agentsdk", "--dir", "sdk"]].concat());
    assert!(elsewhere.contains("no agents are looked for in this directory"), "{elsewhere}");
    let zed = world.agents(&["agent", "new", "x", "--description", "d", "--for", "zed"]);
    assert!(zed.stderr.contains("Zed has no files of agents"), "{zed:?}");
}

#[test]
fn new_refuses_what_the_format_cannot_say() {
    let world = World::new();
    let args = ["agent", "new", "x", "--description", "d", "--for", "codex", "limits.turns=3"];
    assert_snapshot!(shown(&world, &args), @r"
    exit 2
    ----- stderr
    error[E0082]: Codex cannot be told that: the limit of turns cannot be expressed there: the host decides
    hint: leave it out, or keep the agent in a file of `.agents/agents`, which can say everything
    explained by `cargo agents explain E0082`
    ");
    let name = ["agent", "new", "X.y", "--description", "d", "--for", "gemini"];
    assert!(world.agents(&name).stderr.contains("cannot be told that: the name"), "{name:?}");
    assert!(!exists(&world, "user/.codex") && !exists(&world, "user/.gemini"));
}

#[test]
fn new_begins_with_a_copy_of_any_agent() {
    let world = world();
    let args = ["agent", "new", "mine", "--from", "reviewer", "tools.deny=bash"];
    assert_eq!(shown(&world, &args), "created    [scratch]/user/.agents/agents/mine.md\n");
    let text = read(&world, "user/.agents/agents/mine.md");
    assert!(text.contains("description: Reviews\n") && text.contains("You review."), "{text}");
    let unknown = world.agents(&["agent", "new", "mine", "--from", "revewer"]);
    assert!(unknown.stderr.contains("did you mean `reviewer`"), "{unknown:?}");
    let neither = world.agents(&["agent", "new", "mine"]);
    assert!(neither.stderr.contains("--description"), "{neither:?}");
}

#[test]
fn new_says_if_the_name_means_another_agent() {
    let world = World::new();
    write(&world, "tree/ws/.agents/agents/x.md", "---\nname: x\ndescription: d\n---\nBe.\n");
    let args = ["agent", "new", "x", "--description", "d", "prompt=Be.", "--for", "claude"];
    assert_snapshot!(shown(&world, &args), @r"
    created    [scratch]/user/.claude/agents/x.md
    ----- stderr
    warning: `x`: shadowed by `[scratch]/tree/ws/.agents/agents/x.md`
    ");
    let empty = world.agents(&["agent", "new", "z", "--description", "d"]);
    assert!(empty.stderr.contains("nothing tells it what to be yet"), "{empty:?}");
    let wrong = world.agents(&["agent", "new", "../z", "--description", "d"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn edit_changes_what_was_asked_for_and_no_other_byte() {
    let world = world();
    let args = ["agent", "edit", "reviewer", "limits.turns=9", "tools=read"];
    assert_snapshot!(shown(&world, &[&args[..], &["--dry-run"]].concat()), @r"
    --- [scratch]/tree/ws/.claude/agents/reviewer.md
    +++ [scratch]/tree/ws/.claude/agents/reviewer.md
    @@ -1,8 +1,9 @@
     ---
     name: reviewer
     description: Reviews   # when
    -tools: Read, Grep
    +tools: Read
     x-team: core # ours
    +maxTurns: 9
     ---
     
     You review.
    ");
    assert_eq!(read(&world, "tree/ws/.claude/agents/reviewer.md"), CLAUDE);
    let changed = shown(&world, &args);
    assert_eq!(changed, "changed    [scratch]/tree/ws/.claude/agents/reviewer.md\n");
    let now = read(&world, "tree/ws/.claude/agents/reviewer.md");
    let after = CLAUDE.replace("Read, Grep", "Read").replace("# ours\n", "# ours\nmaxTurns: 9\n");
    assert_eq!(now, after);
    assert!(shown(&world, &args).starts_with("unchanged "), "a second time is a no-op");
    let back = ["agent", "edit", "reviewer", "--unset", "limits.turns", "tools=read,grep"];
    assert_eq!(world.json(&back)["action"], "changed");
    assert_eq!(
        read(&world, "tree/ws/.claude/agents/reviewer.md"),
        CLAUDE.replace("Read, Grep", "\"Read, Grep\"")
    );
}

#[test]
fn edit_refuses_what_the_format_of_the_file_cannot_say() {
    let world = world();
    let refused = shown(&world, &["agent", "edit", "reviewer", "limits.cost=1"]);
    assert_snapshot!(refused, @r"
    exit 2
    ----- stderr
    error[E0082]: Claude Code cannot be told that: the limit of cost cannot be expressed there: the host decides
    hint: leave it out, or keep the agent in a file of `.agents/agents`, which can say everything
    explained by `cargo agents explain E0082`
    ");
    for (change, hint) in [
        ("turns=3", "did you mean `limits.turns`?"),
        ("effort=enormous", "it is one of `off`"),
        ("description=", "`description=` says nothing"),
    ] {
        let run = world.agents(&["agent", "edit", "reviewer", change]);
        assert!(run.code == Some(2) && run.stderr.contains(hint), "{run:?}");
    }
    let nothing = world.agents(&["agent", "edit", "reviewer"]);
    assert!(nothing.stderr.contains("nothing to change"), "{nothing:?}");
    assert_eq!(read(&world, "tree/ws/.claude/agents/reviewer.md"), CLAUDE);
}

#[test]
fn what_must_hold_is_written_where_it_can_be_said() {
    let world = world();
    world.ok(&["agent", "new", "fixer", "--description", "d", "done-when.commands=cargo test"]);
    world.ok(&["agent", "edit", "fixer", "done-when.unchanged=tests/**"]);
    let file = world.user().join(".agents/agents/fixer.md");
    let said = || std::fs::read_to_string(&file).unwrap();
    for part in ["- cargo test\n", "unchanged:", "tests/**"] {
        assert!(said().contains(part), "{}", said());
    }
    world.ok(&["agent", "edit", "fixer", "--unset", "done-when"]);
    assert!(!said().contains("done-when"), "{}", said());
    let run = world.agents(&["agent", "edit", "reviewer", "done-when.commands=cargo test"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("`done-when` cannot be expressed there"), "{run:?}");
}

#[test]
fn edit_takes_a_prompt_from_a_file() {
    let world = world();
    write(&world, "tree/ws/p.md", "You review twice.\n");
    world.ok(&["agent", "edit", "reviewer", "--prompt-file", "p.md"]);
    let now = read(&world, "tree/ws/.claude/agents/reviewer.md");
    assert_eq!(now, CLAUDE.replace("You review.", "You review twice."));
    let gone = world.agents(&["agent", "edit", "reviewer", "--prompt-file", "gone.md"]);
    assert_eq!(gone.code, Some(2), "{gone:?}");
}

#[test]
fn what_belongs_to_somebody_else_is_not_changed_and_the_next_step_is_named() {
    let world = World::new();
    for command in ["edit", "remove"] {
        let change: &[&str] = if command == "edit" { &["effort=low"] } else { &[] };
        let bundled = world.agents(&[&["agent", command, "plan"], change].concat());
        assert_eq!(bundled.code, Some(3), "{bundled:?}");
        assert!(bundled.stderr.contains("`cargo agents agent unpack plan`"), "{bundled:?}");
    }
    world.plugin("p", "name = \"p\"\ncrates = [\"serde\"]\n[[agents]]\nsource.path = \"agents\"\n");
    let file = world.home().join("plugins/p/agents/x.md");
    scratch::write(&file, "---\nname: x\ndescription: d\n---\nBe.\n");
    assert_snapshot!(shown(&world, &["agent", "remove", "x"]), @r"
    exit 3
    ----- stderr
    error[E0082]: `x` is an agent of plugin `p`
    hint: `cargo agents agent new x --from x` makes a copy of your own, which comes first
    explained by `cargo agents explain E0082`
    ");
    world.ok(&["agent", "new", "x", "--from", "x"]);
    world.ok(&["agent", "edit", "x", "effort=low"]);
    assert!(file.exists());
}

#[test]
fn remove_deletes_one_file_and_says_what_the_name_means_then() {
    let world = world();
    let file = "tree/ws/.claude/agents/reviewer.md";
    let dry = shown(&world, &["agent", "remove", "reviewer", "--dry-run"]);
    assert!(dry.contains("+++ /dev/null\n") && exists(&world, file), "{dry}");
    assert_snapshot!(shown(&world, &["agent", "remove", "reviewer"]), @r"
    removed    [scratch]/tree/ws/.claude/agents/reviewer.md
    ----- stderr
    warning: `reviewer` now means the program's own
    ");
    assert!(!exists(&world, file));
    let unknown = world.agents(&["agent", "remove", "nobody"]);
    assert!(unknown.stderr.contains("Unknown agent \"nobody\""), "{unknown:?}");
}

/// Runs a command that is killed at one of its writes below a directory. Whether it came so far.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn is_killed(world: &World, args: &[&str], dir: &str, harm: Harm) -> bool {
    let dir = world.sample.scratch().path(dir);
    let mut command = world.command(args);
    harm.put(Place::Below(&dir, "cargo-agents"), &mut command);
    command.output().unwrap().status.code().is_none()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn names(world: &World, dir: &str) -> Vec<String> {
    let dir = world.sample.scratch().path(dir);
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|it| it.file_name().to_owned()).collect();
    names.sort();
    names
}

/// The next command makes good what the killed one left, for each of the writes that there are.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn whoever_is_killed_while_they_write_leaves_the_old_or_the_new_and_nothing_beside_it() {
    let world = world();
    let (dir, file) = ("tree/ws/.claude/agents", "tree/ws/.claude/agents/reviewer.md");
    let edit = ["agent", "edit", "reviewer", "tools=read"];
    let after = CLAUDE.replace("Read, Grep", "Read");
    let mut left = 0;
    for harm in (1..).flat_map(|step| [Harm::Before(step), Harm::Torn(step)]) {
        write(&world, file, CLAUDE);
        if !is_killed(&world, &edit, dir, harm) {
            break;
        }
        left += names(&world, dir).len() - 1;
        let now = read(&world, file);
        assert!(now == CLAUDE || now == after, "{harm:?}: {now}");
        world.ok(&edit);
        assert_eq!(read(&world, file), after, "{harm:?}");
        assert_eq!(names(&world, dir), ["reviewer.md"], "{harm:?}");
    }
    assert!(left > 0, "nothing was ever left");
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn new_and_unpack_take_away_what_was_left_when_they_were_killed() {
    let world = World::new();
    let dir = "user/.agents/agents";
    let new = ["agent", "new", "careful", "--description", "d", "--force"];
    let unpack = ["agent", "unpack", "explore"];
    for (args, file) in [(&new[..], "careful.md"), (&unpack, "explore.md")] {
        let mut left = 0;
        for harm in (1..).flat_map(|step| [Harm::Before(step), Harm::Torn(step)]) {
            if !is_killed(&world, args, dir, harm) {
                break;
            }
            let unfinished = names(&world, dir).into_iter().filter(|it| it != file).count();
            left += unfinished;
            world.ok(args);
            assert_eq!(names(&world, dir), [file], "{harm:?}");
            fs_err::remove_file(world.sample.scratch().path(dir).join(file)).unwrap();
        }
        assert!(left > 0, "`{file}` never left anything");
        fs_err::remove_dir_all(world.sample.scratch().path(dir)).unwrap();
    }
}
