//! `cargo agents model list|test|explain|serve`

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
};

use agents_testkit::{
    endpoint::{Endpoint, Fault, Reply, Script},
    scratch,
};

use crate::world::{Run, World};

mod secrets;

/// Variables of whoever tests that would add providers.
pub(crate) const CUSTOMARY: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OLLAMA_HOST",
];

/// A run with these variables, and no host that could be asked.
pub(crate) fn run(world: &World, variables: &[(&str, &str)], args: &[&str]) -> Run {
    let mut command = world.command(args);
    for name in CUSTOMARY {
        command.env_remove(name);
    }
    command.env("PATH", path(world)).envs(variables.iter().copied());
    Run::from(command.output().unwrap())
}

/// A `PATH` with cargo and a shell, and without any coding agent of whoever tests.
fn path(world: &World) -> String {
    let bin = world.sample.scratch().path("plain-bin");
    std::fs::create_dir_all(&bin).unwrap();
    for program in ["cargo", "rustc", "rustup", "sh", "cat", "echo", "git"] {
        if let Some(found) = agents_system_which(program) {
            let _ = std::os::unix::fs::symlink(found, bin.join(program));
        }
    }
    bin.into_string()
}

fn agents_system_which(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

#[test]
fn without_anybody_to_ask_it_says_what_was_looked_for_and_the_shortest_way_out() {
    let world = World::new();
    for args in [&["model", "list"][..], &["model", "test"], &["model", "explain", "reviewer"]] {
        let run = run(&world, &[], args);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(
            run.stderr.starts_with("error[E0100]: there is no provider to ask"),
            "{}",
            run.stderr
        );
        for part in [
            "ANTHROPIC_API_KEY",
            "OLLAMA_HOST",
            "config.toml",
            "hint: `export ANTHROPIC_API_KEY=…` is enough",
        ] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
    }
}

#[test]
fn providers_are_listed_with_where_they_come_from_and_what_models_cost() {
    let world = World::new();
    world.config(
        "[defaults]\nsymposium-recommendations = false\n\n[providers.work]\nkind = \"openai-compatible\"\n\
         url = \"http://127.0.0.1:9/v1\"\nmodels = [\"big\"]\n\n[[models.known]]\nprovider = \"work\"\nid = \"big\"\n\
         context = 32_000\nprice = { input = 1_000_000, output = 2_500_000 }\n",
    );
    let listed = run(&world, &[("GEMINI_API_KEY", "planted-key-1")], &["model", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let lines: Vec<&str> = listed.stdout.lines().collect();
    let file = world.home().join("config.toml");
    assert_eq!(lines[0], format!("work  http://127.0.0.1:9/v1  no key needed  (from {file}:4)"));
    assert_eq!(lines[1], "  big  32,000 in    $1.00 / $2.50");
    assert_eq!(
        lines[2],
        "gemini  https://generativelanguage.googleapis.com  key from `GEMINI_API_KEY`  (from `GEMINI_API_KEY`)"
    );
    assert!(lines[3].starts_with("  gemini-4-argon "), "{}", lines[3]);
    let one = run(&world, &[], &["model", "list", "--provider", "wrok"]);
    assert_eq!(one.code, Some(2));
    assert!(one.stderr.contains("did you mean `work`?"), "{}", one.stderr);
    let json = run(&world, &[], &["model", "list", "--provider", "work", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["providers"][0]["models"][0]["price"]["output"], 2_500_000);
}

#[test]
fn the_settings_are_shown_with_who_says_so_and_mean_the_same_again() {
    let world = World::new();
    world.config(
        "[defaults]\nsymposium-recommendations = false\n[providers.work]\nkind = \"openai-compatible\"\nurl = \"http://127.0.0.1:9/v1\"\n\
         key-env = \"WORK_KEY\"\nmodel = \"big\"\n[models]\ndefault = \"work/big\"\n[models.aliases]\n\"gpt-5.1\" = \"work/big\"\n\
         [[registry]]\nname = \"team\"\npath = \"shared\"\n",
    );
    let shown = world.ok(&["config", "show", "--origin"]);
    for (setting, line) in [
        ("models.roles.default = [\"work/big\"]", 9),
        ("models.aliases.\"gpt-5.1\" = [\"work/big\"]", 11),
        ("providers.work.url = \"http://127.0.0.1:9/v1\"", 5),
        ("providers.work.key-env = \"WORK_KEY\"", 6),
    ] {
        let found = shown
            .lines()
            .find(|it| it.starts_with(setting))
            .unwrap_or_else(|| panic!("{setting}\n{shown}"));
        assert!(found.ends_with(&format!("config.toml:{line}")), "{found}");
    }
    let plain = world.ok(&["config", "show"]);
    world.config(&plain);
    assert_eq!(world.ok(&["config", "show"]), plain);
}

#[test]
fn a_model_is_asked_and_what_it_cost_is_told() {
    let world = World::new();
    let endpoint =
        Endpoint::start(Script::of([Reply::text("ready").by_model("claude-sonnet-5-5")]));
    let variables =
        [("ANTHROPIC_API_KEY", "planted-key-1"), ("ANTHROPIC_BASE_URL", &endpoint.url())];
    let run = run(&world, &variables, &["model", "test", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["provider"], "anthropic");
    assert_eq!(document["model"], "claude-sonnet-5-5");
    assert_eq!(document["answer"], "ready");
    assert!(document["cost"].as_u64().unwrap() > 0, "{document}");
    assert_eq!(document["findings"], serde_json::json!([]));
    assert_eq!(endpoint.received()[0].headers.get("x-api-key"), Some("planted-key-1"));
}

#[test]
fn another_model_than_the_one_that_was_asked_is_told() {
    let world = World::new();
    let endpoint = Endpoint::start(Script::of([Reply::text("ready").by_model("claude-haiku-4-5")]));
    let variables =
        [("ANTHROPIC_API_KEY", "planted-key-1"), ("ANTHROPIC_BASE_URL", &endpoint.url())];
    let run = run(&world, &variables, &["model", "test", "--model", "opus"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stderr.contains("`anthropic/claude-opus-5-5` was asked for, and `anthropic` says that it served `claude-haiku-4-5`"),
        "{}",
        run.stderr
    );
}

#[test]
fn offline_nobody_elsewhere_is_asked() {
    let world = World::new();
    let run =
        run(&world, &[("ANTHROPIC_API_KEY", "planted-key-1")], &["model", "test", "--offline"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("`anthropic` is not on this machine"), "{}", run.stderr);
}

#[test]
fn every_step_to_a_model_is_explained() {
    let world = World::new();
    let key = [("ANTHROPIC_API_KEY", "planted-key-1")];
    let explained = run(&world, &key, &["model", "explain", "reviewer"]);
    assert_eq!(explained.code, Some(0), "{explained:?}");
    assert_eq!(
        explained.stdout,
        "\
reviewer  (in the program)
  runs on anthropic/claude-opus-5-5   effort high (the definition)
because:
  @deep                stands for opus, gpt-6.1-sol, gpt-6-sol, gemini-4-argon, gemini-3.1-pro-preview, sonnet, default   (the definition)
    opus               stands for claude-opus-5-5, claude-opus-5, claude-opus-4-8, opus
      claude-opus-5-5  fits anthropic/claude-opus-5-5, by its name
"
    );
    world.config("[defaults]\nsymposium-recommendations = false\n[models.agents]\nreviewer = \"haiku:low\"\n");
    let explained = run(&world, &key, &["model", "explain", "reviewer", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(document["model"], "claude-haiku-5-5");
    assert_eq!(
        (&document["effort"], &document["effort_from"]),
        (&"low".into(), &"the pattern".into())
    );
    assert_eq!(document["chain"][0]["said_by"], "the configuration for this agent");
    let pinned = run(&world, &key, &["model", "explain", "reviewer", "--model", "gpt-9"]);
    assert_eq!(pinned.code, Some(2), "{pinned:?}");
    assert!(pinned.stderr.contains("no model that there is fits `gpt-9`"), "{}", pinned.stderr);
    assert!(pinned.stderr.contains("gpt-9  fits no model"), "{}", pinned.stderr);
}

#[test]
fn a_workspace_has_no_say_in_where_requests_go() {
    let world = World::new();
    let evil =
        "[providers.anthropic]\nurl = \"http://127.0.0.1:1\"\n[models.aliases]\nopus = \"evil\"\n";
    for place in [
        "config.toml",
        ".agents/config.toml",
        ".cargo-agents/config.toml",
        ".config/cargo-agents/config.toml",
    ] {
        scratch::write(&world.sample.root().join(place), evil);
    }
    let listed =
        run(&world, &[("ANTHROPIC_API_KEY", "planted-key-1")], &["model", "list", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(document["providers"][0]["url"], "https://api.anthropic.com");
}

fn serve(world: &World, args: &[&str]) -> (Child, String) {
    let mut child = world.command(args).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    while !first.contains("GOOGLE_GEMINI_BASE_URL") {
        assert_ne!(reader.read_line(&mut first).unwrap(), 0, "{first}");
    }
    (child, first)
}

#[test]
fn a_script_is_served_until_ctrl_c() {
    let world = World::new();
    scratch::write(&world.sample.root().join("hello.toml"), "[[replies]]\ntext = \"ready\"\n");
    let (mut child, said) = serve(&world, &["model", "serve", "--script", "hello.toml"]);
    let url = said
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap()
        .trim_end_matches(',');
    let variables = [("ANTHROPIC_API_KEY", "planted-key-1"), ("ANTHROPIC_BASE_URL", url)];
    let run = run(&world, &variables, &["model", "test"]);
    assert!(run.stdout.contains("it says: ready"), "{run:?}");
    assert!(agents_testkit::signal::interrupt(child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_script_that_cannot_be_served_is_an_error() {
    let world = World::new();
    let missing = world.agents(&["model", "serve", "--script", "nowhere.toml"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    scratch::write(&world.sample.root().join("odd.toml"), "[[replies]]\ntexd = 1\n");
    assert_eq!(world.agents(&["model", "serve", "--script", "odd.toml"]).code, Some(2));
}

#[test]
fn a_key_that_is_not_accepted_is_an_error() {
    let world = World::new();
    let endpoint = Endpoint::start(Script::rule(|_| {
        Reply::text("x").with_fault(Fault::Status {
            code: 401,
            headers: Vec::new(),
            message: "no".to_owned(),
        })
    }));
    let variables = [
        ("OPENAI_API_KEY", "planted-key-1"),
        ("OPENAI_BASE_URL", &format!("{}/v1", endpoint.url())),
    ];
    let run = run(&world, &variables, &["model", "test"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("the key was not accepted (status 401)"), "{}", run.stderr);
}
