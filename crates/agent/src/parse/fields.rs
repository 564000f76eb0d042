//! From the entries of a file to the fields of a definition.

use std::time::Duration;

use agents_system::finding::Finding;
use serde_json::{Map, Value};

use super::{
    Input,
    document::{Document, doubt},
    origin, settle,
    values::{Entry, Reader},
};
use crate::{
    definition::{
        AgentDefinition, AgentName, Dialect, Effort, Isolation, MAX_NAME, McpServerUse,
        MemoryScope, ModelPattern, OutputSchema, PermissionMode, SkillFilter, Waiting,
    },
    dialect::{
        grammar::{Grammar, Key, Lines, Naming},
        stem,
    },
    entries,
};

pub(super) fn read(
    input: &Input<'_>,
    document: &Document<'_>,
    findings: &mut Vec<Finding>,
) -> Option<AgentDefinition> {
    let grammar = input.dialect.grammar();
    let mut reader = Reader { document, grammar, strictness: input.strictness, findings };
    let (entries, extra) = reader.classify();
    let mut definition = AgentDefinition {
        prompt: document.body().map(str::trim).unwrap_or_default().to_owned(),
        extra,
        origin: origin(input),
        ..AgentDefinition::blank(AgentName::new("x")?)
    };
    let name = reader.name(input, &entries, &mut definition.extra);
    reader.check_required(&entries);
    for (key, entry) in &entries {
        reader.field(*key, entry, &mut definition);
    }
    reader.tools(&entries, &mut definition);
    reader.codex_mode(&entries, &mut definition);
    settle(&mut definition);
    definition.name = name?;
    Some(definition)
}

impl Reader<'_, '_> {
    fn name(
        &mut self,
        input: &Input<'_>,
        entries: &[(Key, Entry<'_>)],
        extra: &mut Map<String, Value>,
    ) -> Option<AgentName> {
        let entry = entries.iter().find_map(|(key, entry)| (*key == Key::Name).then_some(entry));
        let stem = stem(input.file).filter(|_| self.grammar.naming != Naming::Key);
        let hint = format!("letters, digits, `-` and `_`, at most {MAX_NAME} of them");
        if self.grammar.naming == Naming::File
            && let Some(stem) = stem
        {
            if let Some(entry) = entry.filter(|it| it.value.as_str() != Some(stem)) {
                extra.insert("name".to_owned(), entry.value.clone());
            }
            let name = AgentName::new(stem);
            if name.is_none() {
                let message = format!("`{stem}` cannot be the name of an agent");
                self.findings.push(Finding::error(message).hint(hint).at(self.document.start()));
            }
            return name;
        }
        let Some(entry) = entry.filter(|it| !it.value.is_null()) else {
            let name = stem.and_then(AgentName::new);
            if name.is_none() {
                let finding = Finding::error("`name` is missing");
                self.findings.push(finding.at(self.document.start()));
            }
            return name;
        };
        let mut text = self.text(entry)?;
        if input.dialect == Dialect::AgentSdk {
            text = text.to_lowercase();
        }
        let Some(name) = AgentName::new(&text) else {
            let message = format!("`{text}` cannot be the name of an agent");
            let place = self.document.place(&entry.path);
            self.findings.push(Finding::error(message).hint(hint).at(place));
            return None;
        };
        // Zeph, whose rule it is, refuses the whole file.
        if self.grammar.names.nearest(&text) != text {
            let title = self.grammar.dialect.title();
            let message = format!("`{text}` is not a name in {title}");
            if self.grammar.dialect == Dialect::Zeph {
                self.error(entry, message);
            } else {
                self.doubt(entry, message, None);
            }
        } else if text.contains('.') {
            self.warn(entry, format!("`{text}` is not a name in every host, for its dot"));
        }
        Some(name)
    }

    fn check_required(&mut self, entries: &[(Key, Entry<'_>)]) {
        let has = |wanted| entries.iter().any(|(key, _)| *key == wanted);
        if !has(Key::Description) {
            // Only its editor asks for one.
            let severity = match self.grammar.dialect {
                Dialect::Kiro => doubt(self.strictness),
                _ => agents_system::finding::Severity::Error,
            };
            let finding = Finding::new(severity, "`description` is missing");
            self.findings.push(finding.at(self.document.start()));
        }
        if self.grammar.dialect == Dialect::Codex && !has(Key::Prompt) {
            let finding =
                Finding::new(doubt(self.strictness), "`developer_instructions` is missing");
            self.findings.push(finding.at(self.document.start()));
        }
    }

    fn field(&mut self, key: Key, entry: &Entry<'_>, to: &mut AgentDefinition) {
        match key {
            // Read elsewhere, several of them together.
            Key::Name | Key::Tools | Key::Deny | Key::Permission | Key::Spawns => {}
            Key::Sandbox | Key::Approval => {}
            Key::Description => to.description = self.description(entry).unwrap_or_default(),
            Key::Prompt => self.prompt(entry, to),
            Key::Model => to.model = self.list(entry).into_iter().map(ModelPattern).collect(),
            Key::Effort => to.effort = self.effort(entry),
            Key::Output => to.output = self.output(entry),
            Key::Waiting => {
                let words = [("blocking", Waiting::Blocking), ("background", Waiting::Background)];
                to.waiting = self.word(entry, "a way to wait", &words, &[]);
            }
            Key::Blocking => {
                to.waiting =
                    to.waiting.or((self.boolean(entry) == Some(true)).then_some(Waiting::Blocking));
            }
            Key::Background => {
                let is = self.boolean(entry) == Some(true);
                to.waiting = to.waiting.or(is.then_some(Waiting::Background));
            }
            Key::Isolation => {
                let words = [("worktree", Isolation::Worktree), ("none", Isolation::None)];
                to.isolation = self.word(entry, "an isolation", &words, &[]);
            }
            Key::Worktree => {
                to.isolation = self
                    .boolean(entry)
                    .map(|is| if is { Isolation::Worktree } else { Isolation::None });
            }
            Key::Mode => to.permission_mode = self.mode(entry),
            Key::ReadOnly => {
                if self.boolean(entry) == Some(true) {
                    to.permission_mode = Some(PermissionMode::Plan);
                }
            }
            Key::Turns => to.limits.turns = self.number(entry),
            Key::Time | Key::Seconds => to.limits.time = self.time(entry, Duration::from_secs(1)),
            Key::Minutes => to.limits.time = self.time(entry, Duration::from_secs(60)),
            Key::Tokens => to.limits.tokens = self.number(entry),
            Key::Cost => to.limits.cost = self.amount(entry),
            Key::History => to.limits.history = self.number(entry),
            Key::Grant | Key::GrantSeconds => {
                to.limits.grant = self.time(entry, Duration::from_secs(1));
            }
            Key::Skills => to.skills = self.skills(entry),
            Key::McpServers => to.mcp_servers = self.mcp_servers(entry),
            Key::Hooks => {
                to.hooks = Some(crate::hooks::from_dialect(self.grammar.dialect, entry.value));
            }
            Key::Memory => {
                let words = [
                    ("user", MemoryScope::User),
                    ("project", MemoryScope::Project),
                    ("local", MemoryScope::Local),
                ];
                to.memory = self.word(entry, "a memory scope", &words, &[]);
            }
            Key::Secrets => to.secrets = self.list(entry),
            Key::Priority => to.choice.priority = self.number(entry).unwrap_or_default(),
            Key::Mutex => to.choice.mutex = self.text(entry),
        }
    }

    fn description(&mut self, entry: &Entry<'_>) -> Option<String> {
        if entry.value.is_null() {
            self.error(entry, "`description` cannot be empty");
            return None;
        }
        let text = self.text(entry)?;
        let refused = |c: char| match self.grammar.description_lines {
            Lines::One => c.is_control() && c != '\t',
            Lines::Many => c.is_control() && !matches!(c, '\t' | '\n' | '\r'),
        };
        if text.is_empty() {
            self.error(entry, "`description` cannot be empty");
        } else if text.contains(refused) {
            self.error(entry, "`description` holds control characters");
        }
        let length = text.chars().count();
        if let Some(most) = self.grammar.max_description.filter(|most| length > *most) {
            let message = format!("the description has {length} characters and exceeds {most}");
            self.doubt(entry, message, None);
        }
        Some(text)
    }

    fn prompt(&mut self, entry: &Entry<'_>, to: &mut AgentDefinition) {
        let Some(text) = self.text(entry) else { return };
        if text.starts_with("file://") || (text.starts_with("{file:") && text.ends_with('}')) {
            self.warn(
                entry,
                format!("the prompt is in another file, which was not read: `{text}`"),
            );
        }
        if to.prompt.is_empty() {
            to.prompt = text;
        } else {
            self.doubt(entry, "there are two prompts; the text below the header counts", None);
        }
    }

    fn effort(&mut self, entry: &Entry<'_>) -> Option<Effort> {
        // What is inherited or chosen by the host is not said.
        if let Value::String(text) = entry.value
            && ["inherit", "auto", "default"].contains(&text.trim())
        {
            return None;
        }
        let mut others: Vec<_> = all_of(|grammar| grammar.efforts);
        others.push(("med", Effort::Medium));
        self.word(entry, "a level of effort", self.grammar.efforts, &others)
    }

    fn mode(&mut self, entry: &Entry<'_>) -> Option<PermissionMode> {
        if let Value::String(text) = entry.value
            && ["auto", "bubble", "ignore"].contains(&text.trim())
        {
            let message = format!("`{}` has no equal here and is taken for `default`", text.trim());
            self.doubt(entry, message, None);
            return Some(PermissionMode::Default);
        }
        let mut others: Vec<_> = all_of(|grammar| grammar.modes);
        others.push(("bypass", PermissionMode::BypassPermissions));
        self.word(entry, "a permission mode", self.grammar.modes, &others)
    }

    fn output(&mut self, entry: &Entry<'_>) -> Option<OutputSchema> {
        let schema = match entry.value {
            Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            other => other.clone(),
        };
        if !schema.is_object() && !schema.is_boolean() {
            self.error(entry, format!("`{}` must be a schema", entry.spelled()));
            return None;
        }
        Some(OutputSchema::of(schema))
    }

    fn skills(&mut self, entry: &Entry<'_>) -> SkillFilter {
        let Value::Object(table) = entry.value else {
            return SkillFilter { include: self.list(entry), exclude: Vec::new() };
        };
        let mut filter = SkillFilter::default();
        for (key, value) in table {
            let path = [entry.path.clone(), vec![key.clone()]].concat();
            let inner = Entry { path, value };
            match key.as_str() {
                "include" => filter.include = self.list(&inner),
                "exclude" => filter.exclude = self.list(&inner),
                _ => self.doubt(&inner, format!("`{}` is not known", inner.spelled()), None),
            }
        }
        filter
    }

    fn mcp_servers(&mut self, entry: &Entry<'_>) -> Vec<McpServerUse> {
        let dialect = self.grammar.dialect;
        let inline = |(name, value): (&String, &Value)| McpServerUse::Inline {
            name: name.clone(),
            entry: crate::mcp::from_dialect(dialect, value),
        };
        match entry.value {
            Value::Object(servers) => servers.iter().map(inline).collect(),
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let mut servers = Vec::new();
                for item in items {
                    match item {
                        Value::String(name) => servers.push(McpServerUse::Named(name.clone())),
                        Value::Object(map) => servers.extend(map.iter().map(inline)),
                        _ => self.error(
                            entry,
                            format!("`{}` must hold names and servers", entry.spelled()),
                        ),
                    }
                }
                servers
            }
            _ => self.list(entry).into_iter().map(McpServerUse::Named).collect(),
        }
    }

    /// Codex says in two keys what others call a mode.
    fn codex_mode(&mut self, entries: &[(Key, Entry<'_>)], to: &mut AgentDefinition) {
        let find = |wanted| entries.iter().find_map(|(key, it)| (*key == wanted).then_some(it));
        let (sandbox, approval) = (find(Key::Sandbox), find(Key::Approval));
        let Some(said) = sandbox.or(approval) else { return };
        let text =
            |entry: Option<&Entry<'_>>| entry.map(|it| it.value.as_str().unwrap_or("?").to_owned());
        let (sandbox_text, approval_text) = (text(sandbox), text(approval));
        let asks = matches!(
            approval_text.as_deref(),
            None | Some("on-request" | "on-failure" | "untrusted")
        );
        to.permission_mode = match (sandbox_text.as_deref(), approval_text.as_deref()) {
            (Some("read-only"), _) => Some(PermissionMode::Plan),
            (Some("danger-full-access"), Some("never")) => Some(PermissionMode::BypassPermissions),
            (None | Some("workspace-write"), Some("never")) => Some(PermissionMode::DontAsk),
            (Some("workspace-write"), _) if asks => Some(PermissionMode::AcceptEdits),
            (None, _) if asks => Some(PermissionMode::Default),
            _ => {
                self.doubt(said, "this sandbox and approval policy have no equal here", None);
                for entry in [sandbox, approval].into_iter().flatten() {
                    entries::insert(&mut to.extra, &entry.path, entry.value.clone());
                }
                None
            }
        };
    }
}

fn all_of<T: Copy + 'static>(
    words: impl Fn(&Grammar) -> &'static [(&'static str, T)],
) -> Vec<(&'static str, T)> {
    Dialect::ALL.iter().flat_map(|it| words(it.grammar()).iter().copied()).collect()
}
