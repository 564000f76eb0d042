//! The events of `/v1/messages`.

use std::borrow::Cow;

use serde::Deserialize;

use super::REDACTED;
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
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    message: Option<Start>,
    usage: Option<Tokens>,
    error: Option<Said>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    // Absent in the last delta, which is about the message as a whole.
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    data: String,
    input: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    id: String,
    #[serde(default)]
    model: String,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// What has to be remembered between two events.
#[derive(Debug, Default)]
pub(in crate::wire) struct MessagesStream {
    usage: Usage,
    calls: Calls,
    stop: Option<StopReason>,
}

impl MessagesStream {
    pub(in crate::wire) fn event(
        &mut self,
        data: &str,
        out: &mut Vec<Event>,
    ) -> Result<bool, Problem> {
        let frame: Frame<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        match &*frame.kind {
            "content_block_delta" => {
                let delta = frame.delta.ok_or_else(|| missing("delta"))?;
                self.delta(frame.index, delta, out)?;
            }
            "content_block_start" => {
                let block = frame.content_block.ok_or_else(|| missing("content_block"))?;
                self.block(frame.index, block, out)?;
            }
            "content_block_stop" => out.extend(self.calls.finish(frame.index)),
            "message_start" => {
                let start = frame.message.ok_or_else(|| missing("message"))?;
                out.push(Event::Started { id: start.id, model: start.model });
                self.count(start.usage, out);
            }
            "message_delta" => {
                self.stop =
                    frame.delta.and_then(|it| it.stop_reason).map(stop).or(self.stop.take());
                self.count(frame.usage, out);
            }
            "message_stop" => {
                out.extend(self.calls.finish_all());
                out.push(Event::Stopped(self.stop.take().unwrap_or(StopReason::End)));
                return Ok(true);
            }
            "error" => return Err(said::in_stream(frame.error.unwrap_or_default())),
            // `ping`, and what is yet to come.
            _ => {}
        }
        Ok(false)
    }

    fn block(&mut self, index: u64, block: Block<'_>, out: &mut Vec<Event>) -> Result<(), Problem> {
        match &*block.kind {
            "text" if !block.text.is_empty() => out.push(Event::Text(block.text)),
            "redacted_thinking" => out.push(Event::Signature(Signature {
                wire: Wire::Messages,
                data: format!("{REDACTED}{}", block.data),
            })),
            "tool_use" => {
                out.push(self.calls.start(index, block.id, block.name));
                // Normally empty here, and streamed; not so from everything that speaks this protocol.
                if let Some(input) =
                    block.input.filter(|it| it.as_object().is_some_and(|it| !it.is_empty()))
                {
                    out.extend(self.calls.delta(index, input.to_string())?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: Delta<'_>, out: &mut Vec<Event>) -> Result<(), Problem> {
        match &*delta.kind {
            "text_delta" => out.extend(delta.text.map(Event::Text)),
            "input_json_delta" => {
                if let Some(json) = delta.partial_json {
                    out.extend(self.calls.delta(index, json)?);
                }
            }
            "thinking_delta" => out.extend(delta.thinking.map(Event::Thinking)),
            "signature_delta" => out.extend(
                delta
                    .signature
                    .map(|data| Event::Signature(Signature { wire: Wire::Messages, data })),
            ),
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, tokens: Option<Tokens>, out: &mut Vec<Event>) {
        let Some(tokens) = tokens else { return };
        let usage = &mut self.usage;
        usage.input = tokens.input_tokens.unwrap_or(usage.input);
        usage.output = tokens.output_tokens.unwrap_or(usage.output);
        usage.cache_read = tokens.cache_read_input_tokens.unwrap_or(usage.cache_read);
        usage.cache_write = tokens.cache_creation_input_tokens.unwrap_or(usage.cache_write);
        out.push(Event::Usage(*usage));
    }
}

fn missing(key: &str) -> Problem {
    Problem::Protocol { what: format!("`{key}` is missing"), place: String::new() }
}

fn stop(word: String) -> StopReason {
    match &*word {
        "end_turn" | "stop_sequence" => StopReason::End,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Paused,
        _ => StopReason::Other(word),
    }
}
