//! The skills that an agent has: which of those that there are, what it is told of them, and the tool that loads one.
//!
//! A definition names them with `skills.include` and `skills.exclude`: names, or patterns in which `*` stands for anything. Without `include` it has
//! all of them. What it is told at the beginning is only what each is for; the text comes when the agent asks for it.

use std::{fmt::Write as _, sync::Arc};

use agents_agent::definition::SkillFilter;
use agents_tool::{CallContext, Effects, Intent, Output, ToolError, Typed};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::runner::Unavailable;

/// The tool that loads one.
pub const SKILL: &str = "skill";
/// How many an agent is told of.
pub const MAX_LISTED: usize = 100;
/// How much of what each is for.
const MAX_DESCRIPTION: usize = 300;
/// The longest text of one; everything that a model reads is bounded.
pub const MAX_TEXT: usize = 200_000;

/// A skill, as whoever may use it hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
}

/// A skill in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Its text.
    pub text: String,
    /// The directory of its files.
    pub dir: String,
    /// Those besides the text, from there.
    pub files: Vec<String>,
}

/// Where skills are.
pub trait Shelf: Send + Sync {
    /// Loads one of those that were there.
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Loaded, Unavailable>>;
}

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no pattern for names of skills: `*` stands for anything, and `**` for nothing more"
)]
pub struct BadPattern(pub String);

/// Of those that there are, what `include` matches (all, if it is empty) and `exclude` does not.
///
/// # Errors
/// A pattern is none.
pub fn chosen<'c>(all: &'c [Card], filter: &SkillFilter) -> Result<Vec<&'c Card>, BadPattern> {
    let bad = filter.include.iter().chain(&filter.exclude).find(|it| it.contains("**"));
    if let Some(bad) = bad {
        return Err(BadPattern(bad.clone()));
    }
    let any = |patterns: &[String], name: &str| patterns.iter().any(|it| matches(it.trim(), name));
    let included = |name: &str| filter.include.is_empty() || any(&filter.include, name);
    Ok(all.iter().filter(|it| included(&it.name) && !any(&filter.exclude, &it.name)).collect())
}

/// Whether a name is what a pattern says: `*` stands for anything, as often as it is there.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// What an agent is told of its skills; nothing if it has none.
#[must_use]
pub fn brief(cards: &[Card]) -> Option<String> {
    if cards.is_empty() {
        return None;
    }
    let mut text = format!(
        "# Skills\nInstructions for particular kinds of work. If one fits what you do, load it with `{SKILL}` before you begin:"
    );
    for Card { name, description } in cards.iter().take(MAX_LISTED) {
        let one_line: String = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = one_line.floor_char_boundary(MAX_DESCRIPTION);
        let _ = write!(text, "\n- {name}: {}", &one_line[..end]);
    }
    if cards.len() > MAX_LISTED {
        let _ = write!(text, "\n- and {} more, which are not listed", cards.len() - MAX_LISTED);
    }
    Some(text)
}

/// Loads skills of an agent, and no others.
#[derive(Clone)]
pub struct LoadSkill {
    names: Arc<[String]>,
    shelf: Arc<dyn Shelf>,
}

impl LoadSkill {
    /// For an agent that has these.
    #[must_use]
    pub fn new(cards: &[Card], shelf: Arc<dyn Shelf>) -> Self {
        Self { names: cards.iter().map(|it| it.name.clone()).collect(), shelf }
    }
}

/// Which skill.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillInput {
    /// Its name.
    pub name: String,
}

impl Typed for LoadSkill {
    type Input = SkillInput;

    const NAME: &'static str = SKILL;
    const DESCRIPTION: &'static str = "Loads one of your skills: instructions for a particular kind of work. Do what it says where it fits your task.";

    fn intent(&self, input: &SkillInput, _: &CallContext) -> Result<Intent, ToolError> {
        if self.names.contains(&input.name) {
            return Ok(Intent::plain(Effects::READS));
        }
        let names: Vec<String> =
            self.names.iter().take(MAX_LISTED).map(|it| format!("`{it}`")).collect();
        let told = format!("you have no skill `{}`; you have {}", input.name, names.join(", "));
        Err(ToolError::failed(told))
    }

    async fn run(&self, input: SkillInput, context: &CallContext) -> Result<Output, ToolError> {
        let loaded = context.bounded(self.shelf.load(&input.name)).await?;
        let Loaded { text, dir, files } = loaded.map_err(|it| ToolError::failed(it.message))?;
        let mut said = format!("# Skill `{}`\n", input.name);
        said.push_str(&text[..text.floor_char_boundary(MAX_TEXT)]);
        if !files.is_empty() {
            let _ =
                write!(said, "\n\nFiles that it speaks of are in `{dir}`: {}", files.join(", "));
        }
        // Instructions that the user agreed to: not data.
        Ok(Output::said(said))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agents_tool::{Area, Tool as _, artifacts::ArtifactDir};
    use camino::Utf8Path;
    use serde_json::json;

    use super::*;

    fn cards(names: &[&str]) -> Vec<Card> {
        let card = |it: &&str| Card { name: (*it).to_owned(), description: format!("for {it}") };
        names.iter().map(card).collect()
    }

    fn names(include: &[&str], exclude: &[&str]) -> Vec<String> {
        let all = cards(&["ci-fast", "ci-slow", "docs", "serde-json", "serde-json-de"]);
        let own = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
        let filter = SkillFilter { include: own(include), exclude: own(exclude) };
        chosen(&all, &filter).unwrap().into_iter().map(|it| it.name.clone()).collect()
    }

    #[test]
    fn patterns_choose_and_exclusion_counts_more() {
        assert_eq!(names(&[], &[]).len(), 5);
        assert_eq!(names(&["*"], &["*"]).len(), 0);
        assert_eq!(names(&["docs"], &[]), ["docs"]);
        assert_eq!(names(&["doc"], &[]), Vec::<String>::new());
        assert_eq!(names(&["ci-*"], &["*-slow"]), ["ci-fast"]);
        assert_eq!(names(&["s*-*n"], &[]), ["serde-json"]);
        assert_eq!(names(&["*-*-*"], &[]), ["serde-json-de"]);
        assert_eq!(names(&["ci-fast*fast"], &[]), Vec::<String>::new(), "nothing is counted twice");
        let filter = SkillFilter { include: vec!["a**".to_owned()], exclude: Vec::new() };
        assert_eq!(chosen(&[], &filter), Err(BadPattern("a**".to_owned())));
        assert!(chosen(&[], &SkillFilter::default()).unwrap().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_pattern_nothing_breaks_and_a_star_is_everything(pattern in "[a-c*]{0,8}", name in "[a-c]{0,8}") {
            let _ = matches(&pattern, &name);
            proptest::prop_assert!(matches("*", &name) && matches(&name, &name));
            let mut once = pattern.clone();
            while once.contains("**") {
                once = once.replace("**", "*");
            }
            let expected = globset::Glob::new(&once).unwrap().compile_matcher().is_match(&name);
            proptest::prop_assert_eq!(matches(&pattern, &name), expected);
        }
    }

    #[test]
    fn what_is_told_is_short_and_on_one_line_each() {
        assert_eq!(brief(&[]), None);
        let mut many = cards(&["a"]);
        many[0].description = format!("for\nlines {}", "ä".repeat(500));
        many.extend(
            (0..MAX_LISTED).map(|n| Card { name: format!("s{n}"), description: String::new() }),
        );
        let told = brief(&many).unwrap();
        assert_eq!(told.lines().count(), 2 + MAX_LISTED + 1);
        assert!(
            told.contains("\n- a: for lines ä")
                && told.ends_with("- and 1 more, which are not listed")
        );
    }

    struct One;

    impl Shelf for One {
        fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Loaded, Unavailable>> {
            let (text, files) = (format!("Do {name}."), vec!["more.md".to_owned()]);
            Box::pin(std::future::ready(Ok(Loaded { text, dir: "/skills/a".to_owned(), files })))
        }
    }

    #[test]
    fn an_agent_loads_its_own_skills_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let artifacts = Arc::new(ArtifactDir::new(&dir.join("artifacts")));
        let context =
            CallContext::new(Area::workspace(dir).unwrap(), artifacts, Duration::from_secs(60));
        let tool = LoadSkill::new(&cards(&["a"]), Arc::new(One));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let call = |name: &str| {
            let input = json!({ "name": name });
            agents_tool::Tool::intent(&tool, &input, &context)?;
            runtime.block_on(tool.call(input, &context))
        };
        let done = call("a").unwrap().text;
        assert_eq!(
            done,
            "# Skill `a`\nDo a.\n\nFiles that it speaks of are in `/skills/a`: more.md"
        );
        let told = call("b").unwrap_err().to_string();
        assert_eq!(told, "you have no skill `b`; you have `a`");
    }
}
