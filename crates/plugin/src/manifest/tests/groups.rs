use super::*;

fn source(source: &str) -> ContentSource {
    demo(&format!("crates = [\"serde\"]\n[[skills]]\n{source}")).skills.remove(0).source
}

#[test]
fn skills_come_from_a_path_from_git_or_from_crates() {
    let path = |path: &str| ContentSource::Path(path.to_owned());
    assert_eq!(source("source.path = \"skills\""), path("skills"));
    assert_eq!(source("source = { path = \"../shared\" }"), path("../shared"));
    let git = ContentSource::Git("https://github.com/a/b".to_owned());
    assert_eq!(source("source.git = \"https://github.com/a/b\""), git);
    assert_eq!(source("source = \"crate\""), ContentSource::Crate { path: None });
    let inner = ContentSource::Crate { path: Some("docs/skills".to_owned()) };
    assert_eq!(source("source.crate_path = \"docs/skills\""), inner);
}

#[test]
fn a_group_without_a_source_contributes_nothing() {
    assert_eq!(source(""), ContentSource::Nothing);
    assert_eq!(source("source = {}"), ContentSource::Nothing);
}

#[test]
fn groups_stay_in_order() {
    let manifest = demo("[[skills]]\nsource.path = \"b\"\n[[skills]]\nsource.path = \"a\"");
    let sources: Vec<&ContentSource> = manifest.skills.iter().map(|group| &group.source).collect();
    let path = |path: &str| ContentSource::Path(path.to_owned());
    assert_eq!(sources, [&path("b"), &path("a")]);
}

#[test]
fn a_path_stands_below_source_and_nowhere_else() {
    check_error("path = \"x\"", "unknown key `path`");
    check_error("[[skills]]\npath = \"x\"", "unknown key `path` in [[skills]]");
    check_error("[[skills]]\nsource.pth = \"x\"", "unknown key `pth` in [[skills]] source");
}

#[test]
fn there_is_one_place_per_group() {
    let message = "`path`, `git` and `crate_path` of a skill source are mutually exclusive";
    check_error("[[skills]]\nsource = { path = \"a\", git = \"b\" }", message);
    check_error(
        "crates = \"a\"\n[[skills]]\nsource = { git = \"b\", crate_path = \"c\" }",
        message,
    );
}

#[test]
fn other_spellings_are_explained() {
    check_error("[[skills]]\nsource = \"crates\"", "unknown source shorthand `crates`");
    check_error("[[skills]]\nsource.crate = \"serde\"", "`source.crate` is not supported");
    check_error(
        "[[skills]]\nsource = 3",
        "`source` must be `\"crate\"` or a table, not an integer",
    );
}

#[test]
fn skills_from_crates_need_a_gate_that_names_one() {
    let group = "[[skills]]\nsource = \"crate\"\n";
    let refused = "skills group 0 takes its skills from crates, but no gate names a concrete crate";
    for (plugin, own, fetchable) in [
        ("crates = [\"serde\"]", "", true),
        ("crates = [\"*\"]", "crates = [\"serde\"]", true),
        ("crates = [\"*\", \"serde\"]", "", true),
        ("predicates = [\"any(crate(a), crate(b))\"]", "", true),
        ("predicates = [\"chooses_crates()\"]", "", true),
        ("", "predicates = [\"crate(a)\"]", true),
        ("", "", false),
        ("crates = [\"*\"]", "", false),
        ("crates = [\"*\"]", "crates = [\"*\"]", false),
        ("predicates = [\"not(crate(a))\"]", "", false),
        ("predicates = [\"env(CI)\"]", "", false),
    ] {
        let (manifest, findings) = demo_with_findings(&format!("{plugin}\n{group}{own}"));
        assert_eq!(manifest.is_some(), fetchable, "{plugin} {own}");
        let expected: &[&str] = if fetchable { &[] } else { &[refused] };
        assert_eq!(findings, expected, "{plugin} {own}");
    }
    let second = "crates = \"*\"\n[[skills]]\ncrates = \"a\"\nsource = \"crate\"\n[[skills]]\nsource.crate_path = \"s\"";
    check_error(second, &refused.replace('0', "1"));
}

#[test]
fn agents_have_the_sources_and_gates_of_skills() {
    let manifest = demo(
        "[[agents]]\ncrates = [\"serde>=1\"]\nsource = \"crate\"\n\
         [[agents]]\npredicates = [\"env(CI)\"]\nsource.path = \"team\"",
    );
    let shown: Vec<String> = manifest
        .agents
        .iter()
        .map(|group| format!("{} {}", group.gate, crate::explain::describe(&group.source)))
        .collect();
    assert_eq!(shown, ["depends-on(serde>=1) from the crates themselves", "env(CI) in team"]);
    assert!(manifest.wakes_by_itself(), "the gate of a group of agents names a crate");
    check_error("[[agents]]\nsource.pth = \"x\"", "unknown key `pth` in [[agents]] source");
    check_error(
        "[[agents]]\nsource = \"crate\"",
        "agents group 0 takes its agents from crates, but no gate names a concrete crate",
    );
    check_error(
        "[[agents]]\nsource = { path = \"a\", git = \"https://x.org/y\" }",
        "`path`, `git` and `crate_path` of an agent source are mutually exclusive",
    );
}
