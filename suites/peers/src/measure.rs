//! What both take for the same work, in turns.

use std::{process::Command, time::Duration};

use agents_testkit::scratch;
use camino::Utf8PathBuf;
use hosts_suite::{say, tree::Tree};

use crate::{
    ground::{Afterwards, Ground, hook_table},
    once::{self, Sample},
    program::{Programs, Who},
    trace::{self, Traced},
    wire,
};

/// How many packages of which kind the workspace has.
const MEMBERS: usize = 20;
const DIRECT: usize = 40;
const INDIRECT: usize = 90;

/// How many plugins there are; one in so many applies.
const PLUGINS: usize = 100;
const APPLIES: usize = 20;

/// Something to start again and again.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) told: &'static str,
    args: &'static [&'static str],
    /// Whether a host calls it, and with which tool.
    reads: Option<&'static str>,
    at: At,
}

/// In which of the three workspaces of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Everything is up to date.
    Warm,
    /// The same, and hooks bring nothing up to date.
    Still,
    /// Nothing has been done yet.
    Cold,
}

pub(crate) const CASES: &[Case] = &[
    Case { name: "help", told: "`--help`", args: &["--help"], reads: None, at: At::Warm },
    Case {
        name: "dispatch",
        told: "a plugin's command that is `/bin/true`",
        args: &["do-nothing"],
        reads: None,
        at: At::Warm,
    },
    Case {
        name: "hook-match",
        told: "a hook, with one handler that is `/bin/true`",
        args: &["hook", "claude", "pre-tool-use"],
        reads: Some("Bash"),
        at: At::Warm,
    },
    Case {
        name: "hook-none",
        told: "a hook, nothing matches",
        args: &["hook", "claude", "pre-tool-use"],
        reads: Some("Read"),
        at: At::Warm,
    },
    Case {
        name: "hook-still",
        told: "the same, `auto-sync = false`",
        args: &["hook", "claude", "pre-tool-use"],
        reads: Some("Read"),
        at: At::Still,
    },
    Case {
        name: "sync-cold",
        told: "`sync`, the first one",
        args: &["sync"],
        reads: None,
        at: At::Cold,
    },
    Case {
        name: "sync-again",
        told: "`sync`, nothing to do",
        args: &["sync"],
        reads: None,
        at: At::Warm,
    },
    Case {
        name: "crate-info",
        told: "`crate-info` of a dependency",
        args: &["crate-info", "direct-07"],
        reads: None,
        at: At::Warm,
    },
];

/// What was seen of one case, of both in the order of [`Who::BOTH`].
pub(crate) struct Measured {
    pub(crate) case: &'static Case,
    /// One pair for each round.
    pub(crate) rounds: Vec<[Sample; 2]>,
    pub(crate) traced: [Traced; 2],
}

/// The workspaces of a user of one of the programs.
struct Yard {
    warm: Ground,
    still: Ground,
    cold: Ground,
    /// Everything as it is before the first sync.
    pristine: Tree,
    inputs: [Utf8PathBuf; 3],
}

impl Yard {
    fn new(programs: &Programs, who: Who) -> anyhow::Result<Self> {
        let ground = |more: &str| -> anyhow::Result<Ground> {
            let ground = Ground::bare(who, programs.of(who), Afterwards::Gone)?;
            furnish(&ground, more);
            Ok(ground)
        };
        let (warm, still, cold) = (ground("")?, ground("auto-sync = false\n")?, ground("")?);
        let pristine = cold.everything()?;
        let call = |ground: &Ground, name: &str, tool: &str| {
            let mut payload = wire::before_tool("claude", &ground.workspace(), "true");
            payload["tool_name"] = tool.into();
            ground.sample().scratch().write(name, payload.to_string())
        };
        let inputs = [
            warm.sample().scratch().write("nothing", ""),
            call(&warm, "bash.json", "Bash"),
            call(&warm, "read.json", "Read"),
        ];
        call(&still, "read.json", "Read");
        Ok(Self { warm, still, cold, pristine, inputs })
    }

    fn ground(&self, case: &Case) -> &Ground {
        match case.at {
            At::Warm => &self.warm,
            At::Still => &self.still,
            At::Cold => &self.cold,
        }
    }

    fn command(&self, case: &Case) -> Command {
        self.ground(case).command(case.args)
    }

    fn input(&self, case: &Case) -> Utf8PathBuf {
        let [nothing, bash, read] = self.inputs.clone();
        match (case.reads, case.at) {
            (None, _) => nothing,
            (Some(_), At::Still) => self.still.sample().scratch().path("read.json"),
            (Some("Bash"), _) => bash,
            (Some(_), _) => read,
        }
    }

    /// What is not measured: the cold workspace becomes cold again.
    fn prepare(&self, case: &Case) -> anyhow::Result<()> {
        if case.at == At::Cold { self.cold.restore(&self.pristine) } else { Ok(()) }
    }

    fn start(&self, case: &Case) -> anyhow::Result<Sample> {
        self.prepare(case)?;
        once::start(&self.command(case), &self.input(case))
    }

    fn trace(&self, case: &Case) -> anyhow::Result<Traced> {
        self.prepare(case)?;
        let scratch = self.ground(case).sample().scratch();
        let traced = trace::trace(scratch, &self.command(case), Some(&self.input(case)))?;
        anyhow::ensure!(traced.code == Some(0), "{} ended with {:?}", case.name, traced.code);
        Ok(traced)
    }
}

/// Members, dependencies and plugins of a usual size; every command is `/bin/true`.
fn furnish(ground: &Ground, more: &str) {
    let sample = ground.sample();
    let requires = |names: &[String]| {
        let lines = names.iter().map(|name| format!("{name} = \"1\"\n"));
        format!("[dependencies]\n{}", lines.collect::<String>())
    };
    for number in 0..INDIRECT {
        sample.vendor().library(&format!("indirect-{number:02}"), "1.2.3", "");
    }
    for number in 0..DIRECT {
        let per = INDIRECT / DIRECT + 1;
        let of = (0..per).map(|it| format!("indirect-{:02}", (number * per + it) % INDIRECT));
        let rest = requires(&of.collect::<Vec<_>>());
        sample.vendor().library(&format!("direct-{number:02}"), "1.2.3", &rest);
    }
    sample.workspace("members = [\"members/*\"]");
    for number in 0..MEMBERS {
        let per = DIRECT / MEMBERS;
        let of = (0..per).map(|it| format!("direct-{:02}", number * per + it));
        let name = format!("member-{number:02}");
        sample.package(
            &format!("members/{name}"),
            &name,
            "0.1.0",
            &requires(&of.collect::<Vec<_>>()),
        );
    }
    sample.lock();
    for number in 0..PLUGINS {
        let name = format!("plugin-{number:03}");
        let krate = if number % APPLIES == 0 {
            format!("direct-{:02}", number / APPLIES)
        } else {
            format!("elsewhere-{number:03}")
        };
        let dir = ground.plugin_for(&krate, &name, "[[skills]]\nsource.path = \"skills\"\n");
        let skill = format!("---\nname: {name}-skill\ndescription: how to use {krate}\n---\n");
        scratch::write(&dir.join("skills/it/SKILL.md"), skill + &"Bind values. ".repeat(300));
        scratch::write(&dir.join("skills/it/reference.md"), "More. ".repeat(1500));
    }
    let hook = hook_table("nothing", "PreToolUse", "/bin/true".into()) + "matcher = \"Bash\"\n";
    let rest = "[subcommand.do-nothing]\ndescription = \"does nothing\"\ncommand = { executable = \"/bin/true\" }\n\n\
        [[mcp_servers]]\nname = \"notes\"\ncommand = \"/bin/cat\"\nargs = []\nenv = []\n";
    ground.plugin_for("direct-01", "active", &format!("{hook}\n{rest}"));
    ground.configure(&["claude", "codex", "kiro"], more);
}

/// Everything that is named, so many times each, both in turns. Which of the two is first changes from round to round.
pub(crate) fn measure(
    programs: &Programs,
    cases: &[&'static Case],
    rounds: u32,
) -> anyhow::Result<Vec<Measured>> {
    say("preparing what is measured");
    let yards = [Yard::new(programs, Who::Ours)?, Yard::new(programs, Who::Peer)?];
    for yard in &yards {
        yard.warm.must(&["sync"])?;
        yard.still.must(&["sync"])?;
    }
    // Twice, with a pause: what has been at rest for a while is believed without another look.
    for pause in [Duration::from_millis(2500), Duration::from_millis(500)] {
        for case in cases {
            yards.iter().try_for_each(|yard| yard.start(case).map(drop))?;
        }
        std::thread::sleep(pause);
    }
    say(&format!("measuring, {rounds} rounds"));
    let mut all: Vec<Measured> = cases
        .iter()
        .map(|case| Measured { case, rounds: Vec::new(), traced: Default::default() })
        .collect();
    for round in 0..rounds {
        for it in &mut all {
            let [ours, peer] = &yards;
            let pair = if round % 2 == 0 {
                let first = ours.start(it.case)?;
                [first, peer.start(it.case)?]
            } else {
                let first = peer.start(it.case)?;
                [ours.start(it.case)?, first]
            };
            it.rounds.push(pair);
        }
    }
    say("counting system calls");
    for it in &mut all {
        let [ours, peer] = &yards;
        it.traced = [ours.trace(it.case)?, peer.trace(it.case)?];
    }
    Ok(all)
}
