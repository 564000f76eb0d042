//! `cargo agents model list`

use std::process::ExitCode;

use agents_model::{
    catalogue::Known,
    cost::MicroDollars,
    select::ModelRef,
    settings::{Origin, ProviderSettings},
};
use agents_plugin::config::Config;
use serde::Serialize;

use super::{Models, Offer, key_in_words};
use crate::{
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents model list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ModelListDocument {
    /// In the order in which they are preferred
    providers: Vec<ProviderView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProviderView {
    name: String,
    /// `anthropic`, `openai`, `openai-responses`, `gemini`, `openai-compatible`, `acp`, `host` or `script`
    kind: &'static str,
    /// Who says that there is this provider: a line of the configuration, a variable, a program
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Where its key is, in words; never the key
    key: String,
    /// Whether it could be asked
    ready: bool,
    models: Vec<ModelView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ModelView {
    id: String,
    /// Tokens
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<u64>,
    /// Tokens
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
    /// Micro-dollars for a million tokens
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<PriceView>,
    /// `tools`, `thinking`, `images`
    can: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PriceView {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    only: Option<&str>,
) -> Result<ExitCode, Failure> {
    let models = Models::here(settings, only)?;
    let file = Config::file(&settings.dirs);
    if output.is_json() {
        output.document(&ModelListDocument {
            providers: models
                .offers
                .iter()
                .map(|offer| view(&models, offer, file.as_str()))
                .collect(),
            findings: models.findings.iter().map(FindingView::from).collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    for offer in &models.offers {
        let it = &offer.settings;
        let place = it.url.as_deref().unwrap_or(it.kind.word());
        output.line(format!(
            "{}  {place}  {}  (from {})",
            it.name,
            key_in_words(&offer.key),
            origin(it, file.as_str())
        ))?;
        let rows: Vec<[String; 5]> =
            offer.models.iter().map(|id| row(&models, offer, id)).collect();
        let width =
            |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..5).map(width).collect();
        for [id, context, longest, price, can] in &rows {
            let line = format!(
                "  {id:0$}  {context:>1$}  {longest:>2$}  {price:>3$}  {can}",
                widths[0], widths[1], widths[2], widths[3]
            );
            output.line(line.trim_end())?;
        }
        if rows.is_empty() {
            output.line("  no models are known; `models = [\"…\"]` names them")?;
        }
    }
    output.flush()?;
    output.findings(&models.findings);
    Ok(ExitCode::SUCCESS)
}

fn known<'m>(models: &'m Models, offer: &Offer, id: &str) -> Option<&'m Known> {
    models.catalogue.find(&ModelRef::new(&offer.settings.name, id), offer.settings.kind.catalogue())
}

fn row(models: &Models, offer: &Offer, id: &str) -> [String; 5] {
    let known = known(models, offer, id);
    let tokens =
        |count: Option<u64>, what: &str| count.map(|it| format!("{} {what}", thousands(it)));
    let price = known
        .and_then(|it| it.price)
        .map(|price| format!("{} / {}", MicroDollars(price.input), MicroDollars(price.output)));
    let can: Vec<&str> = known.iter().flat_map(|it| it.can.iter().map(|can| can.word())).collect();
    [
        id.to_owned(),
        known.and_then(|it| tokens(it.context, "in")).unwrap_or_default(),
        known.and_then(|it| tokens(it.output, "out")).unwrap_or_default(),
        price.unwrap_or_default(),
        can.join(" "),
    ]
}

fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|it| std::str::from_utf8(it).ok()).collect();
    groups.join(",")
}

fn origin(settings: &ProviderSettings, file: &str) -> String {
    match &settings.origin {
        Origin::File { line } => format!("{file}:{line}"),
        Origin::Env(name) => format!("`{name}`"),
        Origin::Installed(program) => program.to_string(),
    }
}

fn view(models: &Models, offer: &Offer, file: &str) -> ProviderView {
    let settings = &offer.settings;
    let models = offer.models.iter().map(|id| {
        let known = known(models, offer, id);
        ModelView {
            id: id.clone(),
            context: known.and_then(|it| it.context),
            output: known.and_then(|it| it.output),
            price: known.and_then(|it| it.price).map(|price| PriceView {
                input: price.input,
                output: price.output,
                cache_read: price.cache_read,
                cache_write: price.cache_write,
            }),
            can: known.iter().flat_map(|it| it.can.iter().map(|can| can.word())).collect(),
        }
    });
    ProviderView {
        name: settings.name.clone(),
        kind: settings.kind.word(),
        origin: origin(settings, file),
        url: settings.url.clone(),
        key: key_in_words(&offer.key),
        ready: offer.key.credentials() == agents_model::select::Credentials::Ready,
        models: models.collect(),
    }
}
