//! `cargo agents status` and `cargo agents search`: the truth, compared with what really happens.

use std::{collections::BTreeSet, io::Write as _, process::Stdio};

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::{
    registries::NO_DEFAULTS,
    world::{Run, World, subcommand},
};

/// A workspace `app` with a plugin of its own, two dependencies that embed one, and three in the user's registry.
/// Each has a command `<name>-cmd`, a skill `<name>-skill` and a hook that leaves its name in a file.
struct Place {
    world: World,
}

const NAMES: [&str; 6] = ["app", "helper", "other", "one", "asleep", "elsewhere"];

impl Place {
    fn new() -> Self {
        let place = Self { world: World::new() };
        let sample = &place.world.sample;
        for krate in ["helper", "other"] {
            sample.package(&format!("../{krate}"), krate, "0.2.0", "");
            place.contents(&format!("tree/{krate}"), krate, "");
        }
        sample.package(
            ".",
            "app",
            "0.1.0",
            "[dependencies]\nhelper = { path = \"../helper\" }\nother = { path = \"../other\" }\n",
        );
        sample.lock();
        place.contents("tree/ws", "app", "");
        place.contents("agents-home/plugins/one", "one", "crates = [\"*\"]");
        place.contents("agents-home/plugins/asleep", "asleep", "");
        place.contents("agents-home/plugins/elsewhere", "elsewhere", "crates = [\"diesel\"]");
        place
    }

    fn contents(&self, dir: &str, name: &str, gate: &str) {
        let scratch = self.world.sample.scratch();
        let command = format!("{name}-cmd");
        let said = format!("{{ executable = \"echo\", args = [\"{name}\"] }}");
        let manifest = format!(
            "{}[[skills]]\nsource.path = \"texts\"\n[[hooks]]\nname = \"{name}-hook\"\nevent = \"PreToolUse\"\ncommand = {{ script = \"hook.sh\" }}\n",
            subcommand(name, gate, &command, &said)
        );
        scratch.write(format!("{dir}/SYMPOSIUM.toml"), manifest);
        let fired = scratch.path("fired");
        scratch.script(format!("{dir}/hook.sh"), &format!("echo {name} >> '{fired}'"));
        let skill = format!("---\nname: {name}-skill\ndescription: Use when\n---\nText.\n");
        scratch.write(format!("{dir}/texts/{name}-skill/SKILL.md"), skill);
    }

    fn config(&self, plugins: &str) {
        self.world.config(&format!("hosts = [\"claude\"]\n{NO_DEFAULTS}{plugins}"));
    }

    fn run(&self, args: &[&str]) -> Run {
        self.world.agents(args)
    }

    fn status(&self) -> Value {
        let run = self.run(&["status", "--json"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// The names of the plugins whose hooks run.
    fn fired(&self) -> BTreeSet<String> {
        let file: Utf8PathBuf = self.world.sample.scratch().path("fired");
        let _ = std::fs::remove_file(&file);
        let mut command = self.world.command(&["hook", "claude", "pre-tool-use"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = "{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"transcript_path\":\"/t\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}";
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn in_host(&self) -> BTreeSet<String> {
        let dir = self.world.sample.path(".claude/skills");
        let entries = dir.read_dir_utf8().into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_owned()).collect()
    }
}

/// What the active plugins bring of a kind, without what stands in parentheses.
fn brought(status: &Value, kind: &str) -> BTreeSet<String> {
    let active = status["plugins"].as_array().unwrap().iter().filter(|it| it["state"] == "active");
    let pieces = active.flat_map(|it| it["brings"].as_array().unwrap());
    let names = pieces.filter(|it| it["kind"] == kind).map(|it| it["name"].as_str().unwrap());
    names.map(|name| name.split(" (").next().unwrap().to_owned()).collect()
}

fn of<'s>(status: &'s Value, name: &str) -> &'s Value {
    let plugins = status["plugins"].as_array().unwrap();
    plugins.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {status}"))
}

#[test]
fn status_says_what_commands_hooks_and_sync_do() {
    let place = Place::new();
    let root = place.world.sample.root();
    let lead = "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"other\"\n";
    let configurations = [
        String::new(),
        "use = [\"helper\"]".to_owned(),
        format!("use = [{{ name = \"helper\", workspace = \"{root}\" }}]"),
        format!("use = [{{ name = \"helper\", workspace = \"{root}-not\" }}]"),
        "auto-enable = [\"helper\"]".to_owned(),
        "auto-enable = [\"*\"]".to_owned(),
        "auto-enable = [\"*\"]\ndisable = [\"other\"]".to_owned(),
        "use = [\"helper\", \"other\"]\nauto-enable = [\"*\"]\ndisable = [\"*\"]".to_owned(),
        "use = [\"app\", \"asleep\"]".to_owned(),
        "use = [\"app\"]\ndisable = [\"app\", \"one\"]".to_owned(),
        "use = [\"elsewhere\"]".to_owned(),
        "disable = [\"lead\", \"asleep\"]".to_owned(),
    ];
    let mut seen = BTreeSet::new();
    for with_lead in [false, true] {
        if with_lead {
            place.world.plugin("lead", lead);
        }
        for configuration in &configurations {
            place.config(&format!("[plugins]\n{configuration}\n"));
            let status = place.status();
            let about = format!("lead: {with_lead}, {configuration}\n{status:#}");
            let drift = place.run(&["sync", "--check"]).code == Some(1);
            let pending = status["pending"].as_u64().unwrap() > 0;
            let agreements = !status["agreements"].as_array().unwrap().is_empty();
            assert_eq!(pending || agreements, drift, "{about}");
            assert_eq!(status["hosts"][0]["pending"].as_u64().unwrap() > 0, pending, "{about}");
            for name in NAMES {
                let runs = place.world.agents(&[&format!("{name}-cmd")]).code == Some(0);
                assert_eq!(of(&status, name)["state"] == "active", runs, "{name}: {about}");
                let listed = brought(&status, "command").contains(&format!("{name}-cmd"));
                assert_eq!(listed, runs, "{name}: {about}");
                seen.insert(of(&status, name)["state"].as_str().unwrap().to_owned());
            }
            let run = place.run(&["sync"]);
            assert_eq!(run.code, Some(0), "{run:?}");
            // What a dependency embeds runs once it is in `agents.lock`.
            let fired: BTreeSet<String> =
                place.fired().into_iter().map(|name| format!("{name}-hook")).collect();
            assert_eq!(brought(&status, "hook"), fired, "{about}");
            assert_eq!(brought(&status, "skill"), place.in_host(), "{about}");
            let after = place.status();
            assert_eq!((&after["pending"], &after["hosts"][0]["pending"]), (&0.into(), &0.into()));
            assert_eq!(after["agreements"], serde_json::json!([]), "{after:#}");
            assert_eq!(after["plugins"], status["plugins"], "looking changes nothing");
        }
    }
    let all = ["active", "candidate", "declined", "not-applicable", "sleeping"];
    assert_eq!(seen, all.map(str::to_owned).into(), "every state was met");
}

#[test]
fn every_state_has_its_reason_and_the_line_that_decides() {
    let place = Place::new();
    place.world.plugin(
        "lead",
        "name = \"lead\"\ncrates = [\"*\"]\n[[plugins]]\nsource.cargo = \"other\"\n",
    );
    place.config("[plugins]\nuse = [\n  \"asleep\",\n  \"gone\",\n]\ndisable = [\"one\"]\n");
    let status = place.status();
    let words = |name: &str| {
        let it = of(&status, name);
        let line = it["said"]["line"].as_u64().map(|line| format!(" :{line}")).unwrap_or_default();
        format!("{}: {}{line}", it["state"].as_str().unwrap(), it["because"].as_str().unwrap())
    };
    let all: Vec<String> = NAMES.iter().map(|name| words(name)).collect();
    assert_eq!(
        all,
        [
            "active: its conditions hold",
            "candidate: a dependency brings it; `cargo agents use helper` turns it on",
            "active: brought along by `lead`",
            "declined: `[plugins] disable` names it :9",
            "active: `[plugins] use` names it :6",
            "not-applicable: needs diesel",
        ]
    );
    assert_eq!(of(&status, "app")["withheld"], "programs");
    assert_eq!(of(&status, "helper")["withheld"], "everything");
    assert_eq!(of(&status, "other")["withheld"], Value::Null);
    assert_eq!(
        (&of(&status, "helper")["runs_programs"], &of(&status, "helper")["sandboxed"]),
        (&true.into(), &false.into())
    );
    assert_eq!(of(&status, "lead")["runs_programs"], false);
    assert_eq!(status["unmatched"][0]["name"], "gone");
    assert_eq!(status["unmatched"][0]["line"], 7);
}

#[test]
fn conditions_in_skills_that_run_programs_are_listed() {
    let place = Place::new();
    let manifest = "name = \"texts\"\ncrates = [\"*\"]\n[[skills]]\nsource.path = \"texts\"\n";
    place.world.plugin("texts", manifest);
    place.config("");
    let write = |name: &str, condition: &str| {
        let file = format!("agents-home/plugins/texts/texts/{name}/SKILL.md");
        let text = format!("---\nname: {name}\ndescription: Use when\n{condition}---\nText.\n");
        place.world.sample.scratch().write(file, text);
    };
    let listed = || {
        let status = place.status();
        let run = place.run(&["audit", "--json"]);
        let audit: Value = serde_json::from_str(&run.stdout).unwrap();
        let rows = audit["active"].as_array().unwrap();
        let conditions = rows.iter().filter(|it| it["kind"] == "condition");
        let audited = conditions.map(|it| {
            assert_eq!((&it["plugin"], &it["rights"][0]), (&"texts".into(), &"runs code".into()));
            it["name"].as_str().unwrap().to_owned()
        });
        let runs = of(&status, "texts")["runs_programs"].as_bool().unwrap();
        (runs, brought(&status, "condition"), audited.collect::<BTreeSet<String>>())
    };
    let names = |all: &[&str]| all.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
    write("quiet", "crates: helper\n");
    assert_eq!(listed(), (false, names(&[]), names(&[])));
    // What does not hold was run as well.
    write("asks", "predicates: shell(true)\n");
    write("denies", "predicates: shell(false)\n");
    let both = names(&["shell(false)", "shell(true)"]);
    assert_eq!(listed(), (true, both.clone(), both));
}

/// A manifest that could not be read once (somebody is just writing it, or changes who may) is read when it can be.
#[test]
fn what_could_not_be_read_for_a_moment_is_read_afterwards() {
    let place = Place::new();
    place.config("[plugins]\nuse = [\"helper\"]\n");
    let scratch = place.world.sample.scratch();
    let is_listed = |name: &str| {
        let status = place.status();
        let plugins = status["plugins"].as_array().unwrap();
        plugins.iter().any(|it| it["name"] == name && it["state"] == "active")
    };
    for (name, dir) in [("one", "agents-home/plugins/one"), ("helper", "tree/helper")] {
        let file = scratch.path(format!("{dir}/SYMPOSIUM.toml"));
        let text = fs_err::read_to_string(&file).unwrap();
        assert!(is_listed(name), "{name}: {}", place.status());
        fs_err::remove_file(&file).unwrap();
        fs_err::create_dir(&file).unwrap();
        assert!(!is_listed(name), "{name}: {}", place.status());
        fs_err::remove_dir(&file).unwrap();
        fs_err::write(&file, text).unwrap();
        assert!(is_listed(name), "{name}: {}", place.status());
    }
}

#[test]
fn a_registrys_plugin_of_that_name_supersedes_and_status_says_so() {
    let place = Place::new();
    place.contents("agents-home/plugins/helper", "helper", "crates = [\"*\"]");
    place.config("[plugins]\nauto-enable = [\"*\"]\n");
    let status = place.status();
    let states: BTreeSet<(&str, &str)> = status["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["name"] == "helper")
        .map(|it| (it["origin"].as_str().unwrap(), it["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("registry", "active"), ("crate", "superseded")].into());
}

#[test]
fn a_host_that_still_has_what_is_to_go_is_not_in_sync() {
    let place = Place::new();
    let server = "name = \"served\"\ncrates = [\"*\"]\n[[mcp_servers]]\nname = \"explain\"\ncommand = \"explain\"\n";
    for scope in ["global", "project"] {
        let config = |hosts: &str, off: &str| {
            let top = format!("hosts = [{hosts}]\nhook-scope = \"{scope}\"\n{NO_DEFAULTS}");
            place.world.config(&format!("{top}[plugins]\ndisable = [\"one\"{off}]\n"));
        };
        place.world.plugin("served", server);
        config("\"claude\", \"codex\"", "");
        assert_eq!(place.run(&["sync"]).code, Some(0));
        config("\"claude\", \"codex\"", ", \"served\"");
        let status = place.status();
        let pending: Vec<u64> = status["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["pending"].as_u64().unwrap())
            .collect();
        assert_eq!((pending, &status["elsewhere"]), (vec![1, 1], &0.into()), "{scope}: {status:#}");
        config("\"codex\"", "");
        let status = place.status();
        assert_eq!(status["hosts"][0]["pending"], 0, "{scope}: {status:#}");
        assert!(status["elsewhere"].as_u64().unwrap() > 0, "{scope}: {status:#}");
    }
}

#[test]
fn for_people_it_reads_like_this() {
    let place = Place::new();
    place.config("[plugins]\ndisable = [\"other\"]\n");
    let run = place.run(&["status"]);
    let shown = run.stdout.replace(place.world.sample.scratch().root().as_str(), "~");
    insta::assert_snapshot!(shown, @r"
    ~/tree/ws
    active
      crate-info  (built in)  its conditions hold
        command  crate-info  runs `cargo-agents`
      one  (registry `user-plugins`)  its conditions hold
        skill    one-skill
        hook     one-hook (PreToolUse)  runs script `hook.sh`
        command  one-cmd                runs `echo`
        its programs run with your rights, outside any sandbox
      app  (workspace member `app`)  its conditions hold
        none of its programs run on their own; `cargo agents use app` lets them
        skill    app-skill
        command  app-cmd    runs `echo`
    needs your approval
      helper  (crate helper 0.2.0)  a dependency brings it; `cargo agents use helper` turns it on
        skill    helper-skill
        hook     helper-hook (PreToolUse)  runs script `hook.sh`
        command  helper-cmd                runs `echo`
    sleeping until used
      asleep  (registry `user-plugins`)  it names no crate, so it sleeps until `cargo agents use asleep`
        skill    asleep-skill
        hook     asleep-hook (PreToolUse)  runs script `hook.sh`
        command  asleep-cmd                runs `echo`
    turned off
      other  (crate other 0.2.0)  `[plugins] disable` names `other`  ~/agents-home/config.toml:5
        skill    other-skill
        hook     other-hook (PreToolUse)  runs script `hook.sh`
        command  other-cmd                runs `echo`
    not for this workspace
      1 of your registries; `cargo agents plugin list` says why
    coding agents
      Claude Code  6 changes pending
    agents.lock
      plugin `app` from `.` of this workspace is new
      plugin `one` from registry `user-plugins` is new
      skill `app-skill` from `texts/app-skill` of this workspace is new
      skill `one-skill` from registry `user-plugins` is new
    `cargo agents sync` makes these changes, `cargo agents diff` shows them.
    ");
    assert!(run.stderr.contains("the hooks of `app` do not run"), "{run:?}");
}

#[test]
fn outside_a_workspace_there_is_nothing_to_say() {
    let world = World::new();
    let run = world.agents_in(&world.outside(), &["status"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("this is not a Rust workspace"), "{run:?}");
}

// ---- search

/// A cargo that answers `search` like the real one would, or fails; everything else is the real one's.
fn searching_cargo(world: &World, answer: &str) -> Utf8PathBuf {
    let real = agents_testkit::vendor::cargo_program();
    let calls = world.sample.scratch().path("calls");
    world.sample.scratch().script(
        "bin/cargo",
        &format!("echo \"$@\" >> '{calls}'\ncase \" $* \" in *' search '*) {answer};; esac\nexec '{real}' \"$@\""),
    )
}

#[test]
fn search_finds_what_registries_dependencies_and_crates_io_have() {
    let place = Place::new();
    place.config("");
    let answer =
        "echo 'help-me = \"3.1.4\"    # Help in need'; echo '... and 7 crates more'; exit 0";
    let cargo = searching_cargo(&place.world, answer);
    let run = |args: &[&str]| {
        let mut command = place.world.command(args);
        Run::from(command.env("CARGO_AGENTS_CARGO", &cargo).output().unwrap())
    };
    let found = run(&["search", "HELP"]);
    assert_eq!(
        found.stdout,
        "crates of this workspace\n  helper 0.2.0   Run helper-cmd  not active: a dependency brings it; `[plugins] use` or `auto-enable` turns it on\n\
         crates.io\n  help-me 3.1.4  Help in need\n\
         `cargo agents use <crate>` looks into one and turns on what it brings.\n"
    );
    let found = run(&["search", "run one", "--json"]);
    let document: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(document["matches"][0]["name"], "one", "descriptions count: {document}");
    assert_eq!(document["matches"][0]["from"], "registry `user-plugins`");
    let calls = place.world.sample.scratch().path("calls");
    std::fs::remove_file(&calls).unwrap();
    assert_eq!(run(&["search", "nonesuch", "--offline"]).stdout, "Nothing matches `nonesuch`.\n");
    let asked = std::fs::read_to_string(&calls).unwrap_or_default();
    assert!(!asked.contains("search"), "offline nobody is asked: {asked}");
}

#[test]
fn a_search_that_cargo_cannot_do_is_left_out_and_said() {
    let place = Place::new();
    place.config("");
    let answer = "echo 'error: failed to retrieve search results' >&2; exit 101";
    let cargo = searching_cargo(&place.world, answer);
    let mut command = place.world.command(&["search", "one"]);
    let run = Run::from(command.env("CARGO_AGENTS_CARGO", &cargo).output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.starts_with("registry `user-plugins`\n  one  Run one-cmd"), "{run:?}");
    assert_eq!(
        run.stderr,
        "warning: crates.io was not searched: failed to retrieve search results\n"
    );
}
