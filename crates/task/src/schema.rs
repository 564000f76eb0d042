//! What a result must look like.
//!
//! A schema is JSON Schema, or JSON Typedef, which is turned into JSON Schema first (`typedef`). It comes as a value or as text.
//! Nothing is ever fetched for it: a reference to another document makes it one that does not compile.

mod typedef;

use std::{fmt, sync::Arc};

use agents_agent::definition::{OutputSchema, SchemaLanguage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many issues are told; a model that got everything wrong does not need all of it.
const MAX_ISSUES: usize = 20;
/// The longest text of one issue: it quotes what was submitted.
const MAX_TEXT: usize = 300;

/// A schema that values can be compared with.
#[derive(Clone)]
pub struct Schema {
    /// As JSON Schema.
    json: Arc<Value>,
    validator: Arc<jsonschema::Validator>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.json).finish()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

/// A schema that values cannot be compared with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is text that is not JSON.
    #[error("the schema is not JSON: {0}")]
    NotJson(String),
    /// It is neither an object nor `true`.
    #[error("{0} is not a schema")]
    NotASchema(&'static str),
    /// It is JSON, and no schema.
    #[error("the schema does not compile: {what}{}", at(.place))]
    Invalid {
        /// What is wrong.
        what: String,
        /// Where in the schema, as a JSON pointer.
        place: String,
    },
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" (at `{place}`)") }
}

/// One way in which a value is not what the schema says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Issue {
    /// Where in the value, as a JSON pointer; nothing for the value itself.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the result itself" } else { &self.path };
        write!(f, "{path}: {}", self.what)
    }
}

impl Schema {
    /// Compiles what a call says: a schema, or the text of one.
    ///
    /// # Errors
    /// It is none.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        match schema {
            Value::String(text) => {
                let parsed: Value = serde_json::from_str(text)
                    .map_err(|error| SchemaError::NotJson(error.to_string()))?;
                if parsed.is_string() {
                    return Err(SchemaError::NotASchema("a text"));
                }
                Self::compile(&parsed)
            }
            schema => Self::of(&OutputSchema::of(schema.clone())),
        }
    }

    /// Compiles what a definition says.
    ///
    /// # Errors
    /// It is none.
    pub fn of(schema: &OutputSchema) -> Result<Self, SchemaError> {
        match &schema.schema {
            Value::Object(_) | Value::Bool(true) => {}
            // Nothing could ever be submitted.
            Value::Bool(false) => return Err(SchemaError::NotASchema("`false`")),
            Value::Null => return Err(SchemaError::NotASchema("`null`")),
            Value::Number(_) => return Err(SchemaError::NotASchema("a number")),
            Value::String(_) => return Self::compile(&schema.schema),
            Value::Array(_) => return Err(SchemaError::NotASchema("a list")),
        }
        let json = match schema.language {
            SchemaLanguage::JsonSchema => schema.schema.clone(),
            SchemaLanguage::Typedef => typedef::to_json_schema(&schema.schema),
        };
        let validator =
            jsonschema::options().build(&json).map_err(|error| SchemaError::Invalid {
                what: cut(&error.to_string()),
                place: error.instance_path().to_string(),
            })?;
        Ok(Self { json: Arc::new(json), validator: Arc::new(validator) })
    }

    /// The schema as JSON Schema.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Everything that is wrong with a value, in its order; nothing, if it is what the schema says.
    #[must_use]
    pub fn issues(&self, value: &Value) -> Vec<Issue> {
        let errors = self.validator.iter_errors(value).take(MAX_ISSUES);
        errors
            .map(|error| Issue {
                path: error.instance_path().to_string(),
                what: cut(&error.to_string()),
            })
            .collect()
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
