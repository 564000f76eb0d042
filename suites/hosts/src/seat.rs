//! Calls of a client, without a terminal or at one.

use std::time::{Duration, Instant};

use agents_system::process::{Call, Captured, ending};
use agents_testkit::{
    terminal::{Size, Terminal},
    through::through,
};

use crate::occasion::Seat;

/// More than a client needs for one session, on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// How long somebody at a terminal waits for what they expect to see.
const GLANCE: Duration = Duration::from_secs(60);

/// Wide enough that no line is broken, and high enough for any dialogue.
const SCREEN: Size = Size { columns: 160, rows: 50 };

/// Runs it to its end, or at a terminal until `enough`; what it said.
pub(crate) fn run(call: Call, seat: &Seat, enough: impl FnMut() -> bool) -> String {
    match seat {
        Seat::Nowhere => {
            let done = call.deadline(PATIENCE).capture();
            done.map_or_else(|error| error.to_string(), |done| account(&done))
        }
        Seat::Terminal(keys) => at_terminal(&call, keys, enough),
    }
}

pub(crate) fn account(done: &Captured) -> String {
    format!("{}\n{}", ending(done.status), done.said())
}

fn at_terminal(call: &Call, keys: &[(&str, &[&str])], mut enough: impl FnMut() -> bool) -> String {
    let command = call.group_leader();
    // Only what is set for it: a command does not tell that it has nothing else.
    let set = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let set: Vec<String> = set.collect();
    let words: Vec<&str> =
        ["env", "-i"].into_iter().chain(set.iter().map(String::as_str)).collect();
    let mut terminal = Terminal::start(&through(&words, &command), SCREEN);
    let mut screens = String::new();
    let mut wait = |terminal: &Terminal, until: &mut dyn FnMut(&str) -> bool| {
        let end = Instant::now() + GLANCE;
        let mut over = || enough() || terminal.has_ended() || until(&terminal.screen());
        while Instant::now() < end && !over() {
            std::thread::sleep(Duration::from_millis(50));
        }
        screens += &format!("--- on the screen\n{}\n", terminal.screen());
    };
    for (text, pressed) in keys {
        wait(&terminal, &mut |screen| screen.contains(text));
        // What is drawn is not always listened to yet, and what comes at once is taken for something that was pasted.
        for key in *pressed {
            std::thread::sleep(Duration::from_secs(1));
            if !terminal.has_ended() {
                terminal.press([*key]);
            }
        }
    }
    wait(&terminal, &mut |_| false);
    screens
}
