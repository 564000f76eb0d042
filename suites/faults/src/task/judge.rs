//! What must be true after a fault.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Output,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    fault::Fault,
    seen::{Checks, said},
    task::{
        processes::{self, Part},
        world::{World, run_of},
    },
};

/// The states that a task can be in, as documented, once nothing runs.
const STATES: [&str; 6] =
    ["interrupted", "completed", "failed", "cancelled", "out-of-limits", "refused"];

/// Looks at what is left, and remembers what is wrong.
pub(crate) struct Judge<'a> {
    world: &'a World,
    fault: Fault,
    steps: usize,
    acknowledged: usize,
    checks: Checks,
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap_or_default()
}

impl<'a> Judge<'a> {
    pub(crate) fn new(world: &'a World, fault: Fault, steps: usize) -> Self {
        Self { world, fault, steps, acknowledged: 0, checks: Checks::default() }
    }

    pub(crate) fn wrong(&mut self, what: String) {
        self.checks.wrong(what);
    }

    /// How many turns the model saw, and what was looked at.
    pub(crate) fn over(self) -> (usize, Checks) {
        (self.acknowledged, self.checks)
    }

    /// What whoever typed it was told is true.
    pub(crate) fn client(
        &mut self,
        run: &str,
        background: bool,
        output: Option<&Output>,
        tasks: &[Value],
    ) {
        let Some(output) = output else { return };
        self.checks.good(1);
        if !output.status.success() {
            if !self.fault.may_fail() {
                self.wrong(format!("{run} did not work: {}", said(output)));
            }
            // A panic is a bug, whatever happened.
            if output.status.code() == Some(101) {
                self.wrong(format!("{run} broke down: {}", said(output)));
            }
            return;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        if background {
            let found = tasks.iter().filter(|it| id(it) == text.trim()).count();
            if found != 1 {
                self.wrong(format!(
                    "{run} was told `{}`: there are {found} such tasks",
                    text.trim()
                ));
            }
        } else if !text.contains(&format!("tok-{run}-says-{} done", self.steps)) {
            self.wrong(format!("{run} ended well with another result: {}", said(output)));
        }
    }

    /// Every task is in one state that is documented, and there is one for each run.
    pub(crate) fn states(&mut self, tasks: &[Value]) {
        let mut ids = BTreeSet::new();
        self.checks.good(tasks.len());
        for task in tasks {
            let state = task["state"].as_str().unwrap_or_default();
            if !STATES.contains(&state) {
                self.wrong(format!("{} is `{state}`", id(task)));
            }
            if !self.fault.may_fail() && state != "completed" {
                self.wrong(format!("{} is `{state}`, and nothing happened to it", id(task)));
            }
            if !ids.insert(id(task)) {
                self.wrong(format!("{} is there twice", id(task)));
            }
        }
        let mut runs: BTreeMap<String, usize> = BTreeMap::new();
        for task in tasks {
            if let Some(run) = self.run(id(task)) {
                *runs.entry(run).or_default() += 1;
            }
        }
        for (run, count) in runs.into_iter().filter(|it| it.1 > 1) {
            self.wrong(format!("{run} was started {count} times"));
        }
    }

    fn transcript(&self, id: &str) -> String {
        let file = self.world.transcripts().join(format!("{id}.jsonl"));
        let bytes = fs_err::read(file).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The run that a task is of: its records say so, or, before it had its turn, its metadata.
    fn run(&self, id: &str) -> Option<String> {
        let meta = self.world.transcripts().join(format!("{id}.meta.json"));
        let meta = fs_err::read_to_string(meta).unwrap_or_default();
        run_of(&self.transcript(id)).or_else(|| run_of(&meta))
    }

    /// Everything that the model was told, or was told that it had said, is in the transcript of its run. Nothing was done twice.
    pub(crate) fn transcripts(&mut self, tasks: &[Value]) {
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for task in tasks {
            let text = self.transcript(id(task));
            if let Some(run) = self.run(id(task)) {
                texts.entry(run).or_default().push_str(&text);
            }
            match self.world.run(&["show", id(task)]) {
                Ok(output) if output.status.success() => {}
                Ok(output) => {
                    self.wrong(format!("{} cannot be shown: {}", id(task), said(&output)));
                }
                Err(error) => self.wrong(error.to_string()),
            }
        }
        let mut acknowledged = BTreeSet::new();
        for request in self.world.endpoint.requests() {
            let text = request.text();
            let Some(run) = run_of(&text) else {
                self.wrong("the model was asked something without an assignment".to_owned());
                continue;
            };
            let kept = texts.get(&run).map(String::as_str).unwrap_or_default();
            if kept.is_empty() {
                self.wrong(format!(
                    "LOST: the model was asked for {run}, and there is no transcript of it"
                ));
            }
            for token in tokens(&text) {
                if !kept.contains(token) {
                    self.wrong(format!(
                        "LOST: the model was told `{token}`, and the transcript does not say so"
                    ));
                }
                acknowledged.insert(token.to_owned());
            }
        }
        self.acknowledged = acknowledged.len();
        self.checks.good(self.acknowledged);
        for number in 0..64 {
            let run = format!("run-{number}");
            let effects = self.world.effects(&run);
            let once: BTreeSet<&String> = effects.iter().collect();
            if once.len() < effects.len() {
                self.wrong(format!("TWICE: {run} did {effects:?}"));
            }
        }
    }

    /// Nobody is there but these, at most one of each.
    pub(crate) fn processes(&mut self, allowed: &[Part]) {
        let since = Instant::now();
        loop {
            let found = processes::below(&self.world.root());
            let left: Vec<_> = found.iter().filter(|it| !allowed.contains(&it.part())).collect();
            if left.is_empty() && found.len() <= allowed.len() {
                return;
            }
            if since.elapsed() > Duration::from_secs(15) {
                let told: Vec<String> = found.iter().map(processes::Process::told).collect();
                return self.wrong(format!("LEFT BEHIND: {}", told.join(", ")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Goes on with everything that did not complete, and sees that it does.
    pub(crate) fn resume(&mut self, tasks: &[Value]) -> anyhow::Result<usize> {
        let mut resumed = 0;
        for task in tasks.iter().filter(|it| it["state"] != "completed") {
            let Some(run) = self.run(id(task)) else {
                self.wrong(format!("LOST: nobody knows what {} was to do", id(task)));
                continue;
            };
            let prompt = format!("go on with {run}");
            let output = self.world.run(&["resume", id(task), &prompt, "--allow", "bash"])?;
            resumed += 1;
            let text = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() || !text.contains("done") {
                self.wrong(format!("{} of {run} does not go on: {}", id(task), said(&output)));
            }
        }
        for number in 0..64 {
            let run = format!("run-{number}");
            let known = tasks.iter().any(|it| self.run(id(it)).as_deref() == Some(&run));
            let done = self.world.effects(&run).len();
            // Of each run at most one call was cut off, and whether that was done is nobody's promise.
            let short = usize::from(self.fault.hits_tools());
            if known && done + short < self.steps {
                self.wrong(format!("{run} did {done} of {} things", self.steps));
            }
        }
        Ok(resumed)
    }
}

/// Everything in a text that is nowhere else.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let word = |it: char| it.is_ascii_alphanumeric() || it == '-';
    text.split(move |it| !word(it)).filter(|it| it.starts_with("tok-"))
}
