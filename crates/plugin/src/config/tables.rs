//! Tables of `config.toml` that other rooms read.

use agents_system::{
    decode::{Document, Table},
    dirs::Dirs,
    finding::{Finding, Severity},
};
use camino::Utf8Path;
use serde_json::Value;

use super::{Config, ConfigError, Setting};

/// What findings about a table may show of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// What is written there.
    Shown,
    /// Where it is written and no more: somebody may have written a key.
    Hidden,
}

impl Config {
    /// What a room reads from the text of the file, and what is noteworthy about it. An error about the whole file never shows a value.
    ///
    /// # Errors
    /// It is no TOML, or something in it is wrong.
    pub fn tables<T>(
        file: &Utf8Path,
        text: &str,
        values: Values,
        read: impl FnOnce(&Table<'_>) -> T,
    ) -> Result<(T, Vec<Finding>), ConfigError> {
        let invalid = |findings| ConfigError::Invalid { file: file.to_owned(), findings };
        let document = Document::parse(file.to_owned(), text)
            .map_err(|finding| invalid(vec![finding.without_value()]))?;
        let settings = read(&document.root());
        let mut findings = document.into_findings();
        if values == Values::Hidden {
            findings = findings.into_iter().map(Finding::without_value).collect();
        }
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(invalid(findings));
        }
        Ok((settings, findings))
    }

    /// The settings of one table, the deepest of `path`, with who says so.
    ///
    /// # Errors
    /// The file cannot be read, or is no TOML.
    pub fn of_table(
        dirs: &Dirs,
        path: &[&'static str],
        values: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<Vec<Setting>, ConfigError> {
        let file = Self::file(dirs);
        let text = Self::text(&file)?;
        let (settings, _) = Self::tables(&file, &text, Values::Hidden, |root| {
            let mut tables = path.iter();
            let first = tables.next().and_then(|key| root.table(key));
            let table = tables.fold(first, |table, key| table?.table(key));
            let of = |(key, value)| Setting::of(table.as_ref(), &path.join("."), key, value);
            values.into_iter().map(of).collect()
        })?;
        Ok(settings)
    }
}
