//! Somebody else writes into our cache, or changes a manifest behind its back.

use agents_testkit::{repo::Repo, scratch};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    trust::{OLD, Trusting},
    world::Run,
};

/// A workspace with a registry in git, whose plugin has a skill, a hook and a command that say `ours`.
struct Place {
    it: Trusting,
    repo: Repo,
}

const PLUGIN: &str = "name = \"house\"\ncrates = [\"*\"]\n[[skills]]\nsource.path = \"skills\"\n\
    [[hooks]]\nname = \"h\"\nevent = \"PreToolUse\"\ncommand = { script = \"hook.sh\" }\n\
    [subcommand.house]\ndescription = \"x\"\ncommand = { script = \"hook.sh\" }\n";
const STYLE: &str = ".claude/skills/style/SKILL.md";

impl Place {
    fn new() -> Self {
        let it = Trusting::new();
        let repo = Repo::init(it.world.sample.scratch().path("team"));
        repo.write("house/SYMPOSIUM.toml", PLUGIN);
        repo.write("house/hook.sh", "echo ours >&2; exit 2\n");
        repo.write("house/skills/style/SKILL.md", OLD.replace("usage", "style"));
        repo.commit("one");
        let place = Self { it, repo };
        let url = place.repo.url();
        place.config(&format!("[[registry]]\nname = \"team\"\ngit = \"{url}\"\n"));
        place.it.ok(&["plugin", "sync"]);
        place
    }

    fn config(&self, registries: &str) {
        self.it.world.config(&format!(
            "hosts = [\"claude\"]\nhook-scope = \"project\"\nmcp-register = \"each\"\n[defaults]\nsymposium-recommendations = false\n{registries}"
        ));
    }

    /// The only checked-out tree.
    fn tree(&self) -> Utf8PathBuf {
        let below = |dir: &Utf8Path| -> Vec<Utf8PathBuf> {
            let dirs = dir.read_dir_utf8().unwrap().flatten().map(|it| it.path().to_owned());
            dirs.filter(|it| it.is_dir()).collect()
        };
        let slots = below(&self.it.world.home().join("cache/repositories"));
        let trees: Vec<Utf8PathBuf> = slots.iter().flat_map(|slot| below(slot)).collect();
        let [tree] = trees.as_slice() else { panic!("{trees:?}") };
        tree.clone()
    }

    /// Makes what we wrote down about the tree, and git's own files, agree with what is in it now.
    fn forge(&self, digest: &str) {
        let file = self.tree().parent().unwrap().join("current.json");
        let text = std::fs::read_to_string(&file).unwrap();
        let mut state: serde_json::Value = serde_json::from_str(&text).unwrap();
        state["current"]["tree"] = digest.into();
        std::fs::write(&file, state.to_string()).unwrap();
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            let who = ["-c", "user.name=x", "-c", "user.email=x"];
            let done = command.current_dir(self.tree()).args(who).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "forged"]);
    }

    fn hook(&self) -> String {
        let input = serde_json::json!({
            "session_id": "s", "transcript_path": "/t", "cwd": self.it.path(""),
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" },
        });
        let mut command = self.it.command(&["hook", "claude", "pre-tool-use"]);
        let run = with_input(&mut command, &input.to_string());
        format!("{}{}", run.stdout, run.stderr)
    }
}

fn with_input(command: &mut std::process::Command, input: &str) -> Run {
    use std::{io::Write as _, process::Stdio};
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Run::from(child.wait_with_output().unwrap())
}

const PLANTED: &str = "house/skills/planted/SKILL.md";

fn planted() -> String {
    OLD.replace("usage", "planted")
}

#[test]
fn the_whole_tree_of_a_repository_is_recorded() {
    let place = Place::new();
    place.it.ok(&["sync"]);
    let lock = place.it.lock();
    let group = lock.split("\n\n").find(|it| it.starts_with("[[tree]]")).unwrap();
    let head = place.repo.head();
    let start = format!(
        "[[tree]]\nname = \"team\"\nregistry = \"team\"\nfrom = \"git {}\"\ncommit = \"{head}\"\npath = \".\"\nhash = \"blake3-128:",
        place.repo.url()
    );
    assert!(group.starts_with(&start), "{group}");
    // Whoever fetches the same commit has the same tree.
    std::fs::remove_dir_all(place.it.world.home().join("cache/repositories")).unwrap();
    place.it.ok(&["plugin", "sync"]);
    place.it.ok(&["sync", "--locked"]);
    // Another commit is another tree, and a registry may have one.
    place.repo.write("README.md", "words\n");
    place.repo.commit("two");
    place.it.ok(&["plugin", "sync"]);
    place.it.ok(&["sync"]);
    assert!(!place.it.lock().contains(&head), "{}", place.it.lock());
}

#[test]
fn what_is_planted_in_a_fetched_tree_is_noticed_and_not_taken() {
    let place = Place::new();
    let it = &place.it;
    it.ok(&["sync"]);
    let (lock, style) = (it.lock(), it.read(STYLE));
    scratch::write(&place.tree().join(PLANTED), planted());
    // Where it is noticed by the record of the fetch, and where only the lock file is left to tell.
    for forged in [false, true] {
        if forged {
            place.forge("forged");
        }
        let run = it.run(&["sync"]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("was changed in our cache"), "{run:?}");
        assert!(run.stderr.contains("skill `planted` from registry `team` at"), "{run:?}");
        assert!(!it.path(".claude/skills/planted").exists());
        assert_eq!((it.lock(), it.read(STYLE)), (lock.clone(), style.clone()));
        assert_eq!(it.run(&["update", "--yes"]).code, Some(1));
    }
    // Fetched again, all is well.
    std::fs::remove_dir_all(place.tree()).unwrap();
    it.ok(&["plugin", "sync"]);
    it.ok(&["sync", "--locked"]);
    assert!(!it.path(".claude/skills/planted").exists());
}

#[test]
fn without_a_lock_file_the_record_of_the_fetch_tells() {
    let place = Place::new();
    scratch::write(&place.tree().join(PLANTED), planted());
    let run = place.it.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("was changed in our cache"), "{run:?}");
    assert!(!place.it.path(".claude/skills").exists());
    // Whoever names the registry has the last word.
    place.it.ok(&["update", "team", "--yes"]);
    assert!(place.it.path(".claude/skills/planted/SKILL.md").exists());
    place.it.ok(&["sync", "--locked"]);
}

#[test]
fn a_changed_script_of_a_registry_runs_neither_as_a_hook_nor_as_a_command() {
    let place = Place::new();
    place.it.ok(&["sync"]);
    for _ in 0..2 {
        assert!(place.hook().contains("ours"), "{}", place.hook());
    }
    let script = place.tree().join("house/hook.sh");
    std::fs::write(&script, "echo theirs >&2; exit 2\n").unwrap();
    // Nobody has run `sync` since, and what hooks know is remembered.
    assert!(!place.hook().contains("theirs"), "{}", place.hook());
    let run = place.it.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("+echo theirs >&2; exit 2"), "{run:?}");
    let run = place.it.run(&["house"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(!run.stderr.contains("theirs\n"), "{run:?}");
    assert!(!place.hook().contains("theirs"), "{}", place.hook());
}

#[test]
fn a_repository_that_a_plugin_names_is_looked_through_too() {
    let place = Place::new();
    let it = &place.it;
    let url = place.repo.url();
    place.config("");
    std::fs::remove_dir_all(it.world.home().join("cache/repositories")).unwrap();
    let manifest = format!("name = \"p\"\ncrates = [\"*\"]\n[[skills]]\nsource.git = \"{url}\"\n");
    it.world.plugin("p", &manifest);
    it.ok(&["sync"]);
    let lock = it.lock();
    assert!(lock.contains(&format!("[[tree]]\nname = \"{url}\"\ngit = \"{url}\"\n")), "{lock}");
    scratch::write(&place.tree().join(PLANTED), planted());
    place.forge("forged");
    let run = it.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("was changed in our cache"), "{run:?}");
    assert!(!it.path(".claude/skills/planted").exists());
    assert_eq!(it.lock(), lock);
}

// ---- manifests in directories

/// Manifests are not read again to be compared with what was agreed to, and still no change of one goes unnoticed.
#[test]
fn a_manifest_that_changes_without_looking_so_is_recorded_anew() {
    let it = Trusting::new();
    it.config("");
    let file = it.world.plugin("sql", &server("first"));
    it.ok(&["sync"]);
    let mut known = vec![it.lock()];
    // Right after it was read, and when nothing is young any more.
    for (url, pause) in [("other", 0), ("third", 0), ("fifth", 2_100), ("sixth", 2_100)] {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        assert!(it.ok(&["sync"]).stdout.starts_with("Nothing to do"));
        let before = std::fs::metadata(&file).unwrap();
        std::fs::write(&file, server(url)).unwrap();
        let opened = std::fs::File::options().write(true).open(&file).unwrap();
        opened.set_modified(before.modified().unwrap()).unwrap();
        assert_eq!(file.metadata().unwrap().len(), before.len());
        it.ok(&["sync"]);
        assert!(it.read(".mcp.json").contains(url), "what counts is what is recorded");
        assert!(!known.contains(&it.lock()), "{url}: {}", it.lock());
        known.push(it.lock());
        // Nothing of it comes from what is remembered.
        std::fs::remove_dir_all(it.world.home().join("cache/registries")).unwrap();
        it.ok(&["sync", "--locked"]);
    }
}

fn server(url: &str) -> String {
    format!(
        "name = \"sql\"\ncrates = [\"tiny-sql\"]\n[[mcp_servers]]\nname = \"db\"\ntype = \"http\"\nurl = \"https://{url}.example\"\nheaders = []\n"
    )
}
