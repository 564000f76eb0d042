//! `cargo agents doctor`: each planted problem is found, alone and with its remedy; a healthy machine has none.

use std::{
    collections::BTreeSet,
    fs::Permissions,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Command,
};

use agents_testkit::{
    scratch,
    through::{bound_by_modes, through},
    vendor::cargo_program,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

mod planted;

use self::planted::{
    Fix::{Heals, LeavesIt},
    PLANTED,
};
use crate::{
    sync::{Synced, tree},
    world::Run,
};

/// A machine on which everything is well: both hosts are installed and have what the workspace brings them, and their user has
/// agreed to it.
struct Clinic {
    synced: Synced,
}

const CONFIG: &str = "hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"\nmcp-register = \"each\"\n\n[defaults]\nsymposium-recommendations = false\n";

impl Clinic {
    fn healthy() -> Self {
        let clinic = Self { synced: Synced::new() };
        let scratch = clinic.synced.world.sample.scratch();
        clinic.synced.world.config(CONFIG);
        clinic.program("claude", "echo '2.1.325 (Claude Code)'");
        clinic.program("codex", "echo 'codex-cli 0.166.0'");
        clinic.program("explain", "");
        let programs = scratch.path("programs");
        symlink(env!("CARGO_BIN_EXE_cargo-agents"), programs.join("cargo-agents")).unwrap();
        clinic.ok(&["sync"]);
        clinic.agree();
        clinic
    }

    fn program(&self, name: &str, body: &str) -> Utf8PathBuf {
        self.synced.world.sample.scratch().script(format!("programs/{name}"), body)
    }

    /// Has the user agree to what a dependency embeds.
    fn embedded(&self, version: &str, text: &str) {
        self.synced.world.config(&format!("{CONFIG}[plugins]\nuse = [\"tiny-sql\"]\n"));
        self.publish(version, text);
        self.ok(&["sync"]);
    }

    /// A version of that dependency with a skill that says `text`.
    fn publish(&self, version: &str, text: &str) {
        let skill = format!("---\nname: usage\ndescription: Use when writing SQL\n---\n{text}\n");
        let files = [("src/lib.rs", ""), ("skills/usage/SKILL.md", skill.as_str())];
        self.synced.world.sample.vendor().krate("tiny-sql", version, "", &files);
        self.synced.world.sample.lock();
        // Cargo wants more programs than this machine shows its user.
        self.synced.world.ok(&["plugin", "sync"]);
    }

    /// What the user's hosts write down when they are asked to trust all this.
    fn agree(&self) {
        let (root, user) = (self.root(), self.user());
        let mut codex = format!("[projects.\"{root}\"]\ntrust_level = \"trusted\"\n");
        let file = root.join(".codex/hooks.json");
        let hooks: Value = serde_json::from_str(&self.synced.read(".codex/hooks.json")).unwrap();
        for event in hooks["hooks"].as_object().unwrap().keys() {
            let words = event.chars().fold(String::new(), |mut text, letter| {
                if letter.is_uppercase() && !text.is_empty() {
                    text.push('_');
                }
                text.push(letter.to_ascii_lowercase());
                text
            });
            codex +=
                &format!("[hooks.state.\"{file}:{words}:0:0\"]\ntrusted_hash = \"sha256:00\"\n");
        }
        scratch::write(&user.join(".codex/config.toml"), codex);
        let claude =
            json!({ "projects": { root.as_str(): { "enabledMcpjsonServers": ["explain"] } } });
        scratch::write(&user.join(".claude.json"), claude.to_string());
    }

    fn root(&self) -> Utf8PathBuf {
        self.synced.root()
    }

    fn user(&self) -> Utf8PathBuf {
        self.synced.user()
    }

    /// Our own home.
    fn home(&self) -> Utf8PathBuf {
        self.synced.world.home()
    }

    fn ledger(&self) -> Utf8PathBuf {
        self.home().join("state/ledger.json")
    }

    fn command(&self, args: &[&str]) -> Command {
        let scratch = self.synced.world.sample.scratch();
        let mut command = self.synced.world.command(args);
        command.env("CARGO_AGENTS_CARGO", cargo_program());
        command.env("PATH", format!("{}:/usr/bin:/bin", scratch.path("programs")));
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    }

    fn edit(&self, file: &Utf8Path, from: &str, to: &str) {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{file}: {text}");
        std::fs::write(file, text.replacen(from, to, 1)).unwrap();
    }

    /// Looks, and checks that these are all the problems there are, each with a remedy.
    fn diagnose(&self, command: &mut Command) -> Value {
        let run = Run::from(command.output().unwrap());
        let document: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        let healthy = document["healthy"] == true;
        assert_eq!(run.code, Some(i32::from(!healthy)), "{document:#}");
        for problem in document["problems"].as_array().unwrap() {
            assert!(problem["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{problem:#}");
        }
        document
    }

    fn found(&self) -> Vec<String> {
        codes(&self.diagnose(&mut self.command(&["doctor", "--json"])))
    }
}

/// The kinds of problems, each once: one kind may be found in the files of several hosts.
fn codes(document: &Value) -> Vec<String> {
    let problems = document["problems"].as_array().unwrap();
    let codes = problems.iter().map(|it| it["code"].as_str().unwrap().to_owned());
    let mut codes: Vec<String> = codes.collect();
    codes.dedup();
    codes
}

fn mode(path: &Utf8Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A skill of somebody, with a description of this length.
fn skill(dir: &Utf8Path, length: usize) {
    let name = dir.file_name().unwrap();
    let text = format!("---\nname: {name}\ndescription: {}\n---\nText.\n", "x".repeat(length));
    scratch::write(&dir.join("SKILL.md"), text);
}

/// Those that need more than files; each has a test of its own below.
const APART: &[&str] =
    &["two-programs", "directory-read-only", "sandboxed", "cache-tampered", "no-host"];

#[test]
fn a_healthy_machine_has_no_problem_and_looking_writes_nothing() {
    let clinic = Clinic::healthy();
    let before = (tree(&clinic.root()), tree(&clinic.user()), tree(&clinic.home().join("state")));
    assert_eq!(clinic.found(), [] as [&str; 0]);
    let said = clinic.ok(&["doctor"]);
    assert!(said.ends_with(" checks, healthy.\n"), "{said}");
    assert_eq!(clinic.ok(&["doctor", "--fix"]), said);
    let after = (tree(&clinic.root()), tree(&clinic.user()), tree(&clinic.home().join("state")));
    assert_eq!(after, before);
}

#[test]
fn every_planted_problem_is_found_alone_and_with_its_remedy() {
    let mut wrong: Vec<(&str, Vec<String>)> = Vec::new();
    for (code, _, plant) in PLANTED {
        let clinic = Clinic::healthy();
        plant(&clinic);
        let found = clinic.found();
        if found != [*code] {
            wrong.push((code, found));
        }
    }
    assert_eq!(wrong, [], "planted, and found instead");
}

#[test]
fn fix_heals_what_is_safe_and_touches_nothing_else() {
    let mut wrong: Vec<(&str, Value)> = Vec::new();
    for (code, fix, plant) in PLANTED {
        let clinic = Clinic::healthy();
        plant(&clinic);
        // What is agreed to is written down by every sync.
        let all = || {
            let mut root = tree(&clinic.root());
            root.remove(camino::Utf8Path::new("agents.lock"));
            (root, tree(&clinic.user()))
        };
        let before = all();
        let document = clinic.diagnose(&mut clinic.command(&["doctor", "--fix", "--json"]));
        let repairs = document["repairs"].as_array().unwrap().clone();
        let remaining = match fix {
            Heals => Vec::new(),
            LeavesIt => vec![(*code).to_owned()],
        };
        let is_right = codes(&document) == remaining
            && repairs
                .iter()
                .all(|it| it["done"] == (*fix == Heals) && it["codes"] == json!([code]))
            && (*fix == LeavesIt || repairs.len() == 1)
            && (*fix == Heals || all() == before);
        if !is_right {
            wrong.push((code, document));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn every_documented_code_is_planted_somewhere() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
    let page = std::fs::read_to_string(page).unwrap();
    // What a probe looks at is no finding.
    let (page, _) = page.split_once("--probe").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    let planted: BTreeSet<&str> =
        PLANTED.iter().map(|(code, ..)| *code).chain(APART.iter().copied()).collect();
    assert_eq!(planted, documented);
}

#[test]
fn a_problem_is_one_line_with_its_place_and_its_remedy_below() {
    let clinic = Clinic::healthy();
    std::fs::remove_dir_all(clinic.root().join(".claude/skills/serde-derive")).unwrap();
    clinic.program("claude", "echo '2.1.44 (Claude Code)'");
    let run = clinic.run(&["doctor"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let programs = clinic.synced.world.sample.scratch().path("programs");
    let shown = run.stdout.replace(programs.as_str(), "[PROGRAMS]");
    let shown = shown.replace(clinic.root().as_str(), "[ROOT]");
    let (problems, summary) = shown.trim_end().rsplit_once('\n').unwrap();
    insta::assert_snapshot!(problems, @r"
    warning  missing       the skill `serde-derive` is gone
                           in [ROOT]/.claude/skills/serde-derive
                           hint: `cargo agents sync` brings it back
    warning  host-too-old  Claude Code 2.1.44 does not understand all that we write
                           in [PROGRAMS]/claude
                           hint: update it to 2.1.45 or newer
    ");
    let (_, counts) = summary.split_once(" checks: ").unwrap();
    insta::assert_snapshot!(counts, @"0 errors, 2 warnings.  `cargo agents doctor --fix` does something about 1 of them.");

    let run = clinic.run(&["doctor", "--fix"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    insta::assert_snapshot!(run.stdout.lines().next().unwrap(), @"fixed: ran `cargo agents sync`, which made 1 change (missing)");
    assert!(
        run.stdout.contains("host-too-old") && !run.stdout.contains("warning  missing"),
        "{run:?}"
    );
}

#[test]
fn a_skill_that_a_host_finds_twice_matters_only_if_one_is_ours_and_they_differ() {
    let clinic = Clinic::healthy();
    let (ours, theirs) =
        (clinic.root().join(".claude/skills"), clinic.user().join(".claude/skills"));
    skill(&ours.join("mine"), 9);
    skill(&theirs.join("mine"), 10);
    scratch::write(&theirs.join("serde-derive/SKILL.md"), crate::sync::SKILL);
    assert_eq!(clinic.found(), [] as [&str; 0]);
    skill(&theirs.join("serde-derive"), 9);
    assert_eq!(clinic.found(), ["loaded-twice"]);
}

#[test]
fn our_module_for_a_host_that_runs_no_commands_is_as_good_as_a_file_of_settings() {
    let clinic = Clinic::healthy();
    clinic.program("opencode", "echo 1.18.33");
    clinic.synced.world.config(&CONFIG.replace("\"codex\"]", "\"codex\", \"opencode\"]"));
    clinic.ok(&["sync"]);
    assert!(clinic.root().join(".opencode/plugins/cargo-agents.js").exists());
    assert_eq!(clinic.found(), [] as [&str; 0]);
}

#[test]
fn a_file_of_a_host_that_is_a_dangling_link_is_found() {
    let clinic = Clinic::healthy();
    scratch::write(&clinic.user().join(".claude/x"), "");
    symlink("nowhere", clinic.user().join(".claude/settings.json")).unwrap();
    assert_eq!(clinic.found(), ["dangling-link"]);
}

#[test]
fn two_different_programs_are_a_problem_and_two_equal_ones_are_not() {
    let clinic = Clinic::healthy();
    let scratch = clinic.synced.world.sample.scratch();
    let more = scratch.path("more");
    std::fs::create_dir_all(&more).unwrap();
    let look = || {
        let mut command = clinic.command(&["doctor", "--json"]);
        command.env("PATH", format!("{}:{more}:/usr/bin:/bin", scratch.path("programs")));
        codes(&clinic.diagnose(&mut command))
    };
    std::fs::copy(env!("CARGO_BIN_EXE_cargo-agents"), more.join("cargo-agents")).unwrap();
    assert_eq!(look(), [] as [&str; 0]);
    std::fs::remove_file(more.join("cargo-agents")).unwrap();
    scratch.script("more/cargo-agents", "echo cargo-agents 0.0.1");
    assert_eq!(look(), ["two-programs"]);
}

#[test]
fn a_directory_without_the_right_to_write_is_found_by_the_superuser_too() {
    let clinic = Clinic::healthy();
    mode(&clinic.root().join(".claude/skills"), 0o555);
    let mut command = bound_by_modes(&clinic.command(&["doctor", "--json"]));
    let found = codes(&clinic.diagnose(&mut command));
    mode(&clinic.root().join(".claude/skills"), 0o755);
    assert_eq!(found, ["directory-read-only"]);
}

#[test]
fn a_sandbox_is_told_from_a_mode() {
    let clinic = Clinic::healthy();
    let agents = clinic.root().join(".agents");
    // Codex makes it so with a bind mount, too.
    let fence = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
    let before =
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", fence, agents.as_str()];
    let mut command = through(&before, &clinic.command(&["doctor", "--json"]));
    assert_eq!(codes(&clinic.diagnose(&mut command)), ["sandboxed"]);
}

#[test]
fn a_program_that_was_changed_in_the_cache_is_found() {
    let clinic = Clinic::healthy();
    let world = &clinic.synced.world;
    world.sample.vendor().program("guard", "0.1.0", "");
    world.plugin("hooked", "name = \"hooked\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"guard\"\nevent = \"PreToolUse\"\ncommand = { source = \"cargo\", crate = \"guard\" }\n");
    assert_eq!(clinic.found(), ["hook-program-missing"]);
    let path = std::env::var("PATH").unwrap();
    let programs = world.sample.scratch().path("programs");
    let with_cargo = |args: &[&str]| {
        let mut command = clinic.command(args);
        command.env("PATH", format!("{programs}:{path}"));
        command
    };
    let healed = clinic.diagnose(&mut with_cargo(&["doctor", "--fix", "--json"]));
    assert_eq!(healed["repairs"][0]["done"], true, "{healed:#}");
    assert_eq!(codes(&healed), [] as [&str; 0], "{healed:#}");
    let installed = tree(&clinic.home().join("cache"));
    let program = installed.keys().find(|path| path.ends_with("bin/guard")).unwrap();
    std::fs::write(clinic.home().join("cache").join(program), "#!/bin/sh\n").unwrap();
    let found = clinic.found();
    assert!(found.contains(&"cache-tampered".to_owned()), "{found:?}");
}

#[test]
fn a_machine_without_configured_hosts_has_a_note_and_is_healthy() {
    let clinic = Clinic::healthy();
    clinic.ok(&["uninstall"]);
    clinic.synced.world.config("[defaults]\nsymposium-recommendations = false\n");
    assert_eq!(clinic.found(), ["no-host"]);
    assert!(!clinic.ok(&["doctor"]).contains("no-host"));
    assert!(clinic.ok(&["doctor", "--verbose"]).contains("note     no-host"));
}

#[test]
fn a_mistake_in_any_table_is_found_as_other_commands_find_it() {
    let clinic = Clinic::healthy();
    let tables = [
        "[tasks]\nmax-turnss = 3",
        "[tasks]\nnetwork = \"yes\"",
        "[providers.p]\nkindd = \"x\"",
        "[models]\ndefault = 7",
        "[web]\nfetch = 7",
        "[secrets]\nqqq = 7",
        "[telemetry]\nqqq = 7",
        "[mcp-servers.docs]\nurl = 7",
        "[engine.restate]\nqqq = 7",
    ];
    for table in tables {
        clinic.synced.world.config(&format!("{CONFIG}{table}\n"));
        let shown = clinic.synced.world.agents(&["config", "show"]);
        assert_eq!(shown.code, Some(2), "{table}: {shown:?}");
        let found = clinic.found();
        assert!(
            !found.is_empty() && found.iter().all(|it| it == "config-broken"),
            "{table}: {found:?}"
        );
    }
    clinic.synced.world.config(&format!("{CONFIG}[web]\nhosts = [\"docs.rs\"]\n"));
    assert_eq!(clinic.found(), ["config-unknown-key"], "what has no effect is said, too");
}

#[test]
fn broken_things_keep_no_other_check_from_being_made() {
    let clinic = Clinic::healthy();
    clinic.synced.world.config("hosts = [\n");
    std::fs::write(clinic.ledger(), "{").unwrap();
    std::fs::write(clinic.root().join("Cargo.toml"), "[").unwrap();
    let scratch = clinic.synced.world.sample.scratch();
    std::fs::remove_file(scratch.path("programs/cargo-agents")).unwrap();
    let found: BTreeSet<String> = clinic.found().into_iter().collect();
    let expected = ["config-broken", "ledger-broken", "program-not-found", "workspace-broken"];
    assert_eq!(found, BTreeSet::from(expected.map(str::to_owned)));
}

#[test]
fn a_host_that_never_answers_is_not_waited_for_and_outside_a_workspace_it_works() {
    let clinic = Clinic::healthy();
    clinic.program("claude", "exec sleep 600");
    let outside = clinic.synced.world.outside();
    let mut command = clinic.command(&["doctor", "--json"]);
    command.current_dir(outside);
    assert_eq!(codes(&clinic.diagnose(&mut command)), [] as [&str; 0]);
}

#[test]
fn a_running_sync_is_neither_unfinished_nor_left_over() {
    let clinic = Clinic::healthy();
    clinic.edit(&clinic.ledger(), "\"version\": 1,", "\"version\": 1, \"intended\": [],");
    scratch::write(&clinic.root().join(".claude/.settings.json.agents-aB3dE6"), "{");
    let lock = std::fs::File::options()
        .append(true)
        .create(true)
        .open(clinic.home().join("state/sync.lock"))
        .unwrap();
    lock.lock().unwrap();
    assert_eq!(clinic.found(), [] as [&str; 0]);
    drop(lock);
    assert_eq!(clinic.found(), ["unfinished-sync", "leftovers"]);
}
