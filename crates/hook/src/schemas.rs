//! The published schemas of the neutral format, checked against the types.
//!
//! `UPDATE_DOCS=1 cargo test -p agents-hook` writes them anew.

use schemars::{JsonSchema, schema_for};

use crate::{Answered, HookInput};

fn check<T: JsonSchema>(name: &str) {
    let schema = serde_json::to_string_pretty(&schema_for!(T)).unwrap() + "\n";
    let file = format!("{}/../../docs/json/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    agents_testkit::pages::check_generated(&file, &schema);
}

#[test]
fn the_published_schemas_are_those_of_the_neutral_format() {
    check::<HookInput>("hook-input");
    check::<Answered>("hook-output");
}
