//! Predicates that plugins define: a program decides, and it does so wherever gates are asked.

use std::{path::Path, time::Duration};

use serde_json::Value;

use crate::world::{Run, World, lists, subcommand};

/// `[[predicate]]` of the plugin's own script `probe`.
const PROBE: &str = "[[predicate]]\nname = \"probe\"\ncommand = { executable = \"./probe\" }\n";

/// A plugin `p` whose command `cmd` is gated by `gate`, and which defines the predicate `probe` by a script.
fn with_probe(gate: &str, body: &str) -> World {
    let world = World::new();
    world.plugin_script("p", "probe", body);
    world.plugin("p", &format!("{}{PROBE}", gated("p", gate, "cmd")));
    world
}

/// A plugin whose command prints `ran` and applies if `gate` holds.
fn gated(plugin: &str, gate: &str, command: &str) -> String {
    let gate = format!("crates = [\"*\"]\npredicates = [\"{gate}\"]");
    subcommand(plugin, &gate, command, "{ executable = \"echo\", args = [\"ran\"] }")
}

/// Whether the help lists `cmd`, it runs, the list calls `p` active, and `explain` does: they must all agree.
#[track_caller]
fn applies(world: &World) -> bool {
    let listed = lists(&world.ok(&[]), "Commands for agents", "cmd");
    let run = world.agents(&["cmd"]);
    let all = world.json(&["plugin", "list"]);
    let mut all = all["plugins"].as_array().unwrap().iter();
    let active = all.find(|plugin| plugin["name"] == "p").unwrap()["active"].as_bool().unwrap();
    let explained = &world.json(&["plugin", "explain", "p"])["plugins"][0]["active"];
    assert_eq!(listed, run.code == Some(0) && run.stdout == "ran\n", "{run:?}");
    assert_eq!((listed, Some(listed)), (active, explained.as_bool()));
    listed
}

/// The condition of `p` as `plugin explain --json` shows it.
fn condition(world: &World) -> Value {
    let explained = world.json(&["plugin", "explain", "p"]);
    let steps = explained["plugins"][0]["conditions"].as_array().unwrap();
    steps.last().unwrap().clone()
}

fn reason(world: &World) -> String {
    condition(world)["because"].as_str().unwrap().to_owned()
}

/// How often a script that appends to `count` in its working directory was started.
fn count(world: &World) -> usize {
    std::fs::read_to_string(world.sample.path("count")).unwrap_or_default().lines().count()
}

// ---- what the program says

#[test]
fn exit_0_holds_and_anything_else_does_not_wherever_it_is_asked() {
    assert!(applies(&with_probe("probe()", "exit 0")));
    assert!(!applies(&with_probe("probe()", "exit 1")));
    assert!(!applies(&with_probe("probe()", "exit 101")));
    assert!(!applies(&with_probe("not(probe())", "exit 0")));
    assert!(applies(&with_probe("not(probe())", "exit 1")));
}

#[test]
fn the_argument_arrives_as_one_word() {
    let world =
        with_probe("probe(a b, (c) $HOME)", "test \"$#\" = 1 && test \"$1\" = 'a b, (c) $HOME'");
    assert!(applies(&world), "{}", condition(&world));
}

#[test]
fn an_empty_argument_is_no_argument() {
    assert!(applies(&with_probe("probe()", "test \"$#\" = 0")));
    assert!(applies(&with_probe("probe(  )", "test \"$#\" = 0")));
}

#[test]
fn static_arguments_come_first() {
    let world = with_probe("probe(last)", "test \"$*\" = 'first second last'");
    let text =
        format!("{}{PROBE}args = [\"first\", \"second\"]\n", gated("p", "probe(last)", "cmd"));
    world.plugin("p", &text);
    assert!(applies(&world));
}

#[test]
fn it_runs_in_the_root_of_the_workspace() {
    let world = with_probe("probe()", "test -f Cargo.lock");
    world.sample.write("src/inner/x", "");
    assert!(applies(&world));
    assert_eq!(world.agents_in(&world.sample.path("src/inner"), &["cmd"]).stdout, "ran\n");
}

#[test]
fn it_works_outside_a_workspace() {
    let world = with_probe("probe()", "exit 0");
    assert_eq!(world.agents_in(&world.outside(), &["cmd"]).stdout, "ran\n");
}

#[test]
fn selected_crates_are_the_reason_that_is_shown() {
    let world = with_probe(
        "probe()",
        "echo '{\"selectedCrate\": {\"name\": \"picked\", \"version\": \"4.5.6\"}}'; echo; echo '{\"later\": 1}'",
    );
    assert!(world.ok(&[]).contains("(from p, because picked 4.5.6)"), "{}", world.ok(&[]));
    assert!(world.ok(&["plugin", "list"]).contains("active because of picked 4.5.6"));
    assert_eq!(reason(&world), "its program named picked 4.5.6");
}

#[test]
fn output_that_cannot_be_understood_makes_it_fail_and_is_explained() {
    for (body, why) in [
        ("echo hello", "its output line `hello` is not JSON"),
        ("echo '{}'", "its output line `{}` is not an object with one key"),
        ("echo '{\"a\": 1, \"b\": 2}'", "is not an object with one key"),
        ("echo '{\"selectedCrate\": {\"name\": \"x\", \"version\": \"one\"}}'", "is not a version"),
        ("printf '\\377'", "its output is not UTF-8"),
    ] {
        let world = with_probe("probe()", body);
        assert!(!applies(&world), "{body}");
        assert!(reason(&world).contains(why), "{body}: {}", reason(&world));
    }
}

#[test]
fn a_program_that_cannot_be_started_is_explained() {
    let world = with_probe("probe()", "exit 0");
    std::fs::remove_file(world.home().join("plugins/p/probe")).unwrap();
    assert!(!applies(&world));
    assert!(reason(&world).contains("probe"), "{}", reason(&world));
    assert_eq!(world.agents(&[]).code, Some(0));
}

#[test]
fn what_it_writes_to_standard_error_does_not_reach_ours() {
    let world = with_probe("probe()", "echo noise >&2");
    let run = world.agents(&["cmd"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("ran\n", ""));
}

// ---- who defines it

#[test]
fn any_plugin_may_use_what_another_one_defines_even_if_that_is_not_active() {
    let world = World::new();
    world.plugin_script("q", "probe", "test \"$1\" = yes");
    world.plugin("q", &format!("name = \"q\"\ncrates = [\"absent\"]\n{PROBE}"));
    world.plugin("p", &gated("p", "probe(yes)", "cmd"));
    assert!(applies(&world));
}

#[test]
fn a_name_that_nobody_defines_does_not_hold_and_says_so() {
    let world = World::new();
    world.plugin("p", &gated("p", "missing_one(x)", "cmd"));
    assert!(!applies(&world));
    assert_eq!(reason(&world), "no plugin defines the predicate `missing_one`");
    let run = world.agents(&["cmd"]);
    assert!(run.stderr.contains("no plugin defines the predicate `missing_one`"), "{run:?}");
}

#[test]
fn a_name_that_two_plugins_define_counts_for_none_with_one_warning() {
    let world = with_probe("probe()", "exit 0");
    world.plugin_script("q", "probe", "exit 0");
    world.plugin("q", &format!("name = \"q\"\ncrates = [\"*\"]\n{PROBE}"));
    assert!(!applies(&world));
    for args in [&[][..], &["plugin", "list"]] {
        let run = world.agents(args);
        let warnings = run.stderr.matches("the predicate `probe` is defined by").count();
        assert_eq!(warnings, 1, "{run:?}");
        assert!(run.stderr.contains("`p`") && run.stderr.contains("`q`"), "{run:?}");
    }
}

#[test]
fn what_a_dependency_embeds_defines_nothing() {
    let world = World::new();
    world.sample.package("../helper", "helper", "0.2.0", "");
    world.sample.write("../helper/SYMPOSIUM.toml", PROBE);
    world.sample.scratch().script("tree/helper/probe", "exit 0");
    world.sample.package(
        ".",
        "app",
        "0.1.0",
        "[dependencies]\nhelper = { path = \"../helper\" }\n",
    );
    world.config(
        "[defaults]\nsymposium-recommendations = false\n[plugins]\nauto-enable = [\"*\"]\n",
    );
    world.plugin("p", &gated("p", "probe()", "cmd"));
    assert!(!applies(&world));
}

#[test]
fn a_gate_of_a_single_command_may_ask_too() {
    let world = World::new();
    world.plugin_script("p", "probe", "test \"$1\" = yes");
    let command = |name: &str| {
        format!(
            "[subcommand.{name}]\ndescription = \"x\"\ncommand = {{ executable = \"echo\" }}\npredicates = [\"probe({name})\"]\n"
        )
    };
    let text =
        format!("name = \"p\"\ncrates = [\"*\"]\n{}{}{PROBE}", command("yes"), command("no"));
    world.plugin("p", &text);
    let help = world.ok(&[]);
    assert!(lists(&help, "Commands for agents", "yes"));
    assert!(!lists(&help, "Commands for agents", "no"));
}

// ---- programs that have to be installed first

/// `probe` is a program of the crate `probing`, which exits with 0.
fn with_crate() -> World {
    let world = World::new();
    world.sample.vendor().program("probing", "1.0.0", "");
    let predicate =
        "[[predicate]]\nname = \"probe\"\ncommand = { source = \"cargo\", crate = \"probing\" }\n";
    world.plugin("p", &format!("{}{predicate}", gated("p", "probe()", "cmd")));
    world
}

fn installed(world: &World) -> usize {
    world.json(&["plugin", "cache", "list"])["entries"].as_array().unwrap().len()
}

#[test]
fn help_and_list_and_explain_install_nothing() {
    let world = with_crate();
    assert!(!lists(&world.ok(&[]), "Commands for agents", "cmd"));
    world.ok(&["plugin", "list"]);
    assert_eq!(
        reason(&world),
        "the program of `probe` is not installed; `cargo agents plugin sync` installs it"
    );
    assert_eq!(installed(&world), 0);
}

#[test]
fn dispatch_installs_the_program_that_decides() {
    let world = with_crate();
    assert_eq!(world.ok(&["cmd"]), "ran\n");
    assert_eq!(installed(&world), 1);
    assert!(lists(&world.ok(&[]), "Commands for agents", "cmd"), "from now on it is known");
}

#[test]
fn plugin_sync_installs_the_program_that_decides() {
    let world = with_crate();
    assert_eq!(world.ok(&["plugin", "sync"]), "Synced: probe 1.0.0\n");
    assert!(applies(&world));
    assert_eq!(world.ok(&["plugin", "sync"]), "Nothing to fetch.\n", "once is enough");
}

#[test]
fn a_program_that_cannot_be_installed_is_explained_by_dispatch_and_fails_the_sync() {
    let world = World::new();
    let predicate = "[[predicate]]\nname = \"probe\"\ncommand = { source = \"cargo\", crate = \"no-such-crate\" }\n";
    world.plugin("p", &format!("{}{predicate}", gated("p", "probe()", "cmd")));
    let run = world.agents(&["cmd"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("the program of `probe` cannot be had"), "{run:?}");
    let run = world.agents(&["plugin", "sync"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("predicate `probe`"), "{run:?}");
}

// ---- how often it is asked

/// A probe that counts its calls, prints `lines` and exits with `code`.
fn counting(lines: &str, code: i32) -> World {
    with_probe("probe()", &format!("echo x >> count\nprintf '{lines}'\nexit {code}"))
}

#[test]
fn without_watch_lines_it_is_asked_in_every_run_and_once() {
    let world = counting("", 0);
    for (round, args) in
        [&[][..], &["plugin", "list"], &["plugin", "explain", "p"], &["cmd"]].iter().enumerate()
    {
        world.ok(args);
        assert_eq!(count(&world), round + 1, "{args:?}");
    }
    let world = counting("", 1);
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
    assert_eq!(count(&world), 1, "also when it keeps a command away");
}

#[test]
fn several_gates_with_the_same_argument_ask_once_and_another_argument_asks_again() {
    let world = counting("", 0);
    let text = |name: &str, gate: &str| gated(name, gate, &format!("{name}-cmd"));
    world.plugin("q", &text("q", "probe()"));
    world.ok(&[]);
    assert_eq!(count(&world), 1);
    world.plugin("r", &text("r", "probe(other)"));
    world.ok(&[]);
    assert_eq!(count(&world), 3);
}

#[test]
fn a_shell_condition_is_asked_once_per_run_too() {
    let world = World::new();
    world.plugin("p", &gated("p", "shell(echo x >> count)", "cmd"));
    world.plugin("q", &gated("q", "shell(echo x >> count)", "q-cmd"));
    world.ok(&[]);
    assert_eq!(count(&world), 1);
    world.ok(&["plugin", "explain", "p"]);
    assert_eq!(count(&world), 2);
}

#[test]
fn a_watched_file_keeps_the_answer_until_it_changes() {
    let world = counting("{\"watchFile\": \"watched\"}\\n", 0);
    for _ in 0..3 {
        assert_eq!(world.ok(&["cmd"]), "ran\n");
    }
    assert_eq!(count(&world), 1);
    world.sample.write("watched", "aa");
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 2, "it appeared");
    let before = std::fs::metadata(world.sample.path("watched")).unwrap().modified().unwrap();
    world.sample.write("watched", "bb");
    let file = std::fs::File::options().append(true).open(world.sample.path("watched")).unwrap();
    file.set_modified(before).unwrap();
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 3, "it changed without another size or time");
    std::fs::remove_file(world.sample.path("watched")).unwrap();
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 4, "it went away");
}

#[test]
fn a_watched_file_that_changes_while_the_program_runs_keeps_nothing() {
    // The clock of a file system moves in steps of a few milliseconds.
    let script =
        "echo x >> count; sleep 0.05; echo $$ > watched; echo '{\"watchFile\": \"watched\"}'";
    let world = with_probe("probe()", script);
    world.ok(&["cmd"]);
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 2, "it may have read what was there before");
}

#[test]
fn a_watched_variable_keeps_the_answer_until_it_changes() {
    let world = counting("{\"watchEnv\": \"WATCHED\"}\\n", 0);
    let with = |value: Option<&str>| {
        let mut command = world.command(&["cmd"]);
        value.map(|value| command.env("WATCHED", value));
        let run = Run::from(command.output().unwrap());
        assert_eq!(run.stdout, "ran\n", "{run:?}");
        count(&world)
    };
    assert_eq!((with(None), with(None)), (1, 1));
    assert_eq!((with(Some("")), with(Some(""))), (2, 2));
    assert_eq!((with(Some("a")), with(Some("a"))), (3, 3));
}

#[test]
fn a_watched_time_keeps_the_answer_for_so_long() {
    let world = counting("{\"watchTime\": 3600000}\\n", 0);
    world.ok(&["cmd"]);
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 1);
    let world = counting("{\"watchTime\": 3600000}\\n{\"watchTime\": 1}\\n", 0);
    world.ok(&["cmd"]);
    std::thread::sleep(Duration::from_millis(20));
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 2, "the shortest counts");
    let world = counting("{\"watchFile\": \"x\"}\\n{\"watchTime\": 0}\\n", 0);
    world.ok(&["cmd"]);
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 2, "zero is never");
}

#[test]
fn a_no_is_kept_like_a_yes() {
    let world = counting("{\"watchFile\": \"watched\"}\\n", 3);
    for _ in 0..3 {
        assert_eq!(world.agents(&["cmd"]).code, Some(2));
    }
    assert_eq!(count(&world), 1);
    world.sample.write("watched", "x");
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
    assert_eq!(count(&world), 2);
}

#[test]
fn the_selected_crates_are_kept_too() {
    let world = counting(
        "{\"selectedCrate\": {\"name\": \"picked\", \"version\": \"4.5.6\"}}\\n{\"watchTime\": 3600000}\\n",
        0,
    );
    for _ in 0..2 {
        assert!(world.ok(&[]).contains("because picked 4.5.6"));
    }
    assert_eq!(count(&world), 1);
}

#[test]
fn a_kept_answer_is_not_that_of_another_program() {
    let world = counting("{\"watchTime\": 3600000}\\n", 0);
    world.ok(&["cmd"]);
    world.plugin_script("p", "probe", "exit 1");
    assert!(!applies(&world), "the script itself was edited");
    let world = counting("{\"watchTime\": 3600000}\\n", 0);
    world.ok(&["cmd"]);
    world.plugin("p", &format!("{}{PROBE}args = [\"new\"]\n", gated("p", "probe()", "cmd")));
    world.ok(&["cmd"]);
    assert_eq!(count(&world), 2, "it has other arguments now");
}

#[test]
fn arguments_with_spaces_are_not_mistaken_for_several() {
    let world = World::new();
    world.plugin_script("p", "probe", "echo '{\"watchTime\": 3600000}'; test \"$#\" = 1");
    let second = "[[predicate]]\nname = \"probe_two\"\ncommand = { executable = \"./probe\" }\nargs = [\"a\"]\n";
    world.plugin("p", &format!("{}{PROBE}{second}", gated("p", "probe(a b)", "cmd")));
    assert_eq!(world.ok(&["cmd"]), "ran\n");
    world.plugin("p", &format!("{}{PROBE}{second}", gated("p", "probe_two(b)", "cmd")));
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
}

#[test]
fn answers_belong_to_one_workspace() {
    let world = with_probe("probe()", "echo '{\"watchTime\": 3600000}'; test -f Cargo.toml");
    assert_eq!(world.ok(&["cmd"]), "ran\n");
    assert_eq!(world.agents_in(&world.outside(), &["cmd"]).code, Some(2));
}

#[test]
fn a_failure_to_start_is_not_kept() {
    let world = with_probe("probe()", "echo '{\"watchTime\": 3600000}'");
    let script = world.home().join("plugins/p/probe");
    let aside = world.home().join("aside");
    std::fs::rename(&script, &aside).unwrap();
    assert_eq!(world.agents(&["cmd"]).code, Some(2));
    std::fs::rename(&aside, &script).unwrap();
    assert!(Path::new(&script).exists());
    assert_eq!(world.ok(&["cmd"]), "ran\n");
}

#[test]
fn a_plugin_that_is_turned_off_runs_nothing() {
    let world = World::new();
    world.plugin_script("q", "probe", "echo x >> count");
    world.plugin("q", &format!("name = \"q\"\ncrates = [\"*\"]\n{PROBE}"));
    world.plugin("p", &gated("p", "probe()", "cmd"));
    assert!(applies(&world));
    let asked = count(&world);
    world.config("[defaults]\nsymposium-recommendations = false\n[plugins]\ndisable = [\"q\"]\n");
    assert!(!applies(&world));
    assert_eq!(count(&world), asked);
}
