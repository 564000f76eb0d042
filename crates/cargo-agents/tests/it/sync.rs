//! `cargo agents sync`: skills and MCP servers into hosts' own files, and back out again.

use std::collections::BTreeMap;

use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};

use crate::world::{Run, World};

/// A world with two hosts and a plugin for `serde` that brings a skill and an MCP server.
pub(crate) struct Synced {
    pub(crate) world: World,
}

pub(crate) const SKILL: &str =
    "---\nname: serde-derive\ndescription: Use when deriving\n---\nDerive.\n";

impl Synced {
    pub(crate) fn new() -> Self {
        let world = World::new();
        world.config("# mine\nhosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"\nmcp-register = \"each\"\n\n[defaults]\nsymposium-recommendations = false\n");
        let synced = Self { world };
        synced.plugin("crates = [\"serde\"]");
        synced.skill(SKILL);
        synced
    }

    pub(crate) fn plugin(&self, gate: &str) {
        self.world.plugin(
            "serde",
            &format!(
                "name = \"serde-tools\"\n{gate}\n[[skills]]\nsource.path = \"skills\"\n[[mcp_servers]]\nname = \"explain\"\ncommand = \"explain\"\nargs = [\"--stdio\"]\n"
            ),
        );
    }

    pub(crate) fn skill(&self, text: &str) {
        let file = self.world.home().join("plugins/serde/skills/serde-derive/SKILL.md");
        scratch::write(&file, text);
    }

    pub(crate) fn user(&self) -> Utf8PathBuf {
        self.world.user()
    }

    pub(crate) fn root(&self) -> Utf8PathBuf {
        self.world.sample.root()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_in(&self.root(), args, &[])
    }

    /// Runs somewhere, with variables that move the homes of hosts.
    pub(crate) fn run_in(
        &self,
        dir: &Utf8Path,
        args: &[&str],
        variables: &[(&str, &Utf8Path)],
    ) -> Run {
        let mut command = self.world.command_in(dir, args);
        command.envs(variables.iter().copied());
        Run::from(command.output().unwrap())
    }

    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.root().join(relative))
            .unwrap_or_else(|error| panic!("{relative}: {error}"))
    }
}

/// Every file below a directory with its bytes, without what belongs to cargo and git.
pub(crate) fn tree(dir: &Utf8Path) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in next.read_dir_utf8().into_iter().flatten().flatten() {
            let path = entry.into_path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                // A link that leads nowhere is known by where it would lead.
                let target = || path.read_link_utf8().unwrap().into_string().into_bytes();
                let bytes = std::fs::read(&path).unwrap_or_else(|_| target());
                found.insert(path.strip_prefix(dir).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

#[test]
fn a_plugin_that_cannot_be_loaded_is_named_and_stops_no_other() {
    let synced = Synced::new();
    let nonsense = synced.world.plugin("bad", "name = \"bad\"\ncrates = [\"*\"]\nnonsense = 1\n");
    let bytes = synced.world.home().join("plugins/bytes/SYMPOSIUM.toml");
    scratch::write(&bytes, b"name = \"\xff\"\n");
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(synced.root().join(".claude/skills/serde-derive/SKILL.md").exists());
    let said = format!("warning: 1 plugin could not be loaded: `{nonsense}`");
    assert!(run.stderr.contains(&said), "{run:?}");
    assert!(run.stderr.contains(&format!("warning: cannot be read: `{bytes}`")), "{run:?}");
}

#[test]
fn a_skill_arrives_in_every_hosts_directory_marked_and_ignored_by_git() {
    let synced = Synced::new();
    let said = synced.ok(&["sync"]);
    for dir in [".claude/skills", ".agents/skills"] {
        assert_eq!(synced.read(&format!("{dir}/serde-derive/SKILL.md")), SKILL);
        assert_eq!(synced.read(&format!("{dir}/serde-derive/.gitignore")), "*\n");
        assert!(synced.root().join(dir).join("serde-derive/.symposium").exists());
        assert!(!synced.root().join(dir).join(".gitignore").exists(), "never in the parent");
    }
    assert!(said.contains("skill  serde-derive"), "{said}");
}

#[test]
fn an_mcp_server_arrives_in_the_hosts_own_shape() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    let claude: serde_json::Value = serde_json::from_str(&synced.read(".mcp.json")).unwrap();
    assert_eq!(claude["mcpServers"]["explain"]["command"], "explain");
    assert_eq!(claude["mcpServers"]["explain"]["args"][0], "--stdio");
    let codex = synced.read(".codex/config.toml");
    assert!(codex.contains("[mcp_servers.explain]"), "{codex}");
}

#[test]
fn a_second_sync_changes_no_byte_and_says_so() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    let before = (tree(&synced.root()), tree(&synced.user()));
    let said = synced.ok(&["sync"]);
    assert!(said.starts_with("Nothing to do"), "{said}");
    assert_eq!((tree(&synced.root()), tree(&synced.user())), before);
}

#[test]
fn a_dry_run_a_check_and_a_diff_write_nothing_and_the_check_fails_on_drift() {
    let synced = Synced::new();
    let before = tree(&synced.root());
    assert!(synced.ok(&["sync", "--dry-run"]).contains("Nothing was written."));
    assert_eq!(synced.run(&["sync", "--check"]).code, Some(1));
    let diff = synced.ok(&["diff"]);
    assert!(diff.contains("+[mcp_servers.explain]"), "{diff}");
    assert_eq!(tree(&synced.root()), before);
    assert!(!synced.world.home().join("state").exists());
    synced.ok(&["sync"]);
    assert_eq!(synced.run(&["sync", "--check"]).code, Some(0));
}

#[test]
fn what_no_longer_applies_is_taken_back() {
    let synced = Synced::new();
    let before = tree(&synced.root());
    synced.ok(&["sync"]);
    synced.plugin("crates = [\"absent\"]");
    let said = synced.ok(&["sync"]);
    assert!(said.contains("removed"), "{said}");
    // The hosts are still there, and go on calling us.
    let mut after = tree(&synced.root());
    after.retain(|file, _| file != ".claude/settings.json" && file != ".codex/hooks.json");
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(after, before);
    synced.world.config("hosts = []\n[defaults]\nsymposium-recommendations = false\n");
    synced.run(&["sync"]);
    assert_eq!(tree(&synced.root()), before);
}

#[test]
fn a_host_that_is_removed_loses_what_it_had_and_the_other_keeps_it() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    synced.ok(&["init", "--remove-agent", "claude"]);
    synced.ok(&["sync"]);
    assert!(!synced.root().join(".claude/skills/serde-derive").exists());
    assert!(!synced.root().join(".mcp.json").exists());
    assert_eq!(synced.read(".agents/skills/serde-derive/SKILL.md"), SKILL);
}

#[test]
fn uninstall_says_beforehand_what_it_would_take_back_and_from_where() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    let told = synced.ok(&["uninstall", "--dry-run"]);
    let root = synced.root();
    for place in [".claude/skills/serde-derive", ".agents/skills/serde-derive", ".mcp.json"] {
        assert!(root.join(place).exists(), "{place}");
        assert!(told.contains(root.join(place).as_str()), "{place} is not in {told}");
    }
    assert!(told.ends_with("Nothing was written.\n"), "{told}");
    // Changes and what is unchanged are counted alike.
    let there = told.lines().last().unwrap().split_once(" changes, 0").unwrap().0.to_owned();
    assert_eq!(synced.ok(&["sync"]), format!("Nothing to do, {there} unchanged.\n"));
}

/// It is for no workspace any more, so whoever looked for one took it for gone.
#[test]
fn what_was_kept_because_it_was_edited_goes_when_that_is_said_later() {
    for command in ["sync", "uninstall"] {
        let synced = Synced::new();
        synced.ok(&["sync"]);
        let skill = synced.root().join(".claude/skills/serde-derive/SKILL.md");
        scratch::write(&skill, format!("{SKILL}And I say so.\n"));
        synced.plugin("crates = [\"absent\"]");
        let run = synced.run(&[command]);
        let hint = format!("`cargo agents {command} --overwrite` removes it");
        assert!(run.stderr.contains(&hint), "{run:?}");
        assert!(skill.exists());
        synced.ok(&[command, "--overwrite"]);
        assert!(!skill.exists(), "{command}");
    }
}

#[test]
fn explain_tells_which_skills_come_and_which_crates_have_none() {
    let synced = Synced::new();
    let crates = "name = \"of-crates\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource = \"crate\"\n";
    synced.world.plugin("of-crates", crates);
    synced.ok(&["sync"]);
    let told = synced.ok(&["plugin", "explain", "of-crates"]);
    assert!(
        told.contains("brings nothing: crate tiny-sql 0.3.1: there are no skills in it"),
        "{told}"
    );
    let told = synced.ok(&["plugin", "explain", "serde-tools"]);
    assert!(told.ends_with("brings the skill serde-derive\n"), "{told}");
}

#[test]
fn uninstall_leaves_everything_byte_for_byte_as_it_was() {
    let synced = Synced::new();
    let settings = "{\n  // my servers, do not touch\n  \"mcpServers\": {\n    \"mine\": { \"command\": \"x\" }, // keep\n  },\n}\n";
    synced.world.sample.write(".mcp.json", settings);
    synced.world.sample.write(".codex/config.toml", "# comment\r\nmodel = \"m\"\r\n");
    let before = tree(&synced.root());
    synced.ok(&["sync"]);
    assert!(synced.read(".mcp.json").contains("// my servers, do not touch"));
    assert!(synced.read(".mcp.json").contains("explain"));
    synced.ok(&["uninstall"]);
    // What was agreed to is the workspace's, like `Cargo.lock`.
    std::fs::remove_file(synced.root().join("agents.lock")).unwrap();
    assert_eq!(tree(&synced.root()), before);
    for dir in [".claude", ".agents"] {
        assert!(!synced.root().join(dir).exists(), "{dir} was not there before");
    }
    assert!(synced.root().join(".codex").exists(), "this one was");
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone_and_reported() {
    let synced = Synced::new();
    let broken = "{ \"mcpServers\": { ";
    synced.world.sample.write(".mcp.json", broken);
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("left alone") && run.stderr.contains(".mcp.json"), "{run:?}");
    assert_eq!(synced.read(".mcp.json"), broken);
    assert!(synced.read(".codex/config.toml").contains("explain"), "the other host is served");
}

#[test]
fn an_entry_or_a_directory_of_the_users_own_is_never_taken_over() {
    let synced = Synced::new();
    let own = "{ \"mcpServers\": { \"explain\": { \"command\": \"mine\" } } }";
    synced.world.sample.write(".mcp.json", own);
    synced.world.sample.write(".claude/skills/serde-derive/SKILL.md", "mine");
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("not ours"), "{run:?}");
    assert_eq!(synced.read(".mcp.json"), own);
    assert_eq!(synced.read(".claude/skills/serde-derive/SKILL.md"), "mine");
    // The skill arrives beside it, under its longer name.
    let beside = tree(&synced.root().join(".claude/skills"));
    assert!(beside.keys().any(|path| path.as_str().starts_with("serde-derive-")), "{beside:?}");
}

#[test]
fn an_edit_of_ours_by_the_user_is_kept_until_they_say_otherwise() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    synced.world.sample.write(".claude/skills/serde-derive/SKILL.md", "edited");
    synced.skill(&SKILL.replace("Derive.", "Derive more."));
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("was edited after it was installed"), "{run:?}");
    assert_eq!(synced.read(".claude/skills/serde-derive/SKILL.md"), "edited");
    assert!(synced.read(".agents/skills/serde-derive/SKILL.md").contains("Derive more."));
    synced.ok(&["sync", "--overwrite"]);
    assert!(synced.read(".claude/skills/serde-derive/SKILL.md").contains("Derive more."));
}

#[test]
fn two_skills_of_one_name_get_their_origins_and_the_last_one_gets_the_plain_name_back() {
    let synced = Synced::new();
    synced
        .world
        .plugin("other", "name = \"other\"\ncrates = [\"*\"]\n[[skills]]\nsource.path = \".\"\n");
    let second = synced.world.home().join("plugins/other/SKILL.md");
    scratch::write(&second, SKILL.replace("Derive.", "Other."));
    synced.ok(&["sync"]);
    let names = || -> Vec<String> {
        let dir = synced.root().join(".claude/skills");
        let entries = dir.read_dir_utf8().unwrap().flatten();
        entries.map(|entry| entry.file_name().to_owned()).collect()
    };
    assert_eq!(names().len(), 2, "{:?}", names());
    assert!(names().iter().all(|name| name.starts_with("serde-derive-")), "{:?}", names());
    std::fs::remove_dir_all(second.parent().unwrap()).unwrap();
    synced.ok(&["sync"]);
    assert_eq!(names(), ["serde-derive"]);
}

#[test]
fn init_edits_the_configuration_and_keeps_its_comments() {
    let synced = Synced::new();
    synced.ok(&[
        "init",
        "--add-agent",
        "kiro",
        "--remove-agent",
        "codex",
        "--hook-scope",
        "global",
    ]);
    let config = std::fs::read_to_string(synced.world.home().join("config.toml")).unwrap();
    assert!(config.contains("# mine"), "{config}");
    let run = synced.run(&["--json", "host", "list"]);
    let hosts: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let configured: Vec<&str> = hosts["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|host| host["configured"] == true)
        .map(|host| host["id"].as_str().unwrap())
        .collect();
    assert_eq!(configured, ["claude", "kiro"]);
    let unknown = synced.run(&["init", "--add-agent", "cluade"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("claude"), "{unknown:?}");
}

#[test]
fn an_unknown_host_in_the_configuration_is_a_finding_and_not_the_end() {
    let synced = Synced::new();
    let file = synced.world.home().join("config.toml");
    scratch::write(
        &file,
        "hosts = [\"claude\", \"nonsense\"]\nhook-scope = \"project\"\nmcp-register = \"each\"\n[defaults]\nsymposium-recommendations = false\n",
    );
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("nonsense"), "{run:?}");
    assert!(synced.root().join(".claude/skills/serde-derive").exists());
}

#[test]
fn syncs_at_once_serialise_and_all_succeed() {
    let synced = Synced::new();
    let running: Vec<_> = (0..4)
        .map(|_| {
            let mut command = synced.world.command(&["sync"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in running {
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    assert_eq!(synced.run(&["sync", "--check"]).code, Some(0));
}

/// The commands that a host's hook file has us called with, by event.
fn registered(text: &str) -> Vec<String> {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    let events = document["hooks"].as_object().unwrap();
    let commands = events.iter().map(|(event, groups)| {
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        format!("{event}: {command}")
    });
    commands.collect()
}

#[test]
fn hosts_call_us_for_the_usual_events_and_for_those_that_plugins_want() {
    let synced = Synced::new();
    let said = synced.ok(&["sync"]);
    assert!(said.contains("cargo-agents   hook   events        new       claude, codex"), "{said}");
    let usual = [
        "PreToolUse: cargo-agents hook codex pre-tool-use",
        "PostToolUse: cargo-agents hook codex post-tool-use",
        "UserPromptSubmit: cargo-agents hook codex user-prompt-submit",
        "SessionStart: cargo-agents hook codex session-start",
    ];
    assert_eq!(registered(&synced.read(".codex/hooks.json")), usual);
    let hook =
        "[[hooks]]\nname = \"h\"\nevent = \"Notification\"\ncommand = { executable = \"true\" }\n";
    synced.world.plugin("notes", &format!("name = \"notes\"\ncrates = [\"serde\"]\n{hook}"));
    let run = synced.run(&["sync", "--verbose"]);
    assert!(run.stderr.contains("Codex CLI does not run the hook `h` for Notification"), "{run:?}");
    let claude = registered(&synced.read(".claude/settings.json"));
    assert_eq!(claude.last().unwrap(), "Notification: cargo-agents hook claude notification");
    assert_eq!(registered(&synced.read(".codex/hooks.json")), usual);
    // Gone with the plugin, and only that.
    synced.world.plugin("notes", "name = \"notes\"\ncrates = [\"serde\"]\n");
    synced.ok(&["sync"]);
    assert_eq!(registered(&synced.read(".claude/settings.json")).len(), 4);
}

#[test]
fn what_a_host_asks_before_it_runs_hooks_is_said_when_they_are_new() {
    let synced = Synced::new();
    let first = synced.run(&["sync"]).stderr;
    assert!(first.contains("Codex CLI runs new hooks only when you have accepted them"), "{first}");
    assert!(first.contains("`/hooks`"), "{first}");
    assert_eq!(synced.run(&["sync"]).stderr, "");
}

/// A new `hooks.json` would silence the hooks in its settings.
#[test]
fn droid_keeps_hearing_the_hooks_in_its_settings() {
    let synced = Synced::new();
    synced.world.config("hosts = [\"factory\"]\nhook-scope = \"project\"\nmcp-register = \"each\"\n[defaults]\nsymposium-recommendations = false\n");
    let file = synced.root().join(".factory/settings.json");
    let mine = "{\n  // mine\n  \"hooks\": { \"Stop\": [] }\n}\n";
    scratch::write(&file, mine);
    synced.ok(&["sync"]);
    assert!(!synced.root().join(".factory/hooks.json").exists());
    assert!(
        synced.read(".factory/settings.json").contains("cargo-agents hook factory pre-tool-use")
    );
    synced.ok(&["uninstall"]);
    assert_eq!(synced.read(".factory/settings.json"), mine);
}

#[test]
fn a_hook_whose_program_cannot_be_had_is_an_error_and_the_rest_is_done() {
    let synced = Synced::new();
    let hook = "[[hooks]]\nname = \"h\"\nevent = \"PreToolUse\"\ncommand = { source = \"cargo\", crate = \"no-such-crate-here\" }\n";
    synced.world.plugin("tool", &format!("name = \"tool\"\ncrates = [\"serde\"]\n{hook}"));
    let run = synced.run(&["sync", "--offline"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("the hook `h` of `tool` will not run"), "{run:?}");
    assert!(synced.read(".claude/settings.json").contains("pre-tool-use"), "the rest is done");
}

/// It steers the agent from the first moment on, so it is read before.
#[test]
fn a_diff_shows_every_line_of_a_new_a_changed_and_a_removed_skill() {
    let synced = Synced::new();
    for args in [&["diff"][..], &["diff", "serde-derive"]] {
        let said = synced.ok(args);
        assert_eq!(said.matches("+++ serde-derive/SKILL.md\n").count(), 1, "{args:?}: {said}");
        assert_eq!(said.matches("\n+Derive.\n").count(), 1, "{args:?}: {said}");
    }
    assert!(!synced.ok(&["diff", "serde-derive"]).contains("mcp_servers"));
    let json = synced.world.json(&["diff"]);
    let skills = json["changes"].as_array().unwrap().iter().filter(|it| it["kind"] == "skill");
    for skill in skills {
        assert!(skill["diff"].as_str().unwrap().contains("+Derive."), "{skill}");
        assert!(skill["lines"].is_null(), "{skill}");
    }
    synced.ok(&["sync"]);
    synced.skill(&SKILL.replace("Derive.", "Derive less."));
    let said = synced.ok(&["diff", "serde-derive"]);
    assert!(said.contains("-Derive.\n+Derive less.\n"), "{said}");
    synced.plugin("crates = [\"absent\"]");
    let said = synced.ok(&["diff", "serde-derive"]);
    assert!(said.contains("+++ /dev/null\n"), "{said}");
    assert!(said.contains("\n-Derive.\n"), "{said}");
}

#[test]
fn a_diff_of_one_name_shows_its_lines_and_refuses_a_name_that_nothing_has() {
    let synced = Synced::new();
    let said = synced.ok(&["diff", "explain"]);
    assert!(said.contains("+[mcp_servers.explain]"), "{said}");
    assert!(synced.ok(&["diff", "events"]).contains(".claude/settings.json"));
    let run = synced.run(&["diff", "serde-drive"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("hint: did you mean `serde-derive`?"), "{run:?}");
    // What is as it should be is known, too.
    synced.ok(&["sync"]);
    for name in ["serde-derive", "explain", "events"] {
        assert!(synced.ok(&["diff", name]).starts_with("Nothing would change"), "{name}");
    }
    assert_eq!(synced.run(&["diff", "nosuch"]).code, Some(2));
}

#[test]
fn what_could_not_be_written_is_counted_as_failed_and_not_listed_as_done() {
    let synced = Synced::new();
    scratch::write(&synced.root().join(".claude/skills"), "in the way\n");
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("serde-derive  new       codex\n"), "{run:?}");
    assert!(run.stdout.contains(" changes, 1 failed, 0 unchanged.\n"), "{run:?}");
    assert_eq!(run.stderr.matches("not written: ").count(), 1, "{run:?}");
    let run = synced.run(&["sync"]);
    assert!(run.stdout.starts_with("No change, 1 failed, "), "{run:?}");
    let json = synced.world.json(&["sync"]);
    let said = (&json["applied"], &json["failed"], json["changes"].as_array().unwrap().len());
    assert_eq!(said, (&false.into(), &1.into(), 0), "{json}");
}
