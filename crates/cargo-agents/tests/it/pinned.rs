//! What `agents.lock` says about programs, and what it keeps from running.

use agents_testkit::repo::Repo;

use crate::trust::Trusting;

/// A plugin with a command that cargo installs and one that git fetches.
fn with_two_tools(it: &Trusting) -> Repo {
    it.world.sample.vendor().program("tool", "1.0.0", "println!(\"one\");");
    let repo = Repo::init(it.world.sample.scratch().path("scripts"));
    repo.write("run.sh", "echo cloned\n");
    repo.commit("one");
    it.world.plugin(
        "p",
        &format!(
            "name = \"p\"\ncrates = [\"*\"]\n[subcommand.tool]\ndescription = \"x\"\ncommand = {{ source = \"cargo\", crate = \"tool\" }}\n[subcommand.cloned]\ndescription = \"x\"\ncommand = {{ source = \"github\", url = \"{}\", script = \"run.sh\", install_commands = ['date > built'] }}\n",
            repo.url()
        ),
    );
    repo
}

/// The groups of lines about programs.
fn programs(it: &Trusting) -> Vec<String> {
    let lock = it.lock();
    let groups = lock.split("\n\n").filter(|group| group.starts_with("[[installation]]"));
    groups.map(|group| group.trim_end().to_owned()).collect()
}

#[test]
fn programs_of_commands_are_recorded_once_they_are_installed() {
    let it = Trusting::new();
    let repo = with_two_tools(&it);
    it.ok(&["sync"]);
    assert_eq!(programs(&it), Vec::<String>::new(), "nothing is installed yet");
    assert_eq!(it.ok(&["tool"]).stdout, "one\n");
    assert_eq!(it.ok(&["cloned"]).stdout, "cloned\n");
    // That somebody has a program is no change of what was agreed to.
    it.ok(&["sync", "--locked"]);
    it.ok(&["sync"]);
    let recorded = programs(&it);
    let [cloned, tool] = recorded.as_slice() else { panic!("{recorded:?}") };
    assert!(cloned.contains(&format!("commit = \"{}\"\n", repo.head())), "{cloned}");
    assert!(cloned.contains("hash = \"blake3-128:"), "{cloned}");
    assert!(tool.contains("crate = \"tool\"\nversion = \"1.0.0\"\n"), "{tool}");
    assert!(!tool.contains("hash"), "what is built differs from machine to machine: {tool}");
    let audit = it.json(&["audit"]);
    let rows = audit["active"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.filter(|row| row["kind"] == "installation").collect();
    assert_eq!(rows.len(), 2, "{audit}");
    assert!(cloned.contains(rows[0]["hash"].as_str().unwrap()), "{audit}");
    // Another machine, another time: the tree is what was fetched, not what was built in it.
    std::fs::remove_dir_all(it.world.home().join("cache/installations")).unwrap();
    it.ok(&["sync", "--locked"]);
    it.ok(&["sync"]);
    assert_eq!(programs(&it), recorded, "nothing is forgotten");
    it.ok(&["cloned"]);
    it.ok(&["sync", "--locked"]);
    assert_eq!(programs(&it), recorded);
}

#[test]
fn locked_refuses_another_version_or_commit_of_a_program() {
    let it = Trusting::new();
    let repo = with_two_tools(&it);
    it.ok(&["tool"]);
    it.ok(&["cloned"]);
    it.ok(&["sync"]);
    let recorded = it.lock();
    it.world.sample.vendor().program("tool", "2.0.0", "println!(\"two\");");
    repo.write("run.sh", "echo changed\n");
    repo.commit("two");
    it.ok(&["--locked", "tool"]);
    assert_eq!(it.ok(&["--update", "fetch", "tool"]).stdout, "two\n");
    assert_eq!(it.ok(&["--update", "fetch", "cloned"]).stdout, "changed\n");
    for command in ["tool", "cloned"] {
        let run = it.run(&["--locked", command]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("is not what `agents.lock` lists"), "{run:?}");
    }
    let run = it.run(&["sync", "--locked"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("installation `p/tool`: tool 1.0.0 -> tool 2.0.0"), "{run:?}");
    assert!(run.stderr.contains("installation `p/cloned`: "), "{run:?}");
    assert_eq!(it.lock(), recorded);
    it.ok(&["sync"]);
    assert!(it.lock().contains("version = \"2.0.0\""), "{}", it.lock());
    it.ok(&["--locked", "tool"]);
}

/// Publishes a version of `tiny-sql` whose command says `word`.
fn publish_command(it: &Trusting, version: &str, word: &str) {
    let manifest = format!(
        "name = \"tiny-sql\"\n[subcommand.sql]\ndescription = \"{word}\"\ncommand = {{ script = \"run.sh\" }}\n"
    );
    let script = format!("echo {word}\n");
    it.publish_with(
        version,
        &[
            ("src/lib.rs", ""),
            ("SYMPOSIUM.toml", &manifest),
            ("run.sh", &script),
            (
                "skills/usage/SKILL.md",
                "---\nname: usage\ndescription: How to use it.\n---\nBind.\n",
            ),
        ],
    );
    it.upgrade();
}

#[test]
fn commands_of_a_changed_plugin_do_not_run_before_it_is_accepted() {
    let it = Trusting::new();
    publish_command(&it, "0.3.1", "old");
    assert_eq!(it.ok(&["sql"]).stdout, "old\n", "nothing was agreed to yet, so nothing changed");
    it.ok(&["sync"]);
    assert_eq!(it.ok(&["sql"]).stdout, "old\n");
    publish_command(&it, "0.3.2", "new");
    let run = it.run(&["sql"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains("tiny-sql 0.3.2 changed and needs your approval"), "{run:?}");
    assert!(run.stderr.contains("`cargo agents update tiny-sql`"), "{run:?}");
    // What is accepted is shown, line by line.
    let shown = it.ok(&["update", "tiny-sql", "--dry-run"]).stdout;
    for line in [
        "--- tiny-sql/SYMPOSIUM.toml\n",
        "-description = \"old\"\n+description = \"new\"\n",
        "--- tiny-sql/run.sh\n",
        "-echo old\n+echo new\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    it.ok(&["update", "tiny-sql", "--yes"]);
    assert_eq!(it.ok(&["sql"]).stdout, "new\n");
    // Another content in the very same version is accepted only by its name.
    publish_command(&it, "0.3.2", "evil");
    let run = it.run(&["sql"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains("although the version is the same"), "{run:?}");
    let run = it.run(&["sync"]);
    assert!(run.stderr.contains("-echo new") && run.stderr.contains("+echo evil"), "{run:?}");
    let waits = it.json(&["update", "--dry-run"]);
    assert_eq!(
        (&waits["pending"][0]["kind"], &waits["pending"][0]["why"]),
        (&"plugin".into(), &"altered".into())
    );
    assert_eq!(it.run(&["update", "--yes"]).code, Some(1));
    assert_eq!(it.run(&["sql"]).code, Some(3));
    let run = it.ok(&["update", "tiny-sql", "--yes"]);
    assert!(run.stdout.contains("-echo new\n+echo evil\n"), "{run:?}");
    assert_eq!(it.ok(&["sql"]).stdout, "evil\n");
    it.ok(&["sync", "--locked"]);
}

#[test]
fn without_a_coding_agent_the_same_is_agreed_to_and_held_back() {
    let it = Trusting::new();
    publish_command(&it, "0.3.1", "old");
    it.ok(&["sync"]);
    let lock = it.lock();
    it.config_for("", "use = [\"tiny-sql\"]");
    it.ok(&["sync", "--locked"]);
    std::fs::remove_file(it.path("agents.lock")).unwrap();
    assert_eq!(it.run(&["sync", "--check"]).code, Some(1));
    it.ok(&["sync"]);
    assert_eq!(it.lock(), lock);
    publish_command(&it, "0.3.2", "new");
    assert_eq!(it.run(&["sql"]).code, Some(3));
    it.ok(&["update", "--yes"]);
    assert_eq!(it.ok(&["sql"]).stdout, "new\n");
}

#[test]
fn another_tree_under_the_same_commit_of_a_program_is_an_error_until_it_is_accepted() {
    let it = Trusting::new();
    with_two_tools(&it);
    it.ok(&["cloned"]);
    it.ok(&["sync"]);
    // What somebody else agreed to, for whom the commit held something else.
    let (lock, recorded) = (it.lock(), programs(&it).remove(0));
    let (_, hash) = recorded.split_once("blake3-128:").unwrap();
    let other = "0".repeat(32);
    let theirs = lock.replace(hash.trim_end_matches('"'), &other);
    std::fs::write(it.path("agents.lock"), &theirs).unwrap();
    let run = it.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("installation `p/cloned` from "), "{run:?}");
    assert!(run.stderr.contains(&format!("agreed to: blake3-128:{other}")), "{run:?}");
    assert_eq!(it.lock(), theirs, "nothing is accepted by itself");
    assert_eq!(it.run(&["update", "--yes"]).code, Some(1));
    let run = it.ok(&["update", "p/cloned", "--yes"]);
    assert!(run.stdout.contains(&format!("found:     blake3-128:{}", hash.trim_end_matches('"'))));
    assert_eq!(it.lock(), lock);
    it.ok(&["sync", "--locked"]);
}

#[test]
fn a_registry_may_change_the_commands_of_its_plugins() {
    let it = Trusting::new();
    let plugin = |word: &str| {
        let manifest = "name = \"p\"\ncrates = [\"*\"]\n[subcommand.say]\ndescription = \"x\"\ncommand = { script = \"say.sh\" }\n";
        it.world.plugin("p", manifest);
        let script = it.world.home().join("plugins/p/say.sh");
        agents_testkit::scratch::write(&script, format!("echo {word}\n"));
    };
    plugin("old");
    it.ok(&["sync"]);
    plugin("new");
    assert_eq!(it.ok(&["say"]).stdout, "new\n");
}

#[test]
fn update_of_a_name_that_nothing_has_is_an_error_that_lists_what_waits() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let run = it.run(&["update", "usge"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("nothing is called `usge` here"), "{run:?}");
    assert!(run.stderr.contains("nothing is pending"), "{run:?}");
    it.poison();
    let run = it.run(&["update", "usge", "--yes"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("skill `usage` from tiny-sql 0.3.2 waits"), "{run:?}");
    assert!(run.stderr.contains("did you mean `usage`?"), "{run:?}");
    assert!(it.lock().contains("0.3.1"), "nothing was accepted");
    // What is known and does not wait is no mistake.
    it.ok(&["update", "usage", "--yes"]);
    let run = it.ok(&["update", "usage"]);
    assert_eq!(run.stdout, "Nothing of `usage` is pending.\n");
}

#[test]
fn old_contents_that_no_lock_file_lists_are_pruned() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let contents = it.world.home().join("cache/contents");
    let count = || contents.read_dir_utf8().unwrap().count();
    let listed = count();
    it.publish("0.3.2", &crate::trust::OLD.replace("Prepare", "Always prepare"));
    it.upgrade();
    it.ok(&["update", "--yes"]);
    assert_eq!(count(), listed + 1, "the old text and the new one");
    it.ok(&["plugin", "cache", "prune"]);
    assert_eq!(count(), listed + 1, "somebody may go back to it");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(24 * 31);
    for file in contents.read_dir_utf8().unwrap().flatten() {
        let file = std::fs::File::options().write(true).open(file.path()).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let planned = it.json(&["plugin", "cache", "prune", "--dry-run"]);
    assert_eq!(planned["entries"][0]["kind"], "content", "{planned}");
    assert_eq!(count(), listed + 1);
    // What cannot be read may list anything.
    let lock = it.lock();
    it.world.sample.write("agents.lock", "<<<<<<< HEAD\n");
    it.ok(&["plugin", "cache", "prune"]);
    assert_eq!(count(), listed + 1);
    it.world.sample.write("agents.lock", &lock);
    it.ok(&["plugin", "cache", "prune"]);
    assert_eq!(count(), listed);
    it.ok(&["sync", "--locked"]);
}
