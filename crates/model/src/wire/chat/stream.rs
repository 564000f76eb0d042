//! The events of `/v1/chat/completions`, and the liberties that compatible servers take with them.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
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
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default, deserialize_with = "first")]
    choices: Option<Choice>,
    #[serde(default)]
    usage: Option<Box<Tokens>>,
    // What is rare is boxed: what is not there is moved about all the same.
    #[serde(default)]
    error: Option<Box<Said>>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    // Where a server answers a stream with a whole message.
    #[serde(default)]
    message: Option<Box<Delta>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Content,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "packed")]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
    // DeepSeek's word.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// What has to be remembered between two events.
#[derive(Debug, Default)]
pub(in crate::wire) struct ChatStream {
    started: bool,
    calls: Calls,
    stop: Option<StopReason>,
    /// The key that thoughts come by, while they come.
    thinking: Option<&'static str>,
}

impl ChatStream {
    pub(in crate::wire) fn event(
        &mut self,
        data: &str,
        out: &mut Vec<Event>,
    ) -> Result<bool, Problem> {
        let data = data.trim();
        if data == "[DONE]" {
            self.end(out);
            return Ok(true);
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if let Some(error) = chunk.error {
            return Err(said::in_stream(*error));
        }
        if !self.started {
            self.started = true;
            out.push(Event::Started {
                id: chunk.id.0.into_owned(),
                model: chunk.model.0.into_owned(),
            });
        }
        if let Some(choice) = chunk.choices {
            if let Some(delta) = choice.delta.or(choice.message.map(|it| *it)) {
                self.delta(delta, out)?;
            }
            if let Some(word) = choice.finish_reason.filter(|it| !it.is_empty()) {
                self.stop = Some(stop(word));
            }
        }
        if let Some(tokens) = chunk.usage {
            out.push(Event::Usage(usage(&tokens)));
        }
        Ok(false)
    }

    /// The stream is at its end; the answer is too, if it gave a reason.
    pub(in crate::wire) fn finish(&mut self, out: &mut Vec<Event>) -> bool {
        let complete = self.stop.is_some();
        if complete {
            self.end(out);
        }
        complete
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.stop_thinking(out);
        out.extend(self.calls.finish_all());
        let stop = match self.stop.take() {
            // Some servers say `stop` when there are calls, or nothing at all.
            None | Some(StopReason::End) if self.calls.started() > 0 => StopReason::ToolCalls,
            None => StopReason::End,
            Some(stop) => stop,
        };
        out.push(Event::Stopped(stop));
    }

    fn delta(&mut self, delta: Delta, out: &mut Vec<Event>) -> Result<(), Problem> {
        let content = delta.content;
        let thoughts = [
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
            ("reasoning_content", content.thinking),
        ];
        // Some servers send the same thought by both names.
        let thought = thoughts
            .into_iter()
            .find_map(|(key, it)| Some((key, it?)))
            .filter(|(_, it)| !it.is_empty());
        if let Some((key, text)) = thought {
            self.thinking = Some(key);
            out.push(Event::Thinking(text));
        }
        for text in [content.text, delta.refusal].into_iter().flatten().filter(|it| !it.is_empty())
        {
            self.stop_thinking(out);
            out.push(Event::Text(text));
        }
        for (place, call) in (0..).zip(delta.tool_calls.into_iter().flatten()) {
            self.stop_thinking(out);
            self.call(place, call, out)?;
        }
        Ok(())
    }

    fn stop_thinking(&mut self, out: &mut Vec<Event>) {
        if let Some(key) = self.thinking.take() {
            out.push(Event::Signature(Signature { wire: Wire::Chat, data: key.to_owned() }));
        }
    }

    /// Calls come in pieces that share an index, or whole, each with an id of its own and an index that may be the
    /// same for all of them.
    fn call(&mut self, place: u64, call: Call, out: &mut Vec<Event>) -> Result<(), Problem> {
        let key = call.index.unwrap_or(place);
        let id = call.id.unwrap_or_default();
        let (name, arguments) =
            call.function.map_or((None, None), |function| (function.name, function.arguments));
        let name = name.filter(|it| !it.is_empty());
        let is_new = match self.calls.open(key) {
            None => true,
            // Without ids, a name after input that is complete begins another call.
            Some((_, json)) if id.is_empty() => {
                name.is_some() && serde_json::from_str::<IgnoredAny>(json).is_ok()
            }
            Some((open, _)) => open != id,
        };
        if is_new {
            out.extend(self.calls.finish(key));
            out.push(self.calls.start(key, id, name.unwrap_or_default()));
        }
        if let Some(json) = arguments {
            out.extend(self.calls.delta(key, json)?);
        }
        Ok(())
    }
}

fn usage(tokens: &Tokens) -> Usage {
    let input = tokens.prompt_tokens.unwrap_or(0);
    let details = tokens.prompt_tokens_details.as_ref();
    let cache_read =
        details.and_then(|it| it.cached_tokens).or(tokens.prompt_cache_hit_tokens).unwrap_or(0);
    let cache_write = details.and_then(|it| it.cache_write_tokens).unwrap_or(0);
    let reasoning = tokens.completion_tokens_details.as_ref().and_then(|it| it.reasoning_tokens);
    Usage {
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: tokens.completion_tokens.unwrap_or(0),
        cache_read,
        cache_write,
        reasoning: reasoning.unwrap_or(0),
    }
}

fn stop(word: String) -> StopReason {
    match &*word {
        "stop" | "eos" => StopReason::End,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

/// Arguments are JSON in a string; some servers send the JSON itself.
fn packed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Packed;
    impl<'de> Visitor<'de> for Packed {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("arguments")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
            Ok(Some(text))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let value = Value::deserialize(de::value::MapAccessDeserializer::new(map))?;
            Ok(Some(value.to_string()))
        }
    }
    deserializer.deserialize_any(Packed)
}

/// Content is text, nothing, or a list of parts, some of which are thoughts.
#[derive(Default)]
struct Content {
    text: Option<String>,
    thinking: Option<String>,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of parts")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content { text: Some(text.to_owned()), thinking: None })
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content { text: Some(text), thinking: None })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
                let mut content = Content::default();
                while let Some(part) = items.next_element::<Value>()? {
                    if let Some(text) = part["text"].as_str() {
                        content.text.get_or_insert_default().push_str(text);
                    }
                    for thought in part["thinking"].as_array().into_iter().flatten() {
                        let text = thought["text"].as_str().unwrap_or_default();
                        content.thinking.get_or_insert_default().push_str(text);
                    }
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
