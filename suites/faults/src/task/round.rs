//! A few runs, one fault, and going on afterwards.

use agents_testkit::chance::Chance;
use std::{
    collections::BTreeMap,
    process::{Child, Output},
    time::{Duration, Instant},
};

use agents_testkit::harm::Place;
use camino::Utf8Path;
use serde_json::Value;

use crate::{
    area::Area,
    fault::Fault,
    ground::Ground,
    seen::{Came, Seen, said},
    task::{
        judge::Judge,
        processes::{self, Part},
        strike::{heal, strike},
        world::World,
    },
};

/// How long anything may take to come to its end.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked.
const GLANCE: Duration = Duration::from_millis(3);

/// Somebody who typed something.
struct Client {
    run: String,
    background: bool,
    child: Child,
    output: Option<Output>,
}

/// Where a round stands: the world, and who was started in it.
struct Stage<'a> {
    world: &'a World,
    fault: Fault,
    clients: Vec<Client>,
}

impl Stage<'_> {
    fn start(&mut self, chance: &mut Chance) -> anyhow::Result<()> {
        let run = format!("run-{}", self.clients.len());
        let prompt = format!("do {run}");
        let background = chance.percent(65);
        let mut args = vec!["run", "helper", &prompt, "--allow", "bash"];
        if background {
            args.push("--background");
        }
        let mut command = self.world.command(&args);
        // Each has a clock of its own, and whoever comes first gives theirs to the supervisor.
        if self.fault == Fault::Clock {
            let harm = Ground::wrong_clock(chance, Ground::early_step)?;
            harm.put(Place::Below(&self.world.root(), "cargo-agents"), &mut command);
        }
        self.world.watch(&mut command);
        let child = command.spawn()?;
        self.clients.push(Client { run, background, child, output: None });
        Ok(())
    }

    /// Until everybody who typed something has an answer; who has none.
    fn answered(&mut self) -> anyhow::Result<Vec<String>> {
        let since = Instant::now();
        loop {
            let mut open = Vec::new();
            for client in self.clients.iter_mut().filter(|it| it.output.is_none()) {
                match client.child.try_wait()? {
                    None => open.push(client.run.clone()),
                    Some(status) => {
                        let mut said = (Vec::new(), Vec::new());
                        let (out, err) = (client.child.stdout.take(), client.child.stderr.take());
                        use std::io::Read as _;
                        if let Some(mut out) = out {
                            out.read_to_end(&mut said.0)?;
                        }
                        if let Some(mut err) = err {
                            err.read_to_end(&mut said.1)?;
                        }
                        client.output = Some(Output { status, stdout: said.0, stderr: said.1 });
                    }
                }
            }
            if open.is_empty() {
                return Ok(open);
            }
            if since.elapsed() > PATIENCE {
                for client in self.clients.iter_mut().filter(|it| it.output.is_none()) {
                    client.child.kill()?;
                }
                return Ok(open);
            }
            std::thread::sleep(GLANCE);
        }
    }
}

/// The tasks, once none runs any more, and whether that came to be.
fn settled(world: &World) -> anyhow::Result<(Vec<Value>, bool)> {
    let since = Instant::now();
    loop {
        let tasks = world.tasks()?;
        if !tasks.iter().any(|it| it["state"] == "running") {
            return Ok((tasks, true));
        }
        if since.elapsed() > PATIENCE {
            return Ok((tasks, false));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// One round.
pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let (width, steps) = (3 + chance.below(4), 2 + chance.below(4));
    let pause = chance.moment(40);
    let world = World::new(program, fault == Fault::FullDisk, steps, pause)?;
    let mut stage = Stage { world: &world, fault, clients: Vec::new() };
    let struck = happen(&mut stage, fault, (width, steps), chance)?;
    let mut judge = Judge::new(&world, fault, steps);
    for run in stage.answered()? {
        judge.wrong(format!("whoever typed `task run` for {run} still waits"));
    }
    let (tasks, still) = settled(&world)?;
    if !still {
        judge.wrong("some task is running for ever".to_owned());
    }
    for client in &stage.clients {
        let output = client.output.as_ref();
        judge.client(&client.run, client.background, output, &tasks);
    }
    judge.states(&tasks);
    judge.processes(&[Part::Supervisor]);
    judge.transcripts(&tasks);
    let states: BTreeMap<String, usize> = tasks.iter().fold(BTreeMap::new(), |mut states, task| {
        *states.entry(task["state"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
        states
    });
    let resumed = judge.resume(&tasks)?;
    judge.transcripts(&settled(&world)?.0);
    let stopped = world.run(&["supervisor", "--stop"])?;
    if !stopped.status.success() {
        judge.wrong(format!("the supervisor does not end: {}", said(&stopped)));
    }
    judge.processes(&[]);
    let (acknowledged, checks) = judge.over();
    let states: Vec<String> = states.iter().map(|(it, count)| format!("{count} {it}")).collect();
    let runs = stage.clients.len();
    let happened = format!(
        "{runs} runs: {}; {acknowledged} turns seen by the model, {resumed} resumed",
        states.join(", ")
    );
    let came = Came { runs, hit: struck && fault.happened(world.noticed()), happened };
    let seen = came.seen((Area::Task, fault), checks, || world.keep())?;
    processes::below(&world.root()).iter().for_each(processes::Process::kill);
    Ok(seen)
}

/// Starts runs, and lets something go wrong while they start or work. Whether it did.
fn happen(
    stage: &mut Stage<'_>,
    fault: Fault,
    (width, steps): (usize, usize),
    chance: &mut Chance,
) -> anyhow::Result<bool> {
    let world = stage.world;
    let gap = chance.moment(120);
    // After so many questions to the model, or, sometimes, after so much time.
    let early = chance.percent(25).then(|| chance.moment(1200));
    let asked = chance.below(width * (steps + 1));
    let lag = chance.moment(25);
    let (since, mut last, mut struck) = (Instant::now(), None::<Instant>, false);
    loop {
        if stage.clients.len() < width && last.is_none_or(|it| it.elapsed() >= gap) {
            stage.start(chance)?;
            last = Some(Instant::now());
        }
        let due = match early {
            Some(early) => since.elapsed() >= early,
            None => world.endpoint.requests().len() >= asked,
        };
        if due && !struck {
            std::thread::sleep(lag);
            struck = strike(fault, world, chance)?;
        }
        let all = stage.clients.len() == width;
        let quiet =
            || processes::below(&world.root()).iter().all(|it| it.part() == Part::Supervisor);
        if (all && (struck || quiet())) || since.elapsed() > PATIENCE {
            break;
        }
        std::thread::sleep(GLANCE);
    }
    if matches!(fault, Fault::FullDisk | Fault::ReadOnly) && struck {
        // Somebody comes while it lasts.
        stage.start(chance)?;
        std::thread::sleep(Duration::from_millis(200) + chance.moment(1500));
        heal(fault, world)?;
    }
    Ok(struck)
}
