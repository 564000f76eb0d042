//! Spans for OpenTelemetry: what happens to tasks, told to a collector, if somebody wants that.
//!
//! | module | holds |
//! |---|---|
//! | [`names`] | the attribute names of the conventions for generative AI |
//! | `spans` | from events to spans: a task, its turns, its calls of tools, and what these started |
//! | `trace` | the ids of traces and spans, as they are written |
//! | `otlp` | spans as OTLP/JSON |
//! | [`settings`] | where they go: `[telemetry]` and the customary variables |
//! | `export` | a queue that is never too long, and the thread that empties it |
//!
//! A [`Telemetry`] is one more [`Sink`]. It waits for nobody: what the queue has no room for, or the collector does not take, is lost, and
//! [`Telemetry::finish`] says how much. Nothing that anybody said is in a span unless [`Content::Shown`] was asked for.

mod export;
pub mod names;
mod otlp;
pub mod settings;
mod spans;
mod trace;

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use agents_tool::secrets::Mask;

use self::{
    export::Exporter,
    spans::{Id, Spans, Trace},
};
pub use self::{
    otlp::document,
    settings::{Content, TelemetrySettings, outer_trace},
    spans::{Kind, Span, Value},
    trace::TraceId,
};
use crate::event::{Event, Sink};

/// How long the last spans may take to get where they go, where nobody says.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Turns what happens into spans, and sends them.
pub struct Telemetry {
    spans: Mutex<Spans>,
    above: (Option<(Trace, Id)>, Content),
    exporter: Arc<Exporter>,
    mask: OnceLock<Arc<Mask>>,
}

impl Telemetry {
    /// For a collector; `None` where none is set.
    #[must_use]
    pub fn start(settings: &TelemetrySettings) -> Option<Arc<Self>> {
        let exporter = Arc::new(Exporter::start(settings.collector()?));
        Some(Self::with((settings.parent, settings.content), exporter))
    }

    fn with(above: (Option<(Trace, Id)>, Content), exporter: Arc<Exporter>) -> Arc<Self> {
        let spans = Mutex::new(Spans::new(above.0, above.1));
        Arc::new(Self { spans, above, exporter, mask: OnceLock::new() })
    }

    /// For other tasks, which know nothing of these: to the same collector.
    #[must_use]
    pub fn beside(&self) -> Arc<Self> {
        Self::with(self.above, Arc::clone(&self.exporter))
    }

    /// What is in no span, whatever is shown.
    pub fn hide(&self, mask: &Arc<Mask>) {
        let _ = self.mask.set(Arc::clone(mask));
    }

    /// Sends what is left, and waits for that no longer than this. What was lost, in words.
    #[must_use]
    pub fn finish(&self, most: Duration) -> Option<String> {
        self.exporter.finish(most)
    }
}

/// What a collector is told of all this, one thing a second.
#[doc(hidden)]
#[must_use]
pub fn overhear(events: &[Event], content: Content) -> serde_json::Value {
    let mut spans = Spans::new(None, content);
    let times = (0..).map(|second| SystemTime::UNIX_EPOCH + Duration::from_secs(second));
    let heard = events.iter().zip(times).flat_map(|(event, now)| spans.hear(event, now));
    document(&[], &heard.collect::<Vec<_>>())
}

impl Sink for Telemetry {
    fn event(&self, event: &Event) {
        let done = {
            let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            spans.hear(event, SystemTime::now())
        };
        for mut span in done {
            if let Some(mask) = self.mask.get() {
                span.hide(mask);
            }
            self.exporter.send(span);
        }
    }
}

/// The sink, and spans besides if these are wanted.
#[must_use]
pub fn besides(telemetry: Option<&Arc<Telemetry>>, sink: Arc<dyn Sink>) -> Arc<dyn Sink> {
    match telemetry {
        Some(telemetry) => {
            let telemetry = Arc::clone(telemetry);
            Arc::new(move |event: &Event| {
                telemetry.event(event);
                sink.event(event);
            })
        }
        None => sink,
    }
}

#[cfg(test)]
mod tests;
