//! `cargo agents audit`: what is active, who has looked at it, and refusing what nobody has.

use std::process::{Child, Stdio};

use crate::{
    sync::tree,
    trust::{INSTALLED, OLD, Trusting},
};

#[test]
fn what_nobody_has_looked_at_is_refused_until_somebody_has() {
    let it = Trusting::new();
    let refused = it.run(&["sync", "--require-audit"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("skill `usage` from tiny-sql 0.3.1"), "{refused:?}");
    assert!(!it.path(".claude").exists() && !it.path("agents.lock").exists());
    it.ok(&["audit", "record", "usage", "--note", "harmless"]);
    it.ok(&["audit", "record", "tiny-sql", "--note", "no hooks", "--user"]);
    let records = it.read("agents-audits.toml");
    assert!(
        records.contains("who = \"ada\"") && records.contains("note = \"harmless\""),
        "{records}"
    );
    it.ok(&["sync", "--require-audit"]);
    assert_eq!(it.read(INSTALLED), OLD);
    let table = it.ok(&["audit"]).stdout;
    let row = table.lines().find(|line| line.starts_with("skill")).unwrap();
    assert!(row.contains("tiny-sql 0.3.1") && row.ends_with("ada"), "{table}");
    // The next version is another content.
    it.publish("0.3.2", &OLD.replace("Prepare", "Skip"));
    it.upgrade();
    it.ok(&["sync", "--require-audit"]);
    it.ok(&["update", "--yes"]);
    assert_eq!(it.run(&["sync", "--require-audit"]).code, Some(3));
}

#[test]
fn what_several_record_at_once_is_all_there() {
    let it = Trusting::new();
    let notes: Vec<String> = (0..8).map(|at| format!("note {at}")).collect();
    let record = |note: &String| {
        let mut command = it.world.command(&["audit", "record", "usage", "--note", note]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let writers: Vec<Child> = notes.iter().map(record).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let records = it.read("agents-audits.toml");
    let lost: Vec<&String> = notes.iter().filter(|note| !records.contains(*note)).collect();
    assert!(lost.is_empty(), "{lost:?} of\n{records}");
}

#[test]
fn programs_are_looked_at_too() {
    let it = Trusting::new();
    it.config("");
    it.world.sample.vendor().program("guard", "1.0.0", "");
    it.world.plugin(
        "p",
        "name = \"p\"\ncrates = [\"*\"]\n[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { source = \"cargo\", crate = \"guard\" }\n",
    );
    it.ok(&["audit", "record", "p", "--note", "read"]);
    // Nothing is known about a program that is nowhere, and it is not installed to find out.
    let refused = it.run(&["sync", "--require-audit"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("of which nothing is installed"), "{refused:?}");
    assert!(!it.world.home().join("cache/installations").exists());
    it.ok(&["sync"]);
    let refused = it.run(&["sync", "--require-audit"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let lock = it.lock();
    let name = lock.split("[[installation]]\nname = \"").nth(1).unwrap();
    let name = name.split('"').next().unwrap();
    assert!(
        refused.stderr.contains(&format!("installation `{name}` from guard 1.0.0")),
        "{refused:?}"
    );
    it.ok(&["audit", "record", name, "--note", "built from what I read"]);
    it.ok(&["sync", "--require-audit"]);
    let audit = it.json(&["audit"]);
    let rows = audit["active"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == "installation").unwrap();
    assert_eq!(row["records"][0]["note"], "built from what I read", "{row}");
    // On another machine it is installed on the strength of what is recorded, but no other version is.
    let installed = it.world.home().join("cache/installations");
    std::fs::remove_dir_all(&installed).unwrap();
    it.ok(&["sync", "--require-audit"]);
    it.world.sample.vendor().program("guard", "1.1.0", "");
    std::fs::remove_dir_all(&installed).unwrap();
    let refused = it.run(&["sync", "--require-audit"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("from guard 1.1.0"), "{refused:?}");
    assert_eq!(it.lock(), lock);
}

#[test]
fn records_of_others_count_and_are_kept_apart() {
    let (ours, theirs) = (Trusting::new(), Trusting::new());
    for name in ["usage", "tiny-sql"] {
        theirs.ok(&["audit", "record", name, "--note", "read"]);
    }
    let file = theirs.path("agents-audits.toml");
    // What an import that was killed had begun does not stay.
    let half = ours.world.home().join("audits/.writing-half");
    agents_testkit::scratch::write(&half, "[[aud");
    ours.ok(&["audit", "import", file.as_str()]);
    assert!(!half.exists());
    ours.ok(&["sync", "--require-audit"]);
    assert!(!ours.path("agents-audits.toml").exists());
    let audit = ours.json(&["audit"]);
    let rows = audit["active"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == "skill").unwrap();
    assert_eq!(row["records"][0]["origin"], file.as_str());
    // The same from a repository.
    let repo = agents_testkit::repo::Repo::init(ours.world.sample.scratch().path("audits"));
    repo.write("agents-audits.toml", theirs.read("agents-audits.toml"));
    repo.commit("records");
    let said = ours.ok(&["audit", "import", &repo.url()]).stdout;
    assert!(said.contains("2 records"), "{said}");
    assert_eq!(ours.run(&["audit", "import", "nowhere"]).code, Some(2));
}

#[test]
fn what_was_recorded_or_imported_is_told_as_a_document() {
    let (ours, theirs) = (Trusting::new(), Trusting::new());
    let written = theirs.json(&["audit", "record", "usage", "--note", "harmless"]);
    let file = theirs.path("agents-audits.toml");
    assert_eq!((&written["file"], written.get("origin")), (&file.as_str().into(), None));
    let record = &written["records"][0];
    assert_eq!((&record["what"], &record["who"]), (&"skill usage".into(), &"ada".into()));
    assert_eq!(record["note"], "harmless");
    theirs.ok(&["audit", "record", "tiny-sql", "--note", "no hooks"]);
    let imported = ours.json(&["audit", "import", file.as_str()]);
    assert_eq!(imported["origin"], file.as_str());
    let notes: Vec<_> =
        imported["records"].as_array().unwrap().iter().map(|it| it["note"].clone()).collect();
    assert_eq!(notes, ["harmless", "no hooks"]);
}

#[test]
fn what_is_missing_or_holds_no_records_is_a_usage_error_that_leaves_nothing() {
    let it = Trusting::new();
    let bytes = agents_testkit::scratch::write(&it.path("bytes.toml"), b"\xff\xfe");
    let broken = agents_testkit::scratch::write(&it.path("broken.toml"), "[[aud");
    let nowhere = it.path("nowhere/agents-audits.toml");
    let url = format!("file://{nowhere}");
    let before = tree(&it.world.home());
    for (from, said) in [
        (nowhere.as_str(), "neither a file nor a repository"),
        ("./nowhere.toml", "neither a file nor a repository"),
        (url.as_str(), "neither a file nor a repository"),
        (bytes.as_str(), "holds no valid records"),
        (broken.as_str(), "holds no valid records"),
    ] {
        let run = it.run(&["audit", "import", from]);
        assert_eq!(run.code, Some(2), "{from}: {run:?}");
        assert!(run.stderr.contains(said), "{from}: {run:?}");
    }
    assert_eq!(tree(&it.world.home()), before, "not even a lock");
}

#[test]
fn the_bill_of_materials_lists_what_has_a_content() {
    let it = Trusting::new();
    it.ok(&["sync"]);
    let bill = it.json(&["audit", "--sbom"]);
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    let components = bill["components"].as_array().unwrap();
    let skill = components.iter().find(|it| it["type"] == "data").unwrap();
    assert_eq!(skill["purl"], "pkg:cargo/tiny-sql@0.3.1");
    assert_eq!(skill["hashes"][0]["alg"], "BLAKE3");
    assert_eq!(it.ok(&["audit", "--sbom"]).stdout, it.ok(&["audit", "--sbom"]).stdout);
}
