//! `cargo agents tour`.

use crate::world::{Run, World, lists};

#[test]
fn the_tour_shows_the_workspace_the_plugins_the_help_and_a_command_and_cleans_up() {
    let world = World::new();
    let temporary = world.sample.scratch().path("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = world.command(&["tour"]);
    let run = Run::from(command.env("TMPDIR", &temporary).output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    for part in [
        "tinysql    0.3.1",
        "$ cargo agents plugin list",
        "graphite-tools  not active: needs graphite",
        "tinysql-tools   active because of tinysql 0.3.1",
        "$ cargo agents sql-tables\ncustomers    id INTEGER, name TEXT\n",
        "    \"notes\": { \"command\": \"notes-server\" }",
        "+    \"cargo-agents\": {",
        "skill  tinysql-queries  new",
        "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"[tinysql-tools] tables are dropped by migrations only",
        "$ cargo agents task run guide \"to whom do orders belong?\"\nOrders belong to customers",
        "[read] {\"path\":\"schema.sql\"}",
        "--allow \"bash(cargo test *)\"\n## report\n`store` uses tinysql 0.4.0 now",
        "Worth typing next",
    ] {
        assert!(run.stdout.contains(part), "no {part:?} in {}", run.stdout);
    }
    assert!(lists(&run.stdout, "Commands for agents", "sql-tables"));
    assert!(run.stdout.lines().count() < 80, "it should fit on a screen or two");
    assert_eq!(temporary.read_dir_utf8().unwrap().count(), 0, "something was left behind");
    assert!(!world.home().join("cache").exists(), "the user's own home was used");
}

#[test]
fn the_tour_needs_no_network() {
    // Registries are replaced by an empty directory, proxies lead nowhere, and git may only use files.
    let world = World::new();
    let mut command = world.command(&["tour"]);
    for proxy in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(proxy, "http://127.0.0.1:9");
    }
    let run = Run::from(command.env("GIT_ALLOW_PROTOCOL", "file").output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn the_tour_asks_no_model_of_the_users() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    // A coding agent with models of its own, which would be asked for the small one.
    let bin = world.sample.scratch().path("bin");
    let asked = world.sample.scratch().path("asked");
    let program =
        format!("case $1 in --version) echo 2.1.325;; *) echo \"$@\" >> '{asked}';; esac");
    world.sample.scratch().script("bin/claude", &program);
    let mut command = world.command(&["tour"]);
    command.env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap()));
    for provider in ["ANTHROPIC", "OPENAI"] {
        command.env(format!("{provider}_API_KEY"), "sk-of-the-user");
        command.env(format!("{provider}_BASE_URL"), &address);
    }
    let run = Run::from(command.output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(listener.accept().is_err(), "somebody was asked");
    assert!(!asked.exists(), "{:?}", std::fs::read_to_string(&asked));
}

#[test]
fn the_sample_can_be_kept_and_used() {
    let world = World::new();
    let kept = world.sample.scratch().path("kept");
    let run = world.agents(&["tour", "--keep", kept.as_str()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut command = world.command_in(&kept.join("orders"), &["sql-tables"]);
    let again = Run::from(command.env("CARGO_AGENTS_HOME", kept.join("home")).output().unwrap());
    assert!(again.stdout.starts_with("customers"), "{again:?}");
    let refused = world.agents(&["tour", "--keep", kept.as_str()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("is not empty"), "{refused:?}");
}

#[test]
fn the_tour_as_a_document() {
    let tour = World::new().json(&["tour"]);
    let steps = tour["steps"].as_array().unwrap();
    let run = steps.iter().find(|step| step["command"] == "cargo agents sql-tables").unwrap();
    assert!(run["stdout"].as_str().unwrap().starts_with("customers"));
}
