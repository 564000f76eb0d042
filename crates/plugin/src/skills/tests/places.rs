//! Skills that are not in crates: beside a manifest, in repositories, in the workspace itself.

use super::*;

fn group(path: &str) -> String {
    format!("[[skills]]\nsource.path = \"{path}\"\n")
}

#[test]
fn groups_beside_a_manifest_and_skills_that_stand_alone() {
    let world = World::new("");
    let groups = format!("name = \"p\"\ncrates = \"*\"\n{}{}", group("s"), group("gone"));
    world.registry("p/SYMPOSIUM.toml", groups);
    world.registry("p/s/one/SKILL.md", skill("one"));
    world.registry("p/s/one/inner/SKILL.md", skill("part-of-one"));
    world.registry("p/s/bad/SKILL.md", "no header");
    world.registry("p/s/empty/README", "");
    world.registry(
        "here/SYMPOSIUM.toml",
        format!("name = \"here\"\ncrates = \"*\"\n{}", group(".")),
    );
    world.registry("here/SKILL.md", skill("here"));
    world.registry(
        "alone/SKILL.md",
        "---\nname: alone\ndescription: d\ncrates: \"*\"\nmetadata:\n  author: me\n  tags: [a, b]\n\
         allowed-tools:\n  - Read\nlicense: MIT\n---\n",
    );
    world.registry("asleep/SKILL.md", "---\nname: asleep\ndescription: d\ncrates: nope\n---\n");
    insta::assert_snapshot!(world.shown(), @"
    alone from `alone` of registry `r` by alone
    here from `here` of registry `r` by here
    one from `p/s/one` of registry `r` by p
    error: registry/p/s/bad/SKILL.md: a skill starts with a header between two `---` lines
    warning: registry/p/SYMPOSIUM.toml: there is no directory `gone` for skills
    ");
}

#[test]
fn the_gate_of_a_skill_counts_as_well() {
    let world = World::new("a = \"1\"");
    world.krate("a", "", &[]);
    world.registry("p/SYMPOSIUM.toml", format!("name = \"p\"\ncrates = \"*\"\n{}", group("s")));
    let gated = |gate: &str| skill("NAME").replace("---\nthe", &format!("{gate}\n---\nthe"));
    for (name, gate) in [
        ("yes", "depends-on: a"),
        ("older", "crates: [a, b]"),
        ("no", "crates: b"),
        ("never", "crates: a\npredicates: env(NOT_SET_AT_ALL)"),
    ] {
        world.registry(&format!("p/s/{name}/SKILL.md"), gated(gate).replace("NAME", name));
    }
    let all = world.skills(Fetch::Never);
    insta::assert_snapshot!(world.show(&all), @"
    older from `p/s/older` of registry `r` by p
    yes from `p/s/yes` of registry `r` by p
    - p: skill never: its own gate does not hold
    - p: skill no: its own gate does not hold
    ");
    assert_eq!(all.skills[1].because[0].0.as_str(), "a");
}

#[test]
fn a_repository_is_fetched_once_and_its_commit_is_part_of_the_origin() {
    let world = World::new("");
    let repo = Repo::init(world.path("repo"));
    repo.write("a/SKILL.md", skill("a")).write("b/SKILL.md", skill("b"));
    let commit = repo.commit("one");
    let plugin = |name: &str| {
        format!("name = \"{name}\"\ncrates = \"*\"\n[[skills]]\nsource.git = \"{}\"\n", repo.url())
    };
    world.registry("p/SYMPOSIUM.toml", plugin("p")).registry("q/SYMPOSIUM.toml", plugin("q"));
    let all = world.skills(Fetch::IfMissing);
    let shown = world.show(&all).replace(&commit[..12], "<commit>");
    insta::assert_snapshot!(shown, @"
    a from `a` of file://repo at <commit> by p, q
    b from `b` of file://repo at <commit> by p, q
    ");
    assert_eq!(all.skills[0].origin.suffix().len(), 8);
    assert_ne!(all.skills[0].origin.suffix(), all.skills[1].origin.suffix());
}

#[test]
fn a_repository_that_is_one_skill_has_no_git_in_it() {
    let world = World::new("");
    let repo = Repo::init(world.path("repo"));
    repo.write("SKILL.md", skill("whole")).write("scripts/x.sh", "x").commit("one");
    world.registry(
        "p/SYMPOSIUM.toml",
        format!("name = \"p\"\ncrates = \"*\"\n[[skills]]\nsource.git = \"{}\"\n", repo.url()),
    );
    let all = world.skills(Fetch::IfMissing);
    assert!(all.skills[0].root.join(".git").exists());
    let (tree, findings) = all.skills[0].read();
    assert_eq!(findings, []);
    let paths: Vec<String> = tree.unwrap().entries.iter().map(|it| it.path.to_string()).collect();
    assert_eq!(paths, ["SKILL.md", "scripts", "scripts/x.sh"]);
}

#[test]
fn a_repository_that_cannot_be_had_is_reported() {
    let world = World::new("");
    world.registry(
        "p/SYMPOSIUM.toml",
        "name = \"p\"\ncrates = \"*\"\n[[skills]]\nsource.git = \"file:///nowhere\"\n",
    );
    let all = world.skills(Fetch::IfMissing);
    assert!(all.skills.is_empty());
    let [finding] = all.findings.as_slice() else { panic!("{all:?}") };
    assert!(finding.message.starts_with("the skills of file:///nowhere could not be fetched"));
}

#[test]
fn members_keep_skills_in_skills_and_for_their_own_agents() {
    let world = World::new("m = { path = \"m\" }\n[workspace]\nmembers = [\"m\"]");
    world.sample.package("m", "m", "0.1.0", "");
    world.sample.write("skills/one/SKILL.md", &skill("one"));
    world.sample.write("m/skills/two/SKILL.md", &skill("two"));
    world.sample.write("m/.agents/skills/no-header/SKILL.md", "Just a text.\n");
    world.sample.write(".agents/skills/My Notes/SKILL.md", "---\nlicense: MIT\n---\ntext\n");
    // Installed by us, so it is no source.
    world.sample.write(".agents/skills/installed/SKILL.md", &skill("installed"));
    world.sample.write(".agents/skills/installed/.symposium", "");
    insta::assert_snapshot!(world.shown(), @"
    my-notes from `.agents/skills/My Notes` of this workspace by app
    no-header from `m/.agents/skills/no-header` of this workspace by m
    one from `skills/one` of this workspace by app
    two from `m/skills/two` of this workspace by m
    warning: tree/ws/.agents/skills/My Notes/SKILL.md: `My Notes` cannot be the name of a skill; it is called `my-notes`
    ");
    world.config("agents-syncing = false");
    insta::assert_snapshot!(world.shown(), @"
    one from `skills/one` of this workspace by app
    two from `m/skills/two` of this workspace by m
    - app: in .agents/skills: `agents-syncing` is off
    - m: in .agents/skills: `agents-syncing` is off
    ");
    // A registry that names a member means the same skill.
    world.registry("p/SYMPOSIUM.toml", from_crates("p", "\"m\""));
    let shown = world.shown();
    assert!(shown.contains("two from `m/skills/two` of this workspace by p, m\n"), "{shown}");
}

#[test]
fn a_member_may_redirect_to_other_crates_too() {
    let world = World::new(
        "a = \"1\"\n[package.metadata.symposium]\nskills = [{ crate = { name = \"a\" } }]",
    );
    world.krate("a", "", &[("skills/one", "one")]);
    assert_eq!(world.shown(), "one from crate a 1.0.0 by app");
}

#[test]
fn a_copy_of_ours_is_no_source_wherever_it_is() {
    let world = World::new("");
    world.registry("p/SYMPOSIUM.toml", format!("name = \"p\"\ncrates = \"*\"\n{}", group("s")));
    world.registry("p/s/copy/SKILL.md", skill("copy")).registry("p/s/copy/.symposium", "");
    insta::assert_snapshot!(world.shown(), @"
    - p: registry/p/s: there are no skills in it
    note: registry/p/s/copy: it is a copy that `sync` made and no source of skills
    ");
}

#[test]
fn paths_of_the_users_own_registry_may_lead_anywhere_and_others_stay_inside() {
    let world = World::new("a = { path = \"../a\" }");
    let outside = world.sample.scratch().write("outside/one/SKILL.md", skill("one"));
    let absolute = outside.parent().unwrap().as_str();
    let groups = format!("{}{}", group("../../outside"), group(absolute));
    world.registry("p/SYMPOSIUM.toml", format!("name = \"p\"\ncrates = \"*\"\n{groups}"));
    world.sample.package("../a", "a", "1.0.0", "");
    let repo = Repo::init(world.path("git-registry"));
    let manifest = format!("name = \"q\"\ncrates = \"*\"\n{}", group(absolute));
    repo.write("q/SYMPOSIUM.toml", manifest).commit("one");
    world.checkout(&repo.url());
    for manifest in ["SYMPOSIUM.toml", "../a/SYMPOSIUM.toml"] {
        world.sample.write(manifest, &groups);
    }
    world.config(&format!(
        "[plugins]\nauto-enable = [\"a\"]\n[[registry]]\nname = \"g\"\ngit = \"{}\"",
        repo.url()
    ));
    let all = world.skills(Fetch::Never);
    assert_eq!(all.skills.len(), 1);
    assert_eq!(all.skills[0].root, world.path("outside"));
    let refused = all.findings.iter().map(|finding| {
        let file = &finding.place.as_ref().unwrap().file;
        let from = file.file_name().unwrap();
        format!("{from}: {}", finding.message.split("; ").last().unwrap())
    });
    assert_eq!(refused.collect::<Vec<_>>(), ["SYMPOSIUM.toml: its skills are left out"; 5]);
}
