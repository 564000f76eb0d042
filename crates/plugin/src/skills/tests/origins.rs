//! What is the same skill, and what is not.

use agents_workspace::CrateName;

use super::*;

const SHARED: &str = "crates = \"*\"\n[[skills]]\nsource.path = \"../shared\"\n";

#[test]
fn one_directory_named_by_two_plugins_is_one_skill() {
    let world = World::new("");
    world.registry("p/SYMPOSIUM.toml", format!("name = \"p\"\n{SHARED}"));
    world.registry("q/SYMPOSIUM.toml", format!("name = \"q\"\n{SHARED}"));
    // Without a crate it sleeps, so it is no third way.
    world.registry("shared/SKILL.md", skill("s"));
    assert_eq!(world.shown(), "s from `shared` of registry `r` by p, q");
}

#[test]
fn equal_names_from_different_places_are_different_skills() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/s", "s")]);
    let groups = "[[skills]]\nsource.path = \"one\"\n[[skills]]\nsource.path = \"two\"\n";
    world.registry("p/SYMPOSIUM.toml", format!("name = \"p\"\ncrates = \"*\"\n{groups}"));
    world.registry("p/one/SKILL.md", skill("s")).registry("p/two/SKILL.md", skill("s"));
    world.registry("q/SYMPOSIUM.toml", from_crates("q", "\"a\""));
    world.registry("alone/SKILL.md", skill("s").replace("---\nthe", "crates: a\n---\nthe"));
    let all = world.skills(Fetch::IfMissing);
    insta::assert_snapshot!(world.show(&all), @"
    s from `alone` of registry `r` by s
    s from `p/one` of registry `r` by p
    s from `p/two` of registry `r` by p
    s from crate a 1.0.0 by q
    ");
    let mut names: Vec<String> = all.skills.iter().map(Skill::suffixed_name).collect();
    names.dedup();
    assert_eq!(names.len(), 4);
    assert_eq!(names[3], "s-a-1.0.0");
}

#[test]
fn one_crate_cannot_have_two_skills_of_one_name() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/b", "s"), ("skills/a", "s")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    let all = world.skills(Fetch::IfMissing);
    assert_eq!(all.skills[0].dir, world.path("vendor/a-1.0.0/skills/a"));
    insta::assert_snapshot!(world.show(&all), @"
    s from crate a 1.0.0 by p
    warning: vendor/a-1.0.0/skills/b: crate a 1.0.0 has two skills `s`; this one is left out
    ");
}

#[test]
fn suffixes_are_stable_and_hold_no_separator() {
    let origins = [
        SkillOrigin::Crate { name: CrateName::new("a_b"), version: "1.2.3-rc.1".parse().unwrap() },
        SkillOrigin::Crate { name: CrateName::new("../x"), version: "1.0.0+b".parse().unwrap() },
        SkillOrigin::Git { url: "https://h/r".into(), commit: "c".into(), path: "a".into() },
        SkillOrigin::Path { registry: "r".into(), path: "a".into() },
        SkillOrigin::Member { path: "a".into() },
    ];
    let suffixes: Vec<String> = origins.iter().map(SkillOrigin::suffix).collect();
    insta::assert_snapshot!(suffixes.join("\n"), @"
    a_b-1.2.3-rc.1
    ..-x-1.0.0-b
    538c24c2
    e3f50a94
    46a237d1
    ");
}
