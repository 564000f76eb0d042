//! The run as a whole.

use std::{process::Command, thread::sleep, time::Duration};

use crate::{
    COPY, FLOOR, TARGET,
    ground::{COLD, DISPATCHED, Ground, KNOWN, MEDIUM, SIZES},
    hook,
    measure::{Case, measure, system_calls},
    report::{Goal, Row, Summary, print},
    task,
};

const ROUNDS: usize = 40;

/// A command line of ours.
struct Typed {
    words: &'static [&'static str],
    base: usize,
    /// How many times its base it may take, for a number of plugins.
    goals: &'static [(usize, f64)],
}

const TYPED: &[Typed] = &[
    Typed { words: &["--version"], base: FLOOR, goals: &[] },
    Typed { words: &["--help"], base: FLOOR, goals: &[(100, 3.0), (1000, 6.0)] },
    Typed { words: &["plugin", "list"], base: FLOOR, goals: &[(100, 3.0), (1000, 6.0)] },
    Typed { words: &[DISPATCHED], base: FLOOR, goals: &[(100, 3.0), (1000, 6.0)] },
    Typed { words: &[DISPATCHED], base: TARGET, goals: &[(100, 4.0)] },
    Typed { words: &["sync"], base: FLOOR, goals: &[(100, 5.0), (1000, 12.0)] },
    Typed { words: &["crate-info", KNOWN], base: FLOOR, goals: &[(100, 3.0), (1000, 3.0)] },
];

pub(crate) fn main() {
    let options = Options::parse();
    let ground = Ground::make();
    if options.what == What::Task {
        return task::run(&ground, options.rounds, &options.programs);
    }
    let floor = Case::new("floor", None, ground.command(0, &ground.floor, &[], SIZES[0]));
    let rows: Vec<(Case, Row)> = match options.what {
        What::Commands | What::Task => commands(&ground, &options),
        What::Hook => {
            let programs = options.programs.iter().enumerate();
            let all = programs
                .flat_map(|(at, (label, program))| hook::cases(&ground, at, label, program));
            let spawner = ground.command(0, &ground.spawner, &[], SIZES[0]);
            let row = Row { base: FLOOR, goal: Goal::None };
            std::iter::once((Case::new("floor + true", None, spawner), row)).chain(all).collect()
        }
    };
    let row = Row { base: FLOOR, goal: Goal::None };
    let (mut cases, rows): (Vec<_>, Vec<_>) = std::iter::once((floor, row)).chain(rows).unzip();
    // What a first sync writes is new, and what is new is read again until it is two seconds old.
    cases.iter_mut().for_each(Case::warm_up);
    ground.age();
    sleep(Duration::from_millis(2_200));
    cases.iter_mut().for_each(Case::warm_up);
    println!(
        "{} packages locked, {} rounds in random order, stdout to /dev/null\n",
        MEDIUM.packages(),
        options.rounds
    );
    let samples = measure(&mut cases, options.rounds);
    print(&cases, &rows, &samples);
    let floor = Summary::of(&samples[0]);
    if floor.ninetieth > 1.5 * floor.median {
        println!("\nthe floor itself varies a lot: the machine is busy, believe the minima");
    }
    let counted: Vec<Command> = match options.what {
        What::Commands | What::Task => {
            let largest = SIZES[SIZES.len() - 1];
            vec![ground.command(0, &options.programs[0].1, &["--help"], largest)]
        }
        What::Hook => cases[TARGET + 1..].iter().map(Case::again).collect(),
    };
    println!();
    for command in &counted {
        let calls = system_calls(&ground.scratch, command);
        let calls = calls.unwrap_or_else(|| "no strace, system calls not counted".to_owned());
        let home = command.get_envs().find(|(name, _)| *name == "CARGO_AGENTS_HOME");
        let home = home.and_then(|(_, value)| value).unwrap_or_default().to_string_lossy();
        let home = home.rsplit('/').next().unwrap_or_default();
        let args: Vec<_> = command.get_args().map(|it| it.to_string_lossy()).collect();
        println!("`{}` ({home}): {calls}", args.join(" "));
    }
    match ground.calls_of_cargo() {
        0 => println!("cargo was never called"),
        calls => println!("cargo was called {calls} times, which no warm start should"),
    }
    if options.pause {
        println!("\n{counted:#?}\n\nPress Enter to clean up.");
        let _ = std::io::stdin().read_line(&mut String::new());
    }
}

/// The commands that people type, with every number of plugins.
fn commands(ground: &Ground, options: &Options) -> Vec<(Case, Row)> {
    let target = Case::new("/bin/true", None, ground.command(0, "/bin/true", &[], SIZES[0]));
    let mut cold = Vec::new();
    for (build, (label, program)) in options.programs.iter().enumerate() {
        let (command, prepare) = ground.cold_sync(build, program);
        let case = Case::new(format!("{label} cold sync").trim(), Some(COLD), command);
        let mut case = case.after(prepare);
        case.warm_up();
        cold.push((case, Row { base: COPY, goal: Goal::None }));
    }
    let (copy, prepare) = ground.cold_copy();
    let copy = Case::new("cp -r", None, copy).after(prepare);
    let row = Row { base: FLOOR, goal: Goal::None };
    let mut cases = vec![(target, row), (copy, row)];
    cases.extend(cold);
    for size in SIZES {
        let inputs = ground.inputs(size);
        let command = ground.command(0, &ground.unavoidable, &[inputs.as_str()], size);
        let case = Case::new("unavoidable", Some(size), command);
        cases.push((case, Row { base: FLOOR, goal: Goal::None }));
        for (build, (label, program)) in options.programs.iter().enumerate() {
            for Typed { words, base, goals } in TYPED {
                let command = ground.command(build, program, words, size);
                let name = format!("{label} {}", words.join(" "));
                let goal = goals.iter().find(|(plugins, _)| *plugins == size);
                let goal = goal.map_or(Goal::None, |(_, times)| Goal::AtMost(*times));
                let case = Case::new(name.trim(), Some(size), command);
                cases.push((case, Row { base: *base, goal }));
            }
        }
    }
    cases
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Commands,
    Hook,
    Task,
}

struct Options {
    what: What,
    rounds: usize,
    programs: Vec<(String, String)>,
    pause: bool,
}

impl Options {
    fn parse() -> Self {
        let own = env!("CARGO_BIN_EXE_cargo-agents").to_owned();
        let programs = vec![(String::new(), own)];
        let mut options = Self { what: What::Commands, rounds: ROUNDS, programs, pause: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("`{arg}` needs a value"));
            match arg.as_str() {
                // Cargo's own.
                "--bench" => {}
                "--hook" => options.what = What::Hook,
                "--task" => options.what = What::Task,
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
