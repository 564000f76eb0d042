//! The agents in the program.

use agents_agent::{
    bundled,
    definition::{Effort, Spawns, Waiting},
    tools::ToolPattern,
};

#[test]
fn all_of_them_parse_strictly() {
    assert_eq!(bundled::mistakes(), []);
    assert_eq!(bundled::agents().len(), bundled::files().len());
}

#[test]
fn the_table_of_the_seeds() {
    let rows = bundled::agents().iter().map(|it| {
        let tools = it.tools.allow.as_ref().map_or("all".to_owned(), |tools| {
            tools.iter().map(ToolPattern::as_str).collect::<Vec<_>>().join(" ")
        });
        let spawns = match &it.spawns {
            Spawns::None => "-".to_owned(),
            Spawns::Any => "*".to_owned(),
            Spawns::Only(names) => names.join(" "),
        };
        let models: Vec<&str> = it.model.iter().map(|it| it.0.as_str()).collect();
        let effort =
            it.effort.map_or("-".to_owned(), |it: Effort| format!("{it:?}").to_lowercase());
        let waits = if it.waiting == Some(Waiting::Blocking) { "blocks" } else { "-" };
        let output = if it.output.is_some() { "schema" } else { "-" };
        format!(
            "{} | {tools} | {spawns} | {} | {effort} | {waits} | {output}",
            it.name,
            models.join(" ")
        )
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @r"
    explore | read grep glob web_search | - | @fast haiku | - | - | schema
    plan | read grep glob bash lsp web_search ast_grep task | explore | @plan @deep sonnet | high | - | -
    designer | all | - | @designer | - | - | -
    reviewer | read grep glob bash lsp web_search ast_grep report_finding task | explore | @deep | high | blocks | schema
    task | all | * | @task | medium | - | -
    quick_task | all | - | @fast | minimal | - | -
    general-purpose | all | - | sonnet @task | - | - | -
    ");
}

#[test]
fn explore_reads_and_never_writes() {
    let explore = &bundled::agents()[0];
    assert!(["glob", "grep", "read"].into_iter().all(|tool| explore.tools.allows(tool)));
    assert!(["bash", "write", "edit"].into_iter().all(|tool| !explore.tools.allows(tool)));
}

#[test]
fn task_and_quick_task_are_told_the_same() {
    let prompt = |name: &str| {
        bundled::agents().iter().find(|it| it.name.as_str() == name).unwrap().prompt.as_str()
    };
    assert_eq!(prompt("task"), prompt("quick_task"));
    assert!(bundled::agents().iter().all(|it| it.prompt.len() > 300), "each has something to say");
}
