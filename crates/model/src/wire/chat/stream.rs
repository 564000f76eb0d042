//! The events of `/v1/chat/completions`, and the liberties that compatible servers take with them.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::envelope::Envelope;
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

#[derive(Deserialize, Default)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    choices: Choices<'a>,
    #[serde(default)]
    usage: Option<Box<Tokens>>,
    // What is rare is boxed: what is not there is moved about all the same.
    #[serde(default)]
    error: Option<Box<Said>>,
}

/// What may follow the choices of a chunk.
#[derive(Deserialize)]
struct Last {
    #[serde(default)]
    usage: Option<Box<Tokens>>,
    #[serde(default)]
    error: Option<Box<Said>>,
}

/// The first of them: only one is asked for.
#[derive(Deserialize, Default)]
#[serde(transparent)]
struct Choices<'a> {
    #[serde(borrow, deserialize_with = "first")]
    first: Option<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    // Where a server answers a stream with a whole message.
    #[serde(borrow, default)]
    message: Option<Box<Delta<'a>>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
    #[serde(borrow, default)]
    reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    reasoning: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default, deserialize_with = "packed")]
    arguments: Text<'a>,
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
    envelope: Envelope,
    /// Where the end of a chunk is put together, used again and again.
    scratch: Vec<u8>,
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
        let chunk = match self.known(data) {
            Some(chunk) => chunk,
            None => self.unknown(data)?,
        };
        if let Some(error) = chunk.error {
            return Err(said::in_stream(*error));
        }
        if !self.started {
            self.started = true;
            let id = chunk.id.0.into_owned();
            self.calls.in_answer(&id);
            out.push(Event::Started { id, model: chunk.model.0.into_owned() });
        }
        if let Some(choice) = chunk.choices.first {
            if let Some(delta) = choice.delta.or_else(|| choice.message.map(|it| *it)) {
                self.delta(delta, out)?;
            }
            let word = choice.finish_reason.0;
            if !word.is_empty() {
                self.stop = Some(stop(&word));
            }
        }
        if let Some(tokens) = chunk.usage {
            out.push(Event::Usage(usage(&tokens)));
        }
        Ok(false)
    }

    /// Reads a chunk that begins as the others did. `None` if this one does not, or is not as expected behind that.
    fn known<'a>(&mut self, data: &'a str) -> Option<Chunk<'a>> {
        let rest = self.envelope.after(data)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Choices<'a>>();
        let choices = values.next()?.ok()?;
        let chunk = Chunk { choices, ..Chunk::default() };
        match rest.as_bytes().get(values.byte_offset()..)? {
            b"}" => Some(chunk),
            [b',', more @ ..] if more.trim_ascii_start().starts_with(b"\"") => {
                self.scratch.clear();
                self.scratch.push(b'{');
                self.scratch.extend_from_slice(more);
                let Last { usage, error } = serde_json::from_slice(&self.scratch).ok()?;
                Some(Chunk { usage, error, ..chunk })
            }
            _ => None,
        }
    }

    fn unknown<'a>(&mut self, data: &'a str) -> Result<Chunk<'a>, Problem> {
        let chunk: Chunk<'a> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        self.envelope.learn(data, |head| {
            let chunk = serde_json::from_str::<Chunk<'_>>(head);
            chunk.is_ok_and(|it| it.usage.is_none() && it.error.is_none())
        });
        Ok(chunk)
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

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<Event>) -> Result<(), Problem> {
        let content = delta.content;
        let thoughts = [
            ("reasoning_content", delta.reasoning_content.0),
            ("reasoning", delta.reasoning.0),
            ("reasoning_content", content.thinking),
        ];
        // Some servers send the same thought by both names.
        if let Some((key, text)) = thoughts.into_iter().find(|(_, it)| !it.is_empty()) {
            self.thinking = Some(key);
            out.push(Event::Thinking(text.into_owned()));
        }
        for text in [content.text, delta.refusal.0].into_iter().filter(|it| !it.is_empty()) {
            self.stop_thinking(out);
            out.push(Event::Text(text.into_owned()));
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
    fn call(&mut self, place: u64, call: Call<'_>, out: &mut Vec<Event>) -> Result<(), Problem> {
        let key = call.index.unwrap_or(place);
        let id = call.id.0;
        let (name, arguments) = call
            .function
            .map_or_else(Default::default, |function| (function.name.0, function.arguments.0));
        let is_new = match self.calls.open(key) {
            None => true,
            // Without ids, a name after input that is complete begins another call.
            Some((_, json)) if id.is_empty() => {
                !name.is_empty() && serde_json::from_str::<IgnoredAny>(json).is_ok()
            }
            Some((open, _)) => open != id,
        };
        if is_new {
            out.extend(self.calls.finish(key));
            out.push(self.calls.start(key, id.into_owned(), name.into_owned()));
        }
        out.extend(self.calls.delta(key, arguments.into_owned())?);
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

fn stop(word: &str) -> StopReason {
    match word {
        "stop" | "eos" => StopReason::End,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(word.to_owned()),
    }
}

/// Arguments are JSON in a string; some servers send the JSON itself.
fn packed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Text<'de>, D::Error> {
    struct Packed;
    impl<'de> Visitor<'de> for Packed {
        type Value = Text<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("arguments")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Text<'de>, E> {
            Ok(Text::default())
        }

        fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
            Ok(Text(Cow::Borrowed(text)))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
            Ok(Text(Cow::Owned(text.to_owned())))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text<'de>, A::Error> {
            let value = Value::deserialize(de::value::MapAccessDeserializer::new(map))?;
            Ok(Text(Cow::Owned(value.to_string())))
        }
    }
    deserializer.deserialize_any(Packed)
}

/// Content is text, nothing, or a list of parts, some of which are thoughts.
#[derive(Default)]
struct Content<'a> {
    text: Cow<'a, str>,
    thinking: Cow<'a, str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of parts")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Content<'de>, E> {
                Ok(Content::default())
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content { text: Cow::Borrowed(text), ..Content::default() })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content { text: Cow::Owned(text.to_owned()), ..Content::default() })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content<'de>, A::Error> {
                let mut content = Content::default();
                while let Some(part) = items.next_element::<Value>()? {
                    if let Some(text) = part["text"].as_str() {
                        content.text.to_mut().push_str(text);
                    }
                    for thought in part["thinking"].as_array().into_iter().flatten() {
                        let text = thought["text"].as_str().unwrap_or_default();
                        content.thinking.to_mut().push_str(text);
                    }
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
