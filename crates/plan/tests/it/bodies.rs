//! A plan of fifty tasks, and an executor whose bodies leave a line in a file: what has run, whatever happens to the journal.

use std::{collections::BTreeMap, io::Write as _};

use agents_plan::{
    engine::{Executor, Life, Start},
    event::{Ending, Outcome},
    file::OnFailure,
    graph::{Concurrency, Graph, Need, Node, NodeId},
    journal::{Journals, RunId},
    reference::Template,
    schedule::{Scheduler, State},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

/// Fifty tasks: chains that split and meet, with leases, retries, and failures that are passed over.
pub(crate) fn fifty() -> Graph {
    let nodes = (0..50_usize).map(|at| {
        let needs: Vec<usize> = match at {
            0 => Vec::new(),
            _ if at % 7 == 0 => vec![at - 1, at / 2],
            _ if at % 3 == 0 => vec![at - 3],
            _ => vec![at / 2],
        };
        let text: String =
            needs.iter().map(|on| format!("${{{{ tasks.t{on}.output }}}} ")).collect();
        let mut node = Node::agent(
            format!("t{at}"),
            "any",
            Template::parse(&format!("{text}and {at}")).unwrap(),
        );
        node.needs =
            needs.iter().map(|on| Need::completed(NodeId::new(format!("t{on}")))).collect();
        node.on_failure = OnFailure::Continue;
        if at % 5 == 0 {
            node.retry.attempts = 3;
        }
        if at % 4 == 0 {
            node.uses.writes.push(format!("crates/{}", at % 3).into());
        }
        node
    });
    let limits = Concurrency { total: 5, ..Concurrency::default() };
    Graph::new("fifty", nodes.collect()).unwrap().within(limits, Default::default())
}

/// Its bodies append their names to a file before they are done.
pub(crate) struct Bodies {
    pub(crate) log: Utf8PathBuf,
}

impl Bodies {
    pub(crate) fn append(path: &Utf8Path, line: &str) {
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

impl Executor for Bodies {
    async fn run(&self, start: Start, _: Life) -> Outcome {
        let number: u64 = start.node.as_str()[1..].parse().unwrap();
        for _ in 0..number % 4 {
            tokio::task::yield_now().await;
        }
        Self::append(&self.log, start.node.as_str());
        match number {
            // These fail for good.
            13 | 31 => Outcome::ended(Ending::Failed, "always"),
            // These at first.
            _ if number.is_multiple_of(10) && start.attempt == 1 => {
                Outcome::ended(Ending::Failed, "once")
            }
            _ => {
                let said = start.request.prompt.split("\n\nAn earlier").next().unwrap();
                let hash = said.bytes().fold(7_u64, |hash, it| {
                    hash.wrapping_mul(31).wrapping_add(it.into()) % 1_000_003
                });
                Outcome::completed(json!(hash))
            }
        }
    }
}

/// What became of every task.
pub(crate) fn results(of: &Scheduler) -> BTreeMap<String, (State, Value)> {
    let nodes = of.graph().nodes().iter().zip(of.graph().indices());
    nodes
        .map(|(node, index)| {
            let output = of.outcome(index).map_or(Value::Null, |it| Value::clone(&it.output));
            (node.id.to_string(), (of.state(index), output))
        })
        .collect()
}

/// How often each body has run.
pub(crate) fn runs(log: &Utf8Path) -> BTreeMap<String, usize> {
    let mut runs = BTreeMap::new();
    for line in std::fs::read_to_string(log).unwrap_or_default().lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    runs
}

/// The only run in a directory.
pub(crate) fn only_run(journals: &Journals) -> Option<RunId> {
    let runs = journals.list().unwrap();
    runs.into_iter().next().map(|it| it.unwrap().id)
}
