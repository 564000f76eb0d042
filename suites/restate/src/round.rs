//! A plan that runs on the cluster while something happens, and what must hold afterwards.

use agents_testkit::chance::Chance;
use std::{
    collections::BTreeMap,
    process::Child,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

use agents_testkit::endpoint::{Endpoint, Reply, Request, Script};
use anyhow::{Context as _, bail};
use camino::Utf8Path;
use clap::ValueEnum;
use hosts_suite::{say, table::Verdict};
use serde_json::{Value, json};

use crate::{
    report::{Column, Row},
    stage::Stage,
};

/// The tasks of the plan.
const TASKS: usize = 12;
/// How long a round may take.
const PATIENCE: Duration = Duration::from_secs(240);
const RUN: [&str; 6] = ["plan", "run", "plan.toml", "--engine", "restate", "--mode"];
const RESUME: [&str; 4] = ["plan", "resume", "last", "--mode"];
const MODE: &str = "bypass-permissions";

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Nothing
    None,
    /// One worker is killed with -9, and does not come back
    WorkerKilled,
    /// One worker is killed with -9 again and again, and started again each time
    WorkerRestarted,
    /// The way between a worker and the server is cut for a while
    CutOff,
    /// The server is killed with -9 and started again
    ServerKilled,
    /// The driver is killed with -9 and the run resumed, again and again
    DriverKilled,
    /// All of these
    Everything,
}

impl Fault {
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::WorkerKilled => "a worker is killed",
            Self::WorkerRestarted => "a worker is killed and restarted, twice",
            Self::CutOff => "a worker is cut off for a while",
            Self::ServerKilled => "the server is killed and restarted",
            Self::DriverKilled => "the driver is killed and resumed, twice",
            Self::Everything => "all of this at once",
        }
    }
}

/// What was seen in all rounds of a fault.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    wrong: Vec<(Column, String)>,
    paid: usize,
    tasks: usize,
    slowest: Duration,
}

impl Seen {
    fn wrong(&mut self, column: Column, what: String) {
        self.wrong.push((column, what));
    }

    pub(crate) fn fill(self, row: &mut Row) {
        for (column, _) in <Column as hosts_suite::table::Column>::ALL {
            let why: Vec<&str> =
                self.wrong.iter().filter(|it| it.0 == *column).map(|it| it.1.as_str()).collect();
            row.set(*column, Verdict::from(why.is_empty(), || why.join("; ")));
        }
        row.note(format!(
            "  {} tasks were paid for {} times; the slowest round took {} s",
            self.tasks,
            self.paid,
            self.slowest.as_secs()
        ));
    }
}

/// A chain, a fan, and one that gathers: every task writes a file of its own, and those that need others read theirs.
fn plan() -> String {
    let mut plan = "plan = \"storm\"\n".to_owned();
    for number in 0..TASKS {
        let needs: Vec<String> = match number {
            1..4 => vec![format!("t{}", number - 1)],
            11 => (4..11).map(|it| format!("t{it}")).collect(),
            4..11 => vec!["t0".to_owned()],
            _ => Vec::new(),
        };
        plan.push_str(&format!(
            "\n[[tasks]]\nid = \"t{number}\"\nagent = \"helper\"\nprompt = \"TASK <t{number}>\"\nneeds = {needs:?}\nretry = {{ attempts = 1 }}\n"
        ));
    }
    plan
}

/// When the model saw the first request of a task: then somebody began to pay for it.
type Paid = Arc<Mutex<Vec<(String, u64)>>>;

fn now() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn model(request: &Request, paid: &Paid, delay: Duration) -> Reply {
    let text = request.text();
    let task = text.split("TASK <").nth(1).and_then(|it| it.split('>').next()).unwrap_or("?");
    if request.results().count() == 0 {
        paid.lock().unwrap_or_else(PoisonError::into_inner).push((task.to_owned(), now()));
        let content = format!("from {task}\n");
        let input = json!({ "path": format!("{task}.txt"), "content": content });
        if let Some(write) = request.tool("write") {
            // So that there is something to be interrupted.
            return Reply::from(write.call(input)).with_delay(delay);
        }
    }
    Reply::text(format!("{task} is done"))
}

pub(crate) fn rounds(
    fault: Fault,
    rounds: u32,
    chance: &mut Chance,
    server: &Utf8Path,
    built: &Utf8Path,
) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    for number in 1..=rounds {
        say(&format!("{}: round {number}", fault.told()));
        round(fault, chance, server, built, &mut seen)
            .with_context(|| format!("round {number} of `{}`", fault.told()))?;
    }
    Ok(seen)
}

fn round(
    fault: Fault,
    chance: &mut Chance,
    server: &Utf8Path,
    built: &Utf8Path,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    let paid = Paid::default();
    let (noted, delay) = (Arc::clone(&paid), chance.between(200, 1200));
    let endpoint = Endpoint::start(Script::rule(move |request| model(request, &noted, delay)));
    let mut stage = Stage::set(server, built, &endpoint.url(), &plan())?;
    let begun = Instant::now();
    let mut driver = stage.begin(&[&RUN[..], &[MODE]].concat())?;
    stage.until("there is a run", || {
        Ok(stage.document(&["plan", "show", "last", "--json"])?["run"].is_string())
    })?;
    trouble(fault, chance, &mut stage, &mut driver)?;
    while driver.try_wait()?.is_none() {
        if begun.elapsed() > PATIENCE {
            _ = driver.kill();
            let standing = stage.admin("query", Some("SELECT id, idempotency_key, status, retry_count, last_failure FROM sys_invocation WHERE status != 'completed'"));
            bail!("the plan did not end; the server says {standing:?}");
        }
        thread::sleep(Duration::from_millis(100));
    }
    seen.slowest = seen.slowest.max(begun.elapsed());
    look(&stage, &paid, seen)
}

/// What happens while the plan runs.
fn trouble(
    fault: Fault,
    chance: &mut Chance,
    stage: &mut Stage,
    driver: &mut Child,
) -> anyhow::Result<()> {
    let mut all = match fault {
        Fault::None => vec![],
        Fault::Everything => {
            vec![Fault::DriverKilled, Fault::ServerKilled, Fault::CutOff, Fault::WorkerRestarted]
        }
        one => vec![one],
    };
    while let Some(fault) = all.pop() {
        thread::sleep(chance.between(800, 3500));
        match fault {
            Fault::WorkerKilled => stage.workers[0].kill(),
            Fault::WorkerRestarted => {
                for _ in 0..2 {
                    stage.workers[0].kill();
                    thread::sleep(chance.between(0, 2500));
                    stage.workers[0].start_again()?;
                    thread::sleep(chance.between(500, 3000));
                }
            }
            Fault::CutOff => {
                stage.way.cut();
                // Sometimes long enough that the lane is given away.
                thread::sleep(chance.between(500, 9000));
                stage.way.mend();
            }
            Fault::ServerKilled => {
                stage.server.kill();
                thread::sleep(chance.between(0, 3000));
                stage.server.start_again()?;
            }
            Fault::DriverKilled => {
                for _ in 0..2 {
                    _ = driver.kill();
                    _ = driver.wait();
                    thread::sleep(chance.between(0, 2500));
                    let ended = stage.document(&["plan", "show", "last", "--json"])?;
                    if ended["state"] == "completed" {
                        break;
                    }
                    stage.until("the server answers", || {
                        Ok(stage.admin("services", None).is_ok())
                    })?;
                    *driver = stage.begin(&[&RESUME[..], &[MODE]].concat())?;
                    thread::sleep(chance.between(300, 3000));
                }
            }
            Fault::None | Fault::Everything => {}
        }
    }
    Ok(())
}

/// What must hold afterwards.
fn look(stage: &Stage, paid: &Paid, seen: &mut Seen) -> anyhow::Result<()> {
    let run = stage.document(&["plan", "show", "last", "--json"])?;
    let tasks: Vec<&Value> = run["tasks"].as_array().into_iter().flatten().collect();
    let good = tasks.iter().filter(|task| {
        let name = task["task"].as_str().unwrap_or_default();
        task["state"] == "completed" && task["outcome"]["text"] == format!("{name} is done")
    });
    if good.count() != TASKS {
        seen.wrong(Column::Completed, format!("{run}"));
    }
    for number in 0..TASKS {
        let file = stage.scratch.path(format!("workspace/t{number}.txt"));
        let text = fs_err::read_to_string(&file).unwrap_or_default();
        if text != format!("from t{number}\n") {
            seen.wrong(Column::Files, format!("`{file}` has `{text}`"));
        }
    }
    let logs = stage.agents(&["plan", "logs", "last"]).capture()?.stdout_text();
    for number in 0..TASKS {
        let ends = logs.lines().filter(|line| line.contains(&format!(" t{number}: completed")));
        if ends.count() != 1 {
            seen.wrong(Column::Events, format!("t{number} in\n{logs}"));
        }
    }
    let acknowledged = acknowledged(stage)?;
    let paid = paid.lock().unwrap_or_else(PoisonError::into_inner);
    seen.tasks += TASKS;
    seen.paid += paid.len();
    for (task, at) in paid.iter() {
        match acknowledged.get(task) {
            Some(first) if at > first => seen.wrong(
                Column::Once,
                format!("`{task}` was acknowledged at {first} and paid for at {at}"),
            ),
            Some(_) => {}
            None => seen.wrong(Column::Once, format!("`{task}` was never acknowledged")),
        }
    }
    let left = "SELECT idempotency_key, status FROM sys_invocation WHERE target_handler_name = 'run' AND status != 'completed'";
    let left = stage.admin("query", Some(left))?;
    if left["rows"].as_array().is_none_or(|it| !it.is_empty()) {
        seen.wrong(Column::Nothing, left.to_string());
    }
    Ok(())
}

/// When the server acknowledged each task for the first time.
fn acknowledged(stage: &Stage) -> anyhow::Result<BTreeMap<String, u64>> {
    let query = "SELECT i.idempotency_key AS key, CAST(j.appended_at AS BIGINT) AS at \
        FROM sys_journal j JOIN sys_invocation i ON j.id = i.id \
        WHERE i.target_handler_name = 'run' AND j.entry_type = 'Notification: Run'";
    let rows = stage.admin("query", Some(query))?;
    let mut first: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows["rows"].as_array().context("rows")? {
        let key = row["key"].as_str().context("a key")?;
        let at = row["at"].as_u64().context("a time")?;
        let task = key.split('/').nth(1).context("a task")?.to_owned();
        let known = first.entry(task).or_insert(at);
        *known = at.min(*known);
    }
    Ok(first)
}
