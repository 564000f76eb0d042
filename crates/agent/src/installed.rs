//! Plugins of Claude Code, and of programs that keep the same list: `installed_plugins.json`.

use agents_system::{
    finding::{Finding, Place},
    fingerprint::Inputs,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

/// No list is larger.
const MAX_LIST: u64 = 4 * 1024 * 1024;

/// An installed plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// `name@marketplace`.
    pub(crate) id: String,
    /// Where it is.
    pub(crate) dir: Utf8PathBuf,
    pub(crate) scope: PluginScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PluginScope {
    Project,
    User,
}

/// Reads the lists. Those of the project come first, and hide those of the user that have the same id.
pub(crate) fn installed(
    lists: &[Utf8PathBuf],
    cwd: &Utf8Path,
    inputs: &mut Inputs,
    findings: &mut Vec<Finding>,
) -> Vec<Installed> {
    let mut ids: Vec<(String, Vec<Installed>)> = Vec::new();
    for list in lists {
        for (id, installs) in load(list, inputs, findings) {
            let found = installs_of(&id, &installs, list, cwd, findings);
            match ids.iter_mut().find(|(known, _)| *known == id) {
                Some((_, known)) => *known = found,
                None => ids.push((id, found)),
            }
        }
    }
    let mut all: Vec<Installed> = Vec::new();
    for (_, mut installs) in ids {
        let first = installs.iter().map(|it| it.scope).min();
        installs.retain(|it| Some(it.scope) == first);
        for install in installs {
            if !all.iter().any(|known| known.id == install.id && known.dir == install.dir) {
                all.push(install);
            }
        }
    }
    all.sort_by_key(|install| install.scope);
    all
}

fn load(list: &Utf8Path, inputs: &mut Inputs, findings: &mut Vec<Finding>) -> Map<String, Value> {
    let mut wrong = |message: String| {
        findings.push(Finding::warning(message).at(Place::file(list)));
        Map::new()
    };
    let bytes = match inputs.read_at_most(list, MAX_LIST) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Map::new(),
        Err(error) => return wrong(format!("the list of plugins cannot be read: {error}")),
    };
    let mut document: Value = match serde_json::from_slice(&bytes) {
        Ok(document) => document,
        Err(error) => return wrong(format!("the list of plugins is no JSON: {error}")),
    };
    let versioned = document.get("version").is_some_and(Value::is_number);
    match document.get_mut("plugins").map(Value::take) {
        Some(Value::Object(plugins)) if versioned => plugins,
        _ => wrong("the list of plugins has no `version` and `plugins`".to_owned()),
    }
}

fn installs_of(
    id: &str,
    installs: &Value,
    list: &Utf8Path,
    cwd: &Utf8Path,
    findings: &mut Vec<Finding>,
) -> Vec<Installed> {
    let mut skip = |message: String| {
        findings.push(Finding::warning(message).at(Place::file(list)));
    };
    if !id.rsplit_once('@').is_some_and(|(name, place)| !name.is_empty() && !place.is_empty()) {
        skip(format!("plugin `{id}` is not called `name@marketplace`; it is left out"));
        return Vec::new();
    }
    let mut found = Vec::new();
    for install in installs.as_array().into_iter().flatten() {
        if install.get("enabled") == Some(&Value::Bool(false)) {
            continue;
        }
        let text = |key: &str| install.get(key).and_then(Value::as_str);
        let Some(dir) = text("installPath").filter(|dir| !dir.is_empty()) else {
            skip(format!("plugin `{id}` has no `installPath`; it is left out"));
            continue;
        };
        let scope = match text("scope") {
            Some("project" | "local") => PluginScope::Project,
            _ => PluginScope::User,
        };
        // One that was installed for another project.
        if text("projectPath").is_some_and(|project| !cwd.starts_with(project)) {
            continue;
        }
        found.push(Installed { id: id.to_owned(), dir: dir.into(), scope });
    }
    found
}
