//! What the supervisor knows of its runs. One owner: everything that happens comes here as a value, and what is to be done about it
//! goes out through channels.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_system::explain::ErrorKind;
use agents_task::{TaskId, TaskPath, broker::Reply};
use tokio::sync::{mpsc, oneshot};

use super::{
    journal::Journal,
    wire::{Asked, Control, How, Known, Life, Report, Say, Taken, Trouble, is_last},
};

/// How long tasks may take to end when they are told to.
pub(super) const GRACE: Duration = Duration::from_secs(8);
/// How many runs that have ended are remembered.
const REMEMBERED: usize = 16;

/// What is answered to a request.
pub(super) enum Answer {
    Say(Say),
    Follow(Arc<Journal>),
}

/// Whoever waits for an answer, or has gone.
pub(super) type Waiting = oneshot::Sender<Answer>;

/// The number of a run.
pub(super) type RunId = u64;

/// A process that runs tasks.
pub(super) struct Run {
    pub(super) process: u32,
    controls: mpsc::UnboundedSender<Control>,
    journal: Arc<Journal>,
    /// The tasks that the user wanted.
    roots: Vec<TaskId>,
    /// Those, and all that these started.
    tasks: HashMap<TaskId, (TaskPath, Life)>,
    asks: Vec<(u64, Asked)>,
    answering: Vec<(u64, Waiting)>,
    starter: Option<Waiting>,
    waiters: Vec<(TaskId, Waiting)>,
    cancelled: Vec<(TaskId, Instant)>,
    /// Since when all of it is to end.
    leaving: Option<Instant>,
    end: End,
}

/// Whether the process of a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Not,
    /// It was told to, without mercy.
    Forced,
    By(How),
}

impl Run {
    pub(super) fn new(
        process: u32,
        controls: mpsc::UnboundedSender<Control>,
        starter: Waiting,
    ) -> Self {
        Self {
            process,
            controls,
            journal: Journal::new(),
            roots: Vec::new(),
            tasks: HashMap::new(),
            asks: Vec::new(),
            answering: Vec::new(),
            starter: Some(starter),
            waiters: Vec::new(),
            cancelled: Vec::new(),
            leaving: None,
            end: End::Not,
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.end, End::By(_))
    }

    fn lives(&self, task: TaskId) -> bool {
        self.tasks.get(&task).is_some_and(|it| it.1 == Life::Running)
    }

    /// Whether everything is said and done about a task. The last one that the user wanted takes its process with it.
    fn is_settled(&self, task: TaskId) -> bool {
        let last = !self.roots.iter().any(|root| self.lives(*root));
        self.is_over() || (!self.lives(task) && !last)
    }

    fn settle(&mut self) {
        let how = match self.end {
            End::By(how) => how,
            _ => How::Well,
        };
        for (task, waiting) in std::mem::take(&mut self.waiters) {
            if self.is_settled(task) {
                drop(waiting.send(Answer::Say(Say::Done { how })));
            } else {
                self.waiters.push((task, waiting));
            }
        }
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Began(began) => {
                for task in &began.tasks {
                    self.roots.push(task.id);
                    self.tasks.insert(task.id, (task.path.clone(), Life::Running));
                }
                self.journal.push(&Say::Began(began.clone()));
                self.answer_starter(Say::Began(began));
            }
            Report::Trouble(trouble) => self.answer_starter(Say::Trouble(trouble)),
            Report::Note { text } => self.journal.push(&Say::Note { text }),
            Report::Event(event) => {
                let life = if is_last(&event) { Life::Over } else { Life::Running };
                self.tasks.insert(event.task, (event.path.clone(), life));
                self.journal.push(&Say::Event(event));
                self.settle();
            }
            Report::Asks { number, task, path, question, means } => {
                // The part of the id that is chance: an answer to a question of a run that is gone never meets another one.
                let ask = format!("{}-{number}", task.short());
                let asked = Asked { ask, task, path, question, means };
                self.journal.push(&Say::Asked(asked.clone()));
                self.asks.push((number, asked));
            }
            Report::Settled { number, taken } => self.settled(number, taken),
        }
    }

    fn answer_starter(&mut self, say: Say) {
        if let Some(starter) = self.starter.take() {
            drop(starter.send(Answer::Say(say)));
        }
    }

    fn settled(&mut self, number: u64, taken: Taken) {
        if let Some(at) = self.asks.iter().position(|it| it.0 == number) {
            let (_, asked) = self.asks.remove(at);
            self.journal.push(&Say::Answered { ask: asked.ask });
        }
        let (mine, others) =
            std::mem::take(&mut self.answering).into_iter().partition(|it| it.0 == number);
        self.answering = others;
        let mine: Vec<(u64, Waiting)> = mine;
        // Whoever was first is the one whose answer counts.
        let mut taken = taken;
        for (_, waiting) in mine {
            let say = match std::mem::replace(&mut taken, Taken::No) {
                Taken::Yes => Say::Done { how: How::Well },
                Taken::No => Say::Trouble(nobody_waits()),
            };
            drop(waiting.send(Answer::Say(say)));
        }
    }

    fn end(&mut self, why: &str) {
        self.end = End::By(if self.end == End::Forced { How::Hard } else { How::Well });
        let trouble = Trouble::new(ErrorKind::Failure, format!("what runs tasks ended: {why}"))
            .hint("its last words are in the file that `cargo agents task supervisor` names");
        self.answer_starter(Say::Trouble(trouble));
        let cut = self.tasks.values().any(|it| it.1 == Life::Running);
        self.tasks.values_mut().for_each(|it| it.1 = Life::Over);
        for number in self.asks.iter().map(|it| it.0).collect::<Vec<_>>() {
            self.settled(number, Taken::No);
        }
        self.journal.push(&Say::Over { why: cut.then(|| why.to_owned()) });
        self.journal.close();
        self.settle();
    }

    fn cancel(&mut self, task: TaskId) {
        self.cancelled.push((task, Instant::now()));
        // A process that is gone has cancelled it, too.
        drop(self.controls.send(Control::Cancel { task }));
    }

    /// Whether it is to be ended without mercy: it was told to end everything, long ago, and has not.
    fn is_overdue(&self, now: Instant) -> bool {
        let late = |since: Instant| now.duration_since(since) > GRACE;
        let due = |root: &TaskId| self.cancelled.iter().any(|it| it.0 == *root && late(it.1));
        let told = self.cancelled.iter().any(|it| late(it.1))
            && self.roots.iter().filter(|root| self.lives(**root)).all(due);
        self.end == End::Not && (told || self.leaving.is_some_and(late))
    }
}

fn nobody_waits() -> Trouble {
    Trouble::new(ErrorKind::Usage, "nobody waits for this answer any more")
        .hint("`cargo agents task asks` shows the open questions")
}

/// All runs.
#[derive(Default)]
pub(super) struct Runs {
    all: HashMap<RunId, Run>,
    last: RunId,
}

impl Runs {
    pub(super) fn add(&mut self, run: impl FnOnce(RunId) -> Run) {
        self.last += 1;
        self.all.insert(self.last, run(self.last));
    }

    /// The processes of those that have not ended.
    pub(super) fn processes(&self) -> Vec<u32> {
        let alive = self.all.values().filter(|it| !it.is_over());
        alive.map(|it| it.process).collect()
    }

    pub(super) fn hear(&mut self, run: RunId, report: Report) {
        if let Some(run) = self.all.get_mut(&run) {
            run.hear(report);
        }
    }

    pub(super) fn end(&mut self, run: RunId, why: &str) {
        if let Some(run) = self.all.get_mut(&run) {
            run.end(why);
        }
        let mut over: Vec<RunId> =
            self.all.iter().filter(|it| it.1.is_over()).map(|it| *it.0).collect();
        over.sort_unstable();
        for old in over.iter().rev().skip(REMEMBERED) {
            self.all.remove(old);
        }
    }

    pub(super) fn list(&self) -> Vec<Known> {
        let all = self.all.values().flat_map(|run| &run.tasks);
        let known =
            all.map(|(id, (path, state))| Known { id: *id, path: path.clone(), state: *state });
        let mut known: Vec<Known> = known.collect();
        known.sort_by_key(|it| it.id);
        known
    }

    pub(super) fn asks(&self) -> Vec<Asked> {
        let asks = self.all.values().flat_map(|run| &run.asks).map(|it| it.1.clone());
        let mut asks: Vec<Asked> = asks.collect();
        asks.sort_by(|one, other| (one.task, &one.ask).cmp(&(other.task, &other.ask)));
        asks
    }

    fn of(&mut self, task: TaskId) -> Option<&mut Run> {
        self.all.values_mut().find(|run| run.tasks.contains_key(&task))
    }

    pub(super) fn follow(&mut self, task: TaskId, waiting: Waiting) {
        let answer = match self.of(task) {
            Some(run) => Answer::Follow(Arc::clone(&run.journal)),
            None => Answer::Say(Say::Trouble(not_ours(task))),
        };
        drop(waiting.send(answer));
    }

    pub(super) fn wait(&mut self, task: TaskId, waiting: Waiting) {
        match self.of(task) {
            Some(run) => {
                run.waiters.push((task, waiting));
                run.settle();
            }
            None => drop(waiting.send(Answer::Say(Say::Trouble(not_ours(task))))),
        }
    }

    pub(super) fn cancel(&mut self, task: TaskId, waiting: Waiting) {
        if let Some(run) = self.of(task)
            && run.lives(task)
        {
            run.cancel(task);
        }
        self.wait(task, waiting);
    }

    pub(super) fn cancel_all(&mut self) {
        for run in self.all.values_mut().filter(|it| !it.is_over()) {
            let open: Vec<TaskId> = run.roots.iter().copied().filter(|it| run.lives(*it)).collect();
            open.into_iter().for_each(|task| run.cancel(task));
            run.leaving.get_or_insert_with(Instant::now);
        }
    }

    pub(super) fn answer(&mut self, ask: &str, reply: Reply, waiting: Waiting) {
        let found = self.all.values_mut().find_map(|run| {
            let number = run.asks.iter().find(|it| it.1.ask == ask)?.0;
            Some((run, number))
        });
        match found {
            Some((run, number)) => {
                run.answering.push((number, waiting));
                drop(run.controls.send(Control::Answer { number, reply }));
            }
            None => drop(waiting.send(Answer::Say(Say::Trouble(nobody_waits())))),
        }
    }

    /// Processes that do not end although they were told to, each once.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<u32> {
        let overdue = self.all.values_mut().filter(|run| run.is_overdue(now));
        let end = |run: &mut Run| {
            run.end = End::Forced;
            run.process
        };
        overdue.map(end).collect()
    }
}

fn not_ours(task: TaskId) -> Trouble {
    let message = format!("task `{}` does not run in the background", task.short());
    Trouble::new(ErrorKind::Usage, message)
        .hint("one that runs in another terminal is ended there, with Ctrl-C")
}

#[cfg(test)]
mod tests {
    use agents_task::event::{Event, What};
    use agents_task::{Ending, Outcome, Report as Left};

    use super::{
        super::wire::{Began, Task},
        *,
    };

    struct Stage {
        runs: Runs,
        controls: mpsc::UnboundedReceiver<Control>,
        started: oneshot::Receiver<Answer>,
        tasks: Vec<TaskId>,
    }

    fn event(task: TaskId, what: What) -> Report {
        Report::Event(Event { task, path: TaskPath::root(), what })
    }

    fn ended(task: TaskId) -> Report {
        let (path, report) = (TaskPath::root(), Left::default());
        let outcome = Outcome { id: task, path, ending: Ending::Cancelled, report };
        event(task, What::Ended { outcome: Box::new(outcome) })
    }

    /// A run of so many tasks that has begun.
    fn stage(tasks: usize) -> Stage {
        let (send, controls) = mpsc::unbounded_channel();
        let (starter, started) = oneshot::channel();
        let mut runs = Runs::default();
        runs.add(|_| Run::new(7, send, starter));
        let tasks: Vec<TaskId> = (0..tasks).map(|_| TaskId::new()).collect();
        let task = |id: &TaskId| Task { id: *id, path: TaskPath::root(), told: String::new() };
        let tasks_of = tasks.iter().map(task).collect();
        runs.hear(1, Report::Began(Began { tasks: tasks_of, findings: Vec::new() }));
        Stage { runs, controls, started, tasks }
    }

    fn done(answer: &mut oneshot::Receiver<Answer>) -> Option<How> {
        match answer.try_recv() {
            Ok(Answer::Say(Say::Done { how })) => Some(how),
            Ok(Answer::Say(other)) => panic!("{other:?}"),
            Ok(Answer::Follow(_)) => panic!("a journal"),
            Err(_) => None,
        }
    }

    #[test]
    fn a_cancellation_is_answered_when_it_has_settled() {
        let mut stage = stage(1);
        assert!(matches!(stage.started.try_recv(), Ok(Answer::Say(Say::Began(_)))));
        let (send, mut answer) = oneshot::channel();
        stage.runs.cancel(stage.tasks[0], send);
        assert!(matches!(stage.controls.try_recv(), Ok(Control::Cancel { .. })));
        assert_eq!(done(&mut answer), None);
        stage.runs.hear(1, ended(stage.tasks[0]));
        assert_eq!(done(&mut answer), None, "its process is still there");
        stage.runs.end(1, "exit code 0");
        assert_eq!(done(&mut answer), Some(How::Well));
        assert!(stage.runs.processes().is_empty());
    }

    #[test]
    fn one_of_a_batch_ends_without_the_others() {
        let mut stage = stage(2);
        let (send, mut answer) = oneshot::channel();
        stage.runs.cancel(stage.tasks[0], send);
        let later = Instant::now() + 2 * GRACE;
        assert!(stage.runs.overdue(later).is_empty(), "the other one would end, too");
        stage.runs.hear(1, ended(stage.tasks[0]));
        assert_eq!(done(&mut answer), Some(How::Well));
        assert_eq!(stage.runs.processes(), [7]);
    }

    #[test]
    fn who_does_not_end_is_ended_once() {
        let mut stage = stage(1);
        let (send, mut answer) = oneshot::channel();
        stage.runs.cancel(stage.tasks[0], send);
        assert!(stage.runs.overdue(Instant::now()).is_empty());
        let later = Instant::now() + 2 * GRACE;
        assert_eq!(stage.runs.overdue(later), [7]);
        assert!(stage.runs.overdue(later).is_empty());
        stage.runs.end(1, "signal 9");
        assert_eq!(done(&mut answer), Some(How::Hard));
    }

    #[test]
    fn the_first_answer_to_a_question_counts() {
        let mut stage = stage(1);
        let task = stage.tasks[0];
        let question = "may I?".to_owned();
        stage.runs.hear(
            1,
            Report::Asks {
                number: 1,
                task,
                path: TaskPath::root(),
                question,
                means: Default::default(),
            },
        );
        let ask = stage.runs.asks()[0].ask.clone();
        let answers: Vec<_> = [Reply::Once, Reply::No]
            .into_iter()
            .map(|reply| {
                let (send, answer) = oneshot::channel();
                stage.runs.answer(&ask, reply, send);
                answer
            })
            .collect();
        stage.runs.hear(1, Report::Settled { number: 1, taken: Taken::Yes });
        let words: Vec<bool> = answers
            .into_iter()
            .map(|mut it| matches!(it.try_recv(), Ok(Answer::Say(Say::Done { .. }))))
            .collect();
        assert_eq!(words, [true, false]);
        assert!(stage.runs.asks().is_empty());
    }

    #[test]
    fn only_so_many_runs_are_remembered_and_none_that_lives_is_forgotten() {
        let mut stage = stage(1);
        for run in 2..100 {
            let (send, _) = mpsc::unbounded_channel();
            stage.runs.add(|_| Run::new(8, send, oneshot::channel().0));
            stage.runs.end(run, "exit code 0");
        }
        assert_eq!(stage.runs.all.len(), REMEMBERED + 1);
        assert_eq!(stage.runs.processes(), [7]);
    }
}
