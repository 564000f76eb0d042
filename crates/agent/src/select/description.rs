//! How close a prompt is to the description of an agent: Okapi BM25 over the descriptions of all agents.

use std::{collections::BTreeMap, sync::Arc};

use super::matcher::Match;
use crate::definition::AgentDefinition;

/// How fast the same word again stops counting.
const K1: f64 = 1.2;
/// How much long descriptions are held back.
const B: f64 = 0.75;
/// The raw score that is half of everything.
const HALF: f64 = 3.0;

/// The descriptions of all agents: how rare a word is depends on all of them.
#[derive(Debug, Clone)]
pub struct Descriptions {
    corpus: Arc<Corpus>,
}

#[derive(Debug)]
struct Corpus {
    documents: BTreeMap<String, Document>,
    /// In how many of them a word occurs.
    containing: BTreeMap<String, usize>,
    mean_length: f64,
}

#[derive(Debug)]
struct Document {
    counts: BTreeMap<String, usize>,
    length: usize,
}

/// One agent's description among all.
#[derive(Debug, Clone)]
pub struct Description {
    name: String,
    corpus: Arc<Corpus>,
}

impl Descriptions {
    /// Those of these agents; names count as words too.
    #[must_use]
    pub fn of<'a>(agents: impl IntoIterator<Item = &'a AgentDefinition>) -> Self {
        let mut documents = BTreeMap::new();
        for agent in agents {
            let mut counts = BTreeMap::new();
            let words = words(&format!("{} {}", agent.name, agent.description));
            let length = words.len();
            for word in words {
                *counts.entry(word).or_insert(0) += 1;
            }
            documents.insert(agent.name.to_string(), Document { counts, length });
        }
        let mut containing = BTreeMap::new();
        for word in documents.values().flat_map(|it: &Document| it.counts.keys()) {
            *containing.entry(word.clone()).or_insert(0) += 1;
        }
        let total: usize = documents.values().map(|it| it.length).sum();
        let mean_length = number(total) / number(documents.len().max(1));
        Self { corpus: Arc::new(Corpus { documents, containing, mean_length }) }
    }

    /// The matcher of one of them.
    #[must_use]
    pub fn matcher(&self, agent: &AgentDefinition) -> super::Matcher {
        let name = agent.name.to_string();
        super::Matcher::Description(Description { name, corpus: Arc::clone(&self.corpus) })
    }
}

impl Description {
    /// Above the score of an agent that always fits, below that of one whose keywords were hit.
    pub(super) fn matches(&self, prompt: &str) -> Option<Match> {
        let mut wanted = words(prompt);
        wanted.sort();
        wanted.dedup();
        let document = self.corpus.documents.get(&self.name)?;
        let mut hits: Vec<(f64, &str)> = Vec::new();
        for word in &wanted {
            let Some(count) = document.counts.get(word) else { continue };
            hits.push((self.corpus.weight(word, *count, document.length), word));
        }
        let raw: f64 = hits.iter().map(|(weight, _)| weight).sum();
        if raw <= 0.0 {
            return None;
        }
        hits.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
        let best: Vec<&str> = hits.iter().take(3).map(|(_, word)| *word).collect();
        let score = 0.5 + 0.2 * raw / (raw + HALF);
        Some(Match::new(score, format!("description: {}", best.join(", "))))
    }
}

impl Corpus {
    fn weight(&self, word: &str, count: usize, length: usize) -> f64 {
        let containing = number(self.containing.get(word).copied().unwrap_or(0));
        let all = number(self.documents.len());
        let rarity = ln(1.0 + (all - containing + 0.5) / (containing + 0.5));
        let count = number(count);
        let long = 1.0 - B + B * number(length) / self.mean_length.max(1.0);
        rarity * count * (K1 + 1.0) / (count + K1 * long)
    }
}

/// Words that say nothing about what an agent is for.
const EMPTY: &[&str] = &[
    "about", "all", "an", "and", "any", "are", "as", "at", "be", "before", "but", "by", "can",
    "do", "does", "for", "from", "has", "have", "how", "if", "in", "is", "it", "its", "me", "my",
    "no", "not", "of", "on", "or", "please", "so", "than", "that", "the", "them", "then", "there",
    "this", "to", "us", "use", "we", "what", "when", "where", "which", "who", "with", "you",
    "your",
];

/// Lower case, without a plural `s`.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|it| it.chars().count() > 1);
    let telling = words.filter(|it| EMPTY.binary_search(it).is_err());
    let stem = |word: &str| match word.strip_suffix('s') {
        Some(stem) if word.len() > 3 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    };
    telling.map(stem).collect()
}

#[expect(clippy::cast_precision_loss, reason = "descriptions are short")]
fn number(count: usize) -> f64 {
    count as f64
}

/// The natural logarithm of a number that is not less than one.
///
/// The one of the standard library is in a shared library of its own on Linux (`libm`). It would be the only thing there that the
/// program needs, and loaded at every start, which hosts wait for.
fn ln(number: f64) -> f64 {
    let (mut rest, mut halvings) = (number, 0.0);
    while rest > std::f64::consts::SQRT_2 {
        (rest, halvings) = (rest / 2.0, halvings + 1.0);
    }
    // The series of artanh: what is left is at most 0.172, so that its 23rd power is nothing.
    let ratio = (rest - 1.0) / (rest + 1.0);
    let square = ratio * ratio;
    let series = (0..12).rev().fold(0.0, |sum, at| sum * square + 1.0 / f64::from(2 * at + 1));
    halvings * std::f64::consts::LN_2 + 2.0 * ratio * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_that_of_the_standard_library() {
        for number in [1.0, 1.000_001, 1.2, 1.414, 1.415, 2.0, 3.0, 7.5, 1e3, 123_456.7, 1e12] {
            let own = ln(number);
            assert!((own - f64::ln(number)).abs() <= 1e-14 * own.max(1.0), "{number}: {own}");
        }
    }
}
