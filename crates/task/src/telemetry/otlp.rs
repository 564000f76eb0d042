//! Spans as OTLP/JSON: the names are those of the protocol's definition in lower camel case, ids are hexadecimal, numbers of 64 bits are
//! texts and enumerations are numbers.

use agents_system::cache::hex;
use serde_json::{Value as Json, json};

use super::spans::{Kind, Span, Value};

/// What is sent for these spans: an `ExportTraceServiceRequest`.
#[must_use]
pub fn document(resource: &[(String, String)], spans: &[Span]) -> Json {
    let attributes: Vec<Json> = resource
        .iter()
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
        .collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes},
        "scopeSpans": [{
            "scope": {"name": "cargo-agents", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
        }],
    }]})
}

fn span(span: &Span) -> Json {
    let kind = match span.kind {
        Kind::Internal => 1,
        Kind::Client => 3,
    };
    let attributes: Vec<Json> = span
        .attributes
        .iter()
        .map(|(key, value)| {
            let value = match value {
                Value::Text(text) => json!({"stringValue": text}),
                // The protocol has a sign for them.
                Value::Number(number) => {
                    json!({"intValue": i64::try_from(*number).unwrap_or(i64::MAX).to_string()})
                }
                Value::Real(number) => json!({"doubleValue": number}),
            };
            json!({"key": key, "value": value})
        })
        .collect();
    let mut json = json!({
        "traceId": hex(&span.trace),
        "spanId": hex(&span.id),
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
        // Not set, or an error: that something is well is not for us to say.
        "status": match &span.error {
            None => json!({}),
            Some(error) => json!({"code": 2, "message": error}),
        },
    });
    if let Some(parent) = &span.parent {
        json["parentSpanId"] = Json::String(hex(parent));
    }
    if !span.links.is_empty() {
        let link =
            |(trace, id): &([u8; 16], [u8; 8])| json!({"traceId": hex(trace), "spanId": hex(id)});
        json["links"] = span.links.iter().map(link).collect();
    }
    json
}
