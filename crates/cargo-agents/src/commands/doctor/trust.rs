//! What hosts do not use before their user has agreed to it. Only what is ours is looked at.

use agents_host::{Host, Scope, hooks::mark};
use agents_system::{
    edit::Format,
    finding::{Finding, Place},
    ledger::{What, mentions},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{
    checks::{CLAUDE_SERVER_UNAPPROVED, CODEX_FOLDER_UNTRUSTED, CODEX_HOOKS_UNTRUSTED, Problem},
    machine::{Machine, document},
};

pub(super) fn check(machine: &Machine<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(codex) = machine.configured_host("codex") {
        problems.extend(codex_hooks(codex, machine));
        problems.extend(codex_folder(codex, machine));
    }
    if let Some(claude) = machine.configured_host("claude") {
        problems.extend(claude_servers(claude, machine));
    }
    problems
}

/// The user's settings of Codex, which also hold what they trust.
fn codex_settings(codex: &Host, machine: &Machine<'_>) -> Value {
    let file = codex.paths(Scope::User, &machine.roots()).mcp_file;
    file.and_then(|file| document(&file, Format::Toml)).unwrap_or_default()
}

/// Codex remembers what was reviewed by a hash of the definition, which only it can compute: that there is one is what
/// we can see.
fn codex_hooks(codex: &Host, machine: &Machine<'_>) -> Vec<Problem> {
    let settings = codex_settings(codex, machine);
    let reviewed = reviewed(&settings);
    let hint = codex.hooks.get().and_then(|hooks| hooks.trust.as_ref()).map(|it| it.hint.clone());
    let files = [Scope::Project, Scope::User].into_iter().filter_map(|scope| {
        let file = codex.paths(scope, &machine.roots()).hook_file?;
        let document = document(&file, Format::Json)?;
        let ours = our_hooks(&document, &mark(&codex.id));
        let skipped = ours.iter().filter(|hook| {
            !reviewed.iter().any(|(reviewed, in_file)| reviewed == *hook && is_same(in_file, &file))
        });
        Some((file.clone(), skipped.count()))
    });
    let skipping = files.filter(|(_, count)| *count > 0).map(|(file, count)| {
        let hooks = if count == 1 { "1 hook".to_owned() } else { format!("{count} hooks") };
        let said = format!("Codex skips {hooks} of ours until you have accepted them");
        let finding = Finding::warning(said).at(Place::file(file));
        CODEX_HOOKS_UNTRUSTED.problem(Finding { hint: hint.clone(), ..finding })
    });
    skipping.collect()
}

/// Where a hook stands in a file: its event in Codex's spelling, its group, its place in it.
type HookPlace = (String, usize, usize);

/// Our hooks in a file of Codex.
fn our_hooks(document: &Value, mark: &str) -> Vec<HookPlace> {
    let mut found = Vec::new();
    let events = document.get("hooks").and_then(Value::as_object);
    for (event, groups) in events.into_iter().flatten() {
        for (group, value) in groups.as_array().into_iter().flatten().enumerate() {
            let hooks = value.get("hooks").and_then(Value::as_array);
            for (index, hook) in hooks.into_iter().flatten().enumerate() {
                if mentions(hook, mark) {
                    found.push((snake(event), group, index));
                }
            }
        }
    }
    found
}

/// `[hooks.state."<file>:<event>:<group>:<index>"]` with a hash, and not switched off.
fn reviewed(settings: &Value) -> Vec<(HookPlace, Utf8PathBuf)> {
    let states = settings.pointer("/hooks/state").and_then(Value::as_object);
    let reviewed = states.into_iter().flatten().filter(|(_, state)| {
        let is_on = state.get("enabled").and_then(Value::as_bool).unwrap_or(true);
        is_on && state.get("trusted_hash").is_some()
    });
    let places = reviewed.filter_map(|(key, _)| {
        let mut parts = key.rsplitn(4, ':');
        let index = parts.next()?.parse().ok()?;
        let group = parts.next()?.parse().ok()?;
        let event = parts.next()?.to_owned();
        Some(((event, group, index), Utf8PathBuf::from(parts.next()?)))
    });
    places.collect()
}

fn snake(event: &str) -> String {
    let mut text = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn is_same(one: &Utf8Path, other: &Utf8Path) -> bool {
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

/// Codex trusts a folder, or the repository that it is in.
fn codex_folder(codex: &Host, machine: &Machine<'_>) -> Option<Problem> {
    let root = machine.root.as_ref()?;
    let paths = codex.paths(Scope::Project, &machine.roots());
    let files = [paths.hook_file, paths.mcp_file].into_iter().flatten();
    let ours: Vec<Utf8PathBuf> = files.filter(|file| owns_in(machine, file)).collect();
    let first = ours.first()?;
    let settings = codex_settings(codex, machine);
    let projects = settings.get("projects").and_then(Value::as_object);
    let repository = root.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(root);
    let trusted = projects.into_iter().flatten().any(|(dir, project)| {
        let dir = Utf8Path::new(dir);
        project.get("trust_level").and_then(Value::as_str) == Some("trusted")
            && (is_same(dir, root) || is_same(dir, repository))
    });
    if trusted {
        return None;
    }
    let said = "Codex ignores what this workspace brings it until you trust the folder";
    Some(CODEX_FOLDER_UNTRUSTED.problem(Finding::warning(said).at(Place::file(first))))
}

fn owns_in(machine: &Machine<'_>, file: &Utf8Path) -> bool {
    machine.ledger.as_ref().is_ok_and(|ledger| ledger.owns_in(file))
}

fn claude_servers(claude: &Host, machine: &Machine<'_>) -> Option<Problem> {
    let root = machine.root.as_ref()?;
    let project = claude.paths(Scope::Project, &machine.roots());
    let user = claude.paths(Scope::User, &machine.roots());
    let file = project.mcp_file?;
    let ledger = machine.ledger.as_ref().ok()?;
    let ours =
        ledger.parts().filter(|(entry, part)| entry.what == What::Server && part.file == file);
    let names: Vec<&str> =
        ours.filter_map(|(_, part)| Some(part.at.keys().last()?.as_str())).collect();

    let local = project.hook_file.as_ref().map(|it| it.with_file_name("settings.local.json"));
    let settings = [user.hook_file, project.hook_file, local].into_iter().flatten();
    let mut words: Vec<Value> = settings.filter_map(|file| document(&file, Format::Json)).collect();
    let state = user.mcp_file.and_then(|file| document(&file, Format::Json));
    let project = state.as_ref().and_then(|state| state.get("projects")?.get(root.as_str()));
    words.extend(project.cloned());
    let waiting: Vec<String> = names
        .into_iter()
        .filter(|name| !is_approved(name, &words))
        .map(|name| format!("`{name}`"))
        .collect();
    if waiting.is_empty() {
        return None;
    }
    let said = format!("Claude Code does not start {} before you approve it", waiting.join(", "));
    Some(CLAUDE_SERVER_UNAPPROVED.problem(Finding::warning(said).at(Place::file(file))))
}

/// A server that was refused anywhere is refused.
fn is_approved(name: &str, words: &[Value]) -> bool {
    let lists = |word: &Value, key: &str| {
        word.get(key).and_then(Value::as_array).is_some_and(|list| list.iter().any(|it| it == name))
    };
    let refused = words.iter().any(|word| lists(word, "disabledMcpjsonServers"));
    let approved = words.iter().any(|word| {
        word.get("enableAllProjectMcpServers") == Some(&Value::Bool(true))
            || lists(word, "enabledMcpjsonServers")
    });
    approved && !refused
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_needs_a_yes_and_no_no() {
        let yes = json!({ "enabledMcpjsonServers": ["a"] });
        let all = json!({ "enableAllProjectMcpServers": true });
        let no = json!({ "disabledMcpjsonServers": ["a"] });
        assert!(is_approved("a", &[json!({}), yes.clone()]));
        assert!(is_approved("b", std::slice::from_ref(&all)));
        assert!(!is_approved("b", std::slice::from_ref(&yes)));
        assert!(!is_approved("a", &[yes, all, no]));
        assert!(!is_approved("a", &[]));
    }

    #[test]
    fn a_hook_is_reviewed_if_it_has_a_hash_and_is_not_switched_off() {
        let settings = json!({ "hooks": { "state": {
            "C:\\x:y.json:pre_tool_use:0:1": { "trusted_hash": "sha256:1" },
            "/h.json:stop:2:0": { "trusted_hash": "sha256:2", "enabled": false },
            "/h.json:stop:3:0": { "enabled": true },
            "nonsense": { "trusted_hash": "sha256:3" },
        } } });
        let place = ("pre_tool_use".to_owned(), 0, 1);
        assert_eq!(reviewed(&settings), [(place, Utf8PathBuf::from("C:\\x:y.json"))]);
    }

    #[test]
    fn our_hooks_are_found_among_others() {
        let document = json!({ "hooks": { "PreToolUse": [
            { "hooks": [{ "command": "mine" }] },
            { "hooks": [{ "command": "mine" }, { "command": "cargo-agents hook codex pre-tool-use" }] },
        ] } });
        let found = our_hooks(&document, "cargo-agents hook codex ");
        assert_eq!(found, [("pre_tool_use".to_owned(), 1, 1)]);
    }
}
