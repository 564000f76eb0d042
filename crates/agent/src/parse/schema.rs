//! In which language a schema is written.

use serde_json::{Map, Value};

use crate::definition::SchemaLanguage;

/// The types that only JSON Typedef has.
const TYPEDEF_TYPES: [&str; 9] =
    ["timestamp", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32"];

/// The language of a schema: what its first telling keyword says. What could be either is JSON Schema.
pub(crate) fn language(schema: &Value) -> SchemaLanguage {
    told(schema).unwrap_or(SchemaLanguage::JsonSchema)
}

fn told(schema: &Value) -> Option<SchemaLanguage> {
    let schema = schema.as_object()?;
    if ["$schema", "$defs", "$ref", "items", "required", "anyOf", "oneOf", "allOf", "const"]
        .iter()
        .any(|key| schema.contains_key(*key))
    {
        return Some(SchemaLanguage::JsonSchema);
    }
    if ["elements", "optionalProperties", "values", "discriminator", "nullable"]
        .iter()
        .any(|key| schema.contains_key(*key))
    {
        return Some(SchemaLanguage::Typedef);
    }
    match schema.get("type") {
        Some(Value::String(name)) if TYPEDEF_TYPES.contains(&name.as_str()) => {
            return Some(SchemaLanguage::Typedef);
        }
        Some(Value::String(name))
            if ["object", "array", "number", "integer", "null"].contains(&name.as_str()) =>
        {
            return Some(SchemaLanguage::JsonSchema);
        }
        Some(Value::Array(_)) => return Some(SchemaLanguage::JsonSchema),
        _ => {}
    }
    // An object without a type is one only there.
    match (schema.get("properties"), schema.contains_key("type")) {
        (Some(Value::Object(properties)), false) => {
            inside(properties).or(Some(SchemaLanguage::Typedef))
        }
        _ => None,
    }
}

fn inside(schemas: &Map<String, Value>) -> Option<SchemaLanguage> {
    schemas.values().find_map(told)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_telling_keyword_decides() {
        use SchemaLanguage::{JsonSchema, Typedef};
        for (schema, expected) in [
            (json!({ "type": "object", "properties": {} }), JsonSchema),
            (json!({ "properties": { "a": { "type": "string" } } }), Typedef),
            (json!({ "properties": { "a": { "type": "integer" } } }), JsonSchema),
            (json!({ "properties": { "a": { "elements": { "type": "string" } } } }), Typedef),
            (json!({ "optionalProperties": { "a": {} } }), Typedef),
            (json!({ "type": "uint8" }), Typedef),
            (json!({ "type": ["string", "null"] }), JsonSchema),
            (json!({ "type": "string" }), JsonSchema),
            (json!({ "enum": ["a"] }), JsonSchema),
            (json!({ "$schema": "x", "properties": {} }), JsonSchema),
            (json!({}), JsonSchema),
            (json!(true), JsonSchema),
        ] {
            assert_eq!(language(&schema), expected, "{schema}");
        }
    }
}
