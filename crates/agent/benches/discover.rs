//! How much finding a thousand agents in twenty directories costs, compared with reading and with looking at the same files.
//!
//! `cargo bench -p agents-agent` prints the ratios and ends with 1 if asking again costs more than 1.5 times what looking costs.
//! Only ratios: how fast this machine is does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a measurement"
)]

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant, SystemTime},
};

use agents_agent::{Finder, Search, search::Bundled};
use agents_host::Roots;
use agents_plugin::{
    agents::AgentDir,
    manifest::PluginName,
    plugin::Origin,
    skills::{Contributor, SkillOrigin},
};
use agents_testkit::scratch::Scratch;
use camino::Utf8PathBuf;

const DIRS: usize = 20;
const FILES: usize = 50;
const ROUNDS: usize = 60;

/// What asking again may cost, compared with looking at the files.
const LIMIT: f64 = 1.5;

fn main() -> ExitCode {
    let scratch = Scratch::new();
    let files = fill(&scratch);
    let search = search(&scratch);
    let mut finder = Finder::new();
    assert_eq!(finder.find(&search).unwrap().iter().count(), DIRS * FILES);

    // Taken in turns, so that whatever else the machine does hits all of them alike.
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        files.iter().for_each(|file| _ = black_box(file.metadata().unwrap()));
        let runs: [&mut dyn FnMut(); 4] = [
            &mut || files.iter().for_each(|file| _ = black_box(file.metadata().unwrap())),
            &mut || drop(black_box(finder.find(&search).unwrap())),
            &mut || files.iter().for_each(|file| drop(black_box(std::fs::read(file).unwrap()))),
            &mut || drop(black_box(Finder::new().find(&search).unwrap())),
        ];
        for (run, times) in runs.into_iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    let [look, warm, read, cold] = times.map(median);
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!("{} definitions in {DIRS} directories, medians of {ROUNDS} rounds", files.len());
    println!("stat every file           {look:>10.2?}");
    println!("find them again           {warm:>10.2?}  {:.2} of stat", ratio(warm, look));
    println!("read every file           {read:>10.2?}");
    println!("find them the first time  {cold:>10.2?}  {:.2} of read", ratio(cold, read));
    if ratio(warm, look) > LIMIT {
        println!("asking again costs more than {LIMIT} times what looking costs");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A thousand definitions of an ordinary size, from a day ago: what was written just now is compared by content.
fn fill(scratch: &Scratch) -> Vec<Utf8PathBuf> {
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    let body = "Read the code before you change it, and say what you saw.\n".repeat(30);
    let mut files = Vec::new();
    for dir in 0..DIRS {
        for file in 0..FILES {
            let text = format!(
                "---\nname: agent-{dir}-{file}\ndescription: Number {file} of directory {dir}\ntools: read, grep\nmodel: sonnet\n---\n{body}"
            );
            let path = scratch.write(format!("plugin{dir}/agents/{file:02}.md"), text);
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_times(std::fs::FileTimes::new().set_modified(yesterday)).unwrap();
            files.push(path);
        }
        let dir = std::fs::File::open(scratch.path(format!("plugin{dir}/agents"))).unwrap();
        dir.set_times(std::fs::FileTimes::new().set_modified(yesterday)).unwrap();
    }
    files
}

fn search(scratch: &Scratch) -> Search {
    let (hosts, _) = agents_host::hosts(None);
    let home = scratch.path("home");
    let cwd = scratch.path("home/work/app");
    std::fs::create_dir_all(cwd.join(".git")).unwrap();
    let roots = Roots { home: &home, workspace: None, env: &|_| None };
    let plugins = (0..DIRS).map(|number| AgentDir {
        dir: scratch.path(format!("plugin{number}/agents")),
        root: scratch.path(format!("plugin{number}")),
        origin: SkillOrigin::Path { registry: "r".to_owned(), path: "agents".into() },
        plugin: Contributor {
            name: PluginName::new(&format!("p{number}")).unwrap(),
            origin: Origin::Registry("r".to_owned()),
        },
        because: Vec::new(),
    });
    let mut search = Search::new(&cwd, &hosts, &roots);
    search.plugins = plugins.collect();
    search.bundled = Bundled::Excluded;
    search
}
