//! Choosing an agent when nobody named one.
//!
//! Every contender is asked how well it fits; those that do not fit are out. The rest are ordered by priority (highest first),
//! score (highest first) and name, and of those that share a mutex key only the first stays. The ranking says why each
//! one stands where it stands.

mod description;
mod matcher;

use std::collections::BTreeMap;

use serde::Serialize;

pub use description::{Description, Descriptions};
pub use matcher::{Activation, Function, Match, Matcher};

use crate::definition::AgentDefinition;

/// What a contender without any matcher scores.
pub const ALWAYS: f64 = 0.5;

/// An agent that could be chosen.
#[derive(Debug, Clone)]
pub struct Contender<'a> {
    /// The agent.
    pub agent: &'a AgentDefinition,
    /// What decides whether it fits: the best of these. Without any it always does.
    pub matchers: Vec<Matcher>,
}

/// Who was asked, in which order they stand, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ranking {
    /// Those that fit, the best first.
    pub ranked: Vec<Ranked>,
    /// Those that do not, by name.
    pub unmatched: Vec<String>,
}

/// One that fits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Its name.
    pub name: String,
    /// Its priority.
    pub priority: u32,
    /// How well it fits, between 0 and 0.99.
    pub score: f64,
    /// Why.
    pub reason: String,
    /// Its mutex key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutex: Option<String>,
    /// Whether it stays.
    pub verdict: Verdict,
}

/// Whether a contender that fits stays in the ranking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Stays,
    /// A better one has the same mutex key.
    HeldBack {
        /// That one.
        by: String,
    },
}

impl Ranking {
    /// The one that is chosen.
    #[must_use]
    pub fn first(&self) -> Option<&Ranked> {
        self.staying().next()
    }

    /// Those that stay, the best first.
    pub fn staying(&self) -> impl Iterator<Item = &Ranked> {
        self.ranked.iter().filter(|it| it.verdict == Verdict::Stays)
    }
}

/// Ranks the contenders.
///
/// ```
/// use agents_agent::{bundled, select::{Activation, Contender, Descriptions, select}};
/// let agents = bundled::agents();
/// let descriptions = Descriptions::of(agents);
/// let contenders = agents.iter().map(|agent| Contender {
///     agent,
///     matchers: vec![descriptions.matcher(agent)],
/// });
/// let wanted = Activation { prompt: "review this change for security holes".into(), ..Activation::default() };
/// assert_eq!(select(contenders, &wanted).first().unwrap().name, "reviewer");
/// ```
pub fn select<'a>(
    contenders: impl IntoIterator<Item = Contender<'a>>,
    activation: &Activation,
) -> Ranking {
    let mut ranking = Ranking::default();
    for Contender { agent, matchers } in contenders {
        let fit = if matchers.is_empty() {
            Some(Match { score: ALWAYS, reason: "always".to_owned() })
        } else {
            let fits = matchers.iter().filter_map(|matcher| matcher.matches(activation));
            fits.reduce(|best, next| if next.is_better_than(&best) { next } else { best })
        };
        match fit {
            Some(Match { score, reason }) => ranking.ranked.push(Ranked {
                name: agent.name.to_string(),
                priority: agent.choice.priority,
                score,
                reason,
                mutex: agent.choice.mutex.as_deref().map(normalised).filter(|it| !it.is_empty()),
                verdict: Verdict::Stays,
            }),
            None => ranking.unmatched.push(agent.name.to_string()),
        }
    }
    ranking.ranked.sort_by(|one, other| {
        let by_priority = other.priority.cmp(&one.priority);
        let by_score = other.score.total_cmp(&one.score);
        by_priority.then(by_score).then_with(|| one.name.cmp(&other.name))
    });
    let mut holders: BTreeMap<String, String> = BTreeMap::new();
    for ranked in &mut ranking.ranked {
        let Some(key) = ranked.mutex.clone() else { continue };
        match holders.get(&key) {
            Some(by) => ranked.verdict = Verdict::HeldBack { by: by.clone() },
            None => drop(holders.insert(key, ranked.name.clone())),
        }
    }
    ranking.unmatched.sort();
    ranking
}

/// Case and surrounding space do not count.
fn normalised(text: &str) -> String {
    text.trim().to_lowercase()
}

#[cfg(test)]
mod tests;
