//! `cargo agents plan new`

use serde_json::json;

use super::Stage;

const DRAFT_SCRIPT: &str = r#"
[[replies]]
when = { text = "there is no agent `helpr`" }
calls = [{ name = "yield", input = { data = { plan = "greet", tasks = [{ id = "hello", agent = "helper", prompt = "HELLO", model = [] }] } } }]
[[replies]]
when = { text = "greet everybody" }
calls = [{ name = "yield", input = { data = { plan = "greet", tasks = [{ id = "hello", agent = "helpr", prompt = "HELLO" }] } } }]
[[replies]]
when = { text = "HELLO" }
text = "Hello."
"#;

#[test]
fn a_plan_is_worked_out_checked_and_shown_and_nothing_of_it_runs() {
    let stage = Stage::new(DRAFT_SCRIPT, "");
    // The first one names an agent that there is not, and is sent back.
    let run = stage.run(&["new", "greet everybody"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.starts_with("plan = \"greet\"\n"), "{run:?}");
    assert!(run.stderr.contains("└─ hello"), "{run:?}");
    assert_eq!(stage.document(&["list"])["runs"], json!([]));

    let run = stage.run(&["new", "greet everybody", "-o", "greet.toml"]);
    assert!(run.stdout.contains("cargo agents plan run greet.toml"), "{run:?}");
    let run = stage.run(&["run", "greet.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "## hello\nHello.\n"), "{run:?}");

    let document = stage.document(&["new", "greet everybody", "-o", "greet.json"]);
    assert_eq!(document["valid"], true, "{document}");
    assert_eq!(document["plan"]["tasks"][0]["agent"], "helper", "{document}");
    assert_eq!(document["file"], "greet.json");
    assert!(stage.run(&["check", "greet.json"]).stdout.contains("nothing is wrong"));
    let run = stage.run(&["new", "greet everybody", "-o", "greet.txt"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn a_plan_that_stays_wrong_is_told_and_not_written() {
    let script = DRAFT_SCRIPT.replacen("agent = \"helper\"", "agent = \"helpr\"", 1);
    let stage = Stage::new(&script, "");
    let run = stage.run(&["new", "greet everybody", "-o", "greet.toml"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("there is no agent `helpr`"), "{run:?}");
    assert!(!stage.has("greet.toml"));
    assert_eq!(stage.document(&["new", "greet everybody"])["valid"], false);
}
