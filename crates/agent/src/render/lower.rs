//! What is left of a definition in a dialect.

use std::time::Duration;

use serde_json::Value;

use super::{
    Field, Instead,
    loss::Losses,
    tools::{is_one_item, lower_spawns, lower_tools, read_only},
};
use crate::{
    definition::{
        AgentDefinition, AgentName, Dialect, Effort, Isolation, McpServerUse, ModelPattern,
        PermissionMode, Waiting,
    },
    dialect::{
        grammar::{Grammar, Key, Lines, ListStyle, McpStyle, Models, Naming, ToolStyle},
        opencode,
    },
    hooks, mcp,
    parse::settle,
};

/// Reduces a definition to what the dialect can say. Never more permissive than it was where the dialect has a way to say so.
pub(super) fn lower(definition: &AgentDefinition, dialect: Dialect) -> (AgentDefinition, Losses) {
    let mut kept = definition.clone();
    settle(&mut kept);
    let grammar = dialect.grammar();
    let mut losses = Losses::default();
    let to = &mut losses;
    lower_texts(&mut kept, grammar, to);
    lower_mode(&mut kept, grammar, to);
    lower_spawns(&mut kept, grammar, to);
    lower_tools(&mut kept, grammar, to);
    lower_model(&mut kept, grammar, to);
    lower_effort(&mut kept, grammar, to);
    lower_limits(&mut kept, grammar, to);
    lower_servers(&mut kept, grammar, to);
    lower_skills(&mut kept, grammar, to);
    lower_rest(&mut kept, grammar, to);
    lower_extra(&mut kept, grammar, to);
    settle(&mut kept);
    if dialect == Dialect::OpenCode {
        opencode::narrow(&mut kept);
    }
    (kept, losses)
}

fn lower_texts(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let plain = grammar.names.nearest(kept.name.as_str());
    if plain != kept.name.as_str()
        && let Some(name) = AgentName::new(&plain)
    {
        losses.add(Field::Name, Instead::Nearest(plain));
        kept.name = name;
    }
    // Only Kiro does without.
    if kept.description.is_empty() && grammar.dialect != Dialect::Kiro {
        kept.description = kept.name.to_string();
        losses.add(Field::Description, Instead::Nearest(kept.description.clone()));
    }
    if grammar.description_lines == Lines::One && kept.description.contains(char::is_control) {
        let words: Vec<&str> = kept.description.split(char::is_control).map(str::trim).collect();
        kept.description = words.join(" ").trim().to_owned();
        losses.add(Field::Description, Instead::Nearest("one line".to_owned()));
    }
    if let Some(most) = grammar.max_description.filter(|it| kept.description.chars().count() > *it)
    {
        let cut: String = kept.description.chars().take(most).collect();
        kept.description = cut.trim_end().to_owned();
        losses.add(Field::Description, Instead::Nearest(format!("its first {most} characters")));
    }
}

/// Whether a mode can be said.
fn says_mode(grammar: &Grammar, mode: PermissionMode) -> bool {
    grammar.modes.iter().any(|(_, it)| *it == mode)
        || grammar.says(Key::Sandbox)
        || (grammar.says(Key::ReadOnly) && mode == PermissionMode::Plan)
}

fn lower_mode(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
    let Some(mode) = kept.permission_mode.filter(|mode| !says_mode(grammar, *mode)) else { return };
    // The nearest that allows less.
    let nearest: &[PermissionMode] = match mode {
        BypassPermissions => &[AcceptEdits, Default],
        DontAsk | AcceptEdits => &[Default],
        Default | Plan => &[],
    };
    kept.permission_mode = nearest.iter().copied().find(|it| says_mode(grammar, *it));
    let instead = match kept.permission_mode {
        Some(nearest) => {
            Instead::Nearest(mode_word(grammar, nearest).unwrap_or_default().to_owned())
        }
        None if mode == Plan && grammar.tools != ToolStyle::Never => {
            read_only(kept, grammar.dialect);
            Instead::ReadOnly
        }
        None => Instead::Ignored,
    };
    losses.add(Field::PermissionMode, instead);
}

/// How a mode is spelled.
pub(super) fn mode_word(grammar: &Grammar, mode: PermissionMode) -> Option<&'static str> {
    grammar.modes.iter().find_map(|(word, it)| (*it == mode).then_some(*word))
}

fn lower_model(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let models = grammar.models;
    if models == Models::Patterns || kept.model.is_empty() {
        return;
    }
    // Where it is not a word, the model of the parent is what an agent has that names none.
    let inherits = !matches!(models, Models::OpenAi | Models::Gemini | Models::WithProvider)
        && !matches!(grammar.dialect, Dialect::Copilot | Dialect::Kiro);
    let known = kept.model.iter().find(|it| it.is_inherit() || knows(models, it)).cloned();
    if known.as_ref() != kept.model.first() || kept.model.len() > 1 {
        let instead = match &known {
            Some(model) => Instead::Nearest(model.0.clone()),
            None => Instead::Ignored,
        };
        losses.add(Field::Model, instead);
    }
    kept.model = known.into_iter().filter(|it| inherits || !it.is_inherit()).collect();
}

/// Whether a host knows a model by this name.
fn knows(models: Models, model: &ModelPattern) -> bool {
    let name = model.0.as_str();
    let alias = ["sonnet", "opus", "haiku", "fable"].contains(&name.to_lowercase().as_str());
    let role = name.starts_with('@') || name.starts_with("pi/");
    let is_of = |prefixes: &[&str]| prefixes.iter().any(|it| name.to_lowercase().starts_with(it));
    let (claude, gemini, openai) =
        (is_of(&["claude"]), is_of(&["gemini"]), is_of(&["gpt", "o1", "o3", "o4", "codex"]));
    let plain = !alias && !role && !name.contains(['/', ',']) && name != "fast";
    match models {
        Models::Patterns => true,
        Models::One => plain,
        Models::OneOrFast => plain || name == "fast",
        Models::WithProvider => name.contains('/') && !role && is_one_item(name),
        Models::Claude => alias || (plain && !gemini && !openai),
        Models::ClaudeAlias => ["sonnet", "opus", "haiku"].contains(&name),
        Models::OpenAi => plain && !claude && !gemini,
        Models::Gemini => gemini,
    }
}

fn lower_effort(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let Some(effort) = kept.effort else { return };
    if grammar.efforts.iter().any(|(_, it)| *it == effort) {
        return;
    }
    let distance = |it: Effort| (it as i8 - effort as i8).unsigned_abs();
    let nearest = grammar.efforts.iter().min_by_key(|(_, it)| distance(*it));
    kept.effort = nearest.map(|(_, it)| *it);
    let instead =
        nearest.map_or(Instead::Ignored, |(word, _)| Instead::Nearest((*word).to_owned()));
    losses.add(Field::Effort, instead);
}

fn lower_limits(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let limits = &mut kept.limits;
    if limits.turns.is_some() && !grammar.says(Key::Turns) {
        limits.turns = None;
        losses.add(Field::Turns, Instead::Ignored);
    }
    let unit = [(Key::Time, 1), (Key::Seconds, 1000), (Key::Minutes, 60_000)];
    let unit = unit.into_iter().find_map(|(key, unit)| grammar.says(key).then_some(unit));
    lower_time(&mut limits.time, unit, Field::Time, losses);
    let unit = [(Key::Grant, 1), (Key::GrantSeconds, 1000)];
    let unit = unit.into_iter().find_map(|(key, unit)| grammar.says(key).then_some(unit));
    lower_time(&mut limits.grant, unit, Field::Grant, losses);
    if limits.tokens.is_some() && !grammar.says(Key::Tokens) {
        limits.tokens = None;
        losses.add(Field::Tokens, Instead::Ignored);
    }
    if limits.cost.is_some() && !grammar.says(Key::Cost) {
        limits.cost = None;
        losses.add(Field::Cost, Instead::Ignored);
    }
    if limits.history.is_some() && !grammar.says(Key::History) {
        limits.history = None;
        losses.add(Field::History, Instead::Ignored);
    }
}

/// Whole units of so many milliseconds, at least one of them.
fn lower_time(time: &mut Option<Duration>, unit: Option<u64>, field: Field, losses: &mut Losses) {
    let Some(wanted) = *time else { return };
    let Some(unit) = unit else {
        *time = None;
        return losses.add(field, Instead::Ignored);
    };
    let millis = u64::try_from(wanted.as_millis()).unwrap_or(u64::MAX);
    let said = if wanted.is_zero() { 0 } else { (millis / unit).max(1).saturating_mul(unit) };
    let said = Duration::from_millis(said);
    if said != wanted {
        losses.add(field, Instead::Nearest(format!("{}s", said.as_secs_f64())));
    }
    *time = Some(said);
}

fn lower_servers(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let mut missing = Vec::new();
    let mut servers = Vec::new();
    for server in std::mem::take(&mut kept.mcp_servers) {
        match (server, grammar.mcp) {
            (McpServerUse::Named(name), McpStyle::Mixed | McpStyle::Names) => {
                servers.push(McpServerUse::Named(name));
            }
            (McpServerUse::Inline { name, entry }, McpStyle::Mixed | McpStyle::Map) => {
                match mcp::to_dialect(grammar.dialect, &entry) {
                    Some(said) => {
                        let entry = mcp::from_dialect(grammar.dialect, &said);
                        servers.push(McpServerUse::Inline { name, entry });
                    }
                    None => missing.push(name),
                }
            }
            (McpServerUse::Named(name) | McpServerUse::Inline { name, .. }, _) => {
                missing.push(name);
            }
        }
    }
    if grammar.mcp == McpStyle::Map {
        // A map has no order that counts.
        servers.sort_by(|one, other| one.name().cmp(other.name()));
    }
    kept.mcp_servers = servers;
    if !missing.is_empty() {
        losses.add(Field::McpServers, Instead::Missing(missing));
    }
}

fn lower_skills(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let skills = &mut kept.skills;
    let says = grammar.says(Key::Skills);
    if grammar.lists == ListStyle::Nested && says {
        return;
    }
    let before = skills.include.len();
    let one = |it: &str| grammar.lists != ListStyle::Commas || is_one_item(it);
    skills.include.retain(|it| says && !it.contains('*') && one(it));
    if skills.include.len() != before {
        losses.add(Field::Skills, Instead::Ignored);
    }
    if !skills.exclude.is_empty() {
        skills.exclude.clear();
        losses.add(Field::ExcludedSkills, Instead::Ignored);
    }
}

fn lower_rest(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    if kept.output.is_some() && !grammar.says(Key::Output) {
        kept.output = None;
        losses.add(Field::Output, Instead::Ignored);
    }
    let says_waiting = grammar.says(Key::Waiting)
        || match kept.waiting {
            Some(Waiting::Blocking) => grammar.says(Key::Blocking),
            Some(Waiting::Background) => grammar.says(Key::Background),
            None => true,
        };
    if !says_waiting {
        kept.waiting = None;
        losses.add(Field::Waiting, Instead::Ignored);
    }
    if !grammar.says(Key::Isolation) && !grammar.says(Key::Worktree) {
        // Where there is none, none is what it gets.
        if kept.isolation == Some(Isolation::Worktree) {
            losses.add(Field::Isolation, Instead::Ignored);
        }
        kept.isolation = None;
    }
    let fits = hooks::shape(kept.origin.dialect) == hooks::shape(grammar.dialect);
    if kept.hooks.is_some() && (!grammar.says(Key::Hooks) || !fits) {
        kept.hooks = None;
        losses.add(Field::Hooks, Instead::Ignored);
    }
    if kept.memory.is_some() && !grammar.says(Key::Memory) {
        kept.memory = None;
        losses.add(Field::Memory, Instead::Ignored);
    }
    if !kept.secrets.is_empty() && !grammar.says(Key::Secrets) {
        kept.secrets.clear();
        losses.add(Field::Secrets, Instead::Ignored);
    }
    if kept.choice.priority != 0 && !grammar.says(Key::Priority) {
        kept.choice.priority = 0;
        losses.add(Field::Priority, Instead::Ignored);
    }
    if kept.choice.mutex.is_some() && !grammar.says(Key::Mutex) {
        kept.choice.mutex = None;
        losses.add(Field::Mutex, Instead::Ignored);
    }
}

/// What a dialect does not share with another stays behind.
fn lower_extra(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let from = kept.origin.dialect;
    // Ours mean the same wherever they stand: they are read by us.
    let is_ours = |key: &str| Dialect::Ours.grammar().extra.contains(&key);
    let shared = |key: &str| {
        grammar.extra.contains(&key) && (is_ours(key) || from.grammar().extra.contains(&key))
    };
    if from != grammar.dialect || kept.extra.keys().any(|key| is_ours(key)) {
        kept.extra.retain(|key, _| {
            let stays = shared(key) || (from == grammar.dialect && !is_ours(key));
            // A name that is only shown is no loss.
            let shown = key == "name" && from.grammar().naming == Naming::File;
            if !stays && !shown {
                losses.add(Field::Extra(key.clone()), Instead::Ignored);
            }
            stays
        });
    }
    for (key, value) in grammar.always {
        kept.extra.entry(*key).or_insert_with(|| Value::from(*value));
    }
}
