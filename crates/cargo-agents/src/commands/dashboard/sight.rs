//! What the page is shown and what is done for it: the documents and the deeds of other commands.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use agents_serve::dashboard::{Act, Sight, Topic};
use agents_sync::Edited;
use agents_system::dirs::Dirs;
use agents_task::{runner::Unavailable, transcript::Store};
use camino::Utf8PathBuf;
use serde::Serialize;
use serde_json::Value;

use super::{plans::Plans, tasks::Tasks};
use crate::{
    args::Flags,
    commands::{
        agent,
        agreed::Terms,
        explain::ExplainDocument,
        order::Done,
        plan, status,
        sync_hosts::{Mode, bring},
        task,
    },
    failure::Failure,
    here::After,
    settings::Settings,
};

/// The program where it stands.
pub(super) struct Program {
    flags: Flags,
    dirs: Dirs,
    cwd: Utf8PathBuf,
    store: Store,
    tasks: Tasks,
    plans: Plans,
}

impl Program {
    pub(super) fn new(settings: &Settings) -> Self {
        let settings = settings.staying();
        Self {
            store: task::transcripts(&settings),
            tasks: Tasks::default(),
            plans: Plans::new(plan::journals(&settings)),
            flags: settings.flags,
            dirs: settings.dirs,
            cwd: settings.cwd,
        }
    }

    fn settings(&self) -> Settings {
        let settings = Settings::with_dirs(&self.flags, self.dirs.clone(), self.cwd.clone());
        Settings { after: After::TheProgramGoesOn, ..settings }
    }

    fn seen(&self, topic: &Topic) -> Result<Value, Failure> {
        let settings = self.settings();
        match topic {
            Topic::Tasks => value(&self.tasks.all(&self.store)?),
            Topic::Task(id) => self.tasks.one(&self.store, *id),
            Topic::Asks => afar::asks(&settings, &self.tasks),
            Topic::Plans => value(&self.plans.all()?),
            Topic::Plan(run) => self.plans.one(run),
            Topic::Plugins => value(&status::look(&settings)?.0),
            Topic::Plugin(name) => value(&ExplainDocument::now(&settings, name)?),
            Topic::Changes => {
                let brought = bring(&settings, Mode::Diff, Edited::Keep, &Terms::default())?;
                value(&brought.document(Mode::Diff))
            }
            Topic::Agents => value(&agent::list::document(&agent::found(&settings, &[])?)),
        }
    }

    fn done(&self, act: Act) -> Result<String, Failure> {
        let settings = self.settings();
        match act {
            Act::CancelTask { task } => afar::cancel(&settings, &self.store, task),
            Act::ResumeTask { task, prompt } => afar::resume(&settings, task, prompt),
            Act::Answer { ask, reply } => afar::answer(&settings, &ask, reply),
            Act::PausePlan { run } => plan::runs::pause_one(&settings, &run).map(Done::into_words),
            Act::ResumePlan { run } => self.plans.resume(&run),
            Act::CancelPlan { run, task } => {
                plan::runs::cancel_one(&settings, &run, task.as_deref()).map(Done::into_words)
            }
        }
    }
}

impl Sight for Program {
    fn look(&self, topic: &Topic) -> Result<Value, Unavailable> {
        self.seen(topic).map_err(told)
    }

    fn mark(&self, topic: &Topic) -> u64 {
        match topic {
            Topic::Tasks => self.tasks.mark(&self.store),
            Topic::Task(id) => self.tasks.mark_of(&self.store, *id),
            Topic::Plans => self.plans.mark(),
            Topic::Plan(run) => self.plans.mark_of(run),
            // Nothing says that it changed but the thing itself.
            _ => {
                let mut hasher = DefaultHasher::new();
                self.seen(topic).map(|it| it.to_string()).ok().hash(&mut hasher);
                hasher.finish()
            }
        }
    }

    fn act(&self, act: Act) -> Result<String, Unavailable> {
        self.done(act).map_err(told)
    }

    fn transcripts(&self) -> &Store {
        &self.store
    }
}

/// A failure as the page tells it.
fn told(failure: Failure) -> Unavailable {
    let finding = failure.into_findings().into_iter().next();
    let (message, hint) = finding.map(|it| (it.message, it.hint)).unwrap_or_default();
    Unavailable { message, hint }
}

pub(super) fn value(document: &impl Serialize) -> Result<Value, Failure> {
    use agents_system::explain::ErrorKind;
    serde_json::to_value(document).map_err(|error| Failure::new(ErrorKind::Bug, error.to_string()))
}

/// What is asked of the supervisor.
#[cfg(unix)]
mod afar {
    use agents_task::{TaskId, broker::Reply, transcript::Store};
    use serde_json::{Value, json};

    use super::{Tasks, value};
    use crate::{
        commands::{order::Done, task::afar},
        failure::Failure,
        settings::Settings,
    };

    /// Only tasks that run ask, and a supervisor that is asked again and again would never go.
    pub(super) fn asks(settings: &Settings, tasks: &Tasks) -> Result<Value, Failure> {
        match tasks.is_any_running() {
            true => value(&afar::TaskAsksDocument::now(settings)?),
            false => Ok(json!({ "asks": [] })),
        }
    }

    pub(super) fn cancel(
        settings: &Settings,
        store: &Store,
        task: TaskId,
    ) -> Result<String, Failure> {
        afar::cancel_one(settings, store, task).map(Done::into_words)
    }

    pub(super) fn answer(settings: &Settings, ask: &str, reply: Reply) -> Result<String, Failure> {
        afar::answer_one(settings, ask, reply).map(Done::into_words)
    }

    pub(super) fn resume(
        settings: &Settings,
        task: TaskId,
        prompt: String,
    ) -> Result<String, Failure> {
        let id = afar::resume(settings, task, prompt)?;
        Ok(format!("`{}` continues as `{}`", task.short(), id.short()))
    }
}

/// There is no supervisor where there are no sockets with a known user at the other end.
#[cfg(not(unix))]
mod afar {
    use agents_system::explain::ErrorKind;
    use agents_task::{TaskId, broker::Reply, transcript::Store};
    use serde_json::{Value, json};

    use super::Tasks;
    use crate::{failure::Failure, settings::Settings};

    fn nobody<T>() -> Result<T, Failure> {
        Err(Failure::new(ErrorKind::Usage, "tasks run in the background on Unix only"))
    }

    pub(super) fn asks(_: &Settings, _: &Tasks) -> Result<Value, Failure> {
        Ok(json!({ "asks": [] }))
    }

    pub(super) fn cancel(_: &Settings, _: &Store, _: TaskId) -> Result<String, Failure> {
        nobody()
    }

    pub(super) fn answer(_: &Settings, _: &str, _: Reply) -> Result<String, Failure> {
        nobody()
    }

    pub(super) fn resume(_: &Settings, _: TaskId, _: String) -> Result<String, Failure> {
        nobody()
    }
}
