//! Real definitions: `AGENTS_CORPUS=<directory> cargo test -p agents-agent --test it corpus -- --ignored --nocapture`.

use std::collections::BTreeMap;

use agents_agent::{
    definition::{Dialect, Source},
    parse::{Input, Strictness, parse},
    render::render,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::round_trip::check;

fn files(dir: &Utf8Path, found: &mut Vec<Utf8PathBuf>) {
    for entry in dir.read_dir_utf8().unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            files(entry.path(), found);
        } else if Dialect::ALL.iter().any(|it| it.reads(entry.file_name())) {
            found.push(entry.path().to_owned());
        }
    }
}

/// A message without what differs from file to file.
fn kind(message: &str) -> String {
    let parts: Vec<&str> = message.split('`').collect();
    parts.iter().enumerate().map(|(at, part)| if at % 2 == 1 { "`…`" } else { part }).collect()
}

#[test]
#[ignore = "needs a directory of definitions"]
fn corpus() {
    let dir = std::env::var("AGENTS_CORPUS").expect("AGENTS_CORPUS names a directory");
    let mut found = Vec::new();
    files(Utf8Path::new(&dir), &mut found);
    found.sort();
    let (mut loaded, mut clean) = (0, 0);
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut losses: BTreeMap<Dialect, BTreeMap<String, usize>> = BTreeMap::new();
    for file in &found {
        let text = fs_err::read_to_string(file).unwrap();
        let dialect = Dialect::of(file).unwrap_or(Dialect::Claude);
        let (source, strictness) = (Source::Project, Strictness::Lenient);
        let (definition, findings) =
            parse(&Input { file, text: &text, dialect, source, strictness });
        clean += usize::from(findings.is_empty());
        for finding in &findings {
            let place = finding.place.as_ref().unwrap().to_string();
            let place = place.strip_prefix(&dir).unwrap_or(&place);
            kinds
                .entry(kind(&finding.message))
                .or_default()
                .push(format!("{place} {}", finding.message));
        }
        let Some(definition) = definition else { continue };
        loaded += 1;
        check(&definition);
        for dialect in Dialect::ALL {
            let losses = losses.entry(dialect).or_default();
            for loss in render(&definition, dialect).losses {
                *losses.entry(kind(&loss.to_string())).or_default() += 1;
            }
        }
    }
    println!("{} files, {loaded} loaded, {clean} without a finding", found.len());
    for (kind, places) in &kinds {
        println!("{:5}  {kind}", places.len());
        places.iter().for_each(|place| println!("         {place}"));
    }
    for (dialect, losses) in &losses {
        println!("{dialect}");
        losses.iter().for_each(|(loss, count)| println!("{count:5}  {loss}"));
    }
    assert!(!found.is_empty());
}
