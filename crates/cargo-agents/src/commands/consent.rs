//! The questions of `cargo agents sync`: what to do about plugins that need the user's consent.
//!
//! Asked of a person at a terminal and of nobody else. "Later" leaves no trace; only an answer is written down.

use agents_plugin::{
    config::{Config, Decision, Scope},
    consent::{Candidate, Piece, Programs, Withheld, counted},
    predicate::{Surroundings, evaluate::Asker as Asking},
    probes::Acquire,
};
use agents_system::{
    ask::{AskError, Asker, Choice},
    finding::{Finding, Severity},
    nearest::quoted_list,
};
use camino::{Utf8Path, Utf8PathBuf};

use super::sandboxed::Standing;
use crate::{
    failure::Failure,
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// More rows than this say nothing to anybody.
const MAX_ROWS: usize = 12;

/// What somebody decided about a plugin. "Later" is no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Enable,
    Never,
}

/// A decision that is to be written down.
struct Said {
    name: String,
    verdict: Verdict,
    /// The workspace that it is about, if it is about one.
    workspace: Option<Utf8PathBuf>,
}

/// Asks about every plugin that waits, if there is somebody to ask, and writes the answers down.
pub(super) fn settle(settings: &Settings, output: &Output) -> Result<(), Failure> {
    let Some(asker) = output.asker() else { return Ok(()) };
    // What is about to be refreshed has no say in what dependencies embed.
    let looking = settings.without_update();
    let said = visit(&looking, Acquire::Never, BrokenWorkspace::IsReported, |here, _| {
        let Some(workspace) = here.workspace.as_ref() else { return Ok(Vec::new()) };
        ask_all(here, &workspace.root, asker, output)
    })?;
    if !said.is_empty() {
        Config::change(&settings.dirs, &settings.progress, |config| {
            let edits = said.iter().flat_map(|it| config.enablement.edits(it.decision()));
            Ok::<_, Failure>(edits.collect())
        })?;
    }
    Ok(())
}

/// One line about the dependencies that need the user's approval, where nobody is asked.
pub(super) fn waiting(here: &Here<'_>) -> Option<Finding> {
    let (probes, _) = here.probes();
    let workspace = here.workspace.as_ref();
    let surroundings = Surroundings { workspace, probes: &probes, asker: Asking::Other };
    // That programs of the workspace itself do not run is said for each of them.
    let waiting =
        here.set.waiting(surroundings).filter(|(_, withheld)| *withheld == Withheld::Everything);
    let mut names: Vec<&str> = waiting.map(|(it, _)| it.plugin.consent_name()).collect();
    names.sort_unstable();
    names.dedup();
    let (need, name) = match names.as_slice() {
        [] => return None,
        [name] => ("needs", *name),
        _ => ("need", "<name>"),
    };
    let who = quoted_list(&names, "and");
    Some(Finding::new(
        Severity::Note,
        format!(
            "{who} {need} your approval: `cargo agents use {name}` gives it, `cargo agents status` shows what for"
        ),
    ))
}

impl Said {
    fn decision(&self) -> Decision<'_> {
        match (self.verdict, &self.workspace) {
            (Verdict::Enable, Some(root)) => Decision::Use(&self.name, Scope::Workspace(root)),
            (Verdict::Enable, None) => Decision::AutoEnable(&self.name),
            (Verdict::Never, _) => Decision::Disable(&self.name),
        }
    }
}

fn ask_all(
    here: &Here<'_>,
    root: &Utf8Path,
    asker: Asker,
    output: &Output,
) -> Result<Vec<Said>, Failure> {
    let candidates = here.registries.candidates(&here.set, here.workspace.as_ref(), root);
    Failure::if_interrupted()?;
    let mut said: Vec<Said> = Vec::new();
    let mut asked: Vec<(&str, bool)> = Vec::new();
    for candidate in &candidates {
        // A crate may be there in two versions; one answer is for both.
        let about = (candidate.plugin.consent_name(), candidate.is_of_workspace());
        if asked.contains(&about) {
            continue;
        }
        asked.push(about);
        let of_it = candidates
            .iter()
            .filter(|it| (it.plugin.consent_name(), it.is_of_workspace()) == about);
        for one in of_it {
            output.talk(&in_words(one, here.registries.config));
        }
        match ask(candidate, asker) {
            Ok(None) => {}
            Ok(Some(verdict)) => said.push(Said {
                name: about.0.to_owned(),
                verdict,
                workspace: candidate.is_of_workspace().then(|| root.to_owned()),
            }),
            // The rest stays undecided.
            Err(AskError::Cancelled) => break,
            Err(error) => return Err(Failure::from(error).hint("nothing was written")),
        }
    }
    Ok(said)
}

fn ask(candidate: &Candidate<'_>, asker: Asker) -> Result<Option<Verdict>, AskError> {
    let name = candidate.plugin.consent_name();
    let (question, where_to) = match candidate.withheld {
        Withheld::Everything => (format!("Turn on what `{name}` brings?"), "in every workspace"),
        Withheld::Programs => (format!("Let `{name}` run programs?"), "in this workspace"),
    };
    let answers = [
        (None, Choice::new("later").note("ask again next time").key('l')),
        (Some(Verdict::Enable), Choice::new("enable").note(where_to).key('e')),
        (Some(Verdict::Never), Choice::new("never").note("do not ask again").key('n')),
    ];
    let choices: Vec<Choice> = answers.iter().map(|(_, choice)| choice.clone()).collect();
    let picked = asker.one(&question, &choices, 0)?;
    Ok(answers.get(picked).and_then(|(verdict, _)| *verdict))
}

/// Each piece on a line of its own: what it is, its name, what it runs. Of very many only the first.
pub(super) fn rows(pieces: &[Piece]) -> Vec<String> {
    let width = |part: fn(&Piece) -> &str| {
        pieces.iter().map(|it| part(it).chars().count()).max().unwrap_or(0)
    };
    let (kind, name) = (width(|it| it.kind.word()), width(|it| &it.name));
    let row = |piece: &Piece| {
        let runs = piece.runs.as_ref().map(|it| format!("  runs {it}")).unwrap_or_default();
        let row = format!("{:kind$}  {:name$}{runs}", piece.kind.word(), piece.name);
        row.trim_end().to_owned()
    };
    let mut rows: Vec<String> = pieces.iter().take(MAX_ROWS).map(row).collect();
    if pieces.len() > MAX_ROWS {
        rows.push(format!("and {} more", pieces.len() - MAX_ROWS));
    }
    rows
}

/// What it is, where it comes from, what it would bring and what that may do.
fn in_words(candidate: &Candidate<'_>, config: &Config) -> String {
    let Candidate { plugin, withheld, pieces } = candidate;
    let why = match withheld {
        Withheld::Everything => "a dependency of this workspace; all of it is off",
        Withheld::Programs => "part of this workspace; none of its programs run on their own",
    };
    let brings = match pieces.is_empty() {
        true => "nothing".to_owned(),
        false => counted(pieces),
    };
    let mut lines = vec![
        format!("`{}`  ({}, {why} until you agree)", plugin.name, plugin.origin),
        format!("  brings {brings}  ({})", plugin.file),
    ];
    lines.extend(rows(pieces).into_iter().map(|row| format!("    {row}")));
    lines.push(match candidate.programs() {
        Programs::Some => format!("  {}", Standing::of(config, plugin, pieces).line(plugin)),
        Programs::Unseen => "  nothing of it that is here runs programs; skills that are fetched may have conditions that do".to_owned(),
        Programs::None => "  it runs no programs; what it brings is text that agents read".to_owned(),
    });
    lines.join("\n")
}
