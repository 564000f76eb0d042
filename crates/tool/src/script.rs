//! Scripts that call tools: many calls, and whatever is computed from them, for one round trip of a model.
//!
//! A script is the body of an `async` function in JavaScript. `tools.server.tool(input)` is a call and gives a promise; `console.log`
//! notes something down; what it returns is its result. Several walls stand around it, each enough by itself for what it is there for:
//!
//! | wall | against |
//! |---|---|
//! | the language: nothing but `tools` and `console` leads out of it | files, programs, the network, our environment |
//! | the interpreter: memory, stack and time are counted | loops and bombs |
//! | whoever makes the calls: their number, and the size of everything that is said | floods |
//! | a process of its own, with limits of the system, that ends with the call | what the interpreter does not notice |
//! | the kernel's sandbox, where there is one: it may open no file and make no socket | mistakes in the interpreter |
//!
//! The process is our own program, called with arguments of which its `main` knows that they mean [`interpret`].

mod interpreter;
mod wire;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use agents_system::process::keeper::Keeper;
use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::UnixStream,
    sync::Mutex,
};

pub use interpreter::interpret;

use self::wire::{Answered, Job, Said};
use crate::{
    context::{CallContext, Confinement, Ground},
    conversation::Child,
    policy::Effects,
    tool::{Intent, Output, ToolError, Typed},
};

/// How long a script may take, its calls included, unless it asks for more.
const TIME: Duration = Duration::from_secs(120);
/// The most that it can ask for.
const MAX_TIME: u64 = 600;
/// How much later than the interpreter we notice that the time is over: that one knows more to say about it.
const GRACE: Duration = Duration::from_secs(1);
/// How much the values of a script may take.
const MEMORY: usize = 64 * 1024 * 1024;
/// How many calls it may make.
const CALLS: usize = 200;
/// How many of them run at the same time.
const AT_ONCE: usize = 16;
/// How long a script, an input or a result may be.
const MAX_LINE: u64 = 4 * 1024 * 1024;
/// How much it may note down.
const MAX_LOG: usize = 64 * 1024;
/// How much of an answer of a tool it gets.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// The command line that becomes an interpreter: a program of ours, and what tells it to call [`interpret`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Ends it with the call.
    pub keeper: Keeper,
}

/// Whoever makes the calls of scripts.
pub trait Calls: Send + Sync {
    /// The names that stand below `tools`.
    fn servers(&self) -> Vec<String>;

    /// Makes a call. The error is told to the script.
    fn call<'a>(
        &'a self,
        server: String,
        tool: String,
        input: Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, String>>;
}

/// Runs scripts that call tools.
pub struct Execute {
    interpreter: Interpreter,
    calls: Arc<dyn Calls>,
}

/// A script to run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteInput {
    /// JavaScript, the body of an async function: `await tools.server.tool({...})` calls a tool (`tools["a-b"]` where the name has a
    /// dash), `console.log` notes something down, `return` gives the result
    pub script: String,
    /// How many seconds it may take with its calls; 120 by default
    #[serde(default)]
    #[schemars(range(min = 1, max = 600))]
    pub timeout: Option<u64>,
}

impl Execute {
    /// With this interpreter; the calls are made by `calls`.
    #[must_use]
    pub fn new(interpreter: Interpreter, calls: Arc<dyn Calls>) -> Self {
        Self { interpreter, calls }
    }
}

impl Typed for Execute {
    type Input = ExecuteInput;

    const NAME: &'static str = "execute";
    const DESCRIPTION: &'static str = "Runs a script that calls tools of MCP servers, as many as it needs, and gives back only what it returns. It has no files, \
no network and no programs of its own.";

    fn intent(&self, _: &ExecuteInput, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::ALL))
    }

    async fn run(&self, input: ExecuteInput, context: &CallContext) -> Result<Output, ToolError> {
        if input.script.len() as u64 > MAX_LINE / 4 {
            return Err(ToolError::failed("the script is longer than 1 MiB"));
        }
        let time = input.timeout.map_or(TIME, |it| Duration::from_secs(it.clamp(1, MAX_TIME)));
        let left = context.deadline.saturating_duration_since(std::time::Instant::now());
        let time = time.min(left);
        let mut conversation = Conversation::begin(&self.interpreter, context)?;
        let job = Job { script: input.script, servers: self.calls.servers(), memory: MEMORY, time };
        let ended = {
            let story = conversation.lead(&job, &*self.calls, context);
            let bounded = tokio::time::timeout(time + GRACE, story);
            tokio::select! {
                biased;
                () = context.cancelled.cancelled() => Err(ToolError::Cancelled),
                ended = bounded => Ok(ended.unwrap_or(Ended::Late)),
            }
        };
        conversation.child.stop();
        if !matches!(ended, Ok(Ended::With(_))) {
            // Whatever it was that it did, it does it no more.
            conversation.child.over().await;
        }
        let ended = match ended? {
            Ended::Gone => Ended::Died(conversation.child.last_words()),
            ended => ended,
        };
        Ok(told(ended, &conversation.log, time))
    }
}

/// How a script ended.
enum Ended {
    /// It returned this.
    With(Value),
    /// It threw something.
    Threw(String),
    /// Its time was over.
    Late,
    /// It waits for something that nobody will say.
    Stuck,
    /// Its process is gone.
    Gone,
    /// The same, with its last words.
    Died(String),
    /// It said more than it may.
    TooMuch,
    /// It made more calls than it may.
    TooManyCalls,
}

fn told(ended: Ended, log: &str, time: Duration) -> Output {
    let (text, failed) = match ended {
        Ended::With(Value::String(text)) => (text, false),
        Ended::With(value) => (format!("{value:#}"), false),
        Ended::Threw(what) => (format!("the script failed: {what}"), true),
        Ended::Late => {
            (format!("the script was ended: it took more than {} s", time.as_secs()), true)
        }
        Ended::Stuck => {
            ("the script waits for a promise that nothing will ever settle".to_owned(), true)
        }
        Ended::Gone => ("the script was ended".to_owned(), true),
        Ended::Died(words) if words.is_empty() => {
            ("the script was ended: it used more than it may".to_owned(), true)
        }
        Ended::Died(words) => (format!("the script was ended: {words}"), true),
        Ended::TooMuch => (
            format!(
                "the script was ended: what it returns or says at once may have {MAX_LINE} bytes"
            ),
            true,
        ),
        Ended::TooManyCalls => (format!("the script was ended: it may make {CALLS} calls"), true),
    };
    let noted = if log.is_empty() { String::new() } else { format!("\n\nnoted down:\n{log}") };
    Output { failed, ..Output::data(format!("{text}{noted}")) }
}

/// What is said between a script and us.
struct Conversation {
    child: Child,
    stream: Option<UnixStream>,
    log: String,
}

/// A call together with telling the script what became of it.
type Answer<'a> = BoxFuture<'a, Option<()>>;

impl Conversation {
    fn begin(interpreter: &Interpreter, context: &CallContext) -> Result<Self, ToolError> {
        let ground = Ground {
            keeper: interpreter.keeper.clone(),
            area: context.area.clone(),
            // It confines itself far more than a program that has to start can be.
            confinement: Confinement::None,
        };
        let Interpreter { program, args, .. } = interpreter;
        let started = Child::start(program, args, &[], context.area.cwd(), &ground);
        let (child, stream) = started
            .map_err(|why| ToolError::failed(format!("the script cannot be started: {why}")))?;
        Ok(Self { child, stream: Some(stream), log: String::new() })
    }

    /// Listens to a script and does what it asks for until it ends.
    async fn lead(&mut self, job: &Job, calls: &dyn Calls, context: &CallContext) -> Ended {
        let Some(stream) = self.stream.take() else { return Ended::Gone };
        lead(stream.into_split(), job, calls, context, &mut self.log).await
    }
}

/// What becomes of a script whose interpreter is at the other end of these streams.
#[doc(hidden)]
pub async fn overhear(
    streams: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin + Send),
    calls: &dyn Calls,
    context: &CallContext,
) -> Output {
    let servers = calls.servers();
    let job = Job { script: String::new(), servers, memory: MEMORY, time: TIME };
    let mut log = String::new();
    let ended = lead(streams, &job, calls, context, &mut log).await;
    told(ended, &log, TIME)
}

async fn lead(
    (read, write): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin + Send),
    job: &Job,
    calls: &dyn Calls,
    context: &CallContext,
    log: &mut String,
) -> Ended {
    let (mut read, write) = (BufReader::new(read), &Mutex::new(write));
    if say(write, job).await.is_none() {
        return Ended::Gone;
    }
    let mut running: FuturesUnordered<Answer<'_>> = FuturesUnordered::new();
    let mut waiting: VecDeque<Answer<'_>> = VecDeque::new();
    let (mut made, mut line) = (0, Vec::new());
    loop {
        while running.len() < AT_ONCE
            && let Some(next) = waiting.pop_front()
        {
            running.push(next);
        }
        let heard = tokio::select! {
            biased;
            Some(told) = running.next(), if !running.is_empty() => match told {
                Some(()) => continue,
                None => return Ended::Gone,
            },
            heard = next_line(&mut read, &mut line) => heard,
        };
        let said = match heard {
            Heard::Nothing => return Ended::Gone,
            Heard::TooMuch => return Ended::TooMuch,
            Heard::Line => serde_json::from_slice::<Said>(&line),
        };
        line.clear();
        match said {
            Ok(Said::Call { id, server, tool, input }) => {
                made += 1;
                if made > CALLS {
                    return Ended::TooManyCalls;
                }
                // Whoever makes many calls at once does not listen meanwhile, so nobody waits here until it does.
                waiting.push_back(Box::pin(async move {
                    let called = calls.call(server, tool, input, context).await;
                    say(write, &Answered { id, result: called.and_then(answer) }).await
                }));
            }
            Ok(Said::Log { text }) => note(log, &text),
            Ok(Said::Done { value }) => return Ended::With(value),
            Ok(Said::Threw { message }) => return Ended::Threw(message),
            Ok(Said::Late) => return Ended::Late,
            Ok(Said::Stuck) => return Ended::Stuck,
            // Only something that has taken over the interpreter could say that.
            Err(_) => return Ended::Died("it said what no script can say".to_owned()),
        }
    }
}

fn note(log: &mut String, text: &str) {
    let room = MAX_LOG.saturating_sub(log.len());
    if room == 0 {
        return;
    }
    log.push_str(&text[..text.floor_char_boundary(room)]);
    log.push('\n');
}

/// What a script gets of an answer: what the server means for programs, or else the text.
fn answer(output: Output) -> Result<Value, String> {
    let Output { text, structured, failed, .. } = output;
    if failed {
        return Err(text);
    }
    if structured.as_ref().map_or(text.len(), |it| it.to_string().len()) > MAX_ANSWER {
        return Err(format!("the answer has more than {MAX_ANSWER} bytes: ask for less"));
    }
    Ok(structured.unwrap_or(Value::String(text)))
}

enum Heard {
    Line,
    Nothing,
    TooMuch,
}

/// May be given up at any time: what was read so far is in `line`.
async fn next_line(read: &mut (impl tokio::io::AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Heard {
    let left = (MAX_LINE + 1).saturating_sub(line.len() as u64);
    match read.take(left).read_until(b'\n', line).await {
        Ok(_) if line.ends_with(b"\n") => Heard::Line,
        Ok(_) if line.len() as u64 > MAX_LINE => Heard::TooMuch,
        _ => Heard::Nothing,
    }
}

async fn say(write: &Mutex<impl AsyncWrite + Unpin>, what: &impl serde::Serialize) -> Option<()> {
    let mut line = serde_json::to_vec(what).ok()?;
    line.push(b'\n');
    write.lock().await.write_all(&line).await.ok()
}
