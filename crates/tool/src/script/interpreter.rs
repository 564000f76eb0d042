//! Being the interpreter: a process that does nothing else, and ends with its script.

use std::{
    cell::{Cell, RefCell},
    io::{BufRead, Write},
    process::ExitCode,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use agents_system::sandbox;
use rquickjs::{CatchResultExt as _, CaughtError, Context, Ctx, Function, Runtime};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::Value;

use super::wire::{Answered, Job, Said};

/// How deep a script may call itself; our own stack is larger by far.
const STACK: usize = 512 * 1024;
/// What the whole process may take besides the values of the script.
const BESIDES: u64 = 256 * 1024 * 1024;
/// Between a script and us.
const PRELUDE: &str = include_str!("prelude.js");

/// Runs the script that comes in `lines`, tells `heard` what it does, and ends with it: to be called with the standard streams of a
/// process that does nothing else. There is nothing that it could need from here: see the [module](super).
#[must_use]
pub fn interpret(mut lines: impl BufRead, heard: impl Write + 'static) -> ExitCode {
    let Some(job) = read::<Job>(&mut lines) else { return ExitCode::FAILURE };
    confine(&job);
    if run(&job, &mut lines, Rc::new(State::new(heard))).is_none() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Gives up everything that the system lets us give up. Where it lets us give up less, the other walls stand.
fn confine(job: &Job) {
    let limit = |resource: Resource, most: u64| {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    limit(Resource::As, job.memory as u64 + BESIDES);
    limit(Resource::Cpu, job.time.as_secs() + 2);
    limit(Resource::Core, 0);
    limit(Resource::Fsize, 0);
    limit(Resource::Nproc, 0);
    let _ = sandbox::restrict(&sandbox::Rights::default());
}

fn read<T: serde::de::DeserializeOwned>(lines: &mut dyn BufRead) -> Option<T> {
    let mut line = String::new();
    lines.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// `None` if nobody listens any more.
fn run(job: &Job, lines: &mut dyn BufRead, state: Rc<State>) -> Option<()> {
    let runtime = Runtime::new().ok()?;
    runtime.set_memory_limit(job.memory);
    runtime.set_max_stack_size(STACK);
    let late = Arc::new(AtomicBool::new(false));
    let (end, noticed) = (Instant::now() + job.time, Arc::clone(&late));
    runtime.set_interrupt_handler(Some(Box::new(move || {
        let is_late = Instant::now() >= end;
        noticed.fetch_or(is_late, Ordering::Relaxed);
        is_late
    })));
    let context = Context::full(&runtime).ok()?;
    let story = context.with(|context| Script { context, late, state }.run(job, lines));
    // A script that was interrupted leaves its runtime in no state to be taken apart.
    std::mem::forget((context, runtime));
    story
}

struct Script<'js> {
    context: Ctx<'js>,
    late: Arc<AtomicBool>,
    state: Rc<State>,
}

/// Who hears what a script does, and what happened in it since it was last looked at.
struct State {
    heard: RefCell<Box<dyn Write>>,
    /// Calls that have not been answered.
    open: Cell<usize>,
    /// Whether it has said how it ended.
    is_over: Cell<bool>,
    /// Whether nobody listens.
    is_alone: Cell<bool>,
}

impl State {
    fn new(heard: impl Write + 'static) -> Self {
        Self {
            heard: RefCell::new(Box::new(heard)),
            open: Cell::default(),
            is_over: Cell::default(),
            is_alone: Cell::default(),
        }
    }

    /// `None` if nobody listens.
    fn say(&self, what: &Said) -> Option<()> {
        let said = serde_json::to_vec(what).ok().and_then(|mut line| {
            line.push(b'\n');
            let mut heard = self.heard.borrow_mut();
            heard.write_all(&line).and_then(|()| heard.flush()).ok()
        });
        self.is_alone.set(self.is_alone.get() || said.is_none());
        said
    }
}

impl<'js> Script<'js> {
    fn run(&self, job: &Job, lines: &mut dyn BufRead) -> Option<()> {
        let state = &self.state;
        let settle = match self.start(job) {
            Ok(settle) => settle,
            Err(_) if self.is_late() => return state.say(&Said::Late),
            Err(message) => return state.say(&Said::Threw { message }),
        };
        loop {
            while !self.is_late() && self.context.execute_pending_job() {}
            if state.is_over.get() {
                return Some(());
            }
            if state.is_alone.get() {
                return None;
            }
            if self.is_late() {
                return state.say(&Said::Late);
            }
            if state.open.get() == 0 {
                return state.say(&Said::Stuck);
            }
            let answered = read::<Answered>(lines)?;
            state.open.set(state.open.get().saturating_sub(1));
            let (is_good, text) = match &answered.result {
                Ok(value) => (true, value.to_string()),
                Err(why) => (false, Value::from(why.as_str()).to_string()),
            };
            // Without room for the answer the script goes on waiting, and is told so above.
            let settled: rquickjs::Result<()> = settle.call((answered.id, is_good, text));
            drop(settled.catch(&self.context));
        }
    }

    fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    /// Gives the script what leads out of it, and starts it. What comes back takes the answers.
    fn start(&self, job: &Job) -> Result<Function<'js>, String> {
        let (context, state) = (&self.context, &self.state);
        let told = |error: CaughtError<'_>| match error {
            CaughtError::Exception(it) => it.message().unwrap_or_default(),
            other => other.to_string(),
        };
        let started = || -> rquickjs::Result<Function<'js>> {
            let (calls, logs, ends) = (Rc::clone(state), Rc::clone(state), Rc::clone(state));
            let call = Function::new(
                context.clone(),
                move |id: u64, server: String, tool: String, input: String| {
                    let input = serde_json::from_str(&input).unwrap_or(Value::Null);
                    calls.open.set(calls.open.get() + 1);
                    let _ = calls.say(&Said::Call { id, server, tool, input });
                },
            )?;
            let log = Function::new(context.clone(), move |text: String| {
                let _ = logs.say(&Said::Log { text });
            })?;
            let finish = Function::new(context.clone(), move |is_good: bool, text: String| {
                if ends.is_over.replace(true) {
                    return;
                }
                let _ = ends.say(&if is_good {
                    Said::Done { value: serde_json::from_str(&text).unwrap_or(Value::Null) }
                } else {
                    Said::Threw { message: text }
                });
            })?;
            let prelude: Function<'js> = context.eval(PRELUDE)?;
            prelude.call((call, log, finish, job.servers.clone(), job.script.as_str()))
        };
        started().catch(context).map_err(told)
    }
}
