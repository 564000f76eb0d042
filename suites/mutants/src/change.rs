//! What `cargo mutants` would change, as it lists it.

use std::{collections::BTreeMap, time::Duration};

use agents_system::{
    env,
    process::{Call, path_with},
};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

/// One change of one place.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Change {
    pub(crate) file: Utf8PathBuf,
    /// With the file, the line and the column before what is changed.
    name: String,
    pub(crate) genre: Genre,
    pub(crate) replacement: String,
    pub(crate) span: Span,
    function: Option<Function>,
    /// The how-manieth of the same words in the same file, since lines and columns move.
    #[serde(skip)]
    nth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// What the replacement stands for.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Position,
    /// What follows it.
    end: Position,
}

/// Both from 1; the column in characters.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// In bytes, from the beginning of the text.
    pub(crate) fn offset(self, text: &str) -> usize {
        let line: usize = text.split_inclusive('\n').take(self.line - 1).map(str::len).sum();
        let column: usize = text[line..].chars().take(self.column - 1).map(char::len_utf8).sum();
        line + column
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Function {
    function_name: String,
    return_type: String,
}

/// The number that turns a change on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Switch(pub(crate) u32);

impl Change {
    /// What is changed, without where: what explanations name.
    pub(crate) fn what(&self) -> &str {
        self.name.splitn(4, ':').last().unwrap_or_default().trim_start()
    }

    /// With the place, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The text of its file with this change and no other.
    pub(crate) fn made_in(&self, text: &str) -> String {
        let [start, end] = [self.span.start, self.span.end].map(|it| it.offset(text));
        format!("{}{} {}", &text[..start], self.replacement, &text[end..])
    }

    /// The same as long as nothing of the kind is added before it.
    pub(crate) fn key(&self) -> String {
        format!("{}: {} #{}", self.file, self.what(), self.nth)
    }

    /// Where tests of one change are likely to be those of another.
    pub(crate) fn neighbourhood(&self) -> String {
        let function = self.function.as_ref().map_or("", |it| &it.function_name);
        format!("{}: {function}", self.file)
    }

    /// The type of what the function returns has no name, so that nothing else can be returned.
    pub(crate) fn returns_hidden_type(&self) -> bool {
        self.function.as_ref().is_some_and(|it| it.return_type.contains("impl "))
    }
}

/// The changes of a room, in the order of the list; `tools` is where `cargo mutants` is.
pub(crate) fn list(
    root: &Utf8Path,
    tools: &Utf8Path,
    package: &str,
) -> anyhow::Result<Vec<Change>> {
    let call = Call::new(env::CARGO.get().unwrap_or_else(|| "cargo".into()))
        .args(["mutants", "--list", "--json", "--package", package])
        .env("PATH", path_with([tools]))
        .cwd(root)
        .deadline(Duration::from_secs(300));
    let done = call.capture()?;
    if !done.status.success() {
        bail!("`{}` failed\n{}", call.display(), done.said());
    }
    let changes = serde_json::from_slice(&done.stdout);
    Ok(counted(changes.context("`cargo mutants` lists changes in a way that is new")?))
}

/// The same changes, each knowing how many before it have the same words.
fn counted(mut changes: Vec<Change>) -> Vec<Change> {
    let mut seen = BTreeMap::<(Utf8PathBuf, String), usize>::new();
    for change in &mut changes {
        let count = seen.entry((change.file.clone(), change.what().to_owned())).or_default();
        *count += 1;
        change.nth = *count;
    }
    changes
}

#[cfg(test)]
impl Change {
    /// A change of a text that has it once: `at` is where it begins.
    pub(crate) fn of(text: &str, at: &str, genre: Genre, replacement: &str) -> Self {
        let position = |offset: usize| Position {
            line: text[..offset].matches('\n').count() + 1,
            column: text[..offset].chars().rev().take_while(|it| *it != '\n').count() + 1,
        };
        let start = text.find(at).unwrap();
        let span = Span { start: position(start), end: position(start + at.len()) };
        let Position { line, column } = span.start;
        Self {
            file: "src/lib.rs".into(),
            name: format!("src/lib.rs:{line}:{column}: {at}"),
            genre,
            replacement: replacement.to_owned(),
            span,
            function: None,
            nth: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_the_same_after_lines_above_it_moved() {
        let change = |line: usize, column: usize| Change {
            name: format!("src/lib.rs:{line}:{column}: replace + with - in <impl A for B>::f"),
            ..Change::of("1 + 2", "+", Genre::BinaryOperator, "-")
        };
        let (here, there) = (
            counted(vec![change(3, 7), change(3, 9)]),
            counted(vec![change(13, 7), change(14, 9)]),
        );
        assert_eq!(here[0].what(), "replace + with - in <impl A for B>::f");
        assert_eq!(here[0].key(), there[0].key());
        assert_eq!(here[1].key(), there[1].key());
        assert_ne!(here[0].key(), here[1].key());
    }

    #[test]
    fn a_change_alone_replaces_what_it_stands_for() {
        let text = "// größer\nconst MOST: usize = 4 * 1024;\n";
        let change = Change::of(text, "*", Genre::BinaryOperator, "+");
        assert_eq!(change.made_in(text), "// größer\nconst MOST: usize = 4 +  1024;\n");
        let text = "fn f() {\n    a();\n    b()\n}";
        let change = Change::of(text, "a();\n    b()", Genre::FnValue, "()");
        assert_eq!(change.made_in(text), "fn f() {\n    () \n}");
    }
}
