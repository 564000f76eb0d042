//! The four steps for skills that come from crates.

use super::*;

#[test]
fn a_crate_that_says_nothing_keeps_its_skills_in_skills() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/one", "one"), ("skills/deep/er/two", "two"), ("other", "no")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    insta::assert_snapshot!(world.shown(), @"
    one from crate a 1.0.0 by p
    two from crate a 1.0.0 by p
    ");
}

#[test]
fn a_crate_may_say_where_its_skills_are() {
    let world = World::new("a = \"1\"\nb = \"1\"");
    let paths = "{ path = \"guides\" }, { path = \"more/of\" }";
    world.krate(
        "a",
        &metadata(paths),
        &[("guides/one", "one"), ("more/of", "two"), ("skills/x", "no")],
    );
    world.krate("b", "", &[("elsewhere/three", "three"), ("skills/x", "no")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    world.registry(
        "q/SYMPOSIUM.toml",
        "name = \"q\"\ncrates = [\"b\"]\n[[skills]]\nsource.crate_path = \"elsewhere\"\n",
    );
    insta::assert_snapshot!(world.shown(), @"
    one from crate a 1.0.0 by p
    three from crate b 1.0.0 by q
    two from crate a 1.0.0 by p
    ");
}

#[test]
fn a_directory_that_the_plugin_names_must_be_in_one_of_the_crates() {
    let world = World::new("a = \"1\"\nb = \"1\"");
    world.krate("a", &metadata(""), &[("docs", "one")]).krate("b", "", &[("skills/x", "no")]);
    let plugin = |name: &str, path: &str| {
        let gate = "crates = [\"a\", \"b\"]";
        format!("name = \"{name}\"\n{gate}\n[[skills]]\nsource.crate_path = \"{path}\"\n")
    };
    world.registry("p/SYMPOSIUM.toml", plugin("p", "docs"));
    world.registry("q/SYMPOSIUM.toml", plugin("q", "gone"));
    insta::assert_snapshot!(world.shown(), @"
    one from crate a 1.0.0 by p
    - p: crate b 1.0.0: there are no skills in it
    - q: crate a 1.0.0: there are no skills in it
    - q: crate b 1.0.0: there are no skills in it
    warning: registry/q/SYMPOSIUM.toml: no crate here has the directory `gone` for skills
    ");
}

#[test]
#[cfg(unix)]
fn a_custom_predicate_may_name_the_crates() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/one", "one")]);
    world.krate("b", "", &[("skills/two", "older")]);
    world.version("b", "1.1.0", "", &[("skills/two", "newer")]);
    let said = r#"echo '{"selectedCrate": {"name": "b", "version": "1.0.0"}}'"#;
    world.sample.scratch().script("registry/p/pick", said);
    world.registry(
        "p/SYMPOSIUM.toml",
        "name = \"p\"\ncrates = \"*\"\npredicates = [\"pick()\"]\n[[skills]]\nsource = \"crate\"\n\
         [[predicate]]\nname = \"pick\"\ncommand = { executable = \"./pick\" }\n",
    );
    let all = world.skills(Fetch::IfMissing);
    assert_eq!(world.show(&all), "older from crate b 1.0.0 by p");
    assert_eq!(all.skills[0].because[0].0.as_str(), "b");
}

#[test]
fn redirects_are_followed_and_a_target_need_not_be_a_dependency() {
    let world = World::new("a = \"1\"");
    let entries = "{ crate = { name = \"b\" } }, { path = \"own\" }";
    world.krate("a", &metadata(entries), &[("own", "own"), ("skills/x", "no")]);
    world.krate("b", &metadata("{ crate = { name = \"c\", version = \"1\" } }"), &[]);
    world.krate("c", "", &[("skills/far", "far")]);
    world.version("c", "2.0.0", "", &[("skills/far", "too-far")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    insta::assert_snapshot!(world.shown(), @"
    far from crate c 1.0.0 by p
    own from crate a 1.0.0 by p
    ");
    // What cargo said is remembered, so nothing needs to be asked or fetched for the same answer.
    let again = world.skills_with("/nowhere/cargo", Fetch::Never);
    assert_eq!(again, world.skills(Fetch::IfMissing));
}

#[test]
fn a_redirect_takes_the_version_that_the_workspace_pins_however_deep() {
    let world = World::new("a = \"1\"");
    let rest =
        format!("{}[dependencies]\nc = \"=1.0.0\"", metadata("{ crate = { name = \"c\" } }"));
    world.krate("a", &rest, &[]);
    world.krate("c", "", &[("skills/s", "pinned")]);
    world.version("c", "1.5.0", "", &[("skills/s", "newest")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    assert_eq!(world.shown(), "pinned from crate c 1.0.0 by p");
    // Another lock file, another answer, although the direct dependencies are the same.
    let rest = rest.replace("=1.0.0", "=1.5.0");
    world.krate("a", &rest, &[]);
    fs_err::remove_file(world.sample.path("Cargo.lock")).unwrap();
    assert_eq!(world.shown(), "newest from crate c 1.5.0 by p");
}

#[test]
fn circles_end_and_paths_on_them_count() {
    let world = World::new("a = \"1\"\nlong-name = \"1\"\nme = \"1\"");
    world.krate("a", &metadata("{ crate = { name = \"b\" } }, { path = \"s\" }"), &[("s", "one")]);
    world.krate("b", &metadata("{ crate = { name = \"a\" } }"), &[]);
    let entries = "{ path = \"s\" }, { crate = { name = \"long_name\" } }";
    world.krate("long-name", &metadata(entries), &[("s", "two")]);
    let entries = "{ crate = { name = \"me\", version = \">=1\" } }, { path = \"s\" }";
    world.krate("me", &metadata(entries), &[("s", "three")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\", \"long_name\", \"me\""));
    insta::assert_snapshot!(world.shown(), @"
    one from crate a 1.0.0 by p
    three from crate me 1.0.0 by p
    two from crate long-name 1.0.0 by p
    warning: crates redirect their skills in a circle: a -> b -> a
    warning: crates redirect their skills in a circle: long-name -> long-name
    warning: crates redirect their skills in a circle: me -> me
    ");
}

#[test]
fn ten_crates_in_a_row_are_enough() {
    let world = World::new("c0 = \"1\"");
    for at in 0..12 {
        let next = format!("{{ crate = {{ name = \"c{}\" }} }}, {{ path = \"s\" }}", at + 1);
        world.krate(&format!("c{at}"), &metadata(&next), &[("s", &format!("skill-{at}"))]);
    }
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"c0\""));
    let all = world.skills(Fetch::IfMissing);
    assert_eq!(all.skills.len(), 10);
    let [finding] = all.findings.as_slice() else { panic!("{:?}", all.findings) };
    assert!(finding.message.contains("more than 10 deep: c0 -> c1 -> "), "{finding:?}");
}

#[test]
fn a_crate_may_opt_out_and_so_may_the_target_of_a_redirect() {
    let world = World::new("a = \"1\"\nb = \"1\"\nd = \"1\"\ne = \"1\"");
    world.krate("a", &metadata(""), &[("skills/x", "no")]);
    world.krate("b", &metadata("{ crate = { name = \"c\" } }"), &[("skills/x", "no")]);
    world.krate("c", &metadata(""), &[("skills/x", "no")]);
    let off = "[package.metadata.symposium.defaults]\nskills = false\n";
    world.krate("d", off, &[("skills/x", "no")]);
    world.krate("e", "", &[("skills/x", "no")]);
    write(&world.path("vendor/e-1.0.0/SYMPOSIUM.toml"), "skills = []\n");
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\", \"b\", \"d\", \"e\""));
    insta::assert_snapshot!(world.shown(), @"
    - p: crate a 1.0.0: the crate says that it has no skills
    - p: crate c 1.0.0: the crate says that it has no skills
    - p: crate d 1.0.0: the crate says that it has no skills
    - p: crate e 1.0.0: the crate says that it has no skills
    ");
}

#[test]
fn two_ways_to_one_crate_are_one_skill() {
    let world = World::new("a = \"1\"\nd = \"1\"");
    let both = "{ crate = { name = \"b\" } }, { crate = { name = \"c\" } }";
    world.krate("a", &metadata(both), &[]);
    world.krate("b", &metadata("{ crate = { name = \"d\" } }"), &[]);
    world.krate("c", &metadata("{ crate = { name = \"d\", version = \"1\" } }"), &[]);
    world.krate("d", "", &[("skills/s", "shared")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\", \"d\""));
    assert_eq!(world.shown(), "shared from crate d 1.0.0 by p");
}

#[test]
fn what_is_malformed_is_reported_and_counts_as_nothing() {
    for table in [
        "[package.metadata.symposium]\nskills = [{ path = \"s\", crate = { name = \"b\" } }]",
        "[package.metadata.symposium]\nskills = [{ nothing = 1 }]",
        "[package.metadata.symposium]\nskills = [{ path = \"s\", more = 1 }]",
        "[package.metadata.symposium]\nskills = 7",
        "[package.metadata]\nsymposium = \"text\"",
    ] {
        let world = World::new("a = \"1\"");
        world.krate("a", table, &[("skills/one", "one"), ("s", "no")]);
        world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
        let all = world.skills(Fetch::IfMissing);
        let names: Vec<&str> = all.skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["one"], "{table}");
        let [finding] = all.findings.as_slice() else { panic!("{table}: {:?}", all.findings) };
        assert_eq!(finding.severity, agents_system::finding::Severity::Warning);
        assert_eq!(finding.place.as_ref().unwrap().file, world.path("vendor/a-1.0.0/Cargo.toml"));
    }
}

#[test]
fn a_redirect_that_leads_nowhere_is_reported_and_the_rest_stands() {
    let world = World::new("a = \"1\"");
    let entries = "{ crate = { name = \"no-such\" } }, { crate = { name = \"b\", version = \"one\" } }, \
                   { crate = { name = \"../b\" } }, { path = \"s\" }";
    world.krate("a", &metadata(entries), &[("s", "one")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    insta::assert_snapshot!(world.shown(), @"
    one from crate a 1.0.0 by p
    warning: the sources of crate `no-such` could not be had: there is no crate `no-such`
    warning: crate `a` takes skills from `b` in version `one`, which means nothing: unexpected character 'o' while parsing major version number
    warning: the sources of crate `../b` could not be had: `../b` is not the name of a crate
    ");
}

#[test]
fn a_directory_that_is_missing_or_outside_is_no_error() {
    let world = World::new("a = \"1\"\nb = \"1\"");
    let entries = "{ path = \"gone\" }, { path = \"../b-1.0.0/skills\" }, { path = \"/tmp\" }, { path = \"s\" }";
    world.krate("a", &metadata(entries), &[("s", "one")]);
    world.krate("b", "", &[("skills/x", "no")]);
    world.krate("c", "", &[]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    insta::assert_snapshot!(world.shown(), @"
    one from crate a 1.0.0 by p
    - p: crate a 1.0.0: there are no skills in it
    warning: vendor/a-1.0.0/Cargo.toml: crate a 1.0.0 has no directory `gone` for skills
    warning: vendor/a-1.0.0/Cargo.toml: `../b-1.0.0/skills` leads out of crate a 1.0.0; its skills are left out
    warning: vendor/a-1.0.0/Cargo.toml: `/tmp` leads out of crate a 1.0.0; its skills are left out
    ");
}

#[test]
fn patched_crates_and_path_dependencies_are_read_where_they_are() {
    let world = World::new(
        "a = \"1\"\nb = { path = \"../b\" }\n[patch.crates-io]\na = { path = \"fork\" }\n[workspace]\nexclude = [\"fork\"]",
    );
    world.krate("a", "", &[("skills/x", "published")]);
    world.sample.package("fork", "a", "1.7.0", "");
    world.sample.write("fork/skills/s/SKILL.md", &skill("patched"));
    world.sample.package("../b", "b", "0.2.0", &metadata("{ path = \"s\" }"));
    world.sample.write("../b/s/SKILL.md", &skill("beside"));
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\", \"b\""));
    world.sample.lock();
    insta::assert_snapshot!(world.show(&world.skills_with("/nowhere/cargo", Fetch::Never)), @"
    beside from crate b 0.2.0 by p
    patched from crate a 1.7.0 by p
    ");
}

#[test]
fn two_versions_of_a_crate_are_two_origins() {
    let world = World::new("a = \"1\"\nold = { package = \"a\", version = \"0.3\" }");
    world.krate("a", "", &[("skills/s", "s")]);
    world.version("a", "0.3.0", "", &[("skills/s", "s")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    let all = world.skills(Fetch::IfMissing);
    let names: Vec<String> = all.skills.iter().map(Skill::suffixed_name).collect();
    assert_eq!(names, ["s-a-0.3.0", "s-a-1.0.0"]);
    assert_eq!(all.skills[0].because.len(), 2);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a<1\""));
    assert_eq!(world.shown(), "s from crate a 0.3.0 by p");
}

#[test]
fn what_the_user_turned_off_stays_off_whoever_names_it() {
    let world = World::new("a = \"1\"\nb = \"1\"");
    world.krate("a", &metadata("{ crate = { name = \"b\" } }"), &[]);
    world.krate("b", "", &[("skills/x", "no")]);
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\", \"b\""));
    world.config("[plugins]\ndisable = [\"b\"]");
    assert_eq!(world.shown(), "- p: crate b: `[plugins] disable` names it");
}

#[test]
#[cfg(unix)]
fn without_fetching_nothing_is_started_and_what_is_missing_is_said() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/s", "s")]);
    let repo = Repo::init(world.path("repo"));
    repo.write("SKILL.md", skill("g")).commit("one");
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    world.registry(
        "q/SYMPOSIUM.toml",
        format!("name = \"q\"\ncrates = \"*\"\n[[skills]]\nsource.git = \"{}\"\n", repo.url()),
    );
    world.sample.lock();
    let (cargo, log) = world.sample.recording_cargo();
    let never = world.skills_with(cargo.as_str(), Fetch::Never);
    insta::assert_snapshot!(world.show(&never), @"
    - p: crate a: it has not been fetched
    - q: from file://repo: it has not been fetched
    warning: the skills of crate `a` have not been fetched
    warning: the skills of file://repo have not been fetched
    ");
    assert!(!log.exists(), "cargo was started");
    let fetched = world.skills_with(cargo.as_str(), Fetch::IfMissing);
    assert_eq!(fetched.skills.len(), 2);
    assert!(log.exists());
    fs_err::remove_file(&log).unwrap();
    fs_err::rename(repo.dir(), world.path("moved")).unwrap();
    assert_eq!(world.skills_with(cargo.as_str(), Fetch::Never), fetched);
    assert_eq!(world.skills_with(cargo.as_str(), Fetch::IfMissing), fetched);
    assert!(!log.exists(), "cargo was started");
}

#[test]
#[cfg(unix)]
fn nothing_is_fetched_for_a_gate_that_does_not_hold() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[("skills/s", "s")]);
    world.sample.lock();
    world.registry(
        "p/SYMPOSIUM.toml",
        "name = \"p\"\ncrates = [\"a\"]\n[[skills]]\ncrates = [\"b\"]\nsource = \"crate\"\n\
         [[skills]]\npredicates = [\"env(NOT_SET_AT_ALL)\"]\nsource.git = \"file:///nowhere\"\n",
    );
    let (cargo, log) = world.sample.recording_cargo();
    insta::assert_snapshot!(world.show(&world.skills_with(cargo.as_str(), Fetch::IfMissing)), @"
    - p: from the crates themselves: the gate of its group does not hold
    - p: from file:///nowhere: the gate of its group does not hold
    ");
    assert!(!log.exists());
}

#[test]
fn a_mere_dependency_brings_nothing_and_one_that_was_agreed_to_does() {
    let world = World::new("a = \"1\"");
    let entries = "{ path = \"s\" }, { crate = { name = \"b\" } }";
    world.krate("a", &metadata(entries), &[("s", "own")]);
    world.krate("b", "", &[("skills/s", "other")]);
    world.registry("empty/README", "");
    world.sample.lock();
    // Makes the sources known.
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    world.shown();
    fs_err::remove_dir_all(world.path("registry/p")).unwrap();
    fs_err::remove_dir_all(world.path("agents/cache/workspace-plugins")).unwrap();
    assert_eq!(world.shown(), "");
    world.config("[plugins]\nauto-enable = [\"a\"]");
    insta::assert_snapshot!(world.shown(), @"
    other from crate b 1.0.0 by a
    own from crate a 1.0.0 by a
    ");
    // The same skill, whoever names it.
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"a\""));
    insta::assert_snapshot!(world.shown(), @"
    other from crate b 1.0.0 by p, a
    own from crate a 1.0.0 by p, a
    ");
}
