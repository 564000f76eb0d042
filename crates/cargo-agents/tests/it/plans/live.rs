//! A run as whoever sits at a terminal sees it, and as a pipe gets it.

use agents_testkit::{
    scratch,
    terminal::{Size, Terminal, keys},
};

use super::{FAILING_SCRIPT, RUN_SLOW, SLOW, SLOW_SCRIPT, Stage, failing};

#[test]
fn a_board_shows_what_runs_and_leaves_nothing_behind() {
    let stage = Stage::new(SLOW_SCRIPT, &format!("{SLOW}\n[budget]\ncost = 2.0\n"));
    let terminal = Terminal::start(&stage.command(&RUN_SLOW), Size::USUAL);
    terminal.wait_for("..  two");
    let screen = terminal.screen();
    assert!(
        screen.contains("slow   1 completed, 1 running, 1 waiting   $0.00 of $2.00"),
        "{screen}"
    );
    assert!(screen.contains("bash echo two"), "{screen}");
    assert!(screen.contains("ok  one: completed"), "{screen}");
    scratch::write(&stage.world.sample.root().join("go"), "");
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.screen.contains("ok  two: completed"), "{ended:?}");
    assert!(ended.screen.contains("## three\nDone."), "{ended:?}");
    assert!(!ended.screen.contains("..  "), "the board is gone: {ended:?}");
    assert!(ended.screen.contains(": 3 completed; 6 turns"), "{ended:?}");
}

#[test]
fn somebody_at_a_terminal_says_what_is_to_be_done_about_a_failure() {
    let stage = Stage::new(FAILING_SCRIPT, &failing("ask"));
    let mut terminal = Terminal::start(&stage.command(&["run", "plan.toml"]), Size::USUAL);
    terminal.wait_for("leave out what needs it");
    terminal.press([keys::DOWN, keys::DOWN, keys::ENTER]);
    let ended = terminal.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.screen.contains("I went on."), "{ended:?}");
    assert_eq!(stage.state(), "partly");
}

#[test]
fn a_pipe_gets_plain_lines() {
    let stage = Stage::new(super::CHAIN_SCRIPT, super::CHAIN);
    let args = ["run", "plan.toml", "--param", "topic=errors"];
    let run = stage.run(&args);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines[0].ends_with("   3 tasks"), "{run:?}");
    assert_eq!(lines[1], "      find: started", "{run:?}");
    assert!(lines[2].starts_with("  ok  find: completed  "), "{run:?}");
    assert_eq!(lines.len(), 8, "{run:?}");
    assert!(!run.stderr.contains('\x1b'), "{run:?}");
    let run = stage.run(&[&args[..], &["--quiet"]].concat());
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("## report\nSeven errors.\n", ""),
        "{run:?}"
    );
}
