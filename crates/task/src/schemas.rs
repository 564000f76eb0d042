//! The published schema of events, checked against the types.
//!
//! `UPDATE_DOCS=1 cargo test -p agents-task schemas` writes it anew.

use schemars::{JsonSchema, schema_for};

use crate::event::Event;

/// Tokens.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema counts")]
pub(crate) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
}

#[test]
fn the_published_schema_is_that_of_events() {
    let schema = serde_json::to_string_pretty(&schema_for!(Event)).unwrap() + "\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json/task-event.schema.json");
    agents_testkit::pages::check_generated(file, &schema);
}

#[test]
fn what_is_said_of_tokens_is_so() {
    let tokens = serde_json::to_value(agents_model::Usage::default()).unwrap();
    let schema = schema_for!(Tokens);
    let known = schema.get("properties").unwrap().as_object().unwrap();
    assert!(tokens.as_object().unwrap().keys().eq(known.keys()), "{tokens} {known:?}");
}
