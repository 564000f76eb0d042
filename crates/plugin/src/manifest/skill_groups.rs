//! `[[skills]]`.

use agents_system::{
    decode::{Table, Value},
    finding::Finding,
};

use super::{SkillGroup, SkillSource, gates, installations::decode_address};
use crate::predicate::Gate;

pub(super) fn decode(root: &Table<'_>, plugin_gate: &Gate) -> Vec<SkillGroup> {
    let groups = root.tables("skills").into_iter().enumerate().map(|(index, table)| {
        let gate = gates::decode(&table);
        let source = decode_source(&table).unwrap_or(SkillSource::Nothing);
        table.deny_unknown();
        let fetchable = plugin_gate.can_name_a_crate() || gate.can_name_a_crate();
        if matches!(source, SkillSource::Crate { .. }) && !fetchable {
            table.report(
                Finding::error(format!(
                    "skills group {index} takes its skills from crates, but no gate names a concrete crate"
                ))
                .hint("add `crates = [\"…\"]` to the plugin or to the group"),
            );
        }
        SkillGroup { gate, source }
    });
    groups.collect()
}

fn decode_source(table: &Table<'_>) -> Option<SkillSource> {
    let value = table.get("source")?;
    if value.is_string() {
        return decode_shorthand(value);
    }
    let Some(source) = value.table("[[skills]] source") else {
        value.wrong_type("source", "`\"crate\"` or a table");
        return None;
    };
    let path = source.string("path");
    let git = source.string("git");
    let crate_path = source.string("crate_path");
    if let Some(named) = source.get("crate") {
        named.report(Finding::error("`source.crate` is not supported").hint(
            "write `source = \"crate\"` and let the crate itself say where its skills are, \
                 in `[package.metadata.symposium]`",
        ));
        return None;
    }
    source.deny_unknown();
    match (path, git, crate_path) {
        (Some(path), None, None) => Some(SkillSource::Path(path.to_string())),
        (None, Some(git), None) => decode_address(git).map(SkillSource::Git),
        (None, None, Some(inner)) => Some(SkillSource::Crate { path: Some(inner.to_string()) }),
        (None, None, None) => None,
        _ => {
            value.report(
                Finding::error(
                    "`path`, `git` and `crate_path` of a skill source are mutually exclusive",
                )
                .hint("keep one, or write one `[[skills]]` group for each"),
            );
            None
        }
    }
}

fn decode_shorthand(value: Value<'_>) -> Option<SkillSource> {
    let text = value.string("source")?;
    if text.as_str() == "crate" {
        return Some(SkillSource::Crate { path: None });
    }
    text.report(
        Finding::error(format!("unknown source shorthand `{text}`"))
            .hint("write `source = \"crate\"`, `source.path = \"…\"` or `source.git = \"…\"`"),
    );
    None
}
