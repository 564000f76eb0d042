//! A value that is read when somebody looks at it: a journal has many, and resuming looks at few.

use std::{fmt, ops::Deref, sync::OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON value, perhaps still as text. It is used like a [`Value`].
#[derive(Clone, Default)]
pub struct Json {
    text: Option<Box<str>>,
    value: OnceLock<Value>,
}

impl Json {
    /// A value that nobody has looked at.
    #[must_use]
    pub fn unread(text: impl Into<Box<str>>) -> Self {
        Self { text: Some(text.into()), value: OnceLock::new() }
    }

    /// As text.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn text(&self) -> Result<String, serde_json::Error> {
        match (&self.text, self.value.get()) {
            (Some(text), _) => Ok(text.clone().into_string()),
            (None, Some(value)) => serde_json::to_string(value),
            (None, None) => Ok("null".to_owned()),
        }
    }

    /// Reads it, if that has not been done.
    ///
    /// # Errors
    /// It is no JSON; whoever looks at it sees `null`.
    pub fn check(&self) -> Result<(), serde_json::Error> {
        match &self.text {
            Some(text) => serde_json::from_str::<serde::de::IgnoredAny>(text).map(drop),
            None => Ok(()),
        }
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        Value::is_null(self)
    }
}

impl Deref for Json {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| match &self.text {
            Some(text) => serde_json::from_str(text).unwrap_or_default(),
            None => Value::Null,
        })
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self { text: None, value: OnceLock::from(value) }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl PartialEq<Value> for Json {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}
