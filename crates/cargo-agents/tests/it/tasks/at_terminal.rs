//! What a person at a terminal sees, and is asked.

use agents_testkit::terminal::{Size, Terminal, keys};

use super::{LOOKS, Stage};

const BIG: Size = Size { columns: 140, rows: 40 };

#[test]
fn what_it_does_is_shown_line_by_line_and_the_result_at_the_end() {
    let stage = Stage::new(LOOKS);
    let ended = Terminal::start(&stage.command(&["run", "helper", "what does it use?"]), BIG).end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    for part in
        ["helper  (", "thinks: Where?", "1  read Cargo.toml", "done in", "It uses tiny-sql."]
    {
        assert!(ended.screen.contains(part), "{part}: {}", ended.screen);
    }
}

const RUNS: &str = r#"
[[replies]]
calls = [{ name = "bash", input = { command = "touch one" } }]
[[replies]]
calls = [{ name = "bash", input = { command = "touch two" } }]
[[replies]]
text = "That is all."
"#;

#[test]
fn a_question_tells_the_whole_command_and_an_answer_for_the_task_counts_from_then_on() {
    let stage = Stage::new(RUNS);
    let mut terminal = Terminal::start(&stage.command(&["run", "helper", "x"]), BIG);
    terminal.wait_for("helper: `bash` runs `touch one`");
    terminal.press(["t"]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    let root = stage.world.sample.root();
    assert!(root.join("one").exists() && root.join("two").exists(), "{}", ended.screen);
}

#[test]
fn a_no_is_a_no_and_ctrl_c_ends_everything() {
    let stage = Stage::new(RUNS);
    let mut terminal = Terminal::start(&stage.command(&["run", "helper", "x"]), BIG);
    terminal.wait_for("`touch one`");
    terminal.press(["n"]);
    terminal.wait_for("`touch two`");
    terminal.press([keys::CTRL_C]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(130), "{}", ended.screen);
    assert!(!stage.world.sample.root().join("one").exists());
}

#[test]
fn a_question_that_was_not_answered_in_time_leaves_the_terminal() {
    let stage = Stage::new(RUNS);
    stage.config("[tasks]\napproval-timeout = \"1s\"\n");
    let terminal = Terminal::start(&stage.command(&["run", "helper", "x"]), BIG);
    terminal.wait_for("`touch one`");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{}", ended.screen);
    assert!(ended.screen.contains("That is all."), "{}", ended.screen);
    assert!(!ended.screen.contains("enter: accept"), "{}", ended.screen);
    assert!(!stage.world.sample.root().join("one").exists());
}
