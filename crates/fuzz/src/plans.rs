//! Files that say what agents do: plans and scripts.

use agents_agent::{AgentDefinition, AgentName};
use agents_model::script::ScriptFile;
use agents_plan::{
    check::{self, Facts},
    expand::expand,
    file::{Bundle, PlanFile},
    graph::Graph,
    reference::{Condition, Lookup, Reference, Template},
};
use agents_task::{batch_file, done_when::DoneWhen};
use serde_json::Value;

use crate::files::{check_findings, has_error};

/// A plan can be read or a finding says why not; one that is sound can be laid out.
pub fn plan(text: &str) {
    for name in ["plan.toml", "plan.yaml", "plan.json"] {
        let (file, findings) = PlanFile::parse(name.into(), text);
        // With a wrong key in it the rest is still looked at.
        assert!(file.is_some() || has_error(&findings), "{findings:?}");
        let Some(file) = file else { continue };
        let bundle = Bundle::single(file);
        let facts = Facts::default();
        let findings = [findings, check::check(&bundle, &facts)].concat();
        check_findings(&findings, text);
        if check::is_sound(&findings) {
            // Parameters without a value are the user's to give.
            let laid_out = expand(&bundle, &facts, &std::collections::BTreeMap::new());
            if let Ok(graph) = laid_out {
                let kept = serde_json::to_string(&graph).expect("it can be kept");
                let again = serde_json::from_str::<Graph>(&kept);
                let again = again.unwrap_or_else(|error| panic!("{error}: {kept}"));
                assert_eq!(serde_json::to_string(&again).ok(), Some(kept));
            }
        }
    }
}

/// A batch in each of its forms: the tasks that it has in their order, each with what it says itself before what all of them say, or what is
/// wrong with it. What must hold before they are done can be said by a definition as well, or it is wrong there.
pub fn batch_file(text: &str) {
    for name in ["batch.toml", "batch.json", "batch.yaml"] {
        let batch = match batch_file::parse(name.into(), text) {
            Ok(batch) => batch,
            Err(error) => {
                assert!(!error.is_empty());
                continue;
            }
        };
        if name == "batch.json" {
            let said: Value = serde_json::from_str(text).expect("it was understood");
            let tasks = said["tasks"].as_array().expect("a list");
            assert_eq!(batch.tasks.len(), tasks.len());
            for (task, said_of_it) in batch.tasks.iter().zip(tasks) {
                assert_eq!(said_of_it["prompt"].as_str(), Some(task.prompt.as_str()));
                let agent = said_of_it["agent"].as_str().or(said["agent"].as_str());
                assert_eq!(task.agent.as_deref(), agent);
            }
        }
        for task in &batch.tasks {
            let mut definition = AgentDefinition::blank(AgentName::new("a").expect("a name"));
            let said = serde_json::to_value(&task.done_when).expect("it can be said");
            definition.extra.insert("done-when".to_owned(), said);
            match DoneWhen::of(&definition) {
                Ok(read) => assert_eq!(read, task.done_when),
                Err(error) => assert!(!error.is_empty()),
            }
        }
    }
}

/// The text as a script, in all three forms.
pub fn script(text: &str) {
    for parse in [ScriptFile::parse_toml, ScriptFile::parse_json, ScriptFile::parse_yaml] {
        if let Err(error) = parse(text) {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// A text with references in it, and a condition: what is printed can be read again, and nothing that is unknown makes either panic.
pub fn reference(text: &str) {
    if let Ok(template) = Template::parse(text) {
        for (reference, range) in template.references() {
            assert!(text.get(range.clone()).is_some(), "{range:?}");
            let again = Template::parse(&format!("${{{{ {reference} }}}}"));
            let again = again.unwrap_or_else(|error| panic!("{error}: {reference}"));
            assert_eq!(again.only_reference(), Some(reference));
        }
        drop((template.render(&Nothing), template.value(&Nothing)));
    }
    if let Ok(condition) = Condition::parse(text) {
        for (_, range) in condition.references() {
            assert!(text.get(range.clone()).is_some(), "{range:?}");
        }
        drop((condition.comparisons(), condition.holds(&Nothing)));
    }
}

/// Nothing is known yet.
struct Nothing;

impl Lookup for Nothing {
    fn look_up(&self, _: &Reference) -> Option<serde_json::Value> {
        None
    }
}
