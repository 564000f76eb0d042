//! A crate's `SYMPOSIUM.toml` over its `[package.metadata.symposium]`.

use super::*;

fn layer(text: &str) -> Manifest {
    let parsed = parse_as(Manner::Embedded, text);
    assert_eq!(parsed.findings, []);
    parsed.manifest.unwrap()
}

#[test]
fn lists_append_and_names_and_tables_of_the_upper_layer_win() {
    let subcommand = |name: &str, description: &str| {
        format!("[subcommand.{name}]\ndescription = \"{description}\"\ncommand = \"tool\"\n")
    };
    let tool =
        |program: &str| format!("[[installations]]\nname = \"tool\"\nexecutable = \"{program}\"\n");
    let lower = format!(
        "name = \"lower\"\n{}{}{}[[skills]]\nsource.path = \"a\"\n",
        tool("old"),
        subcommand("both", "lower"),
        subcommand("only-lower", "lower")
    );
    let upper = format!(
        "name = \"upper\"\n{}{}[[skills]]\nsource.path = \"b\"\n",
        tool("new"),
        subcommand("both", "upper")
    );
    let joined = layer(&lower).overlaid_by(layer(&upper));
    assert_eq!(joined.name.as_str(), "upper");
    let paths: Vec<&ContentSource> = joined.skills.iter().map(|group| &group.source).collect();
    let path = |path: &str| ContentSource::Path(path.to_owned());
    assert_eq!(paths, [&path("a"), &path("b")]);
    let descriptions: Vec<&str> =
        joined.subcommands.values().map(|subcommand| subcommand.description.as_str()).collect();
    assert_eq!(descriptions, ["upper", "lower"]);
    let entry = joined.installations[&InstallationName::new("tool")].entry.clone();
    assert_eq!(entry, Some(agents_install::Entry::Executable("new".to_owned())));
}

#[test]
fn crates_join_as_alternatives_and_predicates_add_up() {
    for (lower, upper, joined) in [
        ("", "", ""),
        ("crates = \"a\"", "", "depends-on(a)"),
        ("", "crates = \"a\"", "depends-on(a)"),
        ("crates = \"a\"", "crates = \"b\"", "any(depends-on(a), depends-on(b))"),
        (
            "crates = [\"a\", \"b\"]",
            "crates = \"c\"",
            "any(depends-on(a), depends-on(b), depends-on(c))",
        ),
        (
            "crates = \"a\"\npredicates = [\"env(A)\"]",
            "crates = \"b\"\npredicates = [\"env(B)\"]",
            "any(depends-on(a), depends-on(b)), env(A), env(B)",
        ),
        ("predicates = [\"env(A)\"]", "crates = \"b\"", "depends-on(b), env(A)"),
    ] {
        let found = layer(lower).overlaid_by(layer(upper)).gate.to_string();
        assert_eq!(found, joined, "{lower} + {upper}");
    }
}

#[test]
fn a_crate_among_the_predicates_stays_a_condition() {
    let both = "crates = \"a\"\npredicates = [\"crate(b)\"]";
    assert_eq!(layer(both).overlaid_by(layer("")).gate.to_string(), "depends-on(a), depends-on(b)");
    assert_eq!(
        layer(both).overlaid_by(layer("crates = \"c\"")).gate.to_string(),
        "any(depends-on(a), depends-on(c)), depends-on(b)"
    );
}

#[test]
fn what_a_layer_says_about_default_skills_stays_said() {
    let off = "[defaults]\nskills = false";
    assert_eq!(layer(off).overlaid_by(layer("")).default_skills, DefaultSkills::Off);
    assert_eq!(layer("").overlaid_by(layer(off)).default_skills, DefaultSkills::Off);
    let listed = layer("skills = [{ path = \"a\" }]");
    assert_ne!(listed.crate_skills, CrateSkills::Unsaid);
    assert_eq!(listed.clone().overlaid_by(layer("")).crate_skills, listed.crate_skills);
    assert_eq!(layer("").overlaid_by(listed.clone()).crate_skills, listed.crate_skills);
}

#[test]
fn a_crate_among_the_predicates_stays_a_condition_when_layers_join() {
    use crate::predicate::Gate;
    let lower = Gate::new(Vec::new(), vec!["crate(a)".parse().unwrap()]);
    let upper = Gate::new(vec!["b".parse().unwrap()], Vec::new());
    assert_eq!(lower.joined_with(upper).to_string(), "depends-on(b), depends-on(a)");
}
