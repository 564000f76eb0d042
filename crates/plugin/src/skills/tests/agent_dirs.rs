use super::*;

impl World {
    /// Directories, what was skipped and findings, one per line.
    fn shown_agents(&self, fetch: Fetch) -> String {
        let all = self.agents(fetch);
        let dirs = all.dirs.iter().map(|it| {
            let because: Vec<String> =
                it.because.iter().map(|(name, version)| format!("{name} {version}")).collect();
            format!("{} by {} [{}]", it.origin, it.plugin.name, because.join(", "))
        });
        let rest = Skills { skipped: all.skipped, findings: all.findings, ..Skills::default() };
        let rest = self.show(&rest);
        dirs.chain((!rest.is_empty()).then_some(rest)).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn a_crate_ships_agents_matched_to_its_version() {
    let world = World::new("widget = \"1\"\nother = \"1\"");
    world.version("widget", "1.4.0", "", &[]).krate("other", "", &[]);
    for file in ["widget-1.4.0/agents/helper.md", "other-1.0.0/prompts/x.md"] {
        write(&vendored(&world, file), "---\nname: x\ndescription: y\n---\n");
    }
    world.registry(
        "demo/SYMPOSIUM.toml",
        "name = \"demo\"\n[[agents]]\ncrates = [\"widget>=1.2\"]\nsource = \"crate\"\n\
         [[agents]]\ncrates = [\"other\"]\nsource.crate_path = \"prompts\"\n\
         [[agents]]\ncrates = [\"widget>=2\"]\nsource = \"crate\"\n",
    );
    insta::assert_snapshot!(world.shown_agents(Fetch::IfMissing), @r"
    crate widget 1.4.0 by demo [widget 1.4.0]
    crate other 1.0.0 by demo [other 1.0.0]
    - demo: from the crates themselves: the gate of its group does not hold
    ");
}

/// A file among the sources of a vendored crate.
fn vendored(world: &World, relative: &str) -> Utf8PathBuf {
    world.sample.vendor().dir().join(relative)
}

#[test]
fn what_has_not_been_fetched_is_said_in_words_about_agents() {
    let world = World::new("widget = \"1\"");
    world.krate("widget", "", &[]);
    world.registry(
        "demo/SYMPOSIUM.toml",
        "name = \"demo\"\ncrates = [\"widget\"]\n[[agents]]\nsource = \"crate\"\n",
    );
    insta::assert_snapshot!(world.shown_agents(Fetch::Never), @r"
    - demo: crate widget: it has not been fetched
    warning: the agents of crate `widget` have not been fetched
    ");
    insta::assert_snapshot!(world.shown_agents(Fetch::IfMissing), @r"
    - demo: crate widget 1.0.0: there are no agents in it
    warning: registry/demo/SYMPOSIUM.toml: no crate here has the directory `agents` for agents
    ");
}

#[test]
fn those_of_the_workspace_come_before_those_of_registries() {
    let world = World::new("");
    world.registry(
        "demo/SYMPOSIUM.toml",
        "name = \"demo\"\ncrates = [\"*\"]\n[[agents]]\nsource.path = \"team\"\n",
    );
    world.registry("demo/team/a.md", "---\nname: a\ndescription: b\n---\n");
    write(
        &world.sample.path("SYMPOSIUM.toml"),
        "[[agents]]\nsource.path = \"prompts\"\n[[agents]]\nsource.path = \"gone\"\n",
    );
    write(&world.sample.path("prompts/a.md"), "---\nname: a\ndescription: b\n---\n");
    insta::assert_snapshot!(world.shown_agents(Fetch::Never), @r"
    `prompts` of this workspace by app []
    `demo/team` of registry `r` by demo []
    warning: tree/ws/SYMPOSIUM.toml: there is no directory `gone` for agents
    ");
}
