//! The events of `/v1/responses`.

use std::borrow::Cow;

use serde::Deserialize;

use crate::{
    error::Problem,
    event::{Event, StopReason, Usage},
    message::Signature,
    wire::{
        Wire,
        calls::Calls,
        said::{self, Said},
        stream::malformed,
    },
};

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    summary_index: u64,
    delta: Option<String>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    response: Option<Response>,
    // Those of an `error`, which has them at the top or one step below.
    code: Option<String>,
    message: Option<String>,
    error: Option<Said>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    call_id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: String,
    #[serde(default)]
    content: Option<Vec<Content>>,
    encrypted_content: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    usage: Option<Tokens>,
    incomplete_details: Option<Incomplete>,
    error: Option<Said>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: u64,
    #[serde(default)]
    reasoning_tokens: u64,
}

/// What has to be remembered between two events.
#[derive(Debug, Default)]
pub(in crate::wire) struct ResponsesStream {
    started: bool,
    calls: Calls,
    refused: bool,
    /// The item whose text came in pieces; at its end the whole text comes once more.
    texts: Option<u64>,
}

impl ResponsesStream {
    pub(in crate::wire) fn event(
        &mut self,
        data: &str,
        out: &mut Vec<Event>,
    ) -> Result<bool, Problem> {
        // Said at the end by some that are compatible.
        if data.trim() == "[DONE]" {
            return Ok(false);
        }
        let frame: Frame<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        let at = frame.output_index;
        match &*frame.kind {
            "response.output_text.delta" => {
                self.texts = Some(at);
                out.extend(frame.delta.map(Event::Text));
            }
            "response.function_call_arguments.delta" => {
                if let Some(json) = frame.delta {
                    out.extend(self.calls.delta(at, json)?);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                out.extend(frame.delta.map(Event::Thinking));
            }
            "response.reasoning_summary_part.added" if frame.summary_index > 0 => {
                out.push(Event::Thinking("\n\n".to_owned()));
            }
            "response.refusal.delta" => {
                (self.texts, self.refused) = (Some(at), true);
                out.extend(frame.delta.map(Event::Text));
            }
            "response.output_item.added" => {
                if let Some(item) = frame.item.filter(|it| it.kind == "function_call") {
                    out.push(self.calls.start(at, item.call_id, item.name));
                }
            }
            "response.output_item.done" => {
                if let Some(item) = frame.item {
                    self.done(at, item, out)?;
                }
            }
            "response.created" => self.start(frame.response, out),
            "response.completed" | "response.incomplete" | "response.done" => {
                return Ok(self.end(frame.response, out));
            }
            "response.failed" => {
                let said = frame.response.and_then(|it| it.error);
                return Err(said::in_stream(said.unwrap_or_default()));
            }
            "error" => {
                let said = frame.error.unwrap_or_else(|| Said {
                    words: frame.code.into_iter().collect(),
                    message: said::bounded(&frame.message.unwrap_or_default()),
                    ..Said::default()
                });
                return Err(said::in_stream(said));
            }
            _ => {}
        }
        Ok(false)
    }

    fn start(&mut self, response: Option<Response>, out: &mut Vec<Event>) {
        if let Some(response) = response.filter(|_| !self.started) {
            self.started = true;
            out.push(Event::Started { id: response.id, model: response.model });
        }
    }

    fn done(&mut self, at: u64, item: Item<'_>, out: &mut Vec<Event>) -> Result<(), Problem> {
        match &*item.kind {
            "function_call" => {
                if self.calls.open(at).is_none() {
                    out.push(self.calls.start(at, item.call_id, item.name));
                }
                // The whole, of which the pieces may not have come.
                if self.calls.open(at).is_some_and(|(_, json)| json.is_empty()) {
                    out.extend(self.calls.delta(at, item.arguments)?);
                }
                out.extend(self.calls.finish(at));
            }
            "message" if self.texts != Some(at) => {
                for content in item.content.into_iter().flatten() {
                    self.refused |= content.refusal.is_some();
                    let text = content.text.or(content.refusal).filter(|it| !it.is_empty());
                    out.extend(text.map(Event::Text));
                }
            }
            "reasoning" => {
                let id = item.id.unwrap_or_default();
                out.extend(item.encrypted_content.map(|sealed| {
                    Event::Signature(Signature {
                        wire: Wire::Responses,
                        data: format!("{id}:{sealed}"),
                    })
                }));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, response: Option<Response>, out: &mut Vec<Event>) -> bool {
        out.extend(self.calls.finish_all());
        let mut reason = None;
        if let Some(response) = response {
            reason = response.incomplete_details.map(|it| it.reason);
            if let Some(tokens) = response.usage {
                let cached = tokens.input_tokens_details.map_or(0, |it| it.cached_tokens);
                out.push(Event::Usage(Usage {
                    input: tokens.input_tokens.saturating_sub(cached),
                    output: tokens.output_tokens,
                    cache_read: cached,
                    cache_write: 0,
                    reasoning: tokens.output_tokens_details.map_or(0, |it| it.reasoning_tokens),
                }));
            }
        }
        let stop = match reason.as_deref() {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(word) => StopReason::Other(word.to_owned()),
            None if self.calls.started() > 0 => StopReason::ToolCalls,
            None if self.refused => StopReason::Refusal,
            None => StopReason::End,
        };
        out.push(Event::Stopped(stop));
        true
    }
}
