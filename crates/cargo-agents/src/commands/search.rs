//! `cargo agents search <query>`

use std::{process::ExitCode, time::Duration};

use agents_plugin::{active::Considered, plugin::Origin, probes::Acquire};
use agents_system::{finding::Finding, process::ending};
use agents_workspace::Network;
use serde::Serialize;

use super::explain::state_in_words;
use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// What cargo calls the registry that it searches.
const CRATES_IO: &str = "crates.io";
/// As many as one page of it shows.
const LIMIT: &str = "10";
const PATIENCE: Duration = Duration::from_secs(20);

/// `cargo agents search --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SearchDocument {
    matches: Vec<MatchView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MatchView {
    name: String,
    /// Where it was found, in words
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What it says about itself
    description: String,
    /// Whether it is active here and why, in words; absent for a crate that nobody has looked into
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

pub(crate) fn run(settings: &Settings, output: &Output, query: &str) -> Result<ExitCode, Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
        let mut findings = here.findings.clone();
        findings.extend(
            error.map(|error| Failure::from(error).into_finding("the workspace is left out")),
        );
        let mut matches = known(here, query);
        if settings.cargo.network() == Network::Allowed {
            match published(settings, query) {
                // What a registry or a dependency has is listed there.
                Ok(found) => matches.extend(found),
                Err(finding) => findings.push(*finding),
            }
        }
        settings.progress.end();
        Failure::if_interrupted()?;
        if output.is_json() {
            let findings = findings.iter().map(FindingView::from).collect();
            output.document(&SearchDocument { matches, findings })?;
        } else {
            render(&matches, query, output)?;
            output.flush()?;
            output.findings(&findings);
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn render(matches: &[MatchView], query: &str, output: &Output) -> Result<(), Failure> {
    if matches.is_empty() {
        return output.line(format!("Nothing matches `{query}`."));
    }
    let width = matches.iter().map(|it| title(it).chars().count()).max().unwrap_or(0);
    let mut from = "";
    for it in matches {
        if it.from != from {
            from = &it.from;
            output.line(from)?;
        }
        let words = [Some(it.description.as_str()), it.state.as_deref()];
        let words: Vec<&str> = words.into_iter().flatten().filter(|it| !it.is_empty()).collect();
        output.line(format!("  {:width$}  {}", title(it), words.join("  ")).trim_end())?;
    }
    if matches.iter().any(|it| it.from == CRATES_IO) {
        output.line("`cargo agents use <crate>` looks into one and turns on what it brings.")?;
    }
    Ok(())
}

fn title(it: &MatchView) -> String {
    let version = it.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    format!("{}{version}", it.name)
}

/// What registries, the workspace and its dependencies have.
fn known(here: &Here<'_>, query: &str) -> Vec<MatchView> {
    let query = query.to_lowercase();
    let found = here.set.considered().filter(|considered| {
        let plugin = considered.plugin;
        let offers = plugin.offers();
        let commands = offers.subcommands.iter().flat_map(|it| [it.name.as_str(), &it.description]);
        let mut texts = [plugin.name.as_str(), plugin.consent_name()].into_iter().chain(commands);
        texts.any(|text| text.to_lowercase().contains(&query))
    });
    found.map(|considered| view(&considered)).collect()
}

fn view(considered: &Considered<'_>) -> MatchView {
    let plugin = considered.plugin;
    let described = plugin.offers().subcommands.iter().map(|it| it.description.as_str());
    MatchView {
        name: plugin.name.to_string(),
        from: match &plugin.origin {
            Origin::Crate(..) => "crates of this workspace".to_owned(),
            origin => origin.to_string(),
        },
        version: match &plugin.origin {
            Origin::Crate(_, version) => Some(version.to_string()),
            _ => None,
        },
        description: described.collect::<Vec<_>>().join("; "),
        state: Some(state_in_words(considered.state)),
    }
}

/// What cargo finds on crates.io.
fn published(settings: &Settings, query: &str) -> Result<Vec<MatchView>, Box<Finding>> {
    settings.progress.begin(format!("Searching {CRATES_IO}"));
    let call = settings.cargo.call().args(["search", "--limit", LIMIT, "--", query]);
    let ended = call.deadline(PATIENCE).cwd(settings.cwd.clone()).capture();
    settings.progress.end();
    let failed =
        |why: String| Box::new(Finding::warning(format!("{CRATES_IO} was not searched: {why}")));
    let captured = ended.map_err(|error| failed(error.to_string()))?;
    if !captured.status.success() {
        let said = captured.said();
        let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let why = if first.is_empty() { ending(captured.status) } else { first.to_owned() };
        return Err(failed(why));
    }
    Ok(captured.stdout_text().lines().filter_map(parse_line).collect())
}

/// `serde = "1.0.231"    # A generic serialization framework`
fn parse_line(line: &str) -> Option<MatchView> {
    let (name, rest) = line.split_once(" = \"")?;
    let (version, rest) = rest.split_once('"')?;
    let description = rest.trim().trim_start_matches('#').trim();
    Some(MatchView {
        name: name.to_owned(),
        from: CRATES_IO.to_owned(),
        version: Some(version.to_owned()),
        description: description.to_owned(),
        state: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_prints_is_understood() {
        let it = parse_line("tiny-sql = \"0.3.1-rc.1\"    # A \"small\" = thing").unwrap();
        assert_eq!(
            (it.name.as_str(), it.version.as_deref(), it.description.as_str()),
            ("tiny-sql", Some("0.3.1-rc.1"), "A \"small\" = thing")
        );
        assert_eq!(parse_line("bare = \"1.0.0\"").unwrap().description, "");
        assert!(parse_line("... and 341 crates more (use --limit N to see more)").is_none());
    }

    proptest::proptest! {
        #[test]
        fn what_is_understood_of_any_line_stands_in_it(line in r#"([ ="\#a]|\PC){0,60}"#) {
            if let Some(it) = parse_line(&line) {
                let parts = [it.name, it.version.unwrap(), it.description];
                proptest::prop_assert!(parts.iter().all(|part| line.contains(part.as_str())));
            }
        }
    }
}
