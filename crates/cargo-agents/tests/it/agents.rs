//! `cargo agents agent …` and `cargo agents command …`

use agents_testkit::scratch;
use insta::assert_snapshot;
use serde_json::Value;

use crate::world::{Run, World};

pub(crate) fn shown(world: &World, args: &[&str]) -> String {
    let Run { stdout, stderr, code } = world.agents(args);
    let mut text = match code {
        Some(0) => String::new(),
        code => format!("exit {}\n", code.unwrap()),
    };
    text += &stdout;
    if !stderr.is_empty() {
        text += &format!("----- stderr\n{stderr}");
    }
    text.replace(world.sample.scratch().root().as_str(), "[scratch]")
}

fn json(world: &World, args: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend(args);
    let run = world.agents(&all);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

fn agent(world: &World, file: &str, name: &str, description: &str) {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n");
    scratch::write(&world.sample.scratch().path(file), text);
}

/// A project, a user and a crate with agents, one of which is broken.
fn full() -> World {
    let world = World::new();
    agent(&world, "tree/ws/.claude/agents/reviewer.md", "reviewer", "Ours");
    agent(&world, "user/.claude/agents/reviewer.md", "reviewer", "Mine");
    scratch::write(&world.sample.scratch().path("user/.gemini/agents/broken.md"), "nothing");
    world.plugin(
        "sql",
        "name = \"sql\"\n[[agents]]\ncrates = [\"tiny-sql>=0.3\"]\nsource = \"crate\"\n\
         [[agents]]\ncrates = [\"tokio\"]\nsource.path = \".\"\n",
    );
    let vendored = world.sample.vendor().dir().join("tiny-sql-0.3.1/agents/migrate.md");
    scratch::write(&vendored, "---\nname: migrate\ndescription: Writes migrations\n---\nDo it.\n");
    world
}

#[test]
fn list_says_where_each_agent_comes_from() {
    assert_snapshot!(shown(&full(), &["agent", "list"]), @r"
    reviewer         project               Ours
    migrate          crate tiny-sql 0.3.1  Writes migrations
    explore          bundled               Finds its way through a code base without changing it. Use it to learn where so…
    plan             bundled               Works out how to make a change before anybody makes it - steps, files, risks an…
    designer         bundled               Designs and builds user interfaces - layout, components, styles, texts, accessi…
    task             bundled               Carries out one clearly described piece of work with every tool that there is.…
    quick_task       bundled               Carries out a small, mechanical piece of work quickly and cheaply - a rename, a…
    general-purpose  bundled               Handles a question or task of several steps from start to end - research, reaso…
    broken.md        user                  (no agent: the file does not start with a `---` line)
    ----- stderr
    warning: the file does not start with a `---` line
     --> [scratch]/user/.gemini/agents/broken.md:1:1
      |
    1 | nothing
      | ^^^^^^^
      |
      = hint: put `---`, `name: …`, `description: …` and `---` at the top of the file
    ");
}

#[test]
fn list_as_json_has_those_that_are_not_available_and_why() {
    let world = full();
    let document = json(&world, &["agent", "list"]);
    let rows: Vec<String> = document["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let why = it["why_not"].as_str().unwrap_or("-");
            format!("{} {} {} {why}", it["name"], it["source"], it["available"])
        })
        .take(4)
        .collect();
    let rows = rows.join("\n").replace(world.sample.scratch().root().as_str(), "[scratch]");
    assert_snapshot!(rows, @r#"
    "reviewer" "project" true -
    "reviewer" "user" false shadowed by `[scratch]/tree/ws/.claude/agents/reviewer.md`
    "broken.md" "user" false the file does not start with a `---` line
    "migrate" "crate tiny-sql 0.3.1" true -
    "#);
    assert_eq!(document["skipped"][0]["why"], "the gate of its group does not hold");
}

#[test]
fn explain_shows_every_candidate_and_who_shadows_whom() {
    assert_snapshot!(shown(&full(), &["agent", "explain", "reviewer"]), @r"
    reviewer
      wins      project   [scratch]/tree/ws/.claude/agents/reviewer.md
      shadowed  user      [scratch]/user/.claude/agents/reviewer.md
                shadowed by `[scratch]/tree/ws/.claude/agents/reviewer.md`
      shadowed  bundled   in the program
                shadowed by `[scratch]/tree/ws/.claude/agents/reviewer.md`
    looked at, in this order:
      project   [scratch]/tree/ws/.claude/agents  (1 file)
      user      [scratch]/user/.claude/agents  (1 file)
      user      [scratch]/user/.gemini/agents  (1 file)
      crate tiny-sql 0.3.1  [scratch]/vendor/tiny-sql-0.3.1/agents  (1 file)
      and 12 places with none
    ");
}

#[test]
fn explain_of_a_file_that_is_no_agent_says_what_is_wrong_with_it() {
    assert_snapshot!(shown(&full(), &["agent", "explain", "broken"]), @r"
    broken
      invalid   user      [scratch]/user/.gemini/agents/broken.md
                the file does not start with a `---` line
    looked at, in this order:
      project   [scratch]/tree/ws/.claude/agents  (1 file)
      user      [scratch]/user/.claude/agents  (1 file)
      user      [scratch]/user/.gemini/agents  (1 file)
      crate tiny-sql 0.3.1  [scratch]/vendor/tiny-sql-0.3.1/agents  (1 file)
      and 12 places with none
    ");
}

#[test]
fn an_unknown_name_is_answered_in_the_words_of_the_seed() {
    let world = full();
    let [shown, explained] =
        ["show", "explain"].map(|command| shown(&world, &["agent", command, "reviewr"]));
    assert_snapshot!(shown, @r#"
    exit 2
    ----- stderr
    error[E0080]: Unknown agent "reviewr". Available: reviewer, migrate, explore, plan, designer, task, quick_task, general-purpose
    hint: did you mean `reviewer`?
    explained by `cargo agents explain E0080`
    "#);
    assert_eq!(explained, shown);
}

#[test]
fn show_prints_the_file_that_wins() {
    let world = full();
    assert_snapshot!(shown(&world, &["agent", "show", "reviewer"]), @r"
    # [scratch]/tree/ws/.claude/agents/reviewer.md

    ---
    name: reviewer
    description: Ours
    ---
    Do it.
    ");
    let document = json(&world, &["agent", "show", "explore"]);
    assert_eq!(document["source"], "bundled");
    assert_eq!(document["definition"]["name"], "explore");
}

#[test]
fn a_named_file_comes_first_and_must_be_right() {
    let world = full();
    agent(&world, "mine/r.md", "reviewer", "Named");
    let file = world.sample.scratch().path("mine/r.md");
    let listed = shown(&world, &["agent", "list", "--agents", file.as_str()]);
    assert!(listed.starts_with("reviewer         command line          Named\n"), "{listed}");
    scratch::write(&file, "nothing");
    let refused = world.agents(&["agent", "list", "--agents", file.as_str()]);
    assert_eq!(refused.code, Some(2));
    let gone = world.agents(&["agent", "list", "--agents", "gone.md"]);
    assert!(gone.stderr.contains("--agents path does not exist"), "{gone:?}");
}

#[test]
fn validate_checks_a_file_or_a_directory() {
    let world = full();
    let odd = "---\nname: odd\ndescription: d\ncolour: red\n---\n";
    scratch::write(&world.sample.scratch().path("check/sub/odd.md"), odd);
    agent(&world, "check/fine.md", "fine", "d");
    let dir = world.sample.scratch().path("check");
    assert_eq!(world.agents(&["agent", "validate", dir.as_str()]).code, Some(0));
    assert_snapshot!(shown(&world, &["agent", "validate", "--strict", dir.as_str()]), @r"
    exit 1
    ok     [scratch]/check/fine.md
    wrong  [scratch]/check/sub/odd.md
    error: `colour` is not a key of cargo agents
     --> [scratch]/check/sub/odd.md:4:9
      |
    4 | colour: red
      |         ^^^
    2 checked, 1 wrong
    ----- stderr
    explained by `cargo agents explain E0081`
    ");
    let nothing = world.agents(&["agent", "validate", "/nowhere"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

#[test]
fn unpack_writes_files_that_then_win_and_keeps_what_is_there() {
    let world = World::new();
    assert_snapshot!(shown(&world, &["agent", "unpack", "explore", "plan"]), @r"
    written   [scratch]/user/.agents/agents/explore.md
    written   [scratch]/user/.agents/agents/plan.md
    ");
    scratch::write(&world.user().join(".agents/agents/plan.md"), "changed");
    assert_snapshot!(shown(&world, &["agent", "unpack", "explore", "plan"]), @r"
    same      [scratch]/user/.agents/agents/explore.md
    kept      [scratch]/user/.agents/agents/plan.md
    ----- stderr
    hint: `--force` replaces what is there already
    ");
    let forced = shown(&world, &["agent", "unpack", "plan", "--force"]);
    assert!(forced.starts_with("replaced "), "{forced}");
    let listed = shown(&world, &["agent", "list"]);
    assert!(listed.starts_with("explore          user     Finds its way"), "{listed}");
    let in_project = shown(&world, &["agent", "unpack", "task", "--project"]);
    assert_eq!(in_project, "written   [scratch]/tree/ws/.agents/agents/task.md\n");
    let both = world.agents(&["agent", "unpack", "--project", "--dir", "x"]);
    assert_eq!(both.code, Some(2));
    let unknown = world.agents(&["agent", "unpack", "expl"]);
    assert!(unknown.stderr.contains("did you mean `explore`?"), "{unknown:?}");
}

#[test]
fn commands_are_listed_and_shown() {
    let world = World::new();
    let file = world.sample.scratch().path("tree/ws/.claude/commands/ship.md");
    scratch::write(&file, "---\ndescription: Ship it\n---\nShip $@ now.\n");
    let listed = shown(&world, &["command", "list"]);
    assert!(
        listed.starts_with("ship         project   Ship it\ninit         bundled "),
        "{listed}"
    );
    assert_eq!(shown(&world, &["command", "show", "ship", "the", "book"]), "Ship the book now.\n");
    assert_eq!(json(&world, &["command", "show", "ship"])["family"], "claude");
    let unknown = shown(&world, &["command", "show", "shp"]);
    assert!(unknown.contains("hint: did you mean `ship`?"), "{unknown}");
}
