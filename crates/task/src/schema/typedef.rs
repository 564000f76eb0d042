//! From JSON Typedef (RFC 8927) to JSON Schema.
//!
//! Trees are mixed in practice: whatever is not Typedef is taken over as it is.

use serde_json::{Map, Value, json};

/// The same in JSON Schema.
pub(super) fn to_json_schema(schema: &Value) -> Value {
    let Value::Object(form) = schema else { return schema.clone() };
    let mut out = converted(form);
    if let Some(Value::Object(definitions)) = form.get("definitions") {
        out.insert("$defs".to_owned(), Value::Object(each(definitions)));
    }
    let about = form.get("description").or_else(|| form.get("metadata")?.get("description"));
    if let Some(about @ Value::String(_)) = about {
        out.insert("description".to_owned(), about.clone());
    }
    if form.get("nullable") == Some(&Value::Bool(true)) {
        return json!({ "anyOf": [out, { "type": "null" }] });
    }
    Value::Object(out)
}

fn each(schemas: &Map<String, Value>) -> Map<String, Value> {
    schemas.iter().map(|(name, schema)| (name.clone(), to_json_schema(schema))).collect()
}

fn converted(form: &Map<String, Value>) -> Map<String, Value> {
    let object = |value: Value| match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if let Some(name) = form.get("ref").and_then(Value::as_str) {
        // A name may have characters that mean something in a pointer.
        let name = name.replace('~', "~0").replace('/', "~1");
        return object(json!({ "$ref": format!("#/$defs/{name}") }));
    }
    if let Some(values) = form.get("enum") {
        return object(json!({ "enum": values }));
    }
    if let Some(elements) = form.get("elements") {
        return object(json!({ "type": "array", "items": to_json_schema(elements) }));
    }
    if let Some(values) = form.get("values") {
        let values = to_json_schema(values);
        return object(json!({ "type": "object", "additionalProperties": values }));
    }
    if let (Some(tag), Some(Value::Object(mapping))) =
        (form.get("discriminator").and_then(Value::as_str), form.get("mapping"))
    {
        let variant = |(name, schema): (&String, &Value)| {
            let mut variant = object(to_json_schema(schema));
            let tagged = json!({ "const": name });
            match variant.get_mut("properties") {
                Some(Value::Object(properties)) => drop(properties.insert(tag.to_owned(), tagged)),
                _ => drop(variant.insert("properties".to_owned(), json!({ tag: tagged }))),
            }
            match variant.get_mut("required") {
                Some(Value::Array(required)) => required.insert(0, json!(tag)),
                _ => drop(variant.insert("required".to_owned(), json!([tag]))),
            }
            Value::Object(variant)
        };
        return object(json!({ "oneOf": mapping.iter().map(variant).collect::<Vec<_>>() }));
    }
    let required = form.get("properties").and_then(Value::as_object);
    let optional = form.get("optionalProperties").and_then(Value::as_object);
    if required.is_some() || optional.is_some() {
        return properties(form, required, optional);
    }
    match form.get("type").and_then(Value::as_str) {
        Some(name) => primitive(name, form),
        None => Map::new(),
    }
}

fn properties(
    form: &Map<String, Value>,
    required: Option<&Map<String, Value>>,
    optional: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut all = required.map(each).unwrap_or_default();
    all.extend(optional.map(each).unwrap_or_default());
    let names: Vec<Value> =
        required.map(|it| it.keys().map(|name| json!(name)).collect()).unwrap_or_default();
    let open = form.get("additionalProperties") == Some(&Value::Bool(true));
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("object"));
    out.insert("properties".to_owned(), Value::Object(all));
    out.insert("required".to_owned(), Value::Array(names));
    out.insert("additionalProperties".to_owned(), json!(open));
    out
}

fn primitive(name: &str, form: &Map<String, Value>) -> Map<String, Value> {
    let schema = match name {
        "timestamp" => json!({ "type": "string", "format": "date-time" }),
        "float32" | "float64" => json!({ "type": "number" }),
        "int8" => json!({ "type": "integer", "minimum": i8::MIN, "maximum": i8::MAX }),
        "uint8" => json!({ "type": "integer", "minimum": 0, "maximum": u8::MAX }),
        "int16" => json!({ "type": "integer", "minimum": i16::MIN, "maximum": i16::MAX }),
        "uint16" => json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX }),
        "int32" => json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX }),
        "uint32" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        "string" | "boolean" => json!({ "type": name }),
        // Not Typedef: a part that is JSON Schema.
        _ => return form.clone(),
    };
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
