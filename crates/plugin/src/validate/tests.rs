use agents_testkit::scratch::Scratch;

use super::*;

const SKILL: &str = "---\nname: a-skill\ndescription: d\ncrates: serde\n---\nbody\n";

/// What was checked below `dir`, as `path kind: severity message; …`.
fn check(scratch: &Scratch, dir: &str) -> Vec<String> {
    let at = if dir.is_empty() { scratch.root().to_owned() } else { scratch.path(dir) };
    let shown = validate(&at).unwrap().into_iter().map(|checked| {
        let file = checked.file.strip_prefix(scratch.root()).unwrap();
        let findings: Vec<String> = checked
            .findings
            .iter()
            .map(|finding| format!("{:?} {}", finding.severity, finding.message))
            .collect();
        let findings = findings.join("; ").replace(&format!("{}/", scratch.root()), "");
        let findings = if findings.is_empty() { "-" } else { &findings };
        let valid = if checked.is_valid() { "ok" } else { "bad" };
        format!("{file} {:?} {valid}: {findings}", checked.kind)
    });
    shown.collect()
}

#[test]
fn a_registry_is_checked_entry_by_entry() {
    let scratch = Scratch::new();
    scratch.write(
        "good/SYMPOSIUM.toml",
        "name = \"good\"\ncrates = \"*\"\n[[skills]]\nsource.path = \"s\"\n",
    );
    scratch.write("good/s/one/SKILL.md", "---\nname: one\ndescription: d\n---\n");
    scratch.write("good/s/two/SKILL.md", "---\nname: two\n---\n");
    scratch
        .write("bad/SYMPOSIUM.toml", "name = \"bad\"\n[[hooks]]\nname = \"h\"\nevent = \"Stop\"\n");
    scratch.write("skill/SKILL.md", SKILL);
    scratch.write("wrong/SKILL.md", "no header");
    insta::assert_snapshot!(check(&scratch, "").join("\n"), @r#"
    bad/SYMPOSIUM.toml Plugin bad: Error `command` is missing in [[hooks]]
    good/SYMPOSIUM.toml Plugin ok: -
    good/s/one/SKILL.md Skill ok: -
    good/s/two/SKILL.md Skill bad: Error `description` is missing in the header of the skill
    skill/SKILL.md Skill ok: -
    wrong/SKILL.md Skill bad: Error a skill starts with a header between two `---` lines
    "#);
}

#[test]
fn a_skill_needs_a_name_and_good_crates() {
    let scratch = Scratch::new();
    scratch.write("a/SKILL.md", "---\ndescription: d\ncrates: serde\n---\n");
    scratch.write("b/SKILL.md", "---\nname: b\ndescription: d\ncrates: a/b\n---\n");
    scratch.write("c/SKILL.md", "---\nname: Use C\ndescription: d\ncrates: serde\n---\n");
    scratch.write("d/SKILL.md", "---\nname: ../..\ndescription: d\ncrates: serde\n---\n");
    assert_eq!(
        check(&scratch, ""),
        [
            "a/SKILL.md Skill bad: Error `name` is missing in the header of the skill",
            "b/SKILL.md Skill bad: Error `a/b` is not a crate name: only letters, digits, `-` and `_`",
            "c/SKILL.md Skill ok: Warning `Use C` cannot be the name of a skill; it is called `use-c`",
            "d/SKILL.md Skill bad: Error `../..` cannot be the name of a skill",
        ]
    );
}

#[test]
fn a_plugin_without_a_crate_is_warned_about_and_valid() {
    let scratch = Scratch::new();
    scratch.write("p/SYMPOSIUM.toml", "name = \"p\"\n");
    scratch.write("s/SKILL.md", "---\nname: s\ndescription: d\n---\n");
    let sleeps = "Warning it names no crate, so it sleeps until `[plugins] use` names it";
    assert_eq!(
        check(&scratch, ""),
        [format!("p/SYMPOSIUM.toml Plugin ok: {sleeps}"), format!("s/SKILL.md Skill ok: {sleeps}")]
    );
}

#[test]
fn a_skill_of_a_crate_applies_where_the_crate_does() {
    let scratch = Scratch::new();
    scratch.write("k/Cargo.toml", "[package]\nname = \"k\"\nversion = \"0.1.0\"\n");
    scratch.write("k/skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\n");
    assert_eq!(check(&scratch, "k/skills/s/SKILL.md"), ["k/skills/s/SKILL.md Skill ok: -"]);
    assert_eq!(check(&scratch, "k/skills/s"), ["k/skills/s/SKILL.md Skill ok: -"]);
}

#[test]
fn one_directory_or_file_can_be_checked_too() {
    let scratch = Scratch::new();
    scratch.write("p/SYMPOSIUM.toml", "name = \"p\"\ncrates = \"*\"\n");
    scratch.write("q/any-name.toml", "name = \"q\"\ncrates = \"*\"\n");
    scratch.write("s/SKILL.md", SKILL);
    assert_eq!(check(&scratch, "p"), ["p/SYMPOSIUM.toml Plugin ok: -"]);
    assert_eq!(check(&scratch, "p/SYMPOSIUM.toml"), ["p/SYMPOSIUM.toml Plugin ok: -"]);
    assert_eq!(check(&scratch, "q/any-name.toml"), ["q/any-name.toml Plugin ok: -"]);
    assert_eq!(check(&scratch, "s/SKILL.md"), ["s/SKILL.md Skill ok: -"]);
}

#[test]
fn where_nothing_is_there_is_nothing_to_check() {
    let scratch = Scratch::new();
    scratch.write("Cargo.toml", "[package]\nname = \"c\"\n");
    fs_err::create_dir_all(scratch.path("empty")).unwrap();
    assert_eq!(check(&scratch, "empty"), [""; 0]);
    assert_eq!(check(&scratch, "Cargo.toml"), [""; 0]);
    let error = validate(&scratch.path("missing")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn the_metadata_of_a_crate_is_checked() {
    let scratch = Scratch::new();
    scratch
        .write("Cargo.toml", "[package]\nname = \"c\"\n[package.metadata.symposium]\ncrats = []\n");
    assert_eq!(
        check(&scratch, "Cargo.toml"),
        ["Cargo.toml Plugin bad: Error unknown key `crats` in [package.metadata.symposium]"]
    );
}

#[test]
fn the_manifest_of_a_crate_may_leave_out_what_only_a_registry_needs() {
    let scratch = Scratch::new();
    scratch.write("Cargo.toml", "[package]\nname = \"c\"\n");
    scratch.write("SYMPOSIUM.toml", "[defaults]\nskills = false\n");
    assert_eq!(check(&scratch, ""), ["SYMPOSIUM.toml Plugin ok: -"]);
    assert_eq!(check(&scratch, "SYMPOSIUM.toml"), ["SYMPOSIUM.toml Plugin ok: -"]);
    scratch.write("SYMPOSIUM.toml", "skils = []\n");
    assert_eq!(check(&scratch, ""), ["SYMPOSIUM.toml Plugin bad: Error unknown key `skils`"]);
}

#[test]
fn a_group_without_skills_is_warned_about() {
    let scratch = Scratch::new();
    let groups = "[[skills]]\nsource.path = \"missing\"\n[[skills]]\nsource = \"crate\"\n";
    scratch.write("p/SYMPOSIUM.toml", format!("name = \"p\"\ncrates = \"serde\"\n{groups}"));
    assert_eq!(
        check(&scratch, "p"),
        ["p/SYMPOSIUM.toml Plugin ok: Warning there is no `SKILL.md` in `missing`"]
    );
}

#[test]
fn the_skills_of_a_plugin_at_its_own_place_are_shown_without_detours() {
    let scratch = Scratch::new();
    scratch.write(
        "p/SYMPOSIUM.toml",
        "name = \"p\"\ncrates = \"*\"\n[[skills]]\nsource.path = \".\"\n",
    );
    scratch.write("p/s/SKILL.md", SKILL);
    assert_eq!(check(&scratch, "p"), ["p/SYMPOSIUM.toml Plugin ok: -", "p/s/SKILL.md Skill ok: -"]);
}

#[test]
fn names_that_are_taken_by_another_file_are_warned_about() {
    let scratch = Scratch::new();
    let manifest = |name: &str| {
        format!(
            "name = \"{name}\"\ncrates = \"*\"\n\
             [subcommand.fmt]\ndescription = \"d\"\ncommand = {{ executable = \"x\" }}\n\
             [[predicate]]\nname = \"p\"\ncommand = {{ executable = \"x\" }}\n"
        )
    };
    scratch.write("a/SYMPOSIUM.toml", manifest("my-plugin"));
    scratch.write("b/SYMPOSIUM.toml", manifest("my_plugin"));
    let line = |file: &str, other: &str| {
        format!(
            "{file}/SYMPOSIUM.toml Plugin ok: \
             Warning the plugin `my-plugin` is also defined in {other}/SYMPOSIUM.toml; \
             Warning the predicate `p` is also defined in {other}/SYMPOSIUM.toml; \
             Warning the subcommand `fmt` is also defined in {other}/SYMPOSIUM.toml"
        )
    };
    assert_eq!(check(&scratch, ""), [line("a", "b"), line("b", "a")]);
}

#[test]
fn a_file_that_is_no_text_is_an_error_of_its_entry() {
    let scratch = Scratch::new();
    let file = scratch.write("p/SYMPOSIUM.toml", b"\xff");
    scratch.write("q/SYMPOSIUM.toml", "name = \"q\"\ncrates = \"*\"\n");
    let checked = check(&scratch, "");
    assert_eq!(checked.len(), 2, "{checked:?}");
    assert!(checked[0].contains("is not valid UTF-8"), "{checked:?}");
    assert!(validate(&file).is_err());
}

#[test]
fn the_crates_that_a_manifest_names_can_be_collected() {
    let scratch = Scratch::new();
    scratch.write(
        "p/SYMPOSIUM.toml",
        "name = \"p\"\ncrates = [\"serde>=1\", \"*\"]\n[[skills]]\npredicates = [\"not(crate(tokio))\"]\n",
    );
    scratch.write("bad/SYMPOSIUM.toml", "crates = [\"hidden\"]\n");
    let checked = validate(scratch.root()).unwrap();
    let manifests = checked.iter().filter_map(|checked| checked.manifest.as_ref());
    let gates = manifests.flat_map(Manifest::gates);
    let names: Vec<&str> =
        gates.flat_map(|gate| gate.crates()).map(agents_workspace::CrateName::as_str).collect();
    assert_eq!(names, ["serde", "tokio"]);
}

#[test]
fn a_group_of_agents_without_its_directory_is_warned_about() {
    let scratch = Scratch::new();
    let groups = "[[agents]]\nsource.path = \"missing\"\n[[agents]]\nsource.path = \"team\"\n";
    scratch.write("p/SYMPOSIUM.toml", format!("name = \"p\"\ncrates = \"serde\"\n{groups}"));
    scratch.write("p/team/a.md", "");
    assert_eq!(
        check(&scratch, "p"),
        ["p/SYMPOSIUM.toml Plugin ok: Warning there is no directory `missing` for agents"]
    );
}
