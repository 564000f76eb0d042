use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn all_issues_are_listed_with_their_places() {
    let schema = Schema::compile(&json!({
        "type": "object",
        "required": ["summary"],
        "properties": {
            "summary": { "type": "string" },
            "files": { "type": "array", "items": { "type": "string" } },
        },
    }))
    .unwrap();
    assert_eq!(schema.issues(&json!({ "summary": "x", "files": ["a"] })), []);
    let issues = schema.issues(&json!({ "files": ["a", 1, 2] }));
    let mut paths: Vec<&str> = issues.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["", "/files/1", "/files/2"]);
    assert!(issues.iter().any(|it| it.to_string().starts_with("the result itself: \"summary\"")));
}

#[test]
fn a_schema_may_be_text() {
    let schema = Schema::compile(&json!(r#"{"type": "integer"}"#)).unwrap();
    assert_eq!(schema.issues(&json!(1)), []);
    assert_eq!(schema.issues(&json!("1")).len(), 1);
}

#[test]
fn what_is_no_schema_does_not_compile() {
    let wrong = |schema| Schema::compile(&schema).unwrap_err().to_string();
    assert!(wrong(json!("{")).starts_with("the schema is not JSON: "));
    assert_eq!(wrong(json!(7)), "a number is not a schema");
    assert_eq!(wrong(json!(null)), "`null` is not a schema");
    assert_eq!(wrong(json!(false)), "`false` is not a schema");
    assert_eq!(wrong(json!("\"x\"")), "a text is not a schema");
    assert!(wrong(json!({ "type": "objekt" })).starts_with("the schema does not compile: "));
}

#[test]
fn nothing_is_fetched_for_a_schema() {
    for reference in ["https://example.com/schema.json", "file:///etc/passwd", "#/$defs/none"] {
        let error = Schema::compile(&json!({ "$ref": reference })).unwrap_err();
        assert!(matches!(error, SchemaError::Invalid { .. }), "{reference}: {error}");
    }
}

#[test]
fn typedef_in_all_its_forms() {
    let check = |schema: Value, good: &[Value], bad: &[Value]| {
        let compiled =
            Schema::of(&OutputSchema { language: SchemaLanguage::Typedef, schema: schema.clone() })
                .unwrap();
        for value in good {
            assert_eq!(compiled.issues(value), [], "{schema} should take {value}");
        }
        for value in bad {
            assert_ne!(compiled.issues(value), [], "{schema} should not take {value}");
        }
    };
    check(json!({}), &[json!(1), json!(null)], &[]);
    check(json!({ "type": "uint8" }), &[json!(255)], &[json!(256), json!(-1), json!(1.5)]);
    check(json!({ "type": "int16" }), &[json!(-32768)], &[json!(32768)]);
    check(json!({ "type": "float64" }), &[json!(1.5)], &[json!("1.5")]);
    check(json!({ "type": "timestamp" }), &[json!("2026-11-16T00:00:00Z")], &[json!(1)]);
    check(json!({ "enum": ["a", "b"] }), &[json!("a")], &[json!("c")]);
    check(json!({ "elements": { "type": "string" } }), &[json!(["a"])], &[json!([1]), json!({})]);
    check(
        json!({ "values": { "type": "boolean" } }),
        &[json!({ "a": true })],
        &[json!({ "a": 1 })],
    );
    check(
        json!({ "properties": { "a": { "type": "string" } }, "optionalProperties": { "b": { "type": "string" } } }),
        &[json!({ "a": "x" }), json!({ "a": "x", "b": "y" })],
        &[json!({}), json!({ "a": "x", "c": "z" }), json!({ "a": "x", "b": 1 })],
    );
    check(
        json!({ "properties": {}, "additionalProperties": true }),
        &[json!({ "anything": 1 })],
        &[json!([])],
    );
    check(json!({ "type": "string", "nullable": true }), &[json!(null), json!("a")], &[json!(1)]);
    check(
        json!({ "discriminator": "kind", "mapping": {
            "one": { "properties": { "a": { "type": "string" } } },
            "two": { "optionalProperties": { "b": { "type": "int32" } } },
        } }),
        &[json!({ "kind": "one", "a": "x" }), json!({ "kind": "two" })],
        &[json!({ "kind": "three" }), json!({ "a": "x" }), json!({ "kind": "one" })],
    );
    check(
        json!({ "definitions": { "a/b": { "type": "string" } }, "elements": { "ref": "a/b" } }),
        &[json!(["x"])],
        &[json!([1])],
    );
    // A part that is JSON Schema.
    check(
        json!({ "properties": { "n": { "type": "integer", "minimum": 3 } } }),
        &[json!({ "n": 3 })],
        &[json!({ "n": 2 })],
    );
}

#[test]
fn the_bundled_agents_say_what_compiles() {
    let with_schema = agents_agent::bundled::agents().iter().filter_map(|it| it.output.as_ref());
    let compiled: Vec<_> = with_schema.map(Schema::of).collect();
    assert!(compiled.len() >= 2, "explore and reviewer have one");
    assert!(compiled.iter().all(Result::is_ok), "{compiled:?}");
}

proptest! {
    /// Whatever a definition says, it becomes a schema or an error, and no schema makes us fail later.
    #[test]
    fn any_value_compiles_or_does_not(text in "\\PC{0,40}", number in any::<i64>()) {
        let forms = [
            json!({ "type": text }), json!({ "ref": text }), json!({ "enum": [text, number] }),
            json!({ "properties": { &text: { "elements": { "type": "string" } } } }),
            json!({ "discriminator": text, "mapping": { &text: {} } }), json!(text), json!([number]),
        ];
        for form in forms {
            if let Ok(schema) = Schema::compile(&form) {
                let _ = schema.issues(&json!({ &text: number }));
            }
        }
    }
}
