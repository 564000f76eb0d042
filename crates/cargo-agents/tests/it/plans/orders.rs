//! What other processes say to a run while it is busy, or waits for whoever sits at its terminal.

use agents_testkit::terminal::{Editing, Ended, Size, Terminal, keys};

use super::{FAILING_SCRIPT, Run, Stage, failing};

const BIG: Size = Size { columns: 140, rows: 40 };

const ONE: &str = "plan = \"one\"\n[[tasks]]\nid = \"only\"\nagent = \"helper\"\nprompt = \"GO\"\n";

/// A question is on the terminal. When it is gone, the terminal belongs to whoever comes next.
fn asked(stage: &Stage, question: &str) -> Terminal {
    let terminal = Terminal::start(&stage.command(&["run", "plan.toml"]), BIG);
    terminal.wait_for(question);
    terminal.wait_for("enter: accept");
    terminal
}

#[track_caller]
fn is_tidy(ended: &Ended) {
    assert_eq!((ended.editing, ended.shows_cursor), (Editing::Lines, true), "{ended:?}");
    assert!(!ended.screen.contains("enter: accept"), "the question is gone: {}", ended.screen);
}

#[test]
fn a_run_whose_model_does_not_stop_talking_hears_what_others_say() {
    let words = "word ".repeat(600);
    let script = format!(
        r#"
[[replies]]
when = {{ text = "GO" }}
times = 1
calls = [{{ name = "bash", input = {{ command = "touch talks" }} }}]
[[replies]]
text = "{words}"
piece = 1
pace-ms = 20
"#
    );
    let stage = Stage::new(&script, ONE);
    let child = stage.until(&["run", "plan.toml", "--allow", "bash"], "talks");
    let run = stage.run(&["pause", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.state(), "paused");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run:?}");
    assert_eq!(stage.state(), "cancelled");
}

const ASKS: &str = r#"
[[replies]]
when = { text = "GO" }
times = 1
calls = [{ name = "bash", input = { command = "touch one" } }]
[[replies]]
text = "I went on."
"#;

#[test]
fn a_run_that_waits_for_leave_can_be_cancelled_from_elsewhere() {
    let stage = Stage::new(ASKS, ONE);
    let terminal = asked(&stage, "`touch one`");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    is_tidy(&ended);
    assert_eq!(stage.state(), "cancelled");
    assert!(!stage.has("one"));
}

#[test]
fn a_question_that_was_not_answered_in_time_leaves_the_terminal() {
    let stage = Stage::new(ASKS, ONE);
    stage.config("[tasks]\napproval-timeout = \"1s\"\n");
    let ended = asked(&stage, "`touch one`").end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    is_tidy(&ended);
    assert!(ended.screen.contains("I went on."), "{ended:?}");
    assert!(!stage.has("one"));
}

#[test]
fn a_run_that_asks_about_a_failure_can_be_cancelled_from_elsewhere() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("ask"));
    let terminal = asked(&stage, "leave out what needs it");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    is_tidy(&ended);
    assert_eq!(stage.state(), "cancelled");
}

#[test]
fn a_question_about_a_task_that_was_cancelled_leaves_the_terminal_and_the_run_goes_on() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("ask"));
    let terminal = asked(&stage, "leave out what needs it");
    let run = stage.run(&["cancel", "last", "--task", "bad"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    is_tidy(&ended);
    // What happened while the question stood there was told afterwards.
    assert!(ended.screen.contains("free: completed"), "{ended:?}");
}

/// Where the terminal cannot move the cursor, what was asked stays there.
#[test]
fn a_question_by_lines_is_taken_back_too() {
    let stage = Stage::new(ASKS, ONE);
    let mut command = stage.command(&["run", "plan.toml"]);
    let terminal = Terminal::start(command.env("TERM", "dumb"), BIG);
    terminal.wait_for("a number, or enter for 4:");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(terminal.end().code, Some(130));
    assert!(!stage.has("one"));
}

#[test]
fn ctrl_c_instead_of_an_answer_about_a_failure_leaves_the_run_as_it_is() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("ask"));
    let mut terminal = asked(&stage, "leave out what needs it");
    terminal.press([keys::CTRL_C]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    is_tidy(&ended);
    assert_eq!(stage.state(), "suspended");
}

#[test]
fn escape_leaves_a_failure_open_and_the_run_waits_for_an_answer() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("ask"));
    let mut terminal = asked(&stage, "leave out what needs it");
    terminal.press([keys::ESCAPE]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    is_tidy(&ended);
    assert!(ended.screen.contains("--answer bad=retry"), "{ended:?}");
    assert_eq!(stage.state(), "suspended");
}
