//! `edit`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{MAX_FILE, about};
use crate::{
    context::CallContext,
    policy::Effects,
    tool::{Intent, Output, ToolError, Typed},
};

/// Changes parts of a file.
#[derive(Debug, Clone, Copy)]
pub struct Edit;

/// What to change.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditInput {
    /// The file, relative to the working directory or absolute.
    pub path: String,
    /// The changes, made one after the other. If one of them cannot be made, none is.
    pub edits: Vec<Replacement>,
}

/// One change.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// The text that is there now, exactly, with enough around it that it is there only once.
    pub old: String,
    /// What to put in its place.
    pub new: String,
    /// Change it wherever it is, however often.
    #[serde(default)]
    pub all: bool,
}

impl Typed for Edit {
    type Input = EditInput;

    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Changes parts of a file by exact replacement. Each `old` must be in the file exactly once (unless `all`), \
        with the same blanks and indentation, without the line numbers that `read` gives. All edits are made, or none.";

    fn intent(&self, input: &EditInput, context: &CallContext) -> Result<Intent, ToolError> {
        about(&input.path, Effects::WRITES, context)
    }

    async fn run(&self, input: EditInput, context: &CallContext) -> Result<Output, ToolError> {
        context
            .blocking(move |context| {
                let place = context.area.locate(&input.path)?;
                let shown = context.area.shown(&place);
                let bytes = context.area.read(&place, MAX_FILE)?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| ToolError::failed(format!("`{shown}` is not UTF-8 text")))?;
                let (changed, places) = apply(&text, &input.edits)?;
                if changed == text {
                    return Err(ToolError::failed("nothing would change"));
                }
                context.area.write(&place, changed.as_bytes())?;
                Ok(Output::said(format!("changed `{shown}` in {places} places")))
            })
            .await
    }
}

/// The text with all edits made, and in how many places. Line ends in an edit are those of the text.
///
/// # Errors
/// One of them cannot be made, or what comes of it is larger than a file may be: edits that each double a text are soon too much.
pub fn apply(text: &str, edits: &[Replacement]) -> Result<(String, usize), ToolError> {
    if edits.is_empty() {
        return Err(ToolError::failed("there is nothing to change: `edits` is empty"));
    }
    let mut text = text.to_owned();
    let mut places = 0;
    for (index, edit) in edits.iter().enumerate() {
        let number = index + 1;
        if edit.old.is_empty() {
            return Err(ToolError::hinted(
                format!("`old` of edit {number} is empty"),
                "use `write` for a new file",
            ));
        }
        let (old, new) = in_line_ends_of(&text, edit);
        let count = text.matches(&old).count();
        match count {
            0 => return Err(missing(&text, &old, number)),
            1 => {}
            _ if edit.all => {}
            _ => {
                return Err(ToolError::hinted(
                    format!(
                        "`old` of edit {number} is there {count} times, in lines {}",
                        lines(&text, &old)
                    ),
                    "take more of the text around it, or set `all`",
                ));
            }
        }
        let grown = text.len().saturating_sub(count * old.len());
        let grown = new.len().saturating_mul(count).saturating_add(grown);
        if u64::try_from(grown).is_ok_and(|it| it > MAX_FILE) {
            return Err(ToolError::failed(format!(
                "after edit {number} the file would have {grown} bytes; {MAX_FILE} are the most"
            )));
        }
        text = text.replace(&old, &new);
        places += count;
    }
    Ok((text, places))
}

/// Models write `\n`; the file may have `\r\n`.
fn in_line_ends_of(text: &str, edit: &Replacement) -> (String, String) {
    let crlf = |it: &str| it.replace("\r\n", "\n").replace('\n', "\r\n");
    let whole = text.matches('\n').count();
    let has_crlf = whole > 0 && text.matches("\r\n").count() == whole;
    if has_crlf {
        (crlf(&edit.old), crlf(&edit.new))
    } else if !text.contains(&edit.old) && text.contains(&crlf(&edit.old)) {
        // Some lines of it end so, and these are among them.
        (crlf(&edit.old), crlf(&edit.new))
    } else {
        (edit.old.clone(), edit.new.clone())
    }
}

fn lines(text: &str, old: &str) -> String {
    let line = |at: usize| (text[..at].matches('\n').count() + 1).to_string();
    let mut found: Vec<String> = text.match_indices(old).take(5).map(|(at, _)| line(at)).collect();
    if text.matches(old).count() > found.len() {
        found.push("...".to_owned());
    }
    found.join(", ")
}

/// Says where it would be if blanks did not count: the usual mistake.
fn missing(text: &str, old: &str, number: usize) -> ToolError {
    let bare = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = old.lines().map(bare).collect();
    let have: Vec<String> = text.lines().map(bare).collect();
    let near = have.windows(wanted.len().max(1)).position(|window| window == wanted);
    let hint = match near {
        Some(at) => format!("line {} is the same but for blanks: read it again", at + 1),
        None => "read the file again: it may have changed".to_owned(),
    };
    ToolError::hinted(format!("`old` of edit {number} is not in the file"), hint)
}

#[cfg(test)]
mod tests {
    use agents_system::explain::Explain as _;

    use super::*;

    fn edit(old: &str, new: &str) -> Replacement {
        Replacement { old: old.to_owned(), new: new.to_owned(), all: false }
    }

    #[track_caller]
    fn refused(text: &str, edits: &[Replacement]) -> String {
        let error = apply(text, edits).unwrap_err();
        format!("{error} | {}", error.hint().unwrap_or_default())
    }

    #[test]
    fn one_place_is_changed_and_no_other_byte() {
        assert_eq!(apply("a\nb\nc", &[edit("b", "B")]).unwrap(), ("a\nB\nc".to_owned(), 1));
        let two = [edit("a", "b"), edit("b\nx", "done")];
        assert_eq!(apply("a\nx", &two).unwrap().0, "done", "later ones see what earlier ones did");
        let all = Replacement { all: true, ..edit("a", "b") };
        assert_eq!(apply("a a a", &[all]).unwrap(), ("b b b".to_owned(), 3));
    }

    #[test]
    fn line_ends_are_kept() {
        for (text, expected) in [
            ("a\r\nb\r\nc\r\n", "a\r\nX\r\nY\r\nc\r\n"),
            ("a\nb\nc\n", "a\nX\nY\nc\n"),
            ("z\na\r\nb\r\nc\n", "z\na\r\nX\r\nY\r\nc\n"),
        ] {
            assert_eq!(apply(text, &[edit("a\nb", "a\nX\nY")]).unwrap().0, expected, "{text:?}");
        }
        assert_eq!(apply("a", &[edit("a", "b\nc")]).unwrap().0, "b\nc", "no line ends at all");
        assert_eq!(apply("\u{feff}a\r\nb", &[edit("b", "c\nd")]).unwrap().0, "\u{feff}a\r\nc\r\nd");
    }

    #[test]
    fn what_is_not_exact_is_refused_with_the_way_out() {
        assert_eq!(
            refused("a\na\n", &[edit("a", "b")]),
            "`old` of edit 1 is there 2 times, in lines 1, 2 | take more of the text around it, or set `all`"
        );
        assert_eq!(
            refused("x\n    fn a() {\n", &[edit("fn  a() {", "y")]),
            "`old` of edit 1 is not in the file | line 2 is the same but for blanks: read it again"
        );
        assert_eq!(
            refused("x", &[edit("x", "y"), edit("x", "z")]),
            "`old` of edit 2 is not in the file | read the file again: it may have changed"
        );
        assert!(refused("x", &[edit("", "y")]).starts_with("`old` of edit 1 is empty"));
        assert!(refused("x", &[]).starts_with("there is nothing to change"));
    }

    #[test]
    fn of_many_places_the_first_lines_are_named() {
        let named = |count: usize| refused(&"a\n".repeat(count), &[edit("a", "b")]);
        assert!(named(5).contains("there 5 times, in lines 1, 2, 3, 4, 5 |"), "{}", named(5));
        assert!(named(7).contains("there 7 times, in lines 1, 2, 3, 4, 5, ... |"), "{}", named(7));
    }

    /// Judged before the text is made, by what it would be.
    #[test]
    fn a_text_may_become_as_large_as_a_file_may_be_and_no_larger() {
        let most = usize::try_from(MAX_FILE).unwrap();
        let half = "x".repeat(most / 2 - 3);
        let text = format!("{half}abc{half}abc");
        let all = |new: &str| apply(&text, &[Replacement { all: true, ..edit("abc", new) }]);
        assert_eq!(all("def").unwrap().0.len(), most);
        let said = all("defg").unwrap_err().to_string();
        let expected = format!("after edit 1 the file would have {} bytes;", most + 2);
        assert!(said.starts_with(&expected), "{said}");
    }
}
