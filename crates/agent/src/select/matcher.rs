//! What decides whether an agent fits.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{description::Description, normalised};

/// What is known when an agent is to be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activation {
    /// What is to be done.
    pub prompt: String,
    /// Facts with values: `lang` is `rust`.
    pub tags: BTreeMap<String, String>,
    /// Facts without.
    pub traits: Vec<String>,
    /// The files that it is about.
    pub paths: Vec<String>,
}

/// How well an agent fits, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Between 0 and [`Match::MAX`].
    pub score: f64,
    /// Why.
    pub reason: String,
}

/// Asks a program that embeds us.
pub type Function = Arc<dyn Fn(&Activation) -> Option<Match> + Send + Sync>;

/// One condition. Case never counts.
#[derive(Clone)]
pub enum Matcher {
    /// Words anywhere in the prompt, inside other words too.
    Keyword {
        /// All of these.
        all: Vec<String>,
        /// And one of these, if there are any.
        any: Vec<String>,
    },
    /// Tags; an empty value stands for any.
    Tag {
        /// All of these.
        require: BTreeMap<String, String>,
        /// None of these.
        exclude: BTreeMap<String, String>,
    },
    /// At least one of these traits.
    Trait(Vec<String>),
    /// At least one path fits one of these patterns: `**` spans directories, `*` and `?` do not.
    Path(Vec<String>),
    /// Whatever the program that embeds us says.
    Function(Function),
    /// How close the prompt is to the agent's description (BM25).
    Description(Description),
}

const BASE: f64 = 0.55;

impl Match {
    /// Nothing fits better.
    pub const MAX: f64 = 0.99;

    /// With a score inside the limits.
    #[must_use]
    pub fn new(score: f64, reason: impl Into<String>) -> Self {
        let score = if score.is_nan() { 0.0 } else { score.clamp(0.0, Self::MAX) };
        Self { score, reason: reason.into() }
    }

    /// A higher score; with the same score a reason beats none, and of two reasons the one that sorts first does.
    #[must_use]
    pub fn is_better_than(&self, other: &Self) -> bool {
        match self.score.total_cmp(&other.score) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => {
                let rank = |it: &Self| (it.reason.is_empty(), it.reason.clone());
                rank(self) < rank(other)
            }
        }
    }
}

impl Matcher {
    /// How well this activation fits; `None` if it does not.
    #[must_use]
    pub fn matches(&self, activation: &Activation) -> Option<Match> {
        match self {
            Self::Keyword { all, any } => keywords(all, any, &activation.prompt),
            Self::Tag { require, exclude } => tags(require, exclude, &activation.tags),
            Self::Trait(wanted) => traits(wanted, &activation.traits),
            Self::Path(patterns) => paths(patterns, &activation.paths),
            Self::Function(function) => {
                function(activation).map(|it| Match::new(it.score, it.reason))
            }
            Self::Description(description) => description.matches(&activation.prompt),
        }
    }
}

/// Normalised, without blanks and doubles, sorted.
fn tokens(words: &[String]) -> Vec<String> {
    let mut tokens: Vec<String> = words.iter().map(|it| normalised(it)).collect();
    tokens.retain(|it| !it.is_empty());
    tokens.sort();
    tokens.dedup();
    tokens
}

fn keywords(all: &[String], any: &[String], prompt: &str) -> Option<Match> {
    let (all, any, prompt) = (tokens(all), tokens(any), normalised(prompt));
    if prompt.is_empty() || all.is_empty() && any.is_empty() {
        return None;
    }
    if !all.iter().all(|word| prompt.contains(word.as_str())) {
        return None;
    }
    let hit = any.iter().find(|word| prompt.contains(word.as_str()));
    if hit.is_none() && !any.is_empty() {
        return None;
    }
    let score = BASE + if all.is_empty() { 0.0 } else { 0.20 } + hit.map_or(0.0, |_| 0.15);
    let mut reason = format!("keywords: all {}", all.len());
    if let Some(hit) = hit {
        reason += &format!(", any `{hit}`");
    }
    Some(Match::new(score, reason))
}

fn tags(
    require: &BTreeMap<String, String>,
    exclude: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
) -> Option<Match> {
    let normal = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        map.iter().map(|(key, value)| (normalised(key), normalised(value))).collect()
    };
    let (require, exclude, given) = (normal(require), normal(exclude), normal(given));
    if require.is_empty() && exclude.is_empty() {
        return None;
    }
    let has = |(key, value): (&String, &String)| {
        given.get(key).is_some_and(|it| value.is_empty() || it == value)
    };
    if exclude.iter().any(has) || !require.iter().all(has) {
        return None;
    }
    // All of those that are required are there, or none is.
    let score = if require.is_empty() { BASE } else { BASE + 0.35 };
    let reason = format!("tags: {} required, {} excluded", require.len(), exclude.len());
    Some(Match::new(score, reason))
}

fn traits(wanted: &[String], given: &[String]) -> Option<Match> {
    let (wanted, given) = (tokens(wanted), tokens(given));
    let hits = wanted.iter().filter(|it| given.contains(it)).count();
    if hits == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "nobody has so many traits")]
    let share = hits as f64 / wanted.len() as f64;
    Some(Match::new(BASE + 0.40 * share, format!("traits: {hits} of {}", wanted.len())))
}

fn paths(patterns: &[String], given: &[String]) -> Option<Match> {
    let options = glob::MatchOptions {
        case_sensitive: false,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    let given: Vec<String> = given.iter().map(|it| plain_path(it)).collect();
    patterns.iter().map(|it| plain_path(it)).find_map(|text| {
        let pattern = glob::Pattern::new(&text).ok()?;
        let fits = given.iter().any(|path| pattern.matches_with(path, options));
        fits.then(|| Match::new(0.75, format!("path: `{text}`")))
    })
}

/// With slashes, without `./` and `/` at the beginning.
fn plain_path(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    path.strip_prefix('/').unwrap_or(path).to_owned()
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyword { all, any } => write!(f, "Keyword(all {all:?}, any {any:?})"),
            Self::Tag { require, exclude } => write!(f, "Tag({require:?}, not {exclude:?})"),
            Self::Trait(traits) => write!(f, "Trait({traits:?})"),
            Self::Path(patterns) => write!(f, "Path({patterns:?})"),
            Self::Function(_) => f.write_str("Function"),
            Self::Description(description) => description.fmt(f),
        }
    }
}
