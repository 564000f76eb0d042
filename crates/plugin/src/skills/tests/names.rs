//! Whatever a file says its name is, it stays in its slot.

use super::*;

#[track_caller]
fn check(text: &str, expected: Option<&str>) {
    let name = SkillName::normalised(text);
    assert_eq!(name.as_ref().map(SkillName::as_str), expected, "{text:?}");
    if let Some(name) = name {
        assert_eq!(SkillName::new(name.as_str()), Some(name.clone()), "not stable: {name}");
    }
}

#[test]
fn good_names_are_kept() {
    for name in ["a", "7", "review-code", "a-1-b", &"x".repeat(64)] {
        assert_eq!(SkillName::new(name).unwrap().as_str(), name);
        check(name, Some(name));
    }
}

#[test]
fn other_names_are_made_good_or_refused() {
    for name in [
        "",
        "-",
        "A",
        "a_b",
        "a b",
        "-a",
        "a-",
        "a--b",
        "..",
        ".",
        "../../x",
        "/etc",
        "a/b",
        "a\\b",
        "con",
        "nul",
        "com1",
        "lpt9",
        "a\0b",
        "ä",
        "a.",
        "C:",
        "~",
        &"x".repeat(65),
    ] {
        assert_eq!(SkillName::new(name), None, "{name:?}");
    }
    check("../../x", Some("x"));
    check("/etc", Some("etc"));
    check("a/b", Some("ab"));
    check("C:\\Windows", Some("cwindows"));
    check("My  Skill_Name", Some("my-skill-name"));
    check("--a--", Some("a"));
    check("a - b", Some("a-b"));
    check("a\0b", Some("ab"));
    check("con", Some("con-skill"));
    check("NUL", Some("nul-skill"));
    check("com7", Some("com7-skill"));
    check("über", Some("ber"));
    check("İstanbul", Some("istanbul"));
    check(&"x".repeat(300), Some(&"x".repeat(64)));
    check(&format!("{} tail", "x".repeat(63)), Some(&"x".repeat(63)));
    for nothing in ["", " ", "..", "/", "日本語", "_-_", "\u{202e}", "\0"] {
        check(nothing, None);
    }
}

#[test]
fn a_hostile_name_in_a_file_never_becomes_a_path() {
    let world = World::new("");
    world.registry(
        "p/SYMPOSIUM.toml",
        "name = \"p\"\ncrates = \"*\"\n[[skills]]\nsource.path = \"s\"\n",
    );
    let long = "x".repeat(300);
    let names = [
        "../../x",
        "/etc",
        "a/b",
        "con",
        "''",
        "Über Skill",
        "日本語",
        "..",
        "C:x",
        "\"\\u202e\"",
        long.as_str(),
    ];
    for (at, name) in names.iter().enumerate() {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        world.registry(&format!("p/s/{at:02}/SKILL.md"), text);
    }
    let all = world.skills(Fetch::Never);
    for skill in &all.skills {
        assert_eq!(SkillName::new(skill.name.as_str()).as_ref(), Some(&skill.name));
        let inside = world.path("slots").join(skill.suffixed_name());
        assert_eq!(inside.components().count(), world.path("slots").components().count() + 1);
    }
    insta::assert_snapshot!(world.show(&all).replace(&"x".repeat(64), "<64>"), @r"
    ber-skill from `p/s/05` of registry `r` by p
    con-skill from `p/s/03` of registry `r` by p
    cx from `p/s/08` of registry `r` by p
    <64> from `p/s/10` of registry `r` by p
    error: registry/p/s/00/SKILL.md: `../../x` cannot be the name of a skill
    error: registry/p/s/01/SKILL.md: `/etc` cannot be the name of a skill
    error: registry/p/s/02/SKILL.md: `a/b` cannot be the name of a skill
    warning: registry/p/s/03/SKILL.md: `con` cannot be the name of a skill; it is called `con-skill`
    error: registry/p/s/04/SKILL.md: `name` of a skill cannot be empty
    warning: registry/p/s/05/SKILL.md: `Über Skill` cannot be the name of a skill; it is called `ber-skill`
    error: registry/p/s/06/SKILL.md: `日本語` cannot be the name of a skill; it is left out
    error: registry/p/s/07/SKILL.md: `..` cannot be the name of a skill
    warning: registry/p/s/08/SKILL.md: `C:x` cannot be the name of a skill; it is called `cx`
    error: registry/p/s/09/SKILL.md: `\u{202e}` cannot be the name of a skill; it is left out
    warning: registry/p/s/10/SKILL.md: `<64>xxxxxxxxxxxxxxxx` cannot be the name of a skill; it is called `<64>`
    ");
}

proptest::proptest! {
    #[test]
    fn normalising_ends_in_a_good_name_or_none(text in "\\PC*") {
        if let Some(name) = SkillName::normalised(&text) {
            proptest::prop_assert_eq!(SkillName::new(name.as_str()), Some(name.clone()));
            proptest::prop_assert_eq!(SkillName::normalised(name.as_str()), Some(name));
        }
    }
}
