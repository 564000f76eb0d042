//! Where a run stands, for whoever sits at a terminal: how much is done, what it has cost, and what is being done.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use agents_model::cost::MicroDollars;
use agents_plan::{
    event::Index,
    graph::{Graph, Join, Work},
    schedule::{Scheduler, State},
};
use agents_system::span;

use super::view;

/// The most tasks that are shown one by one.
const ROWS: usize = 12;
/// Plans with more tasks are looked through less often: that takes long.
const SMALL: usize = 1000;
/// How often, then.
const SELDOM: Duration = Duration::from_secs(1);

/// What is shown, as it was when something happened last.
#[derive(Debug, Clone, Default)]
pub(super) struct Board(Arc<Mutex<Shown>>);

#[derive(Debug, Default)]
struct Shown {
    seen: Option<Instant>,
    counted: String,
    cost: MicroDollars,
    most: Option<MicroDollars>,
    rows: Vec<Row>,
    more: usize,
}

#[derive(Debug)]
struct Row {
    name: String,
    depth: usize,
    what: Doing,
}

#[derive(Debug)]
enum Doing {
    /// So many of so many inner tasks have ended.
    Group(&'static str, usize, usize),
    Running,
    Stopping,
    Resting(Instant, String),
    Asking(String),
}

/// What is known about an attempt that runs.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) began: Instant,
    pub(super) doing: String,
    pub(super) cost: MicroDollars,
}

impl Board {
    /// Looks at where the run stands now.
    pub(super) fn look(&self, scheduler: &Scheduler) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_small = scheduler.graph().nodes().len() <= SMALL;
        if is_small || shown.seen.is_none_or(|it| it.elapsed() > SELDOM) {
            *shown = Shown::of(scheduler);
        }
    }

    /// In lines.
    pub(super) fn lines(&self, plan: &str, running: &HashMap<String, Attempt>) -> Vec<String> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = shown.cost.0 + running.values().map(|it| it.cost.0).sum::<u64>();
        let cost = match shown.most {
            Some(most) => format!("   {} of {most}", MicroDollars(cost)),
            None if cost > 0 => format!("   {}", MicroDollars(cost)),
            None => String::new(),
        };
        let mut lines = vec![format!("{plan}   {}{cost}", shown.counted)];
        let name = |row: &Row| format!("{}{}", "  ".repeat(row.depth), row.name);
        let widest = shown.rows.iter().map(|it| name(it).chars().count()).max().unwrap_or(0);
        for row in &shown.rows {
            let (mark, told) = match &row.what {
                Doing::Group(word, done, of) => ("  ", format!("{word}, {done} of {of}")),
                Doing::Running => ("..", running.get(&row.name).map_or_else(String::new, told)),
                Doing::Stopping => ("..", "is told to stop".to_owned()),
                Doing::Resting(until, why) => {
                    let left = span::told(until.saturating_duration_since(Instant::now()));
                    ("!!", format!("tried again in {left}: {why}"))
                }
                Doing::Asking(why) => ("??", format!("what is to be done? {why}")),
            };
            lines.push(format!("  {mark}  {:widest$}  {told}", name(row)).trim_end().to_owned());
        }
        if shown.more > 0 {
            lines.push(format!("      and {} more", shown.more));
        }
        lines
    }
}

fn told(attempt: &Attempt) -> String {
    let cost = if attempt.cost.0 == 0 { String::new() } else { format!("   {}", attempt.cost) };
    format!("{}   {}{cost}", span::told(attempt.began.elapsed()), attempt.doing)
}

impl Shown {
    fn of(scheduler: &Scheduler) -> Self {
        let graph = scheduler.graph();
        let mut rows: Vec<Row> = Vec::new();
        let mut more = 0;
        let mut open: Vec<Index> = Vec::new();
        for index in graph.indices() {
            let why = || {
                let outcome = scheduler.outcome(index);
                outcome.and_then(|it| it.message.lines().next()).unwrap_or_default().to_owned()
            };
            let what = match scheduler.state(index) {
                State::Running => Doing::Running,
                State::Stopping => Doing::Stopping,
                State::Asking => Doing::Asking(why()),
                State::Resting => {
                    let until = scheduler.rests_until(index).unwrap_or(scheduler.now());
                    Doing::Resting(Instant::now() + until.since(scheduler.now()), why())
                }
                _ => continue,
            };
            if rows.len() >= ROWS {
                more += 1;
                continue;
            }
            // What it is a part of comes before it, once.
            let above = groups(graph, index);
            for (depth, group) in above.iter().enumerate() {
                if !open.contains(group) {
                    open.push(*group);
                    rows.extend(row_of(scheduler, *group, depth));
                }
            }
            rows.push(Row { name: view::name(graph, index), depth: above.len(), what });
        }
        Self {
            seen: Some(Instant::now()),
            counted: view::counted(scheduler),
            cost: scheduler.spent().cost,
            most: graph.budget().cost,
            rows,
            more,
        }
    }
}

/// The groups that a node is in, the outermost first: names tell.
fn groups(graph: &Graph, index: Index) -> Vec<Index> {
    let name = view::name(graph, index);
    let ends = name.match_indices('/').map(|(at, _)| &name[..at]);
    ends.filter_map(|it| graph.find(&agents_plan::graph::NodeId::new(it))).collect()
}

fn row_of(scheduler: &Scheduler, group: Index, depth: usize) -> Option<Row> {
    let graph = scheduler.graph();
    let Work::Join(join) = &graph.node(group)?.work else { return None };
    let over = |it: &&agents_plan::graph::NodeId| {
        graph.find(it).is_some_and(|it| scheduler.state(it).is_over())
    };
    let done = Join::of(join).iter().filter(over).count();
    let what = Doing::Group(join.word(), done, join.of().len());
    Some(Row { name: view::name(graph, group), depth, what })
}

#[cfg(test)]
mod tests {
    use agents_plan::{
        event::{Attempt as Number, Ending, Millis, Outcome, What},
        file::OnFailure,
        graph::{Budget, Concurrency, Graph, Join, Node, NodeId, Work},
        reference::Template,
    };

    use super::*;

    fn node(id: &str) -> Node {
        let mut node = Node::agent(id, "any", Template::plain("go"));
        node.on_failure = OnFailure::Ask;
        node
    }

    #[test]
    fn a_board_shows_what_runs_in_its_group_what_rests_and_what_is_asked() {
        let ids = ["each/a", "each/b"];
        let mut join = node("each").needs(ids);
        let of: Vec<NodeId> = ids.iter().map(|it| NodeId::new(*it)).collect();
        join.work = Work::Join(Join::Each { of, items: vec!["a".into(), "b".into()] });
        let mut again = node("again");
        again.retry.attempts = 2;
        again.retry.backoff = Duration::from_secs(90);
        let nodes = vec![node("each/a"), node("each/b"), join, again, node("hard"), node("later")];
        let budget = Budget { cost: Some(MicroDollars(2_000_000)), ..Budget::default() };
        let limits = Concurrency { total: 4, ..Concurrency::default() };
        let graph = Graph::new("p", nodes).unwrap().within(limits, budget);
        let mut scheduler = Scheduler::new(graph);
        scheduler.advance(Millis(1), &mut Vec::new());
        let mut end = |node: u32, outcome: Outcome| {
            let attempt = Number { node: Index(node), number: 1 };
            let what = What::Ended { attempt, outcome: Arc::new(outcome) };
            scheduler.accept(what.at(Millis(1))).unwrap();
        };
        let mut done = Outcome::completed(serde_json::json!(1));
        done.spent.cost = MicroDollars(420_000);
        end(0, done);
        end(3, Outcome::ended(Ending::Failed, "2 errors\nand more"));
        end(4, Outcome::ended(Ending::Failed, "too hard"));
        let board = Board::default();
        board.look(&scheduler);
        let running = HashMap::from([(
            "each/b".to_owned(),
            Attempt {
                began: Instant::now(),
                doing: "bash cargo test".to_owned(),
                cost: MicroDollars(80_000),
            },
        )]);
        let lines = board.lines("p", &running);
        let first = format!(
            "p   1 completed, 1 asking, 1 running, 1 resting, 1 ready   {} of {}",
            MicroDollars(500_000),
            MicroDollars(2_000_000)
        );
        assert_eq!(lines[0], first);
        assert_eq!(lines[1], "      each      for-each, 1 of 2");
        assert!(
            lines[2].starts_with("  ..    each/b  ")
                && lines[2].ends_with("bash cargo test   $0.08"),
            "{lines:?}"
        );
        assert!(
            lines[3].starts_with("  !!  again     tried again in ")
                && lines[3].ends_with(": 2 errors"),
            "{lines:?}"
        );
        assert_eq!(lines[4], "  ??  hard      what is to be done? too hard");
    }
}
