//! The page of what a plan file holds, made from its schema.

use agents_testkit::pages::check_generated;
use serde_json::{Map, Value};

use super::DOCS;

/// A part of the schema, with all of it for references.
#[derive(Clone, Copy)]
struct Part<'s> {
    part: &'s Value,
    all: &'s Map<String, Value>,
}

impl<'s> Part<'s> {
    fn at(self, part: &'s Value) -> Self {
        Self { part, ..self }
    }

    fn about(self) -> String {
        let about = self.part["description"].as_str().unwrap_or_default();
        about.trim_end_matches('.').replace('\n', " ").replace('|', "\\|")
    }

    /// What it must be, in words; what has a section of its own is linked.
    fn kind(self) -> String {
        if let Some(name) = self.part["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            let named = self.at(&self.all[name]);
            return match named.about().is_empty() {
                true => named.kind(),
                false => format!("[{name}](#{})", name.to_lowercase()),
            };
        }
        if let Some(first) = self.part["anyOf"].get(0) {
            return self.at(first).kind();
        }
        let kind = self.part["type"].as_str().or_else(|| self.part["type"][0].as_str());
        match kind {
            Some("array") if self.part["items"].is_object() => {
                format!("list of {}", self.at(&self.part["items"]).kind())
            }
            Some("array") => "list".to_owned(),
            Some("object") if self.part["additionalProperties"].is_object() => {
                format!("table of {}", self.at(&self.part["additionalProperties"]).kind())
            }
            Some("object") => "table".to_owned(),
            Some(kind) => kind.to_owned(),
            None => "anything".to_owned(),
        }
    }

    /// What counts if nothing is said, where that is more than nothing.
    fn default(self, key: &str) -> String {
        let required = self.part["required"].as_array().into_iter().flatten();
        if required.into_iter().any(|it| it == key) {
            return "required".to_owned();
        }
        match &self.part["properties"][key]["default"] {
            Value::Number(number) => format!("`{number}`"),
            Value::Bool(truth) => format!("`{truth}`"),
            Value::String(text) if !text.is_empty() => format!("`{text}`"),
            _ => String::new(),
        }
    }

    /// The tables of it: keys of an object, or what a value may be.
    fn tables(self) -> String {
        let mut text = String::new();
        if let Some(keys) = self.part["properties"].as_object() {
            text.push_str("| key | type | default | meaning |\n|---|---|---|---|\n");
            for (key, value) in keys {
                let (value, default) = (self.at(value), self.default(key));
                let (kind, about) = (value.kind(), value.about());
                text.push_str(&format!("| `{key}` | {kind} | {default} | {about} |\n"));
            }
        }
        for choice in ["oneOf", "anyOf"] {
            let Some(all) = self.part[choice].as_array() else { continue };
            text.push_str("| value | meaning |\n|---|---|\n");
            for value in all {
                let written = match value["const"].as_str() {
                    Some(word) => format!("`{word}`"),
                    None => self.at(value).kind(),
                };
                text.push_str(&format!("| {written} | {} |\n", self.at(value).about()));
            }
        }
        text
    }
}

#[test]
fn the_page_of_plan_files_holds_every_key() {
    // The schema is compared with the types where those are.
    let text = fs_err::read_to_string(format!("{DOCS}/json/plan.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let all = schema["$defs"].as_object().unwrap();
    let whole = Part { part: &schema, all };
    let mut page = format!(
        "# Keys of a plan file\n\nGenerated from the [published schema](json/plan.schema.json); a test keeps it true. How the \
         keys work together is on the page about [plans](plans.md). Any other key is an error.\n\n{}",
        whole.tables(),
    );
    // Those without a word are told where they are used.
    let named = all.iter().map(|(name, part)| (name, whole.at(part)));
    for (name, part) in named.filter(|(_, part)| !part.about().is_empty()) {
        let (about, tables) = (part.about(), part.tables());
        page.push_str(&format!("\n## {name}\n\n{about}.\n"));
        if !tables.is_empty() {
            page.push_str(&format!("\n{tables}"));
        }
    }
    check_generated(&format!("{DOCS}/plan-file.md"), &page);
}
