//! The run as a whole.

use std::{thread::sleep, time::Duration};

use crate::{
    ground::{COLD, DISPATCHED, Ground, KNOWN, SIZES},
    measure::{Case, measure, system_calls},
    report::{Base, Goal, Row, Summary, print},
};

const ROUNDS: usize = 40;

/// A command line of ours.
struct Typed {
    words: &'static [&'static str],
    base: Base,
    /// How many times its base it may take, for a number of plugins.
    goals: &'static [(usize, f64)],
}

const TYPED: &[Typed] = &[
    Typed { words: &["--version"], base: Base::Floor, goals: &[] },
    Typed { words: &["--help"], base: Base::Floor, goals: &[(100, 3.0), (1000, 6.0)] },
    Typed { words: &["plugin", "list"], base: Base::Floor, goals: &[(100, 3.0), (1000, 6.0)] },
    Typed { words: &[DISPATCHED], base: Base::Floor, goals: &[(100, 3.0), (1000, 6.0)] },
    Typed { words: &[DISPATCHED], base: Base::Target, goals: &[(100, 4.0)] },
    Typed { words: &["sync"], base: Base::Floor, goals: &[(100, 5.0), (1000, 12.0)] },
    Typed { words: &["crate-info", KNOWN], base: Base::Floor, goals: &[(100, 3.0), (1000, 3.0)] },
];

pub(crate) fn main() {
    let options = Options::parse();
    let ground = Ground::make();
    let mut cold = Vec::new();
    for (build, (label, program)) in options.programs.iter().enumerate() {
        let (command, prepare) = ground.cold_sync(build, program);
        let mut case = Case::new(format!("{label} cold sync").trim(), Some(COLD), command);
        case = case.prepared(prepare);
        case.warm_up();
        cold.push(case);
    }
    let (copy, prepare) = ground.cold_copy();
    let mut cases = vec![
        Case::new("floor", None, ground.command(0, &ground.floor, &[], SIZES[0])),
        Case::new("/bin/true", None, ground.command(0, "/bin/true", &[], SIZES[0])),
        Case::new("cp -r", None, copy).prepared(prepare),
    ];
    let mut rows = vec![Row { base: Base::Floor, goal: Goal::None }; cases.len()];
    rows.extend(cold.iter().map(|_| Row { base: Base::Copy, goal: Goal::None }));
    cases.extend(cold);
    for size in SIZES {
        let inputs = ground.inputs(size);
        let command = ground.command(0, &ground.unavoidable, &[inputs.as_str()], size);
        cases.push(Case::new("unavoidable", Some(size), command));
        rows.push(Row { base: Base::Floor, goal: Goal::None });
        for (build, (label, program)) in options.programs.iter().enumerate() {
            for Typed { words, base, goals } in TYPED {
                let command = ground.command(build, program, words, size);
                let name = format!("{label} {}", words.join(" "));
                cases.push(Case::new(name.trim(), Some(size), command));
                let goal = goals.iter().find(|(plugins, _)| *plugins == size);
                let goal = goal.map_or(Goal::None, |(_, times)| Goal::AtMost(*times));
                rows.push(Row { base: *base, goal });
            }
        }
    }
    // What a first sync writes is new, and what is new is read again until it is two seconds old.
    cases.iter_mut().for_each(Case::warm_up);
    ground.age();
    sleep(Duration::from_millis(2_200));
    cases.iter_mut().for_each(Case::warm_up);
    println!(
        "{} packages locked, {} rounds in random order, stdout to /dev/null\n",
        ground.packages, options.rounds
    );
    let samples = measure(&mut cases, options.rounds);
    print(&cases, &rows, &samples);
    let floor = Summary::of(&samples[0]);
    if floor.ninetieth > 1.5 * floor.median {
        println!("\nthe floor itself varies a lot: the machine is busy, believe the minima");
    }
    let largest = SIZES[SIZES.len() - 1];
    let (_, program) = &options.programs[0];
    let help = ground.command(0, program, &["--help"], largest);
    let calls = system_calls(&ground.scratch, &help);
    let calls = calls.unwrap_or_else(|| "no strace, system calls not counted".to_owned());
    println!("\n`--help` with {largest} plugins: {calls}");
    match ground.calls_of_cargo() {
        0 => println!("cargo was never called"),
        calls => println!("cargo was called {calls} times, which no warm start should"),
    }
    if options.pause {
        println!("\n{help:?}\n\nPress Enter to clean up.");
        let _ = std::io::stdin().read_line(&mut String::new());
    }
}

struct Options {
    rounds: usize,
    programs: Vec<(String, String)>,
    pause: bool,
}

impl Options {
    fn parse() -> Self {
        let own = env!("CARGO_BIN_EXE_cargo-agents").to_owned();
        let programs = vec![(String::new(), own)];
        let mut options = Self { rounds: ROUNDS, programs, pause: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("`{arg}` needs a value"));
            match arg.as_str() {
                // Cargo's own.
                "--bench" => {}
                "--pause" => options.pause = true,
                "--rounds" => {
                    let rounds: usize = value().parse().expect("a number of rounds");
                    options.rounds = rounds.max(1);
                }
                "--program" => {
                    let value = value();
                    let (label, path) = value.split_once('=').expect("<label>=<path>");
                    options.programs.push((format!("[{label}]"), path.to_owned()));
                }
                other => panic!("unknown argument `{other}`"),
            }
        }
        options
    }
}
