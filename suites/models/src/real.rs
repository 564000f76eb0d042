//! A model that really answers, through our own provider as programs use it that embed us.

use std::{sync::Arc, time::Duration};

use agents_model::{
    Deadlines, Event, Message, Provider, Request, Turn,
    open::{self, Ground},
    request::OutputSchema,
    settings::{Kind, Origin, ProviderSettings},
};
use camino::Utf8Path;
use futures_util::TryStreamExt as _;
use hosts_suite::table::Verdict;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

/// A model of this size on a busy machine needs its time.
const PATIENCE: Duration = Duration::from_secs(180);

/// A word that no model says by itself.
const WORD: &str = "amber-plover";

/// A provider with such a model.
pub(crate) struct Real {
    provider: Arc<dyn Provider>,
    runtime: Runtime,
}

/// What came back: the whole, and the pieces of text in which it came.
struct Said {
    turn: Turn,
    pieces: Vec<String>,
}

impl Real {
    pub(crate) fn open(url: &str) -> anyhow::Result<Self> {
        let origin = Origin::File { line: 1 };
        let mut settings = ProviderSettings::new("llama", Kind::OpenaiCompatible, origin);
        settings.url = Some(url.to_owned());
        let ground = Ground { cwd: Utf8Path::new("/"), hosts: &[] };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { provider: open::open(&settings, &ground)?, runtime })
    }

    /// The answer is one to the question.
    pub(crate) fn knows(&self) -> anyhow::Result<Verdict> {
        let said = self.ask(Request::new("any"), "Who wrote Romeo and Juliet?")?;
        let answer = said.turn.message.text();
        Ok(Verdict::from(answer.contains("Shakespeare"), || format!("it says: {answer}")))
    }

    /// The answer comes in many pieces, which are all of it, with an end.
    pub(crate) fn streams(&self) -> anyhow::Result<Verdict> {
        let said = self.ask(Request::new("any"), "Count from one to ten.")?;
        Ok(streamed(&said))
    }

    /// The answer is what the schema wants, and nothing else.
    pub(crate) fn keeps_to_a_schema(&self) -> anyhow::Result<Verdict> {
        let schema = OutputSchema { name: "bird".to_owned(), schema: schema() };
        let request = Request::new("any").with_schema(schema);
        let said = self.ask(request, "Which bird is it, and how many are there?")?;
        Ok(kept(&said.turn.message.text()))
    }

    fn ask(&self, request: Request, question: &str) -> anyhow::Result<Said> {
        let deadlines = Deadlines { first_token: PATIENCE, idle: PATIENCE, total: PATIENCE };
        let mut request = request.with_message(Message::user(question)).with_deadlines(deadlines);
        request.max_output_tokens = Some(200);
        self.runtime.block_on(async {
            let mut events = self.provider.stream(request, CancellationToken::new()).await?;
            let mut said = Said { turn: Turn::default(), pieces: Vec::new() };
            while let Some(event) = events.try_next().await? {
                if let Event::Text(text) = &event {
                    said.pieces.push(text.clone());
                }
                said.turn.push(event);
            }
            Ok(said)
        })
    }
}

fn streamed(Said { turn, pieces }: &Said) -> Verdict {
    let good = pieces.len() > 5 && pieces.concat() == turn.message.text() && turn.stop.is_some();
    Verdict::from(good, || format!("{} pieces, end {:?}: {pieces:?}", pieces.len(), turn.stop))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "bird": {"type": "string", "enum": [WORD]},
            "count": {"type": "integer"},
        },
        "required": ["bird", "count"],
        "additionalProperties": false,
    })
}

fn kept(answer: &str) -> Verdict {
    let read: Value = serde_json::from_str(answer).unwrap_or_default();
    let fields = read.as_object().map_or(0, serde_json::Map::len);
    let good = fields == 2 && read["bird"] == WORD && read["count"].is_i64();
    Verdict::from(good, || format!("it says: {answer}"))
}

#[cfg(test)]
mod tests {
    use agents_model::event::StopReason;

    use super::*;

    #[test]
    fn an_answer_in_one_piece_and_one_without_an_end_are_no_stream() {
        let said = |pieces: &[&str], ends: bool| {
            let mut turn = Turn::default();
            let texts = pieces.iter().map(|it| Event::Text((*it).to_owned()));
            texts.for_each(|it| turn.push(it));
            if ends {
                turn.push(Event::Stopped(StopReason::End));
            }
            let pieces = pieces.iter().map(|it| (*it).to_owned()).collect();
            streamed(&Said { turn, pieces }) == Verdict::Yes
        };
        let many = ["one", ", ", "two", ", ", "three", "."];
        assert!(said(&many, true));
        assert!(!said(&many, false));
        assert!(!said(&["one, two, three."], true));
    }

    #[test]
    fn only_what_the_schema_wants_is_kept_to_it() {
        let good = |answer: &str| kept(answer) == Verdict::Yes;
        assert!(good(r#"{"bird": "amber-plover", "count": 12}"#));
        assert!(!good(r#"{"bird": "robin", "count": 12}"#));
        assert!(!good(r#"{"bird": "amber-plover"}"#));
        assert!(!good(r#"{"bird": "amber-plover", "count": 1, "more": 1}"#));
        assert!(!good("amber-plover, 12"));
    }
}
