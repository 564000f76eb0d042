//! Whose word turns plugins on and off: asked for at a terminal, typed as `use` and `disable`, and never made up.

mod precedence;

use std::process::{Command, Stdio};

use agents_system::sandbox;
use agents_testkit::{
    scratch,
    terminal::{Size, Terminal, keys},
};
use camino::Utf8PathBuf;

use crate::{
    registries::{NO_DEFAULTS, because, embedded, everywhere},
    world::{Run, World, subcommand},
};

const GUARD: &str =
    "[[hooks]]\nname = \"guard\"\nevent = \"PreToolUse\"\ncommand = { script = \"guard.sh\" }\n";
const BIG: Size = Size { columns: 120, rows: 40 };

/// A user with one host, in a workspace that depends on `helper` and `other`, both of which embed something.
struct Desk {
    world: World,
}

impl Desk {
    fn new() -> Self {
        let world = World::new();
        let desk = Self { world };
        desk.krate("helper", &format!("{}{GUARD}", embedded("helper")));
        desk.krate("other", &embedded("other"));
        desk.world.sample.write(
            "../helper/skills/notes/SKILL.md",
            "---\nname: notes\ndescription: Use when\n---\nText.\n",
        );
        desk.world.sample.scratch().script("tree/helper/guard.sh", "exit 0");
        desk.depend("helper = { path = \"../helper\" }\nother = { path = \"../other\" }\n");
        desk.config("");
        desk
    }

    fn krate(&self, name: &str, manifest: &str) {
        self.world.sample.package(&format!("../{name}"), name, "0.2.0", "");
        self.world.sample.write(&format!("../{name}/SYMPOSIUM.toml"), manifest);
    }

    fn depend(&self, on: &str) {
        self.world.sample.package(".", "app", "0.1.0", &format!("[dependencies]\n{on}"));
        self.world.sample.lock();
    }

    fn config(&self, plugins: &str) {
        self.world.config(&format!("# mine\nhosts = [\"claude\"]\n{NO_DEFAULTS}{plugins}"));
    }

    fn said(&self) -> String {
        let text = std::fs::read_to_string(self.world.home().join("config.toml")).unwrap();
        text.split_once(NO_DEFAULTS).unwrap().1.trim().to_owned()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        // Nothing here is about newer versions of the program.
        command.env("CARGO_NET_OFFLINE", "true");
        command
    }

    fn user(&self) -> Utf8PathBuf {
        self.world.user()
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    }

    fn sync_at_terminal(&self) -> Terminal {
        Terminal::start(&self.command(&["sync"]), BIG)
    }
}

const HELPER: &str = "Turn on what `helper` brings?";
const OTHER: &str = "Turn on what `other` brings?";

#[test]
fn the_question_says_what_it_is_where_from_what_it_brings_and_its_rights() {
    let desk = Desk::new();
    let terminal = desk.sync_at_terminal();
    terminal.wait_for("esc: cancel");
    let screen = terminal.screen();
    let file = desk.world.sample.path("../helper/SYMPOSIUM.toml").canonicalize_utf8().unwrap();
    assert!(screen.starts_with("`helper`  (crate helper 0.2.0, a dependency of this workspace; all of it is off until you agree)\n"), "{screen}");
    let flat: String = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "brings 1 skill, 1 hook, 1 command",
        file.as_str(),
        "skill notes",
        "hook guard (PreToolUse) runs script `guard.sh`",
        "command helper-cmd runs `echo`",
        "its programs run with your rights, outside any sandbox",
        HELPER,
        "> [l]ater ask again next time",
        "[e]nable in every workspace",
        "[n]ever do not ask again",
    ] {
        assert!(flat.contains(part), "{part}:\n{screen}");
    }
}

#[test]
fn the_question_says_what_would_run_in_a_sandbox() {
    let desk = Desk::new();
    desk.config("[sandbox]\nplugins = \"*\"\n");
    let terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
    let flat: String = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    let said = match sandbox::available() {
        sandbox::Availability::Unavailable(lack) => format!("its programs do not run: {lack}"),
        _ => "its programs run in a sandbox".to_owned(),
    };
    assert!(flat.contains(&said), "{said}:\n{flat}");
}

#[test]
fn the_question_says_whether_anything_of_it_runs_programs() {
    let skills = |source: &str| format!("name = \"helper\"\n[[skills]]\nsource.{source}\n");
    let git = skills("git = \"https://example.org/skills\"");
    let texts = skills("path = \"skills\"");
    for (manifest, condition, said) in [
        (&texts, "", "it runs no programs; what it brings is text that agents read"),
        (&texts, "predicates: shell(true)\n", "runs `shell(true)` its programs run with"),
        (&git, "", "skills that are fetched may have conditions that do"),
    ] {
        let desk = Desk::new();
        desk.krate("helper", manifest);
        let text = format!("---\nname: notes\ndescription: Use when\n{condition}---\nText.\n");
        desk.world.sample.write("../helper/skills/notes/SKILL.md", &text);
        let terminal = desk.sync_at_terminal();
        terminal.wait_for(HELPER);
        let flat: String = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(said), "{said}:\n{flat}");
    }
}

#[test]
fn enable_and_never_are_written_down_and_sync_goes_on_with_them() {
    let desk = Desk::new();
    let mut terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
    terminal.press(["e"]);
    terminal.wait_for(OTHER);
    assert_eq!(desk.said(), "", "nothing is written before the last answer");
    terminal.press([keys::DOWN, keys::DOWN, keys::ENTER]);
    let ended = terminal.end();
    assert!(ended.screen.contains("skill  notes"), "{ended:?}");
    assert_eq!(desk.said(), "[plugins]\nauto-enable = [\"helper\"]\ndisable = [\"other\"]");
    assert!(desk.world.sample.path(".claude/skills/notes/SKILL.md").exists());
    // Nobody is asked twice.
    let ended = desk.sync_at_terminal().end();
    assert!(!ended.screen.contains("Turn on"), "{ended:?}");
    assert_eq!(desk.world.ok(&["helper-cmd"]), "helper\n");
    assert_eq!(desk.world.agents(&["other-cmd"]).code, Some(2));
}

#[test]
fn later_leaves_no_trace_and_is_the_default() {
    let desk = Desk::new();
    let mut terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
    terminal.press([keys::ENTER]);
    terminal.wait_for(OTHER);
    terminal.press(["l"]);
    assert_eq!(terminal.end().code, Some(0));
    assert_eq!(desk.said(), "");
    let terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
}

#[test]
fn escape_leaves_the_rest_undecided_and_keeps_what_was_answered() {
    let desk = Desk::new();
    let mut terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
    terminal.press(["n"]);
    terminal.wait_for(OTHER);
    terminal.press([keys::ESCAPE]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "the hosts are still served: {ended:?}");
    assert_eq!(desk.said(), "[plugins]\ndisable = [\"helper\"]");
}

#[test]
fn ctrl_c_ends_everything_and_nothing_is_written() {
    let desk = Desk::new();
    let mut terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
    terminal.press(["e"]);
    terminal.wait_for(OTHER);
    terminal.press([keys::CTRL_C]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.screen.contains("nothing was written"), "{ended:?}");
    assert_eq!(desk.said(), "");
    assert!(!desk.world.sample.path(".claude").exists(), "not even the hosts are served");
}

#[test]
fn nobody_is_asked_who_cannot_answer() {
    let desk = Desk::new();
    let quiet: [&[&str]; 6] = [
        &["sync", "--json"],
        &["sync", "--quiet"],
        &["sync", "--dry-run"],
        &["sync", "--check"],
        &["diff"],
        &["status"],
    ];
    for args in quiet {
        let ended = Terminal::start(&desk.command(args), BIG).end();
        assert!(!ended.screen.contains("Turn on"), "{args:?}: {ended:?}");
    }
    let mut in_ci = desk.command(&["sync"]);
    in_ci.env("CI", "true");
    let ended = Terminal::start(&in_ci, BIG).end();
    assert!(!ended.screen.contains("Turn on"), "{ended:?}");
    assert_eq!(desk.said(), "");
}

/// With a terminal on one end only, there is nobody who both sees the question and can answer.
#[test]
fn a_pipe_on_either_end_means_that_nobody_is_asked() {
    let desk = Desk::new();
    let program = env!("CARGO_BIN_EXE_cargo-agents");
    for script in ["\"$0\" sync </dev/null", "\"$0\" sync 2>talk", "echo e | \"$0\" sync"] {
        let like = desk.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", script, program]).current_dir(desk.world.sample.root());
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let ended = Terminal::start(&shell, BIG).end();
        assert_eq!(ended.code, Some(0), "{script}: {ended:?}");
        assert!(!ended.screen.contains("Turn on"), "{script}: {ended:?}");
        assert_eq!(desk.said(), "", "{script}");
    }
}

#[test]
fn where_nobody_is_asked_one_line_says_who_waits_and_how_to_answer() {
    let desk = Desk::new();
    let line = "note: `helper` and `other` need your approval: `cargo agents use <name>` gives it, `cargo agents status` shows what for\n";
    for args in [&["sync"][..], &["sync", "--dry-run"], &["sync", "--check"]] {
        let run = desk.run(args);
        assert_eq!(run.stderr.matches("your approval").count(), 1, "{args:?}: {run:?}");
        assert!(run.stderr.contains(line), "{args:?}: {run:?}");
    }
    let json: serde_json::Value = serde_json::from_str(&desk.ok(&["sync", "--json"])).unwrap();
    let said = json["findings"].as_array().unwrap().iter().find(|it| {
        it["message"].as_str().unwrap().starts_with("`helper` and `other` need your approval")
    });
    assert_eq!(said.unwrap()["severity"], "note", "{json}");
    for args in [&["sync", "--quiet"][..], &["diff"], &["use", "other"]] {
        let run = desk.run(args);
        assert!(!run.stderr.contains("your approval"), "{args:?}: {run:?}");
    }
    let run = desk.run(&["sync"]);
    let line = "note: `helper` needs your approval: `cargo agents use helper` gives it";
    assert!(run.stderr.contains(line), "{run:?}");
    desk.ok(&["use", "helper"]);
    assert!(!desk.run(&["sync"]).stderr.contains("your approval"));
    // Nor is it said to whoever has just been asked.
    desk.config("");
    let mut terminal = desk.sync_at_terminal();
    terminal.wait_for(HELPER);
    terminal.press(["l"]);
    terminal.wait_for(OTHER);
    terminal.press(["l"]);
    let ended = terminal.end();
    assert!(!ended.screen.contains("your approval"), "{ended:?}");
}

#[test]
fn a_hook_never_asks_even_on_a_terminal() {
    let desk = Desk::new();
    let mut terminal = Terminal::start(&desk.command(&["hook", "claude", "session-start"]), BIG);
    terminal.press(["{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s\"}\n", keys::CTRL_D]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let flat: String = ended.screen.split_whitespace().collect();
    assert!(flat.contains("`helper`and`other`"), "{ended:?}");
    assert!(!ended.screen.contains("Turn on"), "{ended:?}");
    assert_eq!(desk.said(), "");
}

#[test]
fn a_workspace_that_was_only_cloned_asks_before_it_runs_programs() {
    let desk = Desk::new();
    desk.depend("");
    let server = "[[mcp_servers]]\nname = \"mine\"\ncommand = \"./server\"\n";
    desk.world.sample.write("SYMPOSIUM.toml", &format!("{GUARD}{server}"));
    desk.world.sample.scratch().script("tree/ws/guard.sh", "exit 0");
    let run = desk.run(&["sync"]);
    assert!(run.stderr.contains("the hooks of `app` do not run"), "{run:?}");
    assert!(run.stderr.contains("the MCP server `mine` of `app` is left out"), "{run:?}");
    assert!(run.stderr.contains("`cargo agents use app`"), "{run:?}");
    assert!(!desk.user().join(".claude.json").exists(), "a host would start it");
    let mut terminal = desk.sync_at_terminal();
    terminal.wait_for("Let `app` run programs?");
    terminal.press(["e"]);
    assert_eq!(terminal.end().code, Some(0));
    let root = desk.world.sample.root();
    assert_eq!(
        desk.said(),
        format!("[plugins]\nuse = [{{ name = \"app\", workspace = \"{root}\" }}]")
    );
    let claude = std::fs::read_to_string(desk.user().join(".claude.json")).unwrap();
    assert!(claude.contains("cargo-agents"), "{claude}");
    let plain = desk.sync_at_terminal().end();
    assert!(!plain.screen.contains("run programs?"), "{plain:?}");
}

#[test]
fn what_would_not_apply_or_is_superseded_is_not_asked_about() {
    let desk = Desk::new();
    desk.krate("helper", &format!("crates = [\"diesel\"]\n{}", embedded("helper")));
    desk.world.plugin("other", &everywhere("other", "curated"));
    let ended = desk.sync_at_terminal().end();
    assert!(!ended.screen.contains("Turn on"), "{ended:?}");
    let said = desk.world.ok(&["plugin", "explain", "other"]);
    assert!(said.contains("registry `user-plugins` has a plugin of that name"), "{said}");
}

// ---- `use` and `disable`

#[test]
fn use_turns_a_dependencys_plugin_on_here_and_brings_it_to_hosts() {
    let desk = Desk::new();
    let said = desk.ok(&["use", "helper"]);
    assert!(said.contains("skill  notes"), "{said}");
    let root = desk.world.sample.root();
    let entry = format!("[plugins]\nuse = [{{ name = \"helper\", workspace = \"{root}\" }}]");
    assert_eq!(desk.said(), entry);
    assert!(desk.world.sample.path(".claude/skills/notes").exists());
    let again = desk.ok(&["use", "helper"]);
    assert!(again.starts_with("`helper` is turned on already; nothing changed.\n"), "{again}");
    assert_eq!(desk.said(), entry);
    let back = desk.ok(&["use", "helper", "--remove"]);
    assert!(back.contains("names `helper` no longer"), "{back}");
    assert_eq!(desk.said(), "");
    assert!(!desk.world.sample.path(".claude/skills/notes").exists());
}

#[test]
fn use_global_counts_everywhere_and_is_taken_back_as_such() {
    let desk = Desk::new();
    let run = desk.run(&["use", "help_er"]);
    assert_eq!(run.code, Some(4), "offline nobody knows: {run:?}");
    desk.ok(&["use", "--global", "helper"]);
    assert_eq!(desk.said(), "[plugins]\nuse = [\"helper\"]");
    assert!(desk.ok(&["use", "helper"]).contains("turned on already"), "everywhere is here, too");
    let run = desk.run(&["use", "helper", "--remove"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("`cargo agents use --global --remove helper`"), "{run:?}");
    desk.ok(&["use", "helper", "--remove", "--global"]);
    assert_eq!(desk.said(), "");
    let outside = desk.world.outside();
    let run = Run::from(desk.command(&["use", "helper"]).current_dir(outside).output().unwrap());
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("`cargo agents use --global helper`"), "{run:?}");
}

#[test]
fn use_of_what_is_turned_off_is_refused_with_the_place_and_the_way_out() {
    let desk = Desk::new();
    desk.config("[plugins]\ndisable = [\n  \"helper\",\n]\n");
    let before = desk.said();
    for args in [&["use", "helper"][..], &["use", "--global", "helper"]] {
        let run = desk.run(args);
        assert_eq!(run.code, Some(3), "{run:?}");
        let place = format!("{}/config.toml:7", desk.world.home());
        assert!(run.stderr.contains(&place), "{run:?}");
        assert!(run.stderr.contains("`cargo agents disable --remove helper`"), "{run:?}");
        assert_eq!(desk.said(), before);
    }
    desk.ok(&["disable", "--remove", "helper"]);
    assert_eq!(desk.said(), "");
    desk.ok(&["use", "helper"]);
    desk.config("[plugins]\ndisable = [\"*\"]\n");
    let run = desk.run(&["use", "helper"]);
    assert!(run.stderr.contains("take the `*` out"), "{run:?}");
}

#[test]
fn use_of_a_plugin_that_a_registry_has_records_nothing_unless_it_sleeps() {
    let desk = Desk::new();
    desk.world.plugin("one", &everywhere("one", "1"));
    let said = desk.ok(&["use", "one"]);
    assert!(
        said.starts_with("`one` needs nobody's word: registry `user-plugins` has it"),
        "{said}"
    );
    assert_eq!(desk.said(), "");
    desk.world.plugin("zzz", &subcommand("zzz", "", "zzz-cmd", "{ executable = \"echo\" }"));
    assert_eq!(desk.world.agents(&["zzz-cmd"]).code, Some(2));
    desk.ok(&["use", "--global", "zzz"]);
    assert_eq!(desk.said(), "[plugins]\nuse = [\"zzz\"]");
    assert_eq!(desk.world.agents(&["zzz-cmd"]).code, Some(0));
}

#[test]
fn use_of_a_crate_that_brings_nothing_is_an_error() {
    let desk = Desk::new();
    desk.krate("plain", "");
    std::fs::remove_file(desk.world.sample.path("../plain/SYMPOSIUM.toml")).unwrap();
    desk.depend("plain = { path = \"../plain\" }\n");
    let run = desk.run(&["use", "plain"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("crate `plain` 0.2.0 brings nothing for coding agents"), "{run:?}");
    assert_eq!(desk.said(), "");
}

#[test]
fn use_of_a_crate_that_is_no_dependency_fetches_it() {
    let desk = Desk::new();
    let files = [("src/lib.rs", ""), ("SYMPOSIUM.toml", &embedded("far"))];
    desk.world.sample.vendor().krate("far", "1.4.0", "", &files);
    let run = Run::from(
        desk.command(&["use", "--global", "far"]).env_remove("CARGO_NET_OFFLINE").output().unwrap(),
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(desk.world.ok(&["far-cmd"]), "far\n");
    let run = Run::from(
        desk.command(&["use", "nonesuch"]).env_remove("CARGO_NET_OFFLINE").output().unwrap(),
    );
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("no plugin and no crate is named `nonesuch`"), "{run:?}");
    assert!(run.stderr.contains("`cargo agents search nonesuch`"), "{run:?}");
}

#[test]
fn disable_takes_back_what_hosts_had_and_is_itself_taken_back() {
    let desk = Desk::new();
    desk.ok(&["use", "helper"]);
    assert!(desk.world.sample.path(".claude/skills/notes").exists());
    desk.ok(&["disable", "helper"]);
    assert!(!desk.world.sample.path(".claude/skills/notes").exists());
    assert!(because(&desk.world, "helper").contains("`[plugins] disable` names it"));
    desk.ok(&["disable", "helper", "--remove"]);
    assert!(desk.world.sample.path(".claude/skills/notes").exists());
    assert_eq!(desk.run(&["disable", "helper", "--remove"]).code, Some(2));
    let run = desk.run(&["disable", "nonesuch"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("nothing here is named `nonesuch`"), "{run:?}");
}

#[test]
fn a_script_gets_one_document() {
    let desk = Desk::new();
    let run = desk.run(&["use", "helper", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&document["list"], &document["change"]), (&"use".into(), &"added".into()));
    assert_eq!(document["sync"]["applied"], true);
    let kinds: Vec<&str> = document["sync"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"skill") && kinds.contains(&"hook"), "{document}");
}

#[test]
fn of_many_words_at_the_same_time_none_is_lost() {
    let desk = Desk::new();
    for at in 0..12 {
        let name = format!("z{at}");
        let text = subcommand(&name, "", &format!("{name}-cmd"), "{ executable = \"echo\" }");
        desk.world.plugin(&name, &text);
    }
    let children: Vec<_> = (0..12)
        .map(|at| {
            let mut command = desk.command(&["use", "--global", &format!("z{at}")]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    let said = desk.said();
    for at in 0..12 {
        assert_eq!(said.matches(&format!("\"z{at}\"")).count(), 1, "{said}");
    }
}

#[test]
fn every_way_to_write_the_list_can_be_added_to_and_taken_from() {
    let desk = Desk::new();
    let root = desk.world.sample.root();
    let tables = format!("[[plugins.use]]\nname = \"zebra\"\nworkspace = \"{root}\"\n");
    for text in
        [tables.as_str(), "[plugins]\nuse = [{ name = \"zebra\" }]\n", "[plugins]\nuse = []\n"]
    {
        desk.config(text);
        for scope in [&["use", "other"][..], &["use", "other", "--global"]] {
            desk.ok(scope);
            assert_eq!(desk.world.agents(&["other-cmd"]).code, Some(0), "{text} {scope:?}");
            desk.ok(&[scope, &["--remove"]].concat());
            assert_eq!(desk.world.agents(&["other-cmd"]).code, Some(2), "{text} {scope:?}");
            let left = if text.contains("zebra") { text.trim() } else { "" };
            assert_eq!(desk.said(), left, "{scope:?}");
        }
    }
}

#[test]
fn comments_and_order_of_the_configuration_stay() {
    let desk = Desk::new();
    let text = "[plugins] # ours\nuse = [\n  \"zebra\", # striped\n]\n";
    desk.config(text);
    desk.ok(&["use", "--global", "helper"]);
    assert_eq!(desk.said(), "[plugins] # ours\nuse = [\n  \"zebra\", # striped\n  \"helper\",\n]");
    desk.ok(&["use", "--global", "--remove", "helper"]);
    assert_eq!(desk.said(), text.trim());
    scratch::write(&desk.world.home().join("config.toml"), "nonsense");
    assert_eq!(desk.run(&["use", "--global", "helper"]).code, Some(2));
}
