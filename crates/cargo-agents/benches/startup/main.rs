//! What one start costs, against an empty Rust program that is started the same way.
//!
//! ```text
//! cargo bench -p cargo-agents --bench startup -- [--rounds <n>] [--program <label>=<path>]... [--pause]
//! ```
//!
//! Everything is measured in one run, in random order in every round, so that a noisy machine hurts all of
//! it alike. Nothing fails because of a time. `--program` puts other builds beside this one,
//! `--pause` leaves time to look at them with a profiler before everything is cleaned up.
//! `docs/performance.md` says what was found with it.

#![cfg_attr(
    unix,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::disallowed_methods,
        reason = "a benchmark: it prints, starts programs and may stop when it cannot go on"
    )
)]

#[cfg(unix)]
mod ground;
#[cfg(unix)]
mod measure;
#[cfg(unix)]
mod report;

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod unix {
    use crate::{
        ground::{DISPATCHED, Ground, KNOWN, SIZES},
        measure::{Case, measure, system_calls},
        report::{Base, Goal, Row, Summary, print},
    };

    const ROUNDS: usize = 40;

    /// What is typed, what it is compared with, and how many times that it may take with how many plugins.
    const COMMANDS: &[(&[&str], Base, &[(usize, f64)])] = &[
        (&["--version"], Base::Floor, &[]),
        (&["--help"], Base::Floor, &[(100, 3.0), (1000, 6.0)]),
        (&["plugin", "list"], Base::Floor, &[(100, 3.0), (1000, 6.0)]),
        (&[DISPATCHED], Base::Target, &[(100, 4.0), (1000, 4.0)]),
        (&["crate-info", KNOWN], Base::Floor, &[(100, 3.0), (1000, 3.0)]),
    ];

    pub(crate) fn main() {
        let options = Options::parse();
        let ground = Ground::make();
        let mut cases = vec![
            Case::new("floor", None, ground.command(0, &ground.floor, &[], SIZES[0])),
            Case::new("/bin/true", None, ground.command(0, "/bin/true", &[], SIZES[0])),
        ];
        let mut rows = vec![Row { base: Base::Floor, goal: Goal::None }; cases.len()];
        for size in SIZES {
            let inputs = ground.inputs(size);
            let name = "unavoidable".to_owned();
            let command = ground.command(0, &ground.unavoidable, &[inputs.as_str()], size);
            cases.push(Case::new(name, Some(size), command));
            rows.push(Row { base: Base::Floor, goal: Goal::None });
            for (build, (label, program)) in options.programs.iter().enumerate() {
                for (typed, base, goals) in COMMANDS {
                    let command = ground.command(build, program, typed, size);
                    let name = [&[label.as_str()], *typed].concat().join(" ");
                    cases.push(Case::new(name.trim(), Some(size), command));
                    let goal = goals.iter().find(|(plugins, _)| *plugins == size);
                    let goal = goal.map_or(Goal::None, |(_, times)| Goal::AtMost(*times));
                    rows.push(Row { base: *base, goal });
                }
            }
        }
        ground.age();
        for case in &mut cases {
            case.warm_up();
        }
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
        match system_calls(&ground.scratch, &help) {
            Some(calls) => println!("\n`--help` with {largest} plugins: {calls}"),
            None => {
                println!("\n`--help` with {largest} plugins: no strace, system calls not counted")
            }
        }
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
                    "--rounds" => options.rounds = value().parse().expect("a number of rounds"),
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
}
