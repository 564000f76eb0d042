//! The loop: the model is asked, tools are called, until a result is handed in or something stands in the way.
//!
//! [`run`] owns the state of one task and is the only one that changes it. Whatever depends on the outside world has a deadline: the
//! model ([`Patience::model`]), each call of a tool ([`Patience::tool`]), the whole task ([`Budget::end`]). However it ends, what
//! was said and handed in so far is in the outcome.
//!
//! | it ends | when |
//! |---|---|
//! | `Completed` | a result was handed in, or said where no schema is set, and everything that must hold holds |
//! | `Failed` | the model fails or refuses, the agent gives up, hands in nothing or nothing valid, or does not get done |
//! | `OutOfLimits` | the next call is not admitted any more, or a deadline is over |
//! | `Cancelled` | its token was cancelled |

mod ask;
mod hands;
mod judge;
mod kept;
mod secrets;
mod whole;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agents_model::{
    Deadlines, Message, Provider, Sealed, StopReason, ToolCall, ToolChoice, ToolResult, ToolSpec,
    Turn, Usage, Work,
    cost::{MicroDollars, Price},
    message::ToolStatus,
};
use agents_system::span;
use agents_tool::{
    CallContext, Catalogue, Guarded, Hooked, Hooks, Presented, artifacts::Artifacts,
    bounds::Bounds, executor::Approver, secrets::Mask, tools::Bash,
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::{judge::Judged, kept::Kept};
use crate::{
    broker::{NotAgreed, Seat},
    done_when::{Before, Unmet},
    effective::EffectiveAgent,
    event::{Emitter, Sink, ToolState, What},
    evidence::{self, Doubt, Record},
    history::{History, Keep},
    id::TaskId,
    limits::Budget,
    outcome::{Ending, Failure, Outcome, Report},
    recorder::Recorder,
    runner::Alike,
    schema::Schema,
    secret::Pocket,
    submission::{YIELD, valid_json},
    workplace::{Delivery, Settled, Workplace},
};

/// How often an agent that stops without a result is told to hand one in. The last time it has to.
pub const MAX_REMINDERS: u32 = 3;
/// How many results that are not valid are taken before the task has failed.
pub const MAX_INVALID: u32 = 3;
/// How many calls of `yield` that nobody understands.
pub const MAX_MALFORMED: u32 = 6;
/// How often an agent may say that it is done when it is not.
pub const MAX_UNDONE: u32 = 8;
/// How much of the model's memory the conversation may fill, in percent: the answer needs room, too.
const FILL: u64 = 75;

/// The tools as an agent has them: judged, confined, bounded, with what plugins have to say about each call.
pub type Tools = Presented<Hooked<Guarded<Catalogue>>>;

/// How long things are waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the model.
    pub model: Deadlines,
    /// For one call of a tool.
    pub tool: Duration,
    /// For what must hold at the end, all of it.
    pub check: Duration,
    /// For a tool that was told to end.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            model: Deadlines::default(),
            tool: Duration::from_secs(15 * 60),
            check: Duration::from_secs(30 * 60),
            grace: Duration::from_secs(10),
        }
    }
}

/// What a task stands on.
pub struct Ground {
    /// What it is called.
    pub id: TaskId,
    /// What answers as the model.
    pub provider: Arc<dyn Provider>,
    /// Its tools.
    pub tools: Arc<Tools>,
    /// What every call of a tool gets; deadline and cancellation are set for each.
    pub context: CallContext,
    /// What runs the commands that must succeed at the end.
    pub bash: Option<Bash>,
    /// What its model costs.
    pub price: Option<Price>,
    /// How many tokens its model can keep in mind.
    pub window: Option<u64>,
    /// How far it may go.
    pub budget: Arc<Budget>,
    /// How long things are waited for.
    pub patience: Patience,
    /// Where its questions go.
    pub seat: Arc<Seat>,
    /// The secrets that it may ask for.
    pub pocket: Option<Arc<Pocket>>,
    /// Who wants to know what happens.
    pub sink: Arc<dyn Sink>,
    /// The worktree that it works in, if it has one of its own.
    pub workplace: Option<Box<Workplace>>,
    /// What it has in common with others of its definition.
    pub alike: Alike,
    /// Who writes down what is said.
    pub recorder: Box<dyn Recorder>,
    /// Whether somebody wants it to end.
    pub cancel: CancellationToken,
}

/// What stands around the tools of all agents of a tree.
#[derive(Clone)]
pub struct Around {
    /// What nobody may see.
    pub mask: Arc<Mask>,
    /// How much of a result a model is shown.
    pub bounds: Bounds,
    /// When the tree began: the clock of its grants.
    pub start: Instant,
}

impl Default for Around {
    /// For a tree that begins now.
    fn default() -> Self {
        Self { mask: Arc::default(), bounds: Bounds::default(), start: Instant::now() }
    }
}

/// The tools of an agent: the catalogue behind its standing, with its questions going to `approver`.
#[must_use]
pub fn tools_of(
    agent: &EffectiveAgent,
    catalogue: Catalogue,
    hooks: Arc<dyn Hooks>,
    approver: Arc<dyn Approver>,
    around: &Around,
) -> Arc<Tools> {
    let asked = Arc::clone(&approver);
    let guarded = Guarded::new(catalogue, Arc::clone(&agent.standing), approver, around.start);
    let hooked = Hooked::new(guarded, hooks, asked, Arc::clone(&around.mask));
    Arc::new(Presented::new(hooked, Arc::clone(&around.mask), around.bounds))
}

/// Runs an agent until it ends. It has begun when this returns.
pub fn run<A: Into<Arc<EffectiveAgent>>>(
    agent: A,
    ground: Ground,
) -> impl Future<Output = Outcome> + Send + use<A> {
    let agent = agent.into();
    let mut emitter = Emitter::new(ground.id, agent.path.clone(), Arc::clone(&ground.sink));
    emitter.start(agent.name.as_str(), &agent.model.model.to_string(), agent.chosen.clone());
    let running = run_begun(agent, ground, emitter);
    async { *running.await }
}

/// The same for a task that has been told to begin.
///
/// Thousands may be in the middle of a turn at the same time: what an agent has is in one place, and what only a part of a turn needs is
/// not there during the others.
pub(crate) fn run_begun(
    agent: Arc<EffectiveAgent>,
    mut ground: Ground,
    emitter: Emitter,
) -> impl Future<Output = Box<Outcome>> + Send + 'static {
    let kept =
        Arc::new(Kept { inner: Arc::clone(&ground.context.artifacts), ids: Mutex::default() });
    ground.context.artifacts = Arc::clone(&kept) as Arc<dyn Artifacts>;
    let mut task = Box::new(Task::new(agent, ground, emitter));
    task.ground.recorder.begin(&task.agent, &task.specs);
    task.ground.recorder.message(&Message::user(task.agent.prompt.as_str()));
    async move {
        let ending = task.lives().await;
        if task.ground.workplace.is_some() {
            Box::pin(task.close_workplace(&ending)).await;
        }
        task.finish(ending, &kept)
    }
}

/// One task, and everything that changes while it runs.
struct Task {
    agent: Arc<EffectiveAgent>,
    ground: Ground,
    emitter: Emitter,
    history: History,
    specs: Arc<Sealed<Vec<ToolSpec>>>,
    /// For the next request only.
    choice: ToolChoice,
    before: (Before, Before),
    record: Record,
    /// Whether results are marked, so that they can be cited.
    marked: bool,
    /// The whole task, for a program that works with its own tools.
    whole: Option<Work>,
    /// What such a program did with them.
    own_calls: u64,
    report: Report,
    reminders: u32,
    invalid: u32,
    malformed: u32,
    undone: u32,
}

impl Task {
    fn new(agent: Arc<EffectiveAgent>, ground: Ground, emitter: Emitter) -> Self {
        let schema = agent.schema.as_ref().map(|(schema, _)| schema);
        let marked = schema.is_some_and(|it| evidence::is_wanted(it.json()));
        let cost = ground.price.map(|_| MicroDollars::default());
        Self {
            history: match &agent.continues {
                Some(before) => History::resumed(&before.messages, &agent.prompt),
                None => History::new(&agent.prompt),
            },
            specs: ground.alike.tools(&agent, &ground.tools),
            choice: ToolChoice::Auto,
            before: (Before::default(), Before::default()),
            record: Record::default(),
            marked,
            whole: None,
            own_calls: 0,
            report: Report { cost, ..Report::default() },
            reminders: 0,
            invalid: 0,
            malformed: 0,
            undone: 0,
            agent,
            ground,
            emitter,
        }
    }

    fn schema(&self) -> Option<&Schema> {
        self.agent.schema.as_ref().map(|(schema, _)| schema)
    }

    /// How the files are that must or must not change.
    async fn remember(&mut self) -> Result<(), String> {
        let root = self.ground.context.area.cwd().to_owned();
        let both = (Arc::clone(&self.agent.done_when), Arc::clone(&self.agent.users_word));
        if both.0.is_empty() && both.1.is_empty() {
            return Ok(());
        }
        let remembering = move || Ok((both.0.remember(&root)?, both.1.remember(&root)?));
        let remembered: Result<(Before, Before), String> =
            tokio::task::spawn_blocking(remembering).await.map_err(|it| it.to_string())?;
        self.before = remembered?;
        Ok(())
    }

    async fn lives(&mut self) -> Ending {
        if let Err(why) = Box::pin(self.remember()).await {
            let unmet = vec![Unmet::Unchecked { why }];
            return Ending::Failed { why: Failure::NotDone { unmet } };
        }
        let now = self.ground.tools.inner().inner().now();
        match whole::whole(&self.agent, &self.ground, now) {
            Ok(whole) => self.whole = whole,
            Err(why) => return Ending::Failed { why },
        }
        loop {
            if let Some(ending) = self.turn().await {
                return ending;
            }
        }
    }

    /// One turn; `None` to go on.
    async fn turn(&mut self) -> Option<Ending> {
        if self.ground.cancel.is_cancelled() {
            return Some(Ending::Cancelled);
        }
        self.notify();
        if let Some(ending) = self.unkept() {
            return Some(ending);
        }
        let allowance = match self.ground.budget.admit() {
            Ok(allowance) => allowance,
            Err(limit) => return Some(Ending::OutOfLimits { limit }),
        };
        self.report.turns += 1;
        self.emitter.emit(What::Turn { number: self.report.turns });
        self.fit();
        match self.ask(&allowance).await {
            Ok(turn) => self.take(turn).await,
            Err(ask::Stop::Ends(ending)) => Some(ending),
            // It is as long as the model says, whatever we believed.
            Err(ask::Stop::TooLong(ending)) => {
                let half = Keep::Tokens(self.history.tokens() / 2);
                (self.compact(half) == 0).then_some(ending)
            }
        }
    }

    /// Tells the agent, once, that little is left of something.
    fn notify(&mut self) {
        for notice in self.ground.budget.notices() {
            let message = notice.to_string();
            self.say(format!(
                "[{message}. Come to an end now and hand in what you have: later calls are not answered.]"
            ));
            self.emitter.emit(What::Notice { limit: notice.limit, message });
        }
    }

    /// Makes the conversation fit into what the agent, and its model, keep in mind.
    fn fit(&mut self) {
        if let Some(most) = self.agent.history {
            self.compact(Keep::Messages(most));
        }
        let window = self.ground.window.map(|it| it.saturating_mul(FILL) / 100);
        if let Some(most) = window {
            let around = (self.agent.system.len() + self.agent.prompt.len()) / 4;
            let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(around);
            if self.history.tokens() > most {
                // More than it takes, so that not every turn does it again.
                self.compact(Keep::Tokens(most / 2));
            }
        }
    }

    fn compact(&mut self, keep: Keep) -> usize {
        let left_out = self.history.compact(keep);
        if left_out > 0 {
            self.emitter.emit(What::Compacted { left_out });
            self.ground.recorder.compacted(left_out);
        }
        left_out
    }

    /// We say something.
    fn say(&mut self, text: String) {
        let message = Message::user(text.as_str());
        self.history.say(text);
        self.ground.recorder.message(&message);
    }

    fn spend(&mut self, usage: Option<Usage>) {
        let cost = self.ground.price.zip(usage).map(|(price, usage)| price.of(&usage));
        // A turn of which nobody says what it took is a turn.
        self.ground.recorder.spent(self.report.turns, &usage.unwrap_or_default(), cost);
        let Some(usage) = usage else { return };
        self.report.usage += usage;
        let cost = cost.unwrap_or_default();
        if let Some(sum) = &mut self.report.cost {
            *sum += cost;
        }
        self.ground.budget.charge(&usage, cost);
        let (usage, cost) = (self.report.usage, self.report.cost);
        self.emitter.emit(What::Spent { usage, cost });
    }

    /// Takes in an answer of the model; `None` to go on.
    fn take(&mut self, turn: Box<Turn>) -> BoxFuture<'_, Option<Ending>> {
        Box::pin(self.took(turn))
    }

    async fn took(&mut self, turn: Box<Turn>) -> Option<Ending> {
        let text = if self.is_whole() { turn.conclusion() } else { turn.message.text() };
        let Turn { message, stop, .. } = *turn;
        let calls: Vec<ToolCall> = message.tool_calls().cloned().collect();
        if !message.parts.is_empty() {
            self.ground.recorder.message(&message);
        }
        self.history.answered(message);
        if stop == Some(StopReason::Refusal) {
            return Some(Ending::Failed { why: Failure::ModelRefused });
        }
        if !calls.is_empty() {
            // A call that nobody could know of later is not made.
            return match self.unkept() {
                Some(ending) => Some(ending),
                None => self.work(calls).await,
            };
        }
        if let Some(answer) = self.asked_for_secret(&text).await {
            self.say(answer);
            return None;
        }
        match stop {
            Some(StopReason::Paused) => None,
            Some(StopReason::MaxTokens) => {
                self.remind("Your answer was cut off: it was longer than answers may be. Go on.")
            }
            _ => self.said(&text).await,
        }
    }

    /// The agent stopped with a text.
    async fn said(&mut self, text: &str) -> Option<Ending> {
        let value = match self.schema() {
            Some(schema) => match valid_json(text, schema) {
                Some(value) => Some(value),
                None => return self.remind("A text is not a result."),
            },
            None if text.trim().is_empty() => return self.remind("Your answer was empty."),
            None => None,
        };
        match self.judge(value).await {
            Judged::Ends(ending) => Some(ending),
            Judged::Back(message) => {
                self.emitter.emit(What::Rejected { message: message.clone() });
                self.say(message);
                None
            }
        }
    }

    fn remind(&mut self, why: &str) -> Option<Ending> {
        if self.reminders == MAX_REMINDERS {
            return Some(Ending::Failed { why: Failure::NoResult });
        }
        self.reminders += 1;
        self.emitter.emit(What::Reminded { number: self.reminders });
        let how = if self.is_whole() {
            "Make your last message the result, and nothing but the result.".to_owned()
        } else {
            if self.reminders == MAX_REMINDERS {
                self.choice = ToolChoice::Tool(YIELD.to_owned());
            }
            format!(
                "When you are done, call `{YIELD}` with your result as `data`, or with the reason as `error` if it cannot be done."
            )
        };
        self.say(format!("{why} {how} (reminder {} of {MAX_REMINDERS})", self.reminders));
        None
    }

    /// Calls tools; what is handed in comes after what was called along with it.
    async fn work(&mut self, calls: Vec<ToolCall>) -> Option<Ending> {
        let (handed_in, others): (Vec<ToolCall>, Vec<ToolCall>) =
            calls.iter().cloned().partition(|it| it.name == YIELD);
        let done = self.call_all(&others).await;
        let mut ending = done.iter().find_map(|it| it.stop.clone()).map(|reason| {
            let why = Failure::Stopped { reason };
            Ending::Failed { why }
        });
        let mut done = done.into_iter();
        if self.ground.cancel.is_cancelled() {
            ending = Some(Ending::Cancelled);
        }
        let mut back = Vec::new();
        for call in &handed_in {
            if ending.is_some() {
                break;
            }
            match self.handed_in(call).await {
                Judged::Ends(it) => ending = Some(it),
                Judged::Back(message) => back.push(message),
            }
        }
        // Also when it ends here: what tools answered is worth keeping, and no call is left without a result.
        let mut back = back.into_iter();
        let results = calls.into_iter().map(|call| {
            let (content, state) = if call.name == YIELD {
                match (back.next(), &ending) {
                    (Some(message), _) => (message, ToolState::Failed),
                    (None, Some(Ending::Completed)) => ("taken".to_owned(), ToolState::Done),
                    (None, _) => ("not taken: the task has ended".to_owned(), ToolState::Failed),
                }
            } else {
                done.next().map_or((String::new(), ToolState::Failed), |it| (it.content, it.state))
            };
            let status = match state {
                ToolState::Done => ToolStatus::Done,
                ToolState::Failed => ToolStatus::Failed,
            };
            ToolResult { id: call.id, name: call.name, content, status }
        });
        let results: Vec<ToolResult> = results.collect();
        self.ground.recorder.message(&Message::results(results.iter().cloned()));
        self.history.results(results, Vec::new());
        ending
    }

    /// How it ends if what was said so far is not written down and has to be.
    fn unkept(&self) -> Option<Ending> {
        let message = self.ground.recorder.trouble()?.to_owned();
        Some(Ending::Failed { why: Failure::NotKept { message } })
    }

    fn had_tools(&self) -> bool {
        self.is_whole() || self.specs.len() > 1
    }

    fn is_late(&self) -> bool {
        self.ground.budget.end().is_some_and(|end| Instant::now() >= end)
    }

    /// What a call that may take this long gets.
    fn context(&self, time: Duration) -> CallContext {
        let mut context = self.ground.context.clone();
        let own = span::after(Instant::now(), time);
        context.deadline = self.ground.budget.end().map_or(own, |end| own.min(end));
        context.cancelled = self.ground.cancel.child_token();
        context
    }

    /// Keeps what was done in a worktree of its own, before anybody is told that the task has ended.
    async fn close_workplace(&mut self, ending: &Ending) {
        let Some(workplace) = self.ground.workplace.take() else { return };
        let completed = *ending == Ending::Completed;
        let path = workplace.worktree.root();
        let closed = tokio::task::spawn_blocking(move || workplace.close(completed)).await;
        self.report.changes = Some(closed.unwrap_or_else(|_| Settled {
            files: Vec::new(),
            patch: None,
            state: Delivery::InWorktree { path, why: "collecting it broke down".to_owned() },
            notes: Vec::new(),
        }));
    }

    fn finish(mut self: Box<Self>, ending: Ending, kept: &Kept) -> Box<Outcome> {
        self.report.tool_calls = self.record.len() as u64 + self.own_calls;
        self.report.artifacts = kept.ids();
        self.report.not_agreed =
            self.ground.seat.not_agreed().iter().map(NotAgreed::told).collect();
        if ending == Ending::Completed
            && self.had_tools()
            && self.record.is_empty()
            && self.own_calls == 0
        {
            self.report.evidence.doubt = Some(Doubt::NoToolUsed);
        }
        let outcome = Box::new(Outcome {
            id: self.ground.id,
            path: self.agent.path.clone(),
            ending,
            report: std::mem::take(&mut self.report),
        });
        self.ground.recorder.end(&outcome);
        self.emitter.end(outcome)
    }

    /// What a message of the model says counts, even if it never comes to its end.
    fn heard(&mut self, turn: &Turn) {
        let text = if self.is_whole() { turn.conclusion() } else { turn.message.text() };
        if !text.trim().is_empty() {
            self.report.text = text;
        }
    }
}
