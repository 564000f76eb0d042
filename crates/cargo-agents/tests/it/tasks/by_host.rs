//! Tasks that a coding agent does which is installed here: no key is needed.

use agents_testkit::scratch;

use super::Stage;
use crate::world::Run;

/// A stand-in for Claude Code that writes down how it was called and tells, in its real format, what it did.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in *--version*) echo "2.1.0 (Claude Code)"; exit 0;; esac
printf '%s\n' "$@" > "$CALLED"
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-5"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"Cargo.toml"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"[package]"}]}}'
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}\n' "$SAYS"
echo '{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","result":"x","usage":{"input_tokens":20,"output_tokens":5}}'
"#;

struct Hosted(Stage);

impl Hosted {
    fn new() -> Self {
        let stage = Stage::new("");
        stage.world.config(
            "[defaults]\nsymposium-recommendations = false\n[providers.mine]\nkind = \"host\"\nhost = \"claude\"\n",
        );
        stage.world.sample.scratch().script("host-bin/claude", CLAUDE);
        Self(stage)
    }

    fn run(&self, says: &str, args: &[&str]) -> Run {
        let scratch = self.0.world.sample.scratch();
        let path = std::env::var("PATH").unwrap();
        let mut command = self.0.command(args);
        command.env("PATH", format!("{}:{path}", scratch.path("host-bin")));
        command.env("CALLED", scratch.path("called")).env("SAYS", says);
        Run::from(command.output().unwrap())
    }

    fn called(&self) -> String {
        std::fs::read_to_string(self.0.world.sample.scratch().path("called")).unwrap_or_default()
    }
}

#[test]
fn its_last_message_is_the_result_and_it_may_do_what_the_agent_may() {
    let hosted = Hosted::new();
    let run = hosted.run("It is a package.", &["run", "helper", "what is it?", "-v"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It is a package.\n"), "{run:?}");
    assert!(run.stderr.contains("Read"), "its tools are shown: {}", run.stderr);
    assert!(!run.stderr.contains("doubtful"), "{}", run.stderr);
    assert!(hosted.called().contains("Read,Grep,Glob\n"), "{}", hosted.called());
    hosted.run("Done.", &["run", "helper", "change it", "--mode", "accept-edits"]);
    assert!(hosted.called().contains("acceptEdits"), "{}", hosted.called());
}

#[test]
fn a_result_is_checked_as_any_other() {
    let hosted = Hosted::new();
    let schema = r#"{"type": "object", "required": ["count"]}"#;
    let said = r#"{\"count\": 3}"#;
    let run = hosted.run(said, &["run", "helper", "count", "--schema", schema]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("\"count\": 3"), "{run:?}");
    assert!(!hosted.called().contains("yield"), "{}", hosted.called());
    let run = hosted.run("three", &["run", "helper", "count", "--schema", schema]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("it handed in no result"), "{}", run.stderr);
}

#[test]
fn whoever_may_not_read_everything_is_not_run_by_it() {
    let hosted = Hosted::new();
    scratch::write(
        &hosted.0.world.user().join(".agents/agents/narrow.md"),
        "---\nname: narrow\ndescription: looks at sources\ntools: [\"read(src/**)\"]\n---\nLook.\n",
    );
    let run = hosted.run("Seen.", &["run", "narrow", "look"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("cannot be kept to what `narrow` may do"), "{}", run.stderr);
    assert_eq!(hosted.called(), "", "it was not started");
}
