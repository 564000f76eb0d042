//! From patterns to one model, step by step.

use agents_agent::definition::{Effort, ModelPattern};
use agents_system::finding::Finding;

use super::{
    Ask, Available, Credentials, EffortFrom, How, ModelRef, Outcome, Preferences, Resolution, Said,
    Step, Unresolved,
    names::{level, level_word},
    pattern::{Field, Fit},
};

/// Roles under other names.
const SAME_ROLE: [(&str, &str); 2] = [("smol", "fast"), ("slow", "deep")];
const DEFAULT: &str = "default";
const TASK: &str = "task";
/// Nobody has so many roles and aliases inside each other on purpose.
const DEEPEST: usize = 16;

pub(super) struct Walk<'a> {
    ask: &'a Ask<'a>,
    field: Field<'a>,
    chain: Vec<Step>,
    findings: Vec<Finding>,
}

/// Where a walk has ended.
struct Found {
    model: ModelRef,
    credentials: Credentials,
    /// The level at the end of the outermost pattern, and that of one inside.
    outer: Option<Effort>,
    inner: Option<Effort>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        ask: &'a Ask<'a>,
        models: &'a [Available],
        preferences: &'a Preferences,
    ) -> Self {
        let field = Field { models, preferences };
        Self { ask, field, chain: Vec::new(), findings: Vec::new() }
    }

    pub(super) fn run(mut self) -> Result<Resolution, Unresolved> {
        let found = match self.spoken() {
            Some((said, patterns)) => self.first(said, patterns),
            None => self.inherited(0),
        };
        let Some(found) = found else { return Err(self.unresolved()) };
        let found = self.with_key(found);
        let effort = self.effort(&found);
        Ok(Resolution { model: found.model, effort, chain: self.chain, findings: self.findings })
    }

    fn unresolved(self) -> Unresolved {
        let mut providers: Vec<String> = Vec::new();
        for it in self.field.models {
            if !providers.contains(&it.model.provider) {
                providers.push(it.model.provider.clone());
            }
        }
        Unresolved { chain: self.chain, providers }
    }

    /// The patterns of whoever speaks first.
    fn spoken(&self) -> Option<(Said, &'a [String])> {
        let of_name = self.ask.name.and_then(|name| self.field.preferences.agents.get(name));
        let all = [
            (Said::Request, self.ask.request),
            (Said::Override, of_name.map(Vec::as_slice).unwrap_or_default()),
            (Said::Agent, self.ask.agent),
        ];
        all.into_iter().find(|(_, patterns)| !patterns.is_empty())
    }

    fn first(&mut self, said: Said, patterns: &[String]) -> Option<Found> {
        let alone = patterns.len() == 1;
        let mut found = None;
        for pattern in patterns {
            if found.is_some() {
                self.step(pattern, said, 0, Outcome::NotNeeded);
            } else if is_inherit(pattern) || (alone && self.means_inherit(pattern)) {
                self.step(pattern, said, 0, Outcome::Inherits);
                found = self.inherited(1);
            } else {
                found = self.look(pattern, said, 0, &mut Vec::new());
            }
        }
        found
    }

    /// `default`, its role, and the role `task` as long as nobody says what that is.
    fn means_inherit(&self, pattern: &str) -> bool {
        pattern.eq_ignore_ascii_case(DEFAULT)
            || role(pattern).is_some_and(|(name, _)| {
                name == DEFAULT
                    || (name == TASK && !self.field.preferences.roles.contains_key(TASK))
            })
    }

    /// What an agent runs on that wants nothing of its own.
    fn inherited(&mut self, depth: usize) -> Option<Found> {
        if let Some(parent) = self.ask.parent {
            if let Some(active) = parent.active {
                // It runs, whatever the list of models says.
                let model = active.clone();
                let credentials = self.credentials(&model);
                let how = How::Parent;
                let outcome = Outcome::Matches { model: model.clone(), how };
                self.step(&model.to_string(), Said::ParentActive, depth, outcome);
                return Some(Found { model, credentials, outer: None, inner: None });
            }
            for pattern in parent.configured.iter().filter(|it| !is_inherit(it)) {
                let found = self.look(pattern, Said::ParentConfigured, depth, &mut Vec::new());
                if found.is_some() {
                    return found;
                }
            }
        }
        if self.field.preferences.roles.contains_key(DEFAULT) {
            return self.look("@default", Said::DefaultRole, depth, &mut Vec::new());
        }
        let with_key = |it: &&Available| it.credentials == Credentials::Ready;
        let ready = self.field.models.iter().find(with_key);
        let first = ready.or_else(|| self.field.models.first())?;
        let (model, credentials) = (first.model.clone(), first.credentials);
        let outcome = Outcome::Matches { model: model.clone(), how: How::First };
        self.step(&model.to_string(), Said::First, depth, outcome);
        Some(Found { model, credentials, outer: None, inner: None })
    }

    fn look(
        &mut self,
        pattern: &str,
        said: Said,
        depth: usize,
        inside: &mut Vec<String>,
    ) -> Option<Found> {
        let pattern = pattern.trim();
        let Some((name, suffix, expansion)) = self.expansion(pattern, inside) else {
            let fit = self.field.fit(pattern);
            return self.settle(pattern, said, depth, fit);
        };
        if inside.contains(&name) || depth >= DEEPEST {
            self.step(pattern, said, depth, Outcome::Cycle);
            return None;
        }
        let Some(expansion) = expansion.filter(|it| !it.is_empty()) else {
            self.step(pattern, said, depth, Outcome::EmptyRole);
            return None;
        };
        self.step(pattern, said, depth, Outcome::Expands(expansion.clone()));
        inside.push(name);
        let mut found = None;
        for inner in &expansion {
            if found.is_some() {
                self.step(inner, said, depth + 1, Outcome::NotNeeded);
            } else {
                found = self.look(inner, said, depth + 1, inside);
            }
        }
        inside.pop();
        let found = found?;
        let inner = found.outer.or(found.inner);
        Some(Found { outer: suffix, inner, ..found })
    }

    /// What a role or an alias stands for, and the level behind it. Inside of itself an alias is an ordinary pattern.
    fn expansion(
        &self,
        pattern: &str,
        inside: &[String],
    ) -> Option<(String, Option<Effort>, Option<Vec<String>>)> {
        let preferences = self.field.preferences;
        if let Some((name, suffix)) = role(pattern) {
            let said = preferences.roles.get(&name);
            let patterns = said.or_else(|| preferences.built_in_roles.get(&name)).cloned();
            return Some((format!("@{name}"), suffix, patterns));
        }
        let (name, suffix) = split_level(pattern);
        let key = name.to_ascii_lowercase();
        let patterns = preferences.aliases.get(&key)?;
        if inside.contains(&key) {
            return None;
        }
        Some((key, suffix, Some(patterns.clone())))
    }

    fn settle(
        &mut self,
        pattern: &str,
        said: Said,
        depth: usize,
        fit: Option<Fit<'_>>,
    ) -> Option<Found> {
        let Some(fit) = fit else {
            self.step(pattern, said, depth, Outcome::NoMatch);
            return None;
        };
        let model = fit.model.model.clone();
        self.step(pattern, said, depth, Outcome::Matches { model: model.clone(), how: fit.how });
        if fit.odd_suffix {
            let suffix = pattern.rsplit_once(':').map_or("", |(_, suffix)| suffix);
            self.findings.push(
                Finding::warning(format!("`{suffix}` in the model `{pattern}` is no level of effort and counts for nothing"))
                    .hint("levels: `off`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`"),
            );
        }
        let credentials = fit.model.credentials;
        Some(Found { model, credentials, outer: fit.effort, inner: None })
    }

    /// A model without a key gives way to the parent's, which has one. If that has none either, the error about the first
    /// one is the one to show.
    fn with_key(&mut self, found: Found) -> Found {
        if found.credentials == Credentials::Ready {
            return found;
        }
        let parent = self.ask.parent.and_then(|parent| parent.active).cloned();
        let Some(parent) = parent.filter(|it| *it != found.model) else { return found };
        if self.credentials(&parent) != Credentials::Ready {
            return found;
        }
        let at =
            self.chain.iter().rposition(|step| matches!(step.outcome, Outcome::Matches { .. }));
        if let Some(step) = at.and_then(|at| self.chain.get_mut(at)) {
            step.outcome = Outcome::NoKey { model: found.model.clone() };
        }
        let outcome = Outcome::Matches { model: parent.clone(), how: How::Parent };
        self.step(&parent.to_string(), Said::ParentActive, 0, outcome);
        self.findings.push(Finding::warning(format!(
            "there is no key for `{}`, so the parent's model `{parent}` is used",
            found.model
        )));
        Found { model: parent, credentials: Credentials::Ready, ..found }
    }

    fn credentials(&self, model: &ModelRef) -> Credentials {
        let known = self.field.models.iter().find(|it| it.model == *model);
        // A parent that runs on a model has what it takes.
        known.map_or(Credentials::Ready, |it| it.credentials)
    }

    fn effort(&mut self, found: &Found) -> Option<(Effort, EffortFrom)> {
        let all = [
            (self.ask.request_effort, EffortFrom::Request),
            (found.outer, EffortFrom::Pattern),
            (self.ask.agent_effort, EffortFrom::Agent),
            (found.inner, EffortFrom::Expansion),
        ];
        let (effort, from) = all.into_iter().find_map(|(effort, from)| Some((effort?, from)))?;
        match self.field.preferences.max_effort {
            Some(most) if effort > most => {
                self.findings.push(Finding::new(
                    agents_system::finding::Severity::Note,
                    format!(
                        "effort `{}` is more than `max-effort` allows: `{}`",
                        level_word(effort),
                        level_word(most)
                    ),
                ));
                Some((most, from))
            }
            _ => Some((effort, from)),
        }
    }

    fn step(&mut self, pattern: &str, said: Said, depth: usize, outcome: Outcome) {
        self.chain.push(Step { pattern: pattern.trim().to_owned(), said, depth, outcome });
    }
}

fn is_inherit(pattern: &str) -> bool {
    ModelPattern(pattern.trim().to_owned()).is_inherit()
}

/// The name of a role, `@name` or `pi/name`, and the level behind it.
fn role(pattern: &str) -> Option<(String, Option<Effort>)> {
    let pattern = pattern.trim();
    let name = pattern.strip_prefix('@').or_else(|| pattern.strip_prefix("pi/"))?;
    let (name, suffix) = split_level(name);
    let name = name.to_ascii_lowercase();
    let same = SAME_ROLE.into_iter().find(|(other, _)| *other == name);
    Some((same.map_or(name, |(_, ours)| ours.to_owned()), suffix))
}

fn split_level(pattern: &str) -> (&str, Option<Effort>) {
    let split = pattern.rsplit_once(':');
    match split.and_then(|(name, word)| Some((name, level(word)?))) {
        Some((name, level)) => (name, Some(level)),
        None => (pattern, None),
    }
}
