//! `cargo agents model test`

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use agents_model::{
    Deadlines, Message, ModelError, Request, Turn,
    provider::Provider,
    select::{Ask, ModelRef, check_served, select},
};
use agents_system::explain::{Code, ErrorKind};
use agents_workspace::Network;
use futures_util::StreamExt as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Models, asking};
use crate::{
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

const QUESTION: &str = "Answer with the one word: ready";
/// Enough for that word, and for some thoughts before it.
const LONGEST: u32 = 2048;
const DEADLINES: Deadlines = Deadlines {
    first_token: Duration::from_secs(90),
    idle: Duration::from_secs(60),
    total: Duration::from_secs(180),
};

/// `cargo agents model test --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ModelTestDocument {
    provider: String,
    /// The model that was asked for
    model: String,
    /// The model that answered; empty if the provider does not say
    served: String,
    answer: String,
    milliseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// In micro-dollars; missing if the price is not known
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UsageView {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    provider: Option<&str>,
    model: Option<&str>,
) -> Result<ExitCode, Failure> {
    let models = Models::here(settings, provider)?;
    let request: Vec<String> = model.iter().map(ToString::to_string).collect();
    let ask = Ask { request: &request, ..Ask::default() };
    let resolution = select(&ask, &models.available(), &models.preferences)?;
    let chosen = &resolution.model;
    let offer = models.offers.iter().find(|it| it.settings.name == chosen.provider);
    let offer = offer.ok_or_else(|| Failure::new(ErrorKind::Failure, "the provider is gone"))?;
    if settings.cargo.network() == Network::Offline && !offer.settings.is_local() {
        let message =
            format!("`{}` is not on this machine, and nothing else may be asked", chosen.provider);
        return Err(Failure::new(ErrorKind::Network, message)
            .code(Code::Offline)
            .hint("leave out `--offline`"));
    }
    let opened = models.open(settings, &offer.settings)?;
    let began = Instant::now();
    settings.progress.begin(format!("asking {chosen}"));
    let turn = asking(|cancel| ask_once(opened.as_ref(), chosen, cancel));
    settings.progress.end();
    let turn = turn??;
    let took = began.elapsed();
    let kind = offer.settings.kind.catalogue();
    let cost = turn.usage.and_then(|usage| models.catalogue.cost(chosen, kind, &usage));
    let mut findings = models.findings;
    findings.extend(resolution.findings);
    findings.extend(check_served(chosen, &turn.model));
    let answer = turn.message.text().trim().to_owned();
    if output.is_json() {
        output.document(&ModelTestDocument {
            provider: chosen.provider.clone(),
            model: chosen.id.clone(),
            served: turn.model.clone(),
            answer,
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            usage: turn.usage.map(|usage| UsageView {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
            }),
            cost: cost.map(|cost| cost.0),
            findings: findings.iter().map(FindingView::from).collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let served = if turn.model.is_empty() || turn.model == chosen.id {
        String::new()
    } else {
        format!("   served by {}", turn.model)
    };
    let tokens =
        turn.usage.map(|usage| format!("   {} tokens in, {} out", usage.asked(), usage.output));
    let cost = cost.map(|cost| format!("   {cost}"));
    output.line(format!(
        "{chosen}   {:.1} s{}{}{served}",
        took.as_secs_f64(),
        tokens.unwrap_or_default(),
        cost.unwrap_or_default()
    ))?;
    output.line(format!("  it says: {}", one_line(&answer)))?;
    output.flush()?;
    output.findings(&findings);
    Ok(ExitCode::SUCCESS)
}

async fn ask_once(
    provider: &dyn Provider,
    model: &ModelRef,
    cancel: CancellationToken,
) -> Result<Turn, ModelError> {
    let mut request =
        Request::new(&model.id).with_message(Message::user(QUESTION)).with_deadlines(DEADLINES);
    request.max_output_tokens = Some(LONGEST);
    let mut stream = provider.stream(request, cancel).await?;
    let mut turn = Turn::default();
    while let Some(event) = stream.next().await {
        turn.push(event?);
    }
    Ok(turn)
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
