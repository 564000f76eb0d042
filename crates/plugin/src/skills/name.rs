//! Names of skills, which become names of directories.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::manifest::MAX_NAME;

/// Names that mean a device on Windows, where no directory can be called like that.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// The name of a skill: 1 to 64 of `a` to `z`, `0` to `9` and `-`, no hyphen at either end and no two in a row, and
/// never the name of a device. There is no way to make another one, so whatever a file says, a directory of
/// this name lies directly in the directory it is put into.
///
/// ```
/// use agents_plugin::skills::SkillName;
/// assert_eq!(SkillName::new("review-code").unwrap().as_str(), "review-code");
/// assert_eq!(SkillName::new("../../x"), None);
/// assert_eq!(SkillName::normalised("../../My Skill").unwrap().as_str(), "my-skill");
/// assert_eq!(SkillName::normalised(".."), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillName(String);

/// A text that is not the name of a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the name of a skill", .0.escape_debug())]
pub struct BadSkillName(pub String);

impl SkillName {
    /// The name, if it follows the rules as it is.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fine = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let shaped = (1..=MAX_NAME).contains(&name.len())
            && name.bytes().all(fine)
            && !name.starts_with('-')
            && !name.ends_with('-')
            && !name.contains("--")
            && !is_device(name);
        shaped.then(|| Self(name.to_owned()))
    }

    /// The nearest name that follows the rules: in lower case, blanks and underscores as hyphens, everything
    /// else that is not allowed left out. `None` if nothing remains.
    #[must_use]
    pub fn normalised(name: &str) -> Option<Self> {
        let mut kept = String::new();
        for c in name.chars().flat_map(char::to_lowercase) {
            let parts = c.is_whitespace() || matches!(c, '-' | '_');
            match c {
                'a'..='z' | '0'..='9' => kept.push(c),
                _ if parts && !kept.is_empty() && !kept.ends_with('-') => kept.push('-'),
                _ => {}
            }
            // The rest of a very long name cannot matter.
            if kept.len() == MAX_NAME {
                break;
            }
        }
        let kept = kept.trim_end_matches('-');
        Self::new(kept).or_else(|| Self::new(&format!("{kept}-skill")))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_device(name: &str) -> bool {
    let numbered = |port: &str| {
        name.strip_prefix(port)
            .is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
    };
    DEVICES.contains(&name) || numbered("com") || numbered("lpt")
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for SkillName {
    type Error = BadSkillName;

    fn try_from(name: String) -> Result<Self, BadSkillName> {
        Self::new(&name).ok_or(BadSkillName(name))
    }
}

impl From<SkillName> for String {
    fn from(name: SkillName) -> Self {
        name.0
    }
}
