//! `cargo agents tour`.

use crate::world::{Run, World};

#[test]
fn the_tour_shows_everything_on_one_screen_and_cleans_up() {
    let world = World::new();
    let temporary = world.sample.scratch().path("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = world.command(&["tour"]);
    let run = Run::from(command.env("TMPDIR", &temporary).output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    for part in [
        "with the members api and store. Cargo.lock says that they use tinysql 0.3.1.\n",
        "$ cargo agents plugin list\n  graphite-tools  not active: needs graphite\n",
        "tinysql-tools   active because of tinysql 0.3.1\n\n",
        "$ cargo agents sql-tables\ncustomers    id INTEGER, name TEXT\n",
        "     \"notes\": { \"command\": \"notes-server\" }, // mine, do not touch\n+    \"cargo-agents\": {\n",
        "skill  tinysql-queries  new",
        "  means   deny: [tinysql-tools] tables are dropped by migrations only; write one in migrations/\n",
        "$ cargo agents task run guide \"to whom do orders belong?\"\nOrders belong to customers",
        "--allow \"bash(cargo test *)\"\n`store` uses tinysql 0.4.0 now",
    ] {
        assert!(run.stdout.contains(part), "no {part:?} in {}", run.stdout);
    }
    let (_, next) = run.stdout.split_once("Worth typing next").unwrap();
    assert_eq!(next.lines().filter(|line| line.starts_with("  cargo agents")).count(), 3, "{next}");
    // One screen, with long lines as a terminal shows them.
    let rows = |line: &str| line.chars().count().max(1).div_ceil(128);
    let height: usize = run.stdout.lines().map(rows).sum();
    assert!(height <= 42, "{height} rows:\n{}", run.stdout);
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
    command.env("GIT_ALLOW_PROTOCOL", "file").env("CARGO_NET_OFFLINE", "true");
    let run = Run::from(command.output().unwrap());
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
