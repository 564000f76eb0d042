//! The published schema of scripts, checked against the types.
//!
//! `UPDATE_DOCS=1 cargo test -p agents-model` writes it anew.

use schemars::schema_for;

use crate::script::ScriptFile;

#[test]
fn the_published_schema_is_that_of_scripts() {
    let schema = serde_json::to_string_pretty(&schema_for!(ScriptFile)).unwrap() + "\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json/model-script.schema.json");
    agents_testkit::pages::check_generated(file, &schema);
}
