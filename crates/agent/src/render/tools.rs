//! What is left of the tools in a dialect: fewer, if it must be, and more only where the host has no finer name.

use super::{Field, Instead, loss::Losses};
use crate::{
    definition::{AgentDefinition, Dialect, PermissionMode, Spawns},
    dialect::grammar::{DenyStyle, Grammar, Key, Patterns, SpawnStyle, ToolStyle},
    parse::{TASK, dedup, settle, split_commas},
    tools::{
        ToolPattern, Tools,
        names::{Effect, all, from_host, of_host, to_host},
    },
};

/// Leaves only those tools of the host that change nothing.
pub(super) fn read_only(kept: &mut AgentDefinition, dialect: Dialect) {
    let reading = of_host(dialect)
        .filter(|(name, effect)| *effect == Effect::Reads && kept.tools.allows(name))
        .map(|(name, _)| ToolPattern::new(name));
    kept.tools = Tools { allow: Some(reading.collect()), deny: Vec::new() };
    kept.spawns = Spawns::None;
    settle(kept);
}

pub(super) fn lower_spawns(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    if kept.spawns == Spawns::None {
        return;
    }
    let listed = kept.tools.allow.is_some();
    let commas = grammar.spawns == SpawnStyle::ToolWithNames || grammar.tools == ToolStyle::Commas;
    if let (true, Spawns::Only(names)) = (commas, &mut kept.spawns) {
        let before = names.len();
        names.retain(|name| !name.contains([',', '(', ')']));
        if names.len() < before {
            losses.add(Field::Spawns, Instead::Less);
            settle(kept);
        }
    }
    if kept.spawns == Spawns::None {
        return;
    }
    let only = matches!(kept.spawns, Spawns::Only(_));
    let instead = match grammar.spawns {
        SpawnStyle::Key | SpawnStyle::Permission => return,
        SpawnStyle::ToolWithNames if listed && only => {
            return losses.add(Field::Spawns, Instead::Unenforced);
        }
        SpawnStyle::ToolWithNames | SpawnStyle::Tool if listed && !only => return,
        // Without a list of tools, it has the one for that as well.
        SpawnStyle::ToolWithNames | SpawnStyle::Tool if !listed => Instead::Ignored,
        _ => Instead::Less,
    };
    losses.add(Field::Spawns, instead);
    kept.spawns = Spawns::None;
    settle(kept);
}

pub(super) fn lower_tools(kept: &mut AgentDefinition, grammar: &Grammar, losses: &mut Losses) {
    let tools = kept.tools.clone();
    if tools.allow.is_none() && tools.deny.is_empty() {
        return;
    }
    if grammar.tools == ToolStyle::Never {
        kept.tools = Tools::default();
        let field = if tools.allow.is_some() { Field::Tools } else { Field::DeniedTools };
        let harmless = (tools.allow.is_some() || tools.is_nothing())
            && all().all(|(name, effect)| effect == Effect::Reads || !tools.allows(name))
            && tools.allow.iter().flatten().all(is_reading);
        let may_say = grammar.says(Key::ReadOnly) || grammar.says(Key::Sandbox);
        let open = matches!(
            kept.permission_mode,
            None | Some(PermissionMode::Default | PermissionMode::Plan)
        );
        if harmless && may_say && open {
            kept.permission_mode = Some(PermissionMode::Plan);
            return losses.add(field, Instead::ReadOnly);
        }
        return losses.add(field, Instead::Ignored);
    }
    if tools.is_nothing() {
        return;
    }
    let mut lowering = Lowering { grammar, losses };
    kept.tools = lowering.lower(tools);
    settle(kept);
}

fn is_reading(pattern: &ToolPattern) -> bool {
    all().any(|(name, effect)| effect == Effect::Reads && name == pattern.tool())
}

struct Lowering<'l> {
    grammar: &'l Grammar,
    losses: &'l mut Losses,
}

impl Lowering<'_> {
    fn lower(&mut self, mut tools: Tools) -> Tools {
        if self.grammar.patterns < Patterns::Arguments {
            self.drop_arguments(&mut tools);
        }
        if self.grammar.patterns < Patterns::All {
            if let Some(allow) = &mut tools.allow {
                self.expand(allow, Field::Tools);
            }
            self.expand(&mut tools.deny, Field::DeniedTools);
        }
        let keeps_deny = self.grammar.deny == DenyStyle::List;
        if !keeps_deny && !tools.deny.is_empty() && tools.allow.is_none() {
            let host = of_host(self.grammar.dialect).map(|(name, _)| ToolPattern::new(name));
            // Whether it may start agents was not said with a list, and a list would say it.
            tools.allow = Some(host.filter(|it| it.tool() != TASK).collect());
            self.losses.add(Field::DeniedTools, Instead::Less);
        }
        let deny = tools.deny.clone();
        let allow = tools.allow.map(|allow| self.allowed(&allow, &deny, keeps_deny));
        let deny = if keeps_deny { self.denied(&deny) } else { Vec::new() };
        if allow.as_ref().is_some_and(Vec::is_empty) {
            return Tools::nothing();
        }
        Tools { allow, deny }
    }

    /// A tool that may not be used with any argument is not given at all, and one that may not be used with some is taken away.
    fn drop_arguments(&mut self, tools: &mut Tools) {
        let mut any = false;
        if let Some(allow) = &mut tools.allow {
            let before = allow.len();
            allow.retain(|it| it.argument().is_none());
            any |= allow.len() != before;
        }
        for pattern in &mut tools.deny {
            any |= pattern.argument().is_some();
            *pattern = pattern.without_argument();
        }
        if any {
            self.losses.add(Field::ToolArguments, Instead::Less);
        }
    }

    /// Patterns that the host does not have become the tools that we know.
    fn expand(&mut self, patterns: &mut Vec<ToolPattern>, field: Field) {
        let is_foreign = |it: &ToolPattern| it.is_glob() && !it.as_str().starts_with("mcp__");
        if !patterns.iter().any(is_foreign) {
            return;
        }
        let instead = if field == Field::Tools { Instead::Less } else { Instead::Ignored };
        self.losses.add(field, instead);
        let expanded = patterns.iter().flat_map(|pattern| {
            if !is_foreign(pattern) {
                return vec![pattern.clone()];
            }
            let matching = all().filter(|(name, _)| *name != TASK && pattern.matches(name));
            matching.map(|(name, _)| ToolPattern::new(name)).collect()
        });
        *patterns = expanded.collect();
        dedup(patterns);
    }

    /// The tools of the list under the names of the host, and back.
    fn allowed(
        &mut self,
        allow: &[ToolPattern],
        deny: &[ToolPattern],
        keeps_deny: bool,
    ) -> Vec<ToolPattern> {
        let mut kept = Vec::new();
        let mut missing = Vec::new();
        let mut more = Vec::new();
        for pattern in allow {
            let fully_denied =
                deny.iter().any(|it| it.argument().is_none() && it.matches(pattern.tool()));
            if fully_denied && (!keeps_deny || self.grammar.tools == ToolStyle::Permission) {
                continue;
            }
            let Some(meant) = self.meant(pattern) else {
                missing.push(pattern.as_str().to_owned());
                continue;
            };
            let denied = |it: &ToolPattern| {
                deny.iter().any(|no| {
                    no.argument().is_none() && (no.matches(it.tool()) || it.matches(no.tool()))
                })
            };
            if meant.len() > 1 && meant.iter().any(denied)
                || !keeps_deny && pattern.is_glob() && denied(pattern)
            {
                self.losses.add(Field::Tools, Instead::Less);
                continue;
            }
            let extra =
                meant.iter().filter(|it| !allow.contains(it)).map(|it| it.as_str().to_owned());
            more.extend(extra);
            kept.extend(meant);
        }
        dedup(&mut kept);
        dedup(&mut more);
        if !more.is_empty() {
            self.losses.add(Field::Tools, Instead::More(more));
        }
        if !missing.is_empty() {
            self.losses.add(Field::Tools, Instead::Missing(missing));
        }
        kept
    }

    fn denied(&mut self, deny: &[ToolPattern]) -> Vec<ToolPattern> {
        let mut kept = Vec::new();
        for pattern in deny {
            let Some(meant) = self.meant(pattern) else {
                // What a host does not have need not be taken away.
                if pattern.as_str().starts_with("mcp__") {
                    self.losses.add(Field::DeniedTools, Instead::Ignored);
                }
                continue;
            };
            if meant.iter().any(|it| !deny.contains(it)) {
                self.losses.add(Field::DeniedTools, Instead::Less);
            }
            kept.extend(meant);
        }
        dedup(&mut kept);
        kept
    }

    /// What a host takes a pattern for.
    fn meant(&self, pattern: &ToolPattern) -> Option<Vec<ToolPattern>> {
        let text = host_text(self.grammar, pattern)?;
        // Two names that stand for two tools would take its place.
        if self.grammar.tools == ToolStyle::Commas && !is_one_item(&text) {
            return None;
        }
        let (meant, _) = from_host(self.grammar.dialect, &text);
        meant.contains(pattern).then_some(meant)
    }
}

/// Whether a text is one item of a list with commas, and the next item another one.
pub(super) fn is_one_item(text: &str) -> bool {
    split_commas(&format!("{text},x")) == [text, "x"]
}

/// A pattern under the name of the host, with its argument.
pub(super) fn host_text(grammar: &Grammar, pattern: &ToolPattern) -> Option<String> {
    let name = to_host(grammar.dialect, pattern)?;
    Some(match pattern.argument() {
        Some(argument) => format!("{name}({argument})"),
        None => name,
    })
}
