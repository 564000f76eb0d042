//! What a provider says it has.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{HttpProvider, network};
use crate::{
    error::{Deadline, Problem},
    provider::ModelInfo,
    wire::{Wire, said::bounded},
};

/// A list of models is short, and is there at once.
const PATIENCE: Duration = Duration::from_secs(30);
const MAX_LIST: usize = 8 * 1024 * 1024;

impl HttpProvider {
    pub(super) async fn list(&self, cancel: CancellationToken) -> Result<Vec<ModelInfo>, Problem> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Problem::Cancelled),
            () = tokio::time::sleep(PATIENCE) => {
                Err(Problem::Timeout { deadline: Deadline::Total, after: PATIENCE })
            }
            models = self.fetch() => models,
        }
    }

    async fn fetch(&self) -> Result<Vec<ModelInfo>, Problem> {
        let mut url = match self.wire {
            Wire::Messages => self.address("v1", "models"),
            Wire::Chat | Wire::Responses => self.address("", "models"),
            Wire::Gemini => self.address("v1beta", "models"),
        };
        match self.wire {
            Wire::Messages => drop(url.query_pairs_mut().append_pair("limit", "1000")),
            Wire::Gemini => drop(url.query_pairs_mut().append_pair("pageSize", "1000")),
            Wire::Chat | Wire::Responses => {}
        }
        let sending = self.client()?.get(url).headers(self.headers.clone());
        let response = sending.send().await.map_err(|it| network("asking for the models", it))?;
        let mut response = self.accepted(response, "").await?;
        let mut bytes = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|it| network("reading the models", it))?
        {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_LIST {
                return Err(wrong(format!("it is larger than {MAX_LIST} bytes")));
            }
        }
        read_models(&bytes)
    }
}

/// What a list of models says.
///
/// # Errors
/// It is none.
#[doc(hidden)]
pub fn read_models(bytes: &[u8]) -> Result<Vec<ModelInfo>, Problem> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| wrong(format!("it is not JSON at column {}", error.column())))?;
    let list = value["data"].as_array().or(value["models"].as_array());
    let list = list.ok_or_else(|| wrong("it has neither `data` nor `models`".to_owned()))?;
    Ok(list.iter().filter_map(model).collect())
}

/// A model, if it has a name that can be asked for.
fn model(value: &Value) -> Option<ModelInfo> {
    let id = value["id"].as_str().or(value["name"].as_str())?;
    let id = id.trim_start_matches("models/");
    let odd = |it: char| it.is_whitespace() || it.is_control();
    if id.is_empty() || id.contains(odd) {
        return None;
    }
    let title = value["display_name"].as_str().or(value["displayName"].as_str());
    let sizes = ["context_length", "max_input_tokens", "inputTokenLimit", "max_model_len"];
    Some(ModelInfo {
        id: id.to_owned(),
        title: title.map(bounded).filter(|it| it != id),
        context: sizes.iter().find_map(|key| value[*key].as_u64()),
    })
}

fn wrong(what: String) -> Problem {
    Problem::Protocol { what, place: "the list of models".to_owned() }
}
