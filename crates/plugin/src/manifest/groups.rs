//! `[[skills]]` and `[[agents]]`.

use agents_system::{
    decode::{Table, Value},
    finding::Finding,
};

use super::{ContentGroup, ContentKind, ContentSource, gates, installations::decode_address};
use crate::predicate::Gate;

pub(super) fn decode(root: &Table<'_>, kind: ContentKind, plugin_gate: &Gate) -> Vec<ContentGroup> {
    let what = kind.word();
    let groups = root.tables(what).into_iter().enumerate().map(|(index, table)| {
        let gate = gates::decode(&table);
        let source = decode_source(&table, kind).unwrap_or(ContentSource::Nothing);
        table.deny_unknown();
        let fetchable = plugin_gate.can_name_a_crate() || gate.can_name_a_crate();
        if matches!(source, ContentSource::Crate { .. }) && !fetchable {
            table.report(
                Finding::error(format!(
                    "{what} group {index} takes its {what} from crates, but no gate names a concrete crate"
                ))
                .hint("add `crates = [\"…\"]` to the plugin or to the group"),
            );
        }
        ContentGroup { gate, source }
    });
    groups.collect()
}

fn decode_source(table: &Table<'_>, kind: ContentKind) -> Option<ContentSource> {
    let value = table.get("source")?;
    if value.is_string() {
        return decode_shorthand(value);
    }
    let Some(source) = value.table(format!("[[{}]] source", kind.word())) else {
        value.wrong_type("source", "`\"crate\"` or a table");
        return None;
    };
    let path = source.string("path");
    let git = source.string("git");
    let crate_path = source.string("crate_path");
    if let Some(named) = source.get("crate") {
        let hint = match kind {
            ContentKind::Skills => {
                "write `source = \"crate\"` and let the crate itself say where its skills are, \
                 in `[package.metadata.symposium]`"
            }
            ContentKind::Agents => {
                "write `source = \"crate\"` for `agents/` of the crate, or `source.crate_path = \"…\"`"
            }
        };
        named.report(Finding::error("`source.crate` is not supported").hint(hint));
        return None;
    }
    source.deny_unknown();
    match (path, git, crate_path) {
        (Some(path), None, None) => Some(ContentSource::Path(path.to_string())),
        (None, Some(git), None) => decode_address(git).map(ContentSource::Git),
        (None, None, Some(inner)) => Some(ContentSource::Crate { path: Some(inner.to_string()) }),
        (None, None, None) => None,
        _ => {
            value.report(
                Finding::error(format!(
                    "`path`, `git` and `crate_path` of {} source are mutually exclusive",
                    kind.one()
                ))
                .hint(format!("keep one, or write one `[[{}]]` group for each", kind.word())),
            );
            None
        }
    }
}

fn decode_shorthand(value: Value<'_>) -> Option<ContentSource> {
    let text = value.string("source")?;
    if text.as_str() == "crate" {
        return Some(ContentSource::Crate { path: None });
    }
    text.report(
        Finding::error(format!("unknown source shorthand `{text}`"))
            .hint("write `source = \"crate\"`, `source.path = \"…\"` or `source.git = \"…\"`"),
    );
    None
}
