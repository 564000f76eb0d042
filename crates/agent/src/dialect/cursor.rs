//! Cursor: Markdown, `readonly`.

use super::grammar::{Grammar, Key, Models, Naming, ToolStyle};
use crate::definition::Dialect;

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::Cursor,
    naming: Naming::KeyOrFile,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("model", Key::Model),
        ("readonly", Key::ReadOnly),
        ("is_background", Key::Background),
    ],
    tools: ToolStyle::Never,
    models: Models::OneOrFast,
    ..Grammar::MARKDOWN
};
