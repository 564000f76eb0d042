//! What can be asked for, whatever the door: requests in, answers out.
//!
//! Nothing here knows a protocol. What goes wrong is an [`Unavailable`]: a message, and what to do about it.

pub mod answer;
pub mod asked;
mod behind;
mod search;

use std::{sync::Arc, time::Duration};

use agents_system::explain::{Explain, with_causes};
use agents_task::{
    Outcome, Refused, TaskId, TaskPath,
    event::{Event, What},
    runner::Unavailable,
    transcript::{Page, Record},
};
use agents_tool::{
    CallContext, Catalogue, Confinement, Presented, Request, Tool, artifacts::Artifacts,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::{
    answer::{
        AgentCard, AgentList, CommandCard, CommandList, OutputPage, SkillList, TaskList, TaskView,
    },
    asked::{
        Commands, CrateInfo, FindSkills, ListAgents, Part, RunTasks, TaskCancel, TaskOutput,
        TaskStatus,
    },
    search::{has_all, ranked, words},
};
use crate::{
    offer::{FoundCrate, Offer},
    tasks::{Known, Tasks},
};

/// So many characters of a task's output come at once.
const PAGE: usize = 20_000;
/// More skills are not listed at once: whoever asks can say more words.
const MAX_SKILLS: usize = 20;
/// More tasks that have ended are not listed unless somebody asks for them.
const MAX_ENDED: usize = 100;
/// The longest that a status is waited for.
const MAX_WAIT: u64 = 600;
/// The longest that a command or a tool may take; most have shorter limits of their own.
const MAX_CALL: Duration = Duration::from_secs(900);

/// Everything that can be asked for.
pub struct Verbs {
    offer: Arc<dyn Offer>,
    tasks: Tasks,
    artifacts: Arc<dyn Artifacts>,
}

/// Somebody asks for what there is not.
pub(crate) fn wrong(message: impl Into<String>, hint: impl Into<String>) -> Unavailable {
    Unavailable { message: message.into(), hint: Some(hint.into()) }
}

pub(crate) fn refused(refused: &Refused) -> Unavailable {
    Unavailable { message: with_causes(refused), hint: refused.hint() }
}

impl Verbs {
    /// For one connection.
    #[must_use]
    pub fn new(offer: Arc<dyn Offer>, tasks: Tasks, artifacts: Arc<dyn Artifacts>) -> Self {
        Self { offer, tasks, artifacts }
    }

    /// Runs tasks, and waits for them unless they run in the background. If whoever waits goes away or cancels, they end. `begun` is
    /// told where they stand before anything happens, `watch` what does.
    ///
    /// # Errors
    /// A rule stands in the way; then none was started.
    pub async fn run_tasks(
        &self,
        asked: RunTasks,
        cancelled: &CancellationToken,
        begun: impl FnOnce(&[TaskPath]),
        watch: impl Fn(&Event),
    ) -> Result<TaskList, Unavailable> {
        let background = asked.background;
        let batch = asked.batch()?;
        self.tasks.is_open()?;
        let mut events = self.tasks.watch();
        let mut started = self.tasks.start(batch).map_err(|it| refused(&it))?;
        let ids: Vec<TaskId> = started.iter().map(|it| it.id).collect();
        let paths: Vec<TaskPath> = started.iter().map(|it| it.path.clone()).collect();
        begun(&paths);
        if background {
            return Ok(self.views(&ids));
        }
        let tokens: Vec<CancellationToken> = started.iter().map(|it| it.cancel.clone()).collect();
        let _guards: Vec<_> = tokens.iter().map(|it| it.clone().drop_guard()).collect();
        let tell = |event: &Event| {
            if paths.iter().any(|path| event.path.is_within(path)) {
                watch(event);
            }
        };
        {
            let all = async {
                for task in &mut started {
                    task.outcome().await;
                }
            };
            tokio::pin!(all);
            let mut is_cancelled = false;
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => tell(&event),
                    () = cancelled.cancelled(), if !is_cancelled => {
                        is_cancelled = true;
                        tokens.iter().for_each(CancellationToken::cancel);
                    }
                    () = &mut all => break,
                }
            }
        }
        while let Ok(event) = events.try_recv() {
            tell(&event);
        }
        Ok(self.views(&ids))
    }

    fn views(&self, ids: &[TaskId]) -> TaskList {
        let all = self.tasks.all();
        let view = |id: &TaskId| {
            all.iter().find(|(it, _)| it == id).map(|(id, known)| TaskView::of(*id, known))
        };
        TaskList::with_results(ids.iter().filter_map(view).collect())
    }

    /// How tasks are.
    ///
    /// # Errors
    /// There is no such task.
    pub async fn task_status(
        &self,
        asked: TaskStatus,
        cancelled: &CancellationToken,
    ) -> Result<TaskList, Unavailable> {
        let mut events = self.tasks.watch();
        let patience = Duration::from_secs(asked.wait_seconds.min(MAX_WAIT));
        let over = tokio::time::sleep(patience);
        tokio::pin!(over);
        loop {
            let list = self.status(&asked.ids)?;
            if asked.wait_seconds == 0 || list.tasks.iter().all(|it| it.state != "running") {
                return Ok(list);
            }
            loop {
                tokio::select! {
                    event = events.recv() => match event {
                        Some(event) if !matches!(event.what, What::Ended { .. }) => {}
                        _ => break,
                    },
                    () = &mut over => return self.status(&asked.ids),
                    () = cancelled.cancelled() => return Ok(list),
                }
            }
        }
    }

    fn status(&self, ids: &[String]) -> Result<TaskList, Unavailable> {
        if ids.is_empty() {
            return Ok(self.overview());
        }
        let tasks: Result<Vec<TaskView>, Unavailable> = ids.iter().map(|it| self.one(it)).collect();
        Ok(TaskList::with_results(tasks?))
    }

    /// All tasks of this connection that run, and the last that have ended.
    fn overview(&self) -> TaskList {
        let tasks = self.tasks.all();
        let ended = tasks.iter().filter(|(_, known)| known.outcome.is_some()).count();
        let more = ended.saturating_sub(MAX_ENDED);
        let mut left_out = 0;
        let mut is_listed = |known: &Known| {
            // The oldest come first.
            let is_old = known.outcome.is_some() && left_out < more;
            left_out += usize::from(is_old);
            !is_old
        };
        let listed = tasks.iter().filter(|(_, known)| is_listed(known));
        TaskList::overview(listed.map(|(id, known)| TaskView::of(*id, known)).collect(), more)
    }

    /// A task of this connection, or one that another program ran.
    fn one(&self, text: &str) -> Result<TaskView, Unavailable> {
        if let Some((id, known)) = self.tasks.find(text) {
            return Ok(TaskView::of(id, &known));
        }
        let store = self.tasks.store();
        let found = store.find_by_prefix(text).and_then(|id| store.meta(id));
        let meta = found.map_err(|it| Unavailable::because(&it))?;
        Ok(TaskView::of_meta(&meta, store.standing(&meta)))
    }

    /// What a task leaves, a page at a time.
    ///
    /// # Errors
    /// There is no such task, or its transcript cannot be read.
    pub async fn task_output(&self, asked: TaskOutput) -> Result<OutputPage, Unavailable> {
        let view = self.one(&asked.id)?;
        let known = self.tasks.find(&view.id).and_then(|(_, known)| known.outcome);
        let whole = match (asked.part, known) {
            (Part::Result, Some(outcome)) => told_result(&outcome),
            (part, _) => {
                let Some(id) = TaskId::parse(&view.id) else {
                    return Err(wrong(format!("there is no task `{}`", asked.id), SEE_STATUS));
                };
                let store = self.tasks.store().clone();
                let read = tokio::task::spawn_blocking(move || match part {
                    Part::Transcript => Page::load(&store, id).map(|page| page.text()),
                    Part::Result => store.load(id).map(|loaded| {
                        let records = loaded.entries.iter().rev().map(|it| &it.record);
                        records.into_iter().find_map(kept_result).unwrap_or_default()
                    }),
                });
                let read = read.await.map_err(|_| broke_down())?;
                read.map_err(|it| Unavailable::because(&it))?
            }
        };
        let whole = self.tasks.masked(&whole);
        let rest = whole.char_indices().nth(asked.offset).map_or("", |(at, _)| &whole[at..]);
        let text: String = rest.chars().take(PAGE).collect();
        let is_all = text.len() == rest.len();
        let next_offset = (!is_all).then(|| asked.offset + PAGE);
        Ok(OutputPage { id: view.id, state: view.state, text, next_offset })
    }

    /// Ends tasks, and everything that they started, and waits until they have ended.
    ///
    /// # Errors
    /// One of them is not a task of this connection; then none is ended.
    pub async fn task_cancel(
        &self,
        asked: TaskCancel,
        cancelled: &CancellationToken,
    ) -> Result<TaskList, Unavailable> {
        let mut meant = Vec::new();
        for text in &asked.ids {
            let Some((id, known)) = self.tasks.find(text) else {
                let message = format!("`{text}` is not a task of this connection");
                return Err(wrong(message, SEE_STATUS));
            };
            meant.push((id, known));
        }
        for (id, known) in &meant {
            if known.outcome.is_none() && !self.tasks.cancel(*id) {
                let message = format!("`{id}` was started by another task");
                return Err(wrong(message, "cancel the task that started it"));
            }
        }
        let ids = meant.iter().map(|(id, _)| id.to_string()).collect();
        // A tool that does not end when it is told to is given up by the runner long before this.
        self.task_status(TaskStatus { ids, wait_seconds: 60 }, cancelled).await
    }

    /// The agents that there are.
    #[must_use]
    pub fn agents(&self, asked: &ListAgents) -> AgentList {
        let words = words(asked.query.as_deref());
        let agents = self.offer.surroundings().agents();
        let cards = agents.iter().map(|it| AgentCard {
            name: it.name.to_string(),
            description: it.description.clone(),
            from: self.offer.place_of(it),
        });
        let is_meant = |it: &AgentCard| has_all(&words, [it.name.as_str(), &it.description]);
        AgentList { agents: cards.filter(is_meant).collect() }
    }

    /// Skills that match, or one with its text.
    ///
    /// # Errors
    /// There is no such skill, or skills cannot be looked for.
    pub async fn skills(&self, asked: FindSkills) -> Result<SkillList, Unavailable> {
        if let Some(name) = asked.load {
            let loaded = Some(self.offer.skill(name).await?);
            return Ok(SkillList { skills: Vec::new(), more: 0, loaded });
        }
        let mut skills = ranked(self.offer.skills().await?, &words(asked.query.as_deref()));
        let more = skills.len().saturating_sub(MAX_SKILLS);
        skills.truncate(MAX_SKILLS);
        Ok(SkillList { skills, more, loaded: None })
    }

    /// Where the sources of a crate are.
    ///
    /// # Errors
    /// They cannot be had.
    pub async fn crate_info(&self, asked: CrateInfo) -> Result<FoundCrate, Unavailable> {
        self.offer.find_crate(asked.name, asked.version).await
    }

    /// The commands that plugins have for agents, as tools.
    #[must_use]
    pub fn command_tools(&self) -> Vec<Arc<dyn Tool>> {
        self.offer.commands()
    }

    /// The commands that plugins have for agents, or what one of them prints.
    ///
    /// # Errors
    /// There is no such command, or it failed.
    pub async fn commands(
        &self,
        asked: Commands,
        cancelled: &CancellationToken,
    ) -> Result<CommandList, Unavailable> {
        let all = self.offer.commands();
        let Some(name) = asked.run else {
            let card = |it: &Arc<dyn Tool>| CommandCard {
                name: it.name().to_owned(),
                description: it.description().to_owned(),
            };
            return Ok(CommandList { commands: all.iter().map(card).collect(), output: None });
        };
        let Some(tool) = all.iter().find(|it| it.name() == name) else {
            let names: Vec<&str> = all.iter().map(|it| it.name()).collect();
            return Err(wrong(format!("there is no command `{name}`"), there_are(&names)));
        };
        let input = json!({ "args": asked.args, "cwd": asked.cwd, "timeout": asked.timeout });
        let output = self.call(tool, input, cancelled).await?;
        Ok(CommandList { commands: Vec::new(), output: Some(output) })
    }

    /// Calls a tool without a task around it. Whoever calls has been asked by their own program; what comes back is bounded, masked
    /// and marked as for agents of ours.
    async fn call(
        &self,
        tool: &Arc<dyn Tool>,
        input: Value,
        cancelled: &CancellationToken,
    ) -> Result<String, Unavailable> {
        let area = self.offer.surroundings().area()?;
        let mut catalogue = Catalogue::default();
        let name = tool.name().to_owned();
        catalogue.add_shared(Arc::clone(tool)).map_err(|it| wrong(it.to_string(), SEE_STATUS))?;
        let around = self.tasks.around();
        let presented = Presented::new(catalogue, Arc::clone(&around.mask), around.bounds);
        let context = CallContext {
            cancelled: cancelled.clone(),
            confinement: Confinement::None,
            ..CallContext::new(area, Arc::clone(&self.artifacts), MAX_CALL)
        };
        let result = presented.call(Request { tool: name, input }, &context).await;
        if result.is_error {
            return Err(Unavailable { message: result.content, hint: None });
        }
        Ok(result.content)
    }

    /// Ends everything that was started for any request.
    pub async fn end(&self) {
        tokio::join!(self.offer.end(), self.tasks.end());
    }
}

const SEE_STATUS: &str = "`task_status` lists the tasks of this connection";

fn broke_down() -> Unavailable {
    wrong("reading broke down", "this is a bug in cargo agents; please report it")
}

fn told_result(outcome: &Outcome) -> String {
    answer::result(outcome).map(|it| in_words(&it)).unwrap_or_default()
}

/// The result in the last record of a transcript.
fn kept_result(record: &Record) -> Option<String> {
    let Record::Outcome(outcome) = record else { return None };
    let report = &outcome["report"];
    let value = report["output"].get("value").or_else(|| report.get("text"))?;
    Some(in_words(value))
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

fn there_are(names: &[&str]) -> String {
    if names.is_empty() {
        return "there are none here".to_owned();
    }
    let shown: Vec<String> = names.iter().take(40).map(|it| format!("`{it}`")).collect();
    let more = if names.len() > 40 { ", ..." } else { "" };
    format!("there are {}{more}", shown.join(", "))
}
