use agents_testkit::scratch::Scratch;
use agents_workspace::CrateName;

use super::*;

const SKILL: &str = "---\nname: s\ndescription: d\n---\n";

/// What the crate `demo-crate` in `scratch` embeds.
fn look(scratch: &Scratch, owner: Owner) -> Scan {
    let mut scan = Scan::default();
    let name = CrateName::new("demo-crate");
    let origin = Origin::Crate(name, semver::Version::new(1, 2, 3));
    look_into(scratch.root(), "demo-crate", origin, owner, &mut Inputs::new(), &mut scan);
    scan
}

#[track_caller]
fn manifest(scratch: &Scratch) -> Manifest {
    let scan = look(scratch, Owner::Dependency);
    assert!(scan.invalid.is_empty(), "{:?}", scan.invalid);
    let [plugin] = scan.plugins.as_slice() else { panic!("{scan:?}") };
    plugin.manifest().unwrap().clone()
}

fn cargo_toml(metadata: &str) -> String {
    format!("[package]\nname = \"demo-crate\"\nversion = \"1.2.3\"\n{metadata}")
}

fn paths(manifest: &Manifest) -> Vec<(String, String)> {
    let groups = manifest.skills.iter().map(|group| match &group.source {
        ContentSource::Path(path) => (path.clone(), group.gate.to_string()),
        other => (format!("{other:?}"), String::new()),
    });
    groups.collect()
}

fn pair(path: &str, gate: &str) -> (String, String) {
    (path.to_owned(), gate.to_owned())
}

#[test]
fn most_crates_embed_nothing() {
    let scratch = Scratch::new();
    assert!(look(&scratch, Owner::Member).plugins.is_empty());
    scratch.write("Cargo.toml", cargo_toml(""));
    scratch.write("skills/README.md", "not a skill");
    scratch.write("src/lib.rs", "");
    let scan = look(&scratch, Owner::Member);
    assert!(scan.plugins.is_empty() && scan.invalid.is_empty() && scan.findings.is_empty());
}

#[test]
fn a_skills_directory_is_enough_and_the_plugin_is_called_like_the_crate() {
    for file in ["skills/SKILL.md", "skills/one/SKILL.md"] {
        let scratch = Scratch::new();
        scratch.write("Cargo.toml", cargo_toml(""));
        scratch.write(file, SKILL);
        let manifest = manifest(&scratch);
        assert_eq!(manifest.name.as_str(), "demo-crate");
        assert_eq!(paths(&manifest), [pair("skills", "")]);
        assert_eq!(manifest.gate, Gate::open());
    }
}

#[test]
fn metadata_may_say_everything_that_a_manifest_says() {
    let scratch = Scratch::new();
    scratch.write(
        "Cargo.toml",
        cargo_toml(
            "[[package.metadata.symposium.hooks]]\nname = \"h\"\nevent = \"Stop\"\n\
             command = { executable = \"x\" }\n",
        ),
    );
    let manifest = manifest(&scratch);
    assert_eq!(manifest.hooks.len(), 1);
    assert_eq!(manifest.name.as_str(), "demo-crate");
    let plugin = look(&scratch, Owner::Dependency).plugins.remove(0);
    assert_eq!(plugin.file, scratch.path("Cargo.toml"));
}

#[test]
fn the_manifest_is_laid_over_the_metadata() {
    let scratch = Scratch::new();
    let metadata = "[package.metadata.symposium]\nname = \"lower\"\ncrates = [\"a\"]\n\
                    [[package.metadata.symposium.skills]]\nsource.path = \"one\"\n";
    scratch.write("Cargo.toml", cargo_toml(metadata));
    scratch.write(
        "SYMPOSIUM.toml",
        "name = \"upper\"\ncrates = [\"b\"]\n[[skills]]\nsource.path = \"two\"\n",
    );
    let joined = manifest(&scratch);
    assert_eq!(joined.name.as_str(), "upper");
    assert_eq!(joined.gate.to_string(), "any(depends-on(a), depends-on(b))");
    assert_eq!(paths(&joined), [pair("one", ""), pair("two", "")]);
    let plugin = look(&scratch, Owner::Dependency).plugins.remove(0);
    assert_eq!(plugin.file, scratch.path("SYMPOSIUM.toml"));
}

#[test]
fn a_manifest_without_a_name_keeps_that_of_the_metadata() {
    let scratch = Scratch::new();
    scratch.write("Cargo.toml", cargo_toml("[package.metadata.symposium]\nname = \"given\"\n"));
    scratch.write("SYMPOSIUM.toml", "crates = [\"b\"]\n");
    assert_eq!(manifest(&scratch).name.as_str(), "given");
}

#[test]
fn a_wrong_layer_is_left_out_and_reported_and_the_other_stands() {
    let scratch = Scratch::new();
    scratch.write("Cargo.toml", cargo_toml("[package.metadata.symposium]\ncrats = [\"a\"]\n"));
    scratch.write("SYMPOSIUM.toml", "crates = [\"b\"]\n");
    let scan = look(&scratch, Owner::Dependency);
    assert_eq!(scan.plugins[0].gate.to_string(), "depends-on(b)");
    let [invalid] = scan.invalid.as_slice() else { panic!("{scan:?}") };
    assert_eq!(invalid.file, scratch.path("Cargo.toml"));
    let message = "unknown key `crats` in [package.metadata.symposium]";
    assert_eq!(invalid.findings[0].message, message);

    scratch.write("Cargo.toml", cargo_toml("[package.metadata.symposium]\ncrates = [\"a\"]\n"));
    scratch.write("SYMPOSIUM.toml", "crates = [");
    let scan = look(&scratch, Owner::Dependency);
    assert_eq!(scan.plugins[0].gate.to_string(), "depends-on(a)");
    assert_eq!(scan.plugins[0].file, scratch.path("Cargo.toml"));
    assert_eq!(scan.invalid[0].file, scratch.path("SYMPOSIUM.toml"));
}

#[test]
fn a_crate_whose_only_layer_is_wrong_still_has_its_skills() {
    let scratch = Scratch::new();
    scratch.write("SYMPOSIUM.toml", "crates = [");
    scratch.write("skills/a/SKILL.md", SKILL);
    let scan = look(&scratch, Owner::Dependency);
    assert_eq!(scan.plugins.len(), 1);
    assert_eq!(scan.invalid.len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_reported() {
    let scratch = Scratch::new();
    let file = scratch.write("SYMPOSIUM.toml", b"\xff");
    let scan = look(&scratch, Owner::Dependency);
    assert!(scan.plugins.is_empty());
    let [invalid] = scan.invalid.as_slice() else { panic!("{scan:?}") };
    assert_eq!(invalid.file, file);
    let message = format!("cannot be read: `{file}` is not valid UTF-8");
    assert_eq!(invalid.findings[0].message, message);
}

#[test]
fn the_default_directory_can_be_opted_out_of() {
    for metadata in [
        "[package.metadata.symposium]\nskills = []\n",
        "[package.metadata.symposium.defaults]\nskills = false\n",
    ] {
        let scratch = Scratch::new();
        scratch.write("Cargo.toml", cargo_toml(metadata));
        scratch.write("skills/a/SKILL.md", SKILL);
        assert_eq!(paths(&manifest(&scratch)), [], "{metadata}");
    }
}

#[test]
fn the_older_list_replaces_the_default_directory() {
    let scratch = Scratch::new();
    let list = "[package.metadata.symposium]\n\
                skills = [{ path = \"guides\" }, { crate = { name = \"other\" } }]\n";
    scratch.write("Cargo.toml", cargo_toml(list));
    scratch.write("skills/a/SKILL.md", SKILL);
    let manifest = manifest(&scratch);
    assert_eq!(paths(&manifest), [pair("guides", "")]);
    let other = SkillEntry::Crate { name: CrateName::new("other"), version: None };
    assert_eq!(
        manifest.crate_skills,
        CrateSkills::Listed(vec![SkillEntry::Path("guides".to_owned()), other])
    );
}

#[test]
fn groups_of_a_crate_join_the_default_one() {
    let scratch = Scratch::new();
    scratch.write("SYMPOSIUM.toml", "[[skills]]\ncrates = [\"a\"]\nsource.path = \"extra\"\n");
    scratch.write("skills/a/SKILL.md", SKILL);
    assert_eq!(paths(&manifest(&scratch)), [pair("extra", "depends-on(a)"), pair("skills", "")]);
}

#[test]
fn the_agents_directory_is_for_members_only() {
    let scratch = Scratch::new();
    scratch.write(".agents/skills/a/SKILL.md", SKILL);
    assert!(look(&scratch, Owner::Dependency).plugins.is_empty());
    let member = look(&scratch, Owner::Member).plugins.remove(0).manifest().unwrap().clone();
    assert_eq!(paths(&member), [pair(".agents/skills", "workspace-member()")]);
}

#[test]
fn what_was_installed_into_a_member_makes_no_plugin_of_it() {
    let scratch = Scratch::new();
    scratch.write(".agents/skills/usage/SKILL.md", SKILL);
    scratch.write(".agents/skills/usage/.symposium", "");
    assert!(look(&scratch, Owner::Member).plugins.is_empty());
    scratch.write(".agents/skills/own/SKILL.md", SKILL);
    assert_eq!(look(&scratch, Owner::Member).plugins.len(), 1);
}

#[test]
fn an_embedded_plugin_needs_no_gate_to_wake() {
    let scratch = Scratch::new();
    scratch.write("SYMPOSIUM.toml", "");
    let plugin = look(&scratch, Owner::Dependency).plugins.remove(0);
    assert_eq!(plugin.waking, crate::plugin::Waking::ByItself);
    assert_eq!(plugin.name.as_str(), "demo-crate");
}
