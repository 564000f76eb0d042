//! `cargo agents task show ID`

use std::process::ExitCode;

use agents_system::explain::ErrorKind;
use agents_task::transcript::{Page, Record, Verdict};
use camino::Utf8Path;
use serde::Serialize;
use serde_json::Value;

use super::{
    list::{TaskView, view},
    meant, transcripts,
};
use crate::{args::PageFormat, failure::Failure, output::Output, settings::Settings};

/// `cargo agents task show --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskShowDocument {
    task: TaskView,
    /// The file that holds all of it
    transcript: String,
    /// Whether it is unchanged: `intact`, `broken`, or missing if no key was there to tell
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<&'static str>,
    /// What is missing in it, in words
    damage: Vec<String>,
    /// How it ended and what it left, as in the last event of `task run --json`
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Value>,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    prefix: &str,
    format: PageFormat,
    file: Option<&Utf8Path>,
) -> Result<ExitCode, Failure> {
    output.refuse_file_of_json(file)?;
    let store = transcripts(settings);
    let id = meant(&store, prefix)?;
    let page = Page::load(&store, id)?;
    if output.is_json() {
        let integrity = store.verify(id)?.map(|it| match it {
            Verdict::Intact { .. } => "intact",
            _ => "broken",
        });
        let loaded = store.load(id)?;
        let outcome = loaded.entries.iter().rev().find_map(|entry| match &entry.record {
            Record::Outcome(outcome) => serde_json::to_value(outcome).ok(),
            _ => None,
        });
        output.document(&TaskShowDocument {
            task: view(&page.meta, page.standing),
            transcript: store.path(id).to_string(),
            integrity,
            damage: page.damage,
            outcome,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match format {
        PageFormat::Text => page.text(),
        PageFormat::Markdown => page.markdown(),
        PageFormat::Html => page.html(),
    };
    match file {
        None => output.text(text)?,
        Some(file) => {
            let file = settings.cwd.join(file);
            fs_err::write(&file, text)
                .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
