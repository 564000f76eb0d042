//! What an agent asks for and what it claims: words that are held against what there is.

use agents_model::{
    catalogue::Catalogue,
    select::{Ask, Available, Credentials, ModelRef, Outcome, Preferences, Rank, Said, select},
};
use agents_system::{
    cache::{digest, hex},
    explain::Explain as _,
};
use agents_task::evidence::{Record, Verdict};
use agents_tool::{Area, Subject};
use camino::Utf8Path;
use serde_json::Value;

use crate::files::{check_findings, in_scratch};

const SEPARATOR: &str = "\n%%\n";

/// Models, one on each line (`-` before one that has no key, `+` before one that is only sold on), then a line `%%` and who says what: `r` the
/// call, `a` the definition, `o` the configuration for this agent, `@role=` and `alias=` what these mean, `!` a provider that comes first.
pub fn model_choice(text: &str) {
    let (models, words) = text.split_once(SEPARATOR).unwrap_or((USUAL, text));
    let models: Vec<Available> = models.lines().take(16).filter_map(available).collect();
    let (mut request, mut agent) = (Vec::new(), Vec::new());
    let mut preferences = Preferences::built_in(Catalogue::built_in());
    for line in words.lines().take(24) {
        let (who, pattern) = line.split_at_checked(1).unwrap_or_default();
        let pattern = pattern.trim_start().to_owned();
        match (who, line.split_once('=')) {
            ("!", _) => preferences.providers.push(pattern),
            ("@", Some((name, meant))) => {
                let name = name.trim_start_matches('@').to_owned();
                preferences.roles.entry(name).or_default().push(meant.to_owned());
            }
            (_, Some((name, meant))) => {
                preferences.aliases.entry(name.to_owned()).or_default().push(meant.to_owned());
            }
            ("r", None) => request.push(pattern),
            ("o", None) => preferences.agents.entry("it".to_owned()).or_default().push(pattern),
            _ => agent.push(pattern),
        }
    }
    let ask = Ask { name: Some("it"), request: &request, agent: &agent, ..Ask::default() };
    match select(&ask, &models, &preferences) {
        Ok(chosen) => {
            assert!(
                models.iter().any(|it| it.model == chosen.model),
                "there is no {}",
                chosen.model
            );
            check_findings(&chosen.findings, text);
            let decided = chosen.chain.iter().rfind(|it| {
                matches!(&it.outcome, Outcome::Matches { model, .. } if *model == chosen.model)
            });
            let decided = decided.unwrap_or_else(|| panic!("nobody chose it: {:?}", chosen.chain));
            // Whoever speaks first decides, unless they leave it to others.
            let spoke = request.iter().any(|it| !it.trim().is_empty());
            let leaves = chosen.chain.iter().any(|it| it.outcome == Outcome::Inherits);
            assert!(!spoke || leaves || decided.said == Said::Request, "{:?}", chosen.chain);
            assert_eq!(select(&ask, &models, &preferences).ok(), Some(chosen));
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            let fits = |it: &Outcome| matches!(it, Outcome::Matches { .. });
            assert!(!error.chain.iter().any(|it| fits(&it.outcome)), "{:?}", error.chain);
            drop(error.hint());
        }
    }
}

/// For an input without models.
const USUAL: &str = "anthropic/claude-opus-5\nanthropic/claude-sonnet-5-5-20260401\n-openai/gpt-6.1\n\
    +openrouter/anthropic/claude-sonnet-5.5:nitro\nollama/qwen3:8b\ngoogle/models/gemini-3.5-pro";

fn available(line: &str) -> Option<Available> {
    let credentials = if line.starts_with('-') { Credentials::Missing } else { Credentials::Ready };
    let rank = if line.starts_with('+') { Rank::Reseller } else { Rank::Usual };
    let (provider, id) = line.trim_start_matches(['-', '+']).split_once('/')?;
    Some(Available { rank, ..Available::new(ModelRef::new(provider, id), credentials) })
}

/// What stands in a file that no result can rest on.
const OUTSIDE: &[u8] = b"outside";

/// A result: each text below `evidence` is judged once, a number names a call by its digits, and no file outside of the workspace is
/// what anything rests on.
pub fn evidence(text: &str) {
    let hash = hex(&digest(OUTSIDE));
    let Ok(result) = serde_json::from_str::<Value>(&text.replace("@HASH@", &hash)) else { return };
    in_scratch("evidence/outside.txt", OUTSIDE, |_| ());
    in_scratch("evidence/ws/a.rs", b"fn a() {}", |file| {
        let area = Area::workspace(file.parent().expect("a directory")).expect("it is there");
        let mut record = Record::default();
        let command = Subject::Command("cargo test".to_owned());
        record.add("call_a", Some(&command), "ok", false, &area);
        let paths = Subject::Paths(vec![Utf8Path::new("a.rs").into()]);
        record.add("call_b", Some(&paths), "fn a() {}", true, &area);
        let claims = record.check(&result, &area);
        let mut texts = Vec::new();
        claimed(&result, false, &mut texts);
        assert!(claims.iter().map(|it| it.text.as_str()).eq(texts), "{claims:?}");
        for claim in claims {
            let text = claim.text.trim();
            let known = matches!(claim.verdict, Verdict::Holds | Verdict::CallFailed);
            if let Some(number) = text.strip_prefix('#').filter(|_| known) {
                let number = number.trim_start_matches('0');
                assert!(["1", "2"].contains(&number), "{text:?} is no call");
            }
            if let Some((path, cited)) = text.rsplit_once('@')
                && claim.verdict == Verdict::Holds
            {
                assert!(!hash.starts_with(&cited.to_lowercase()), "{path:?} is outside");
            }
        }
    });
}

/// The texts that must be judged, in order.
fn claimed<'v>(value: &'v Value, within: bool, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if within => texts.push(text),
        Value::Array(items) => items.iter().for_each(|it| claimed(it, within, texts)),
        Value::Object(members) => {
            members.iter().for_each(|(key, it)| claimed(it, within || key == "evidence", texts));
        }
        _ => {}
    }
}
