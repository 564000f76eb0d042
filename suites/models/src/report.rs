//! The table.

use std::io::Write as _;

use hosts_suite::say;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Answers,
    Usage,
    Confined,
    Edits,
    Works,
}

impl Column {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Answers, "answers"),
        (Self::Usage, "tells usage"),
        (Self::Confined, "only reads"),
        (Self::Edits, "runs nothing to edit"),
        (Self::Works, "does everything"),
    ];
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As it should be.
    Yes,
    /// Nothing is said about it, which is allowed.
    NotTold,
    /// Something else.
    No(String),
}

impl Verdict {
    pub(crate) fn from(good: bool, otherwise: impl FnOnce() -> String) -> Self {
        if good { Self::Yes } else { Self::No(otherwise()) }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::NotTold => "no",
            Self::No(_) => "NO",
        }
    }
}

/// One of those who are asked.
#[derive(Debug)]
pub(crate) struct Row {
    name: String,
    kind: &'static str,
    version: String,
    seen: Vec<(Column, Verdict)>,
}

impl Row {
    pub(crate) fn new(name: &str, kind: &'static str, version: String) -> Self {
        let name = name.to_owned();
        Self { name, kind, version, seen: Vec::new() }
    }

    pub(crate) fn set(&mut self, column: Column, verdict: Verdict) {
        self.seen.push((column, verdict));
    }

    /// Whether everything is as it should be.
    pub(crate) fn is_good(&self) -> bool {
        self.seen.iter().all(|(_, verdict)| !matches!(verdict, Verdict::No(_)))
    }

    fn cells(&self) -> Vec<String> {
        let words = Column::ALL.iter().map(|(column, _)| {
            let seen = self.seen.iter().find(|(it, _)| it == column);
            seen.map_or("-", |(_, verdict)| verdict.word()).to_owned()
        });
        let first = [&self.name, self.kind, &self.version].map(str::to_owned);
        first.into_iter().chain(words).collect()
    }
}

/// What a row came to, as soon as it is known.
pub(crate) fn progress(row: &Row) {
    let word = if row.is_good() { "good" } else { "NOT GOOD" };
    say(&format!("{} {}: {word}", row.name, row.version));
    for (column, verdict) in &row.seen {
        if let Verdict::No(why) = verdict {
            say(&format!("  {column:?}: {why}"));
        }
    }
}

fn table(rows: &[Row]) -> String {
    let first = ["who", "provider", "version"].into_iter();
    let head: Vec<String> =
        first.chain(Column::ALL.iter().map(|(_, name)| *name)).map(str::to_owned).collect();
    let rule = head.iter().map(|name| "-".repeat(name.len())).collect();
    let lines = [head, rule].into_iter().chain(rows.iter().map(Row::cells));
    lines.map(|cells| format!("| {} |\n", cells.join(" | "))).collect()
}

/// The table, on standard output.
pub(crate) fn print(rows: &[Row]) -> anyhow::Result<()> {
    write!(std::io::stdout(), "{}", table(rows))?;
    Ok(())
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/real-models.md");

/// The page with the table.
pub(crate) fn write_page(rows: &[Row]) -> anyhow::Result<()> {
    let page = format!(
        "# Seen with real models and programs\n\n\
         Written by `cargo run -p models-suite -- --update-docs`. Each row is `cargo agents model test` against something real: a published program, installed from npm, in a\n\
         scratch home and without a network, which asks a scripted model; or llama.cpp's server (PyPI `xllamacpp`) with a small model, which really answers.\n\n\
         {}\n\
         - **answers**: the answer of the model arrived.\n\
         - **tells usage**: with the number of tokens.\n\
         - **only reads**: the model wanted a command run that makes a file. The program was given `rights = \"read\"`, and there was no file.\n\
         - **runs nothing to edit**: the same with `rights = \"edit\"`. Codex runs commands to edit, in a sandbox of its own; Goose cannot be kept to editing.\n\
         - **does everything**: with `rights = \"all\"` there was the file.\n",
        table(rows)
    );
    fs_err::write(PAGE, page)?;
    Ok(())
}
