//! From text to predicates.
//!
//! ```text
//! predicate   = name "(" argument ")"
//! atom        = "*" | crate-name [ requirement ]
//! requirement = ( ">" | "<" | "=" | "^" | "~" ) …       "=1.2" means "^1.2", "==1.2.3" means exactly
//! list        = predicates or atoms separated by commas that stand outside parentheses
//! ```

use std::str::FromStr;

use agents_system::nearest::{nearest, quoted_list};
use agents_workspace::CrateName;
use semver::VersionReq;

use super::{Atom, BUILT_IN, Predicate, PredicateName, Requirement};

/// Deeper than anybody writes by hand, and shallow enough for any stack.
const MAX_DEPTH: usize = 32;

/// Why a text is not a predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredicateError {
    /// No function call.
    #[error("`{0}` is not a predicate: expected `name(argument)`")]
    NotACall(String),
    /// A function call among the atoms.
    #[error("`{0}` is a predicate, not a crate")]
    CallAmongAtoms(String),
    /// An empty name or one with other characters.
    #[error("`{0}` is not a crate name: only letters, digits, `-` and `_`")]
    BadCrateName(String),
    /// The version requirement does not parse.
    #[error("`{requirement}` is not a version requirement: {reason}")]
    BadRequirement {
        /// The text.
        requirement: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Text after a complete atom.
    #[error("`{rest}` after `{name}` is not a version requirement")]
    TrailingText {
        /// The crate.
        name: String,
        /// What follows it.
        rest: String,
    },
    /// `not()`, `any()` or `all()` with the wrong number of predicates inside.
    #[error("`{name}(...)` needs {needs}")]
    WrongCount {
        /// Which.
        name: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// `env()` without a name.
    #[error("`env(...)` needs the name of a variable")]
    EnvWithoutName,
    /// `depends-on()`, `shell()` or `path_exists()` without anything.
    #[error("`{0}(...)` needs an argument")]
    NeedsArgument(&'static str),
    /// `workspace-member(x)`.
    #[error("`workspace-member()` takes no argument")]
    TakesNoArgument,
    /// A name that no plugin could define.
    #[error("`{0}` is not the name of a predicate")]
    BadName(String),
    /// Parentheses that do not match.
    #[error("the parentheses in `{0}` do not match")]
    Unbalanced(String),
    /// Nested without end.
    #[error("predicates are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

impl PredicateError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotACall(text) => Some(format!(
                "write `depends-on({text})`, or move it to `crates` (or `depends-on`)"
            )),
            Self::CallAmongAtoms(_) => Some("move it to `predicates`".to_owned()),
            Self::TrailingText { rest, .. } if rest.starts_with(',') => {
                Some("write each crate as a string of its own: `[\"a\", \"b\"]`".to_owned())
            }
            Self::BadRequirement { .. } | Self::TrailingText { .. } => {
                Some("write for example `serde>=1.0` or `serde>=1.0,<2`".to_owned())
            }
            Self::BadName(name) => {
                let near = nearest(name, BUILT_IN.iter().copied());
                (!near.is_empty()).then(|| format!("did you mean {}?", quoted_list(&near, "or")))
            }
            _ => None,
        }
    }
}

impl FromStr for Atom {
    type Err = PredicateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Everywhere);
        }
        if text.contains('(') {
            return Err(PredicateError::CallAmongAtoms(text.to_owned()));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let rest = rest.trim();
        if name.is_empty() {
            return Err(PredicateError::BadCrateName(text.to_owned()));
        }
        if rest.is_empty() {
            return Ok(Self::Crate { name: CrateName::new(name), requirement: None });
        }
        if !rest.starts_with(COMPARATORS) {
            return Err(match text.contains(char::is_whitespace) {
                true => {
                    PredicateError::TrailingText { name: name.to_owned(), rest: rest.to_owned() }
                }
                false => PredicateError::BadCrateName(text.to_owned()),
            });
        }
        let requirement = Some(rest.parse()?);
        Ok(Self::Crate { name: CrateName::new(name), requirement })
    }
}

const COMPARATORS: [char; 5] = ['>', '<', '=', '^', '~'];

impl FromStr for Requirement {
    type Err = PredicateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let normalised = match text.strip_prefix("==") {
            Some(exact) => format!("={exact}"),
            None => match text.strip_prefix('=') {
                Some(caret) => format!("^{caret}"),
                None => text.to_owned(),
            },
        };
        VersionReq::parse(&normalised).map(Self).map_err(|error| PredicateError::BadRequirement {
            requirement: text.to_owned(),
            reason: error.to_string(),
        })
    }
}

impl FromStr for Predicate {
    type Err = PredicateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_predicate(text, MAX_DEPTH)
    }
}

/// The atoms of a comma list, as `SKILL.md` writes them.
pub fn parse_atoms(text: &str) -> Result<Vec<Atom>, PredicateError> {
    split(text)?.into_iter().map(str::parse).collect()
}

/// The predicates of a comma list, as `SKILL.md` writes them.
pub fn parse_predicates(text: &str) -> Result<Vec<Predicate>, PredicateError> {
    parse_list(text, MAX_DEPTH)
}

fn parse_list(text: &str, depth: usize) -> Result<Vec<Predicate>, PredicateError> {
    split(text)?.into_iter().map(|item| parse_predicate(item, depth)).collect()
}

fn parse_predicate(text: &str, depth: usize) -> Result<Predicate, PredicateError> {
    let depth = depth.checked_sub(1).ok_or(PredicateError::TooDeep)?;
    let text = text.trim();
    let call = text.split_once('(').and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
    let Some((name, argument)) = call else {
        return Err(match text.contains(['(', ')']) {
            true => PredicateError::Unbalanced(text.to_owned()),
            false => PredicateError::NotACall(text.to_owned()),
        });
    };
    let (name, argument) = (name.trim(), argument.trim());
    let required = |function: &'static str| match argument {
        "" => Err(PredicateError::NeedsArgument(function)),
        given => Ok(given.to_owned()),
    };
    let several = |function: &'static str| match parse_list(argument, depth)? {
        none if none.is_empty() => {
            Err(PredicateError::WrongCount { name: function, needs: "at least one predicate" })
        }
        list => Ok(list),
    };
    match name {
        "crate" | "depends-on" | "depends_on" => {
            Ok(Predicate::DependsOn(required("depends-on")?.parse()?))
        }
        "shell" => required("shell").map(Predicate::Shell),
        "path_exists" => required("path_exists").map(Predicate::PathExists),
        "env" => parse_env(argument),
        "workspace-member" | "workspace_member" if argument.is_empty() => {
            Ok(Predicate::WorkspaceMember)
        }
        "workspace-member" | "workspace_member" => Err(PredicateError::TakesNoArgument),
        "not" => match <[Predicate; 1]>::try_from(parse_list(argument, depth)?) {
            Ok([inner]) => Ok(Predicate::Not(Box::new(inner))),
            Err(_) => {
                Err(PredicateError::WrongCount { name: "not", needs: "exactly one predicate" })
            }
        },
        "any" => several("any").map(Predicate::Any),
        "all" => several("all").map(Predicate::All),
        other => match PredicateName::new(other) {
            Some(name) => Ok(Predicate::Custom { name, argument: argument.to_owned() }),
            None => Err(PredicateError::BadName(other.to_owned())),
        },
    }
}

fn parse_env(argument: &str) -> Result<Predicate, PredicateError> {
    let (name, value) = match argument.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (argument, None),
    };
    match name.trim() {
        "" => Err(PredicateError::EnvWithoutName),
        name => Ok(Predicate::Env { name: name.to_owned(), value }),
    }
}

/// The items between commas that stand outside parentheses, trimmed, without empty ones. A comma
/// before a comparator belongs to a version requirement (`serde>=1, <2`).
fn split(text: &str) -> Result<Vec<&str>, PredicateError> {
    let unbalanced = || PredicateError::Unbalanced(text.trim().to_owned());
    let mut items = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(unbalanced)?,
            ',' if depth == 0 && !text[at + 1..].trim_start().starts_with(COMPARATORS) => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err(unbalanced());
    }
    items.push(&text[start..]);
    Ok(items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect())
}
