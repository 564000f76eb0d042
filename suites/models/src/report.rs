//! The table of this suite.

use hosts_suite::table::{self, Page};

/// One of those who are asked.
pub(crate) type Row = table::Row<Column>;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Answers,
    Usage,
    Streams,
    Schema,
    Confined,
    Edits,
    Works,
}

impl table::Column for Column {
    const SUBJECT: &'static [&'static str] = &["who", "provider", "version"];
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Answers, "answers"),
        (Self::Usage, "tells usage"),
        (Self::Streams, "in pieces"),
        (Self::Schema, "to a schema"),
        (Self::Confined, "only reads"),
        (Self::Edits, "runs nothing to edit"),
        (Self::Works, "does everything"),
    ];
}

/// The page with the table.
pub(crate) const PAGE: Page<'static> = Page {
    name: "real-models.md",
    before: "# With real models and programs\n\n\
    Written by `cargo run -p models-suite -- --update-docs`. Each row is `cargo agents model test` against something real: a published program, installed from npm, in a\n\
    scratch home and without a network, which asks a scripted model; or llama.cpp's server (PyPI `xllamacpp`) with a small model, which really answers.\n",
    after: "\
    - **answers**: the answer of the model arrived; the small model knows who wrote Romeo and Juliet.\n\
    - **tells usage**: with the number of tokens. That Copilot's program and Qwen's ACP agent do not say it is expected; of all others it is demanded.\n\
    - **in pieces**: the small model's answer came piece by piece, with its end; **to a schema**: and, asked with a JSON schema that allows one word which no model says by itself, it kept to that.\n\
    - **only reads**: the model wanted a command run that makes a file. The program was given `rights = \"read\"`, the model heard what became of its wish or has no tool to run commands at all, and there was no file.\n\
    - **runs nothing to edit**: the same with `rights = \"edit\"`. Codex runs commands to edit, in a sandbox of its own; Goose cannot be kept to editing.\n\
    - **does everything**: with `rights = \"all\"` there was the file.\n",
};
