//! Killed at any moment: what the user has is old or new and never half, and the next sync makes everything good.
//!
//! This program starts itself as the victim, which is traced so that it can be killed between any two of its system
//! calls. A few dozen moments by default, many more with
//! `cargo test -p agents-sync --test it -- --ignored crashes`.

use std::{
    cell::Cell,
    collections::BTreeSet,
    process::{Command, Stdio},
    time::Duration,
};

use agents_sync::{Desired, DesiredFile, Edited};
use agents_system::ledger::What;
use agents_testkit::scratch::Scratch;
use camino::Utf8Path;
use nix::{
    errno::Errno,
    sys::{
        ptrace,
        signal::{Signal, kill, raise},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;

use crate::{
    convergence::{History, Step, kinds, step},
    want::{Want, want},
    world::{MARK, Snapshot, World, host, item, server, shown, skill, tree},
};

const JOB: &str = "AGENTS_TEST_JOB";
const ROOT: &str = "AGENTS_TEST_ROOT";
const UNTRACED: &str = "AGENTS_TEST_UNTRACED";
/// The victim cannot be traced here.
const NOT_PERMITTED: i32 = 77;

const JSON: &str = "{\n  // my servers\n  \"mcpServers\": {\n    \"mine\": { \"command\": \"x\" }, // keep\n  },\n  \"model\": \"m\"\n}\n";
const TOML: &str = "# mine\r\nmodel = \"m\" # the best\r\n\r\n[tools]\r\nweb = true\r\n";
const YAML: &str = "# mine\nextensions:\n  own: # keep\n    cmd: own\nprovider: p # the best\n";

/// What the victim is doing, and what happened before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    Install,
    /// Over a skill that another installation left, of which nothing is recorded.
    Adopt,
    Update,
    Reap,
    Edited,
    Uninstall,
}

const SCENARIOS: [Scenario; 6] = [
    Scenario::Install,
    Scenario::Adopt,
    Scenario::Update,
    Scenario::Reap,
    Scenario::Edited,
    Scenario::Uninstall,
];

impl Scenario {
    fn prepare(self, root: &Utf8Path) -> World {
        let world = World::at(root);
        world.write("settings.json", JSON);
        world.write("config.toml", TOML);
        world.write("config.yaml", YAML);
        world.write("skills/guide/SKILL.md", "the user's own");
        match self {
            Self::Install => {}
            Self::Adopt => {
                world.write("skills/tools/SKILL.md", "from elsewhere");
                world.write("skills/tools/.gitignore", "*\n");
                world.write("skills/tools/.symposium", "");
            }
            _ => drop(world.sync(&first(&world))),
        }
        if self == Self::Edited {
            let text = world.read("settings.json").unwrap();
            world.write("settings.json", text.replace("\"demo\"", "\"mended\""));
            world.write("skills/tools/notes.md", "my notes");
            fs_err::remove_dir_all(world.path("skills/guide-one")).unwrap();
        }
        world
    }

    fn desired(self, world: &World) -> Desired {
        match self {
            Self::Install | Self::Adopt => first(world),
            Self::Update | Self::Edited => second(world),
            Self::Reap | Self::Uninstall => Desired::default(),
        }
    }

    fn act(self, world: &World) {
        match self {
            Self::Uninstall => drop(world.uninstall()),
            _ => drop(world.sync_as(&self.desired(world), Edited::Keep)),
        }
    }
}

fn first(world: &World) -> Desired {
    let dir = world.path("skills");
    let long = "text\n".repeat(5_000);
    Desired {
        skills: vec![
            skill(&dir, "guide", "one", tree(&[("SKILL.md", "guide"), ("a/b/c.md", &long)])),
            skill(&dir, "tools", "one", tree(&[("SKILL.md", "tools"), ("bin/run.sh", "run")])),
        ],
        parts: vec![
            server(
                &world.path("settings.json"),
                &["mcpServers", "demo"],
                json!({"command": "demo"}),
            ),
            server(
                &world.path("config.toml"),
                &["mcp_servers", "demo"],
                json!({"command": "demo"}),
            ),
            server(&world.path("config.yaml"), &["extensions", "demo"], json!({"cmd": "demo"})),
            server(&world.path("new/mcp.json"), &["a", "b", "demo"], json!({"command": "demo"})),
            item(&world.path("settings.json"), &["hooks", "Pre"], json!({"command": MARK})),
        ],
        files: vec![DesiredFile {
            host: host("copilot"),
            file: world.path("hooks/ours.json"),
            text: "{}\n".to_owned(),
            what: What::Hook,
            name: "every event".to_owned(),
            from: "cargo-agents".to_owned(),
        }],
    }
}

fn second(world: &World) -> Desired {
    let dir = world.path("skills");
    let mut desired = first(world);
    desired.skills[0] = skill(&dir, "guide", "one", tree(&[("SKILL.md", "guide 2")]));
    desired.skills[1] = skill(&dir, "extra", "one", tree(&[("SKILL.md", "extra")]));
    for server in &mut desired.parts {
        server.value["args"] = json!(["--stdio"]);
    }
    desired.files[0].text = "{ \"version\": 1 }\n".to_owned();
    desired.parts.remove(2);
    desired.parts.push(server(
        &world.path("settings.json"),
        &["mcpServers", "other"],
        json!({"command": "other", "env": {"A": "1"}}),
    ));
    desired
}

/// What the undisturbed course of things looks like.
struct Course {
    before: Snapshot,
    after: Snapshot,
    uninstalled: Snapshot,
}

impl Course {
    fn of(scenario: Scenario) -> Self {
        let scratch = Scratch::new();
        let world = scenario.prepare(scratch.root());
        let before = world.files();
        scenario.act(&world);
        let after = world.files();
        world.uninstall();
        let uninstalled = world.files();
        if !matches!(scenario, Scenario::Edited | Scenario::Adopt) {
            let original = Scratch::new();
            Scenario::Install.prepare(original.root());
            assert_eq!(shown(&uninstalled), shown(&World::at(original.root()).files()));
        }
        Self { before, after, uninstalled }
    }

    /// Each file and each skill is as it was or as it will be.
    fn check_halfway(&self, now: &Snapshot, moment: &str) {
        let all = self.before.keys().chain(self.after.keys()).chain(now.keys());
        let units: BTreeSet<&str> = all.map(|path| unit(path)).collect();
        for name in units.into_iter().filter(|name| !name.contains(".agents-")) {
            let part = |files: &Snapshot| -> Snapshot {
                let files = files.iter().filter(|(path, _)| unit(path) == name);
                files.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
            };
            let now = part(now);
            assert!(
                now == part(&self.before) || now == part(&self.after),
                "{moment}: `{name}` is half-written: {:#?}",
                shown(&now)
            );
        }
    }
}

/// What changes in one step: a file, or a skill.
fn unit(path: &str) -> &str {
    let depth = if path.starts_with("skills/") { 2 } else { 9 };
    path.match_indices('/').nth(depth - 1).map_or(path, |(at, _)| &path[..at])
}

/// When the victim dies.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Never,
    /// Before its n-th system call.
    Call(usize),
    /// Before its n-th system call that changes something.
    Write(usize),
    /// After a time, where it cannot be traced.
    After(Duration),
}

#[derive(Debug, Default)]
struct Run {
    calls: usize,
    writes: usize,
    killed: bool,
    untraceable: bool,
}

/// Starts the victim, whose job is a scenario or what is wanted, and watches it.
#[expect(clippy::zombie_processes, reason = "it is waited for, thread by thread")]
fn run(job: &str, root: &Utf8Path, moment: Moment) -> Run {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crashes::victim", "--ignored", "--test-threads=1"]);
    command.env(JOB, job).env(ROOT, root);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    if let Moment::After(delay) = moment {
        let mut child = command.env(UNTRACED, "1").spawn().unwrap();
        std::thread::sleep(delay);
        let killed = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        return Run { killed, ..Run::default() };
    }
    let child = command.spawn().unwrap();
    let victim = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let mut run = Run::default();
    let mut inside = false;
    // Only what this thread started.
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        match waitpid(None, Some(flags)) {
            Ok(WaitStatus::Stopped(thread, Signal::SIGSTOP)) => {
                let options =
                    ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL;
                ptrace::setoptions(thread, options).unwrap();
                ptrace::syscall(thread, None).unwrap();
            }
            Ok(WaitStatus::PtraceSyscall(thread)) => {
                inside = !inside;
                if inside {
                    run.calls += 1;
                    run.writes += usize::from(is_write(thread));
                    run.killed = match moment {
                        Moment::Call(n) => run.calls > n,
                        Moment::Write(n) => run.writes > n,
                        Moment::Never | Moment::After(_) => false,
                    };
                }
                if run.killed {
                    kill(victim, Signal::SIGKILL).unwrap();
                } else {
                    // It may have been killed meanwhile.
                    let _ = ptrace::syscall(thread, None);
                }
            }
            Ok(WaitStatus::Stopped(thread, signal)) => {
                let _ = ptrace::syscall(thread, Some(signal));
            }
            Ok(WaitStatus::Exited(pid, code)) if pid == victim => {
                run.untraceable = code == NOT_PERMITTED;
                assert!(code == 0 || run.untraceable, "the victim failed with {code}");
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return run,
            Err(error) => panic!("cannot wait for the victim: {error}"),
        }
    }
}

/// Whether the system call that a thread is about to make changes something.
#[cfg(target_arch = "x86_64")]
fn is_write(thread: Pid) -> bool {
    const O_CREAT: u64 = 0o100;
    // write, fsync, ftruncate, rename*, mkdir*, rmdir, link*, unlink*, *chmod*, fchown
    const WRITES: &[u64] =
        &[1, 74, 77, 82, 83, 84, 86, 87, 90, 91, 93, 258, 263, 264, 265, 268, 316];
    let Ok(registers) = ptrace::getregs(thread) else { return false };
    match registers.orig_rax {
        257 => registers.rdx & O_CREAT != 0,
        call => WRITES.contains(&call),
    }
}

/// Whether the system call that a thread is about to make changes something: unknown here, so each of them may.
#[cfg(not(target_arch = "x86_64"))]
fn is_write(_: Pid) -> bool {
    true
}

/// Not a test of its own: what the others kill.
#[test]
#[ignore = "started by the other tests of this module"]
fn victim() {
    let (Ok(job), Ok(root)) = (std::env::var(JOB), std::env::var(ROOT)) else { return };
    let scenario = SCENARIOS.into_iter().find(|it| format!("{it:?}") == job);
    let world = World::at(Utf8Path::new(&root));
    if std::env::var(UNTRACED).is_err() {
        if ptrace::traceme().is_err() {
            std::process::exit(NOT_PERMITTED);
        }
        raise(Signal::SIGSTOP).unwrap();
    }
    match scenario {
        Some(scenario) => scenario.act(&world),
        None => drop(world.sync(&Want::parse(&job).unwrap().desired(&world))),
    }
    // Without the rest of the test harness, which is not what we look at.
    std::process::exit(0);
}

/// Up to `count` moments: first those before something is changed, evenly spread, then any others.
fn moments(scenario: Scenario, count: usize, rng: &mut TestRng) -> Vec<Moment> {
    let scratch = Scratch::new();
    scenario.prepare(scratch.root());
    let whole = run(&format!("{scenario:?}"), scratch.root(), Moment::Never);
    if whole.untraceable {
        eprintln!(
            "{scenario:?}: tracing is not permitted here, so the victim dies at random times"
        );
        let random = |_| Moment::After(Duration::from_micros(rng.next_u64() % 60_000));
        return (0..count).map(random).collect();
    }
    let writes = whole.writes.min(count * 3 / 4);
    let spread = |at: usize| Moment::Write(at * whole.writes / writes);
    let mut moments: Vec<Moment> = (0..writes).map(spread).collect();
    let mut any = || usize::try_from(rng.next_u64()).unwrap() % whole.calls;
    moments.extend((writes..count).map(|_| Moment::Call(any())));
    eprintln!(
        "{scenario:?}: {} system calls, {} of them change something",
        whole.calls, whole.writes
    );
    moments
}

fn kill_at_many_moments(scenario: Scenario, count: usize) {
    let course = Course::of(scenario);
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut kills = 0;
    let moments = moments(scenario, count, &mut rng);
    let traced = !matches!(moments[0], Moment::After(_));
    for (number, moment) in moments.into_iter().enumerate() {
        let scratch = Scratch::new();
        let world = scenario.prepare(scratch.root());
        let died = run(&format!("{scenario:?}"), scratch.root(), moment);
        kills += usize::from(died.killed);
        let said = format!("{scenario:?} killed at {moment:?}");
        course.check_halfway(&world.files(), &said);
        // Mostly the same command is run again; sometimes the user gives up at once.
        if number % 4 != 3 || scenario == Scenario::Adopt {
            scenario.act(&world);
            assert_eq!(shown(&world.files()), shown(&course.after), "{said}, then again");
            assert_eq!(world.litter(), [""; 0], "{said}, then again");
            let times = world.times();
            scenario.act(&world);
            assert_eq!(world.times(), times, "{said}: the third run wrote something");
        }
        world.uninstall();
        assert_eq!(shown(&world.files()), shown(&course.uninstalled), "{said}, then uninstalled");
        assert_eq!(world.litter(), [""; 0], "{said}, then uninstalled");
    }
    eprintln!("{scenario:?}: {count} moments, {kills} kills");
    assert!(!traced || kills * 10 >= count * 9, "{kills} of {count}");
}

#[test]
fn a_killed_sync_leaves_old_or_new_and_the_next_one_converges() {
    for scenario in SCENARIOS {
        kill_at_many_moments(scenario, 12);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_sync_killed_at_every_write_and_hundreds_of_other_moments_converges() {
    for scenario in SCENARIOS {
        kill_at_many_moments(scenario, 200);
    }
}

/// Histories as in [`crate::convergence`], in which some of the syncs are killed.
fn kill_in_random_histories(cases: u32) {
    let steps = prop_oneof![
        3 => step(),
        2 => (want(), 0..450_usize).prop_map(|(want, at)| Step::Killed(want, at)),
    ];
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    let kills = Cell::new(0);
    let kill = |world: &World, want: &Want, at: usize| {
        let mut died = run(&want.to_text(), world.root(), Moment::Call(at));
        if died.untraceable {
            let delay = Duration::from_micros(at as u64 * 60);
            died = run(&want.to_text(), world.root(), Moment::After(delay));
        }
        kills.set(kills.get() + u32::from(died.killed));
    };
    let tested = TestRunner::new(config).run(&(kinds(), vec(steps, 2..10)), |(kinds, steps)| {
        History::new(&kinds).run(&steps, kill);
        Ok(())
    });
    eprintln!("{cases} histories, {} kills", kills.get());
    tested.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn random_histories_with_crashes_lose_nothing_and_converge() {
    kill_in_random_histories(40);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_histories_with_crashes_lose_nothing_and_converge() {
    kill_in_random_histories(600);
}
