//! `cargo agents task attach ID`

use std::{collections::VecDeque, ops::ControlFlow, process::ExitCode};

use agents_system::{ask::Asker, process};
use agents_task::{
    TaskId, TaskPath,
    transcript::{Standing, Store},
};
use tokio::sync::mpsc;

use super::{
    asks::{self, Unanswered},
    background::{
        client::{Line, Start, open},
        wire::{Asked, Began, Request, Say, is_last},
    },
    control::elsewhere,
    live::Live,
    meant,
    terminal::TICK,
    transcripts, wait,
    work::runtime,
};
use crate::{failure::Failure, output::Output, reader::Reader, settings::Settings};

/// How somebody stopped watching.
enum Left {
    /// The task has ended, and its last event was shown.
    AtTheEnd,
    /// It has ended, and that was not shown.
    Unseen,
    Before,
}

pub(super) fn run(settings: &Settings, output: &Output, prefix: &str) -> Result<ExitCode, Failure> {
    let store = transcripts(settings);
    let id = meant(&store, prefix)?;
    let path = store.meta(id)?.path;
    process::listen_for_interrupts();
    let watcher = Watcher { settings, output, id, path, asker: output.asker(), asked: Vec::new() };
    let runtime = runtime()?;
    let left = runtime.block_on(watcher.watch(&store));
    runtime.shutdown_background();
    match left? {
        Left::Before => Ok(ExitCode::SUCCESS),
        Left::AtTheEnd if output.is_json() => wait::code(settings, &store, id),
        Left::AtTheEnd | Left::Unseen => {
            wait::until_ended(settings, &store, id)?;
            wait::result(output, &store, id)
        }
    }
}

struct Watcher<'a> {
    settings: &'a Settings,
    output: &'a Output,
    id: TaskId,
    path: TaskPath,
    asker: Option<Asker>,
    /// Questions that are not answered yet.
    asked: Vec<Asked>,
}

impl Watcher<'_> {
    async fn watch(mut self, store: &Store) -> Result<Left, Failure> {
        let request = Request::Events { task: self.id };
        let line = match open(self.settings, &request, Start::Never).await? {
            Some(mut line) => match line.next().await {
                Ok(Some(first)) => Ok((line, first)),
                Ok(None) => Err(elsewhere(self.id)),
                Err(failure) => Err(failure),
            },
            None => Err(elsewhere(self.id)),
        };
        let (line, first) = match line {
            Ok(line) => line,
            // The supervisor no longer knows it, or is gone: the transcript does.
            Err(_) if store.standing(&store.meta(self.id)?) != Standing::Running => {
                return Ok(Left::Unseen);
            }
            Err(failure) => return Err(failure),
        };
        let mut live = Live::new(self.output, Reader::of(self.output));
        let mut says = Says::listen(line);
        self.show(&mut live, first)?;
        let mut leaves = false;
        loop {
            tokio::select! {
                biased;
                say = says.next() => match say {
                    Some(say) => {
                        if let Some(left) = self.show(&mut live, say?)? {
                            live.pause();
                            return Ok(left);
                        }
                    }
                    // The supervisor is gone; the transcript says what that did to the task.
                    None => {
                        live.pause();
                        return Ok(Left::Unseen);
                    }
                },
                () = tokio::time::sleep(TICK) => live.tick(),
            }
            // Not before everything was read that was there: it may be answered by now.
            if says.is_empty() && !self.asked.is_empty() {
                live.pause();
                leaves = self.ask(&mut says).await?.is_break();
            }
            if leaves || process::interrupted() {
                live.pause();
                self.output.talk(&format!(
                    "detached: `{}` keeps running; `cargo agents task attach {}` comes back to it",
                    self.path,
                    self.id.short()
                ));
                return Ok(Left::Before);
            }
        }
    }

    /// Shows what is said, up to the end of the task.
    fn show(&mut self, live: &mut Live<'_>, say: Say) -> Result<Option<Left>, Failure> {
        let talks = !self.output.is_json() && !self.output.is_quiet();
        match say {
            Say::Began(Began { tasks, findings }) => {
                if talks {
                    findings.iter().for_each(|it| self.output.talk(it));
                }
                let ours = |path: &TaskPath| self.path.is_within(path);
                let ours: Vec<_> = tasks.iter().filter(|it| ours(&it.path)).collect();
                ours.iter().for_each(|it| live.begins(&it.told, ours.len()));
            }
            Say::Event(event) if event.path.is_within(&self.path) => {
                live.event(&event)?;
                self.output.while_read()?;
                if event.task == self.id && is_last(&event) {
                    return Ok(Some(Left::AtTheEnd));
                }
            }
            Say::Asked(asked) if self.asker.is_some() && asked.path.is_within(&self.path) => {
                self.asked.push(asked);
            }
            Say::Answered { ask } => self.asked.retain(|it| it.ask != ask),
            Say::Note { text } if talks => {
                live.pause();
                self.output.talk(&text);
            }
            Say::LeftOut { events } if talks => {
                live.pause();
                self.output.talk(&format!(
                    "{events} events before are no longer known: `cargo agents task show {}` has all of it",
                    self.id.short()
                ));
            }
            Say::Over { .. } => return Ok(Some(Left::Unseen)),
            _ => {}
        }
        Ok(None)
    }

    /// Asks the first of the open questions. It breaks if whoever sits there leaves: they have not answered.
    async fn ask(&mut self, says: &mut Says) -> Result<ControlFlow<()>, Failure> {
        let Some(asker) = self.asker else { return Ok(ControlFlow::Continue(())) };
        let Asked { ask, path, question, means, .. } = self.asked.remove(0);
        let question = format!("{path}: {question}");
        let reply = match asks::put(asker, question, means, says.until_answered(&ask)).await {
            Err(Unanswered::Left) => return Ok(ControlFlow::Break(())),
            Err(Unanswered::TakenBack) => {
                self.output.talk("somebody else has answered, or nobody waits for it any more");
                return Ok(ControlFlow::Continue(()));
            }
            Ok(reply) => reply,
        };
        let request = Request::Answer { ask, reply };
        let answered = match open(self.settings, &request, Start::Never).await? {
            Some(mut line) => line.next().await.map(drop),
            None => Ok(()),
        };
        if answered.is_err() {
            self.output.talk("somebody else was faster, or nobody waits for the answer any more");
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// What the supervisor says, in its order. It is read as it comes, so that nothing is lost while something else is done.
struct Says {
    coming: mpsc::UnboundedReceiver<Result<Say, Failure>>,
    /// What came while a question stood on the terminal.
    before: VecDeque<Result<Say, Failure>>,
}

impl Says {
    fn listen(mut line: Line) -> Self {
        let (send, coming) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let said = match line.next().await {
                    Ok(Some(say)) => Ok(say),
                    Ok(None) => return,
                    Err(failure) => Err(failure),
                };
                let ends = said.is_err();
                if send.send(said).is_err() || ends {
                    return;
                }
            }
        });
        Self { coming, before: VecDeque::new() }
    }

    async fn next(&mut self) -> Option<Result<Say, Failure>> {
        match self.before.pop_front() {
            Some(say) => Some(say),
            None => self.coming.recv().await,
        }
    }

    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.coming.is_empty()
    }

    /// Ends when a question needs no answer any more: it has one, or the supervisor is gone.
    async fn until_answered(&mut self, question: &str) {
        while let Some(say) = self.coming.recv().await {
            let over = matches!(&say, Ok(Say::Answered { ask }) if ask == question);
            self.before.push_back(say);
            if over {
                return;
            }
        }
    }
}
