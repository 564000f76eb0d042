use super::*;

fn source(source: &str) -> SkillSource {
    demo(&format!("crates = [\"serde\"]\n[[skills]]\n{source}")).skills.remove(0).source
}

#[test]
fn skills_come_from_a_path_from_git_or_from_crates() {
    let path = |path: &str| SkillSource::Path(path.to_owned());
    assert_eq!(source("source.path = \"skills\""), path("skills"));
    assert_eq!(source("source = { path = \"../shared\" }"), path("../shared"));
    let git = SkillSource::Git("https://github.com/a/b".to_owned());
    assert_eq!(source("source.git = \"https://github.com/a/b\""), git);
    assert_eq!(source("source = \"crate\""), SkillSource::Crate { path: None });
    let inner = SkillSource::Crate { path: Some("docs/skills".to_owned()) };
    assert_eq!(source("source.crate_path = \"docs/skills\""), inner);
}

#[test]
fn a_group_without_a_source_contributes_nothing() {
    assert_eq!(source(""), SkillSource::Nothing);
    assert_eq!(source("source = {}"), SkillSource::Nothing);
}

#[test]
fn groups_stay_in_order() {
    let manifest = demo("[[skills]]\nsource.path = \"b\"\n[[skills]]\nsource.path = \"a\"");
    let sources: Vec<&SkillSource> = manifest.skills.iter().map(|group| &group.source).collect();
    let path = |path: &str| SkillSource::Path(path.to_owned());
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
