//! The published schema of plans, checked against the types.
//!
//! `UPDATE_DOCS=1 cargo test -p agents-plan` writes it anew.

use crate::file::Plan;

#[test]
fn the_published_schema_is_that_of_plans() {
    let schema = serde_json::to_string_pretty(&Plan::schema()).unwrap() + "\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json/plan.schema.json");
    agents_testkit::pages::check_generated(file, &schema);
}
