//! The chunks of `:streamGenerateContent?alt=sse`.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    error::Problem,
    event::{Event, StopReason, Usage},
    message::Signature,
    wire::{
        Wire,
        calls::Calls,
        lenient::{Text, first},
        said::{self, Said},
        stream::malformed,
    },
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "first")]
    candidates: Option<Candidate<'a>>,
    usage_metadata: Option<Box<Tokens>>,
    #[serde(borrow, default)]
    model_version: Text<'a>,
    #[serde(borrow, default)]
    response_id: Text<'a>,
    prompt_feedback: Option<Box<Feedback>>,
    error: Option<Box<Said>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    // Boxed, as all that is rare: there is room for it in every part.
    function_call: Option<Box<Function>>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    tool_use_prompt_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
}

/// What has to be remembered between two chunks.
#[derive(Debug, Default)]
pub(in crate::wire) struct GeminiStream {
    started: bool,
    calls: Calls,
    stop: Option<StopReason>,
}

impl GeminiStream {
    pub(in crate::wire) fn event(
        &mut self,
        data: &str,
        out: &mut Vec<Event>,
    ) -> Result<bool, Problem> {
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if let Some(error) = chunk.error {
            return Err(said::in_stream(*error));
        }
        if !self.started {
            self.started = true;
            let id = chunk.response_id.0.into_owned();
            self.calls.in_answer(&id);
            out.push(Event::Started { id, model: chunk.model_version.0.into_owned() });
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|it| it.block_reason) {
            return Err(Problem::Refused { said: said::bounded(&reason) });
        }
        if let Some(candidate) = chunk.candidates {
            for part in candidate.content.map(|it| it.parts).unwrap_or_default() {
                self.part(part, out)?;
            }
            let word = candidate.finish_reason.0;
            if !word.is_empty() {
                self.stop = Some(stop(&word));
            }
        }
        if let Some(tokens) = chunk.usage_metadata {
            out.push(Event::Usage(usage(&tokens)));
        }
        Ok(false)
    }

    /// The stream is at its end; the answer is too, if it gave a reason.
    pub(in crate::wire) fn finish(&mut self, out: &mut Vec<Event>) -> bool {
        let Some(stop) = self.stop.take() else { return false };
        out.push(Event::Stopped(match stop {
            StopReason::End if self.calls.started() > 0 => StopReason::ToolCalls,
            stop => stop,
        }));
        true
    }

    fn part(&mut self, part: Part<'_>, out: &mut Vec<Event>) -> Result<(), Problem> {
        let signature = part.thought_signature.map(|data| Signature { wire: Wire::Gemini, data });
        if let Some(call) = part.function_call {
            let key = self.calls.started() as u64;
            out.push(self.calls.start(key, call.id.unwrap_or_default(), call.name));
            self.calls.sign(key, signature);
            if let Some(args) = call.args {
                out.extend(self.calls.delta(key, args.to_string())?);
            }
            out.extend(self.calls.finish(key));
            return Ok(());
        }
        if !part.text.0.is_empty() {
            let text = part.text.0.into_owned();
            out.push(if part.thought { Event::Thinking(text) } else { Event::Text(text) });
        }
        out.extend(signature.map(Event::Signature));
        Ok(())
    }
}

fn usage(tokens: &Tokens) -> Usage {
    let input = tokens.prompt_token_count.saturating_add(tokens.tool_use_prompt_token_count);
    Usage {
        input: input.saturating_sub(tokens.cached_content_token_count),
        output: tokens.candidates_token_count.saturating_add(tokens.thoughts_token_count),
        cache_read: tokens.cached_content_token_count,
        cache_write: 0,
        reasoning: tokens.thoughts_token_count,
    }
}

fn stop(word: &str) -> StopReason {
    match word {
        "STOP" => StopReason::End,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            StopReason::Refusal
        }
        _ => StopReason::Other(word.to_owned()),
    }
}
