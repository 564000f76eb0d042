//! Patterns of paths in the parentheses of `read(src/**)`.

use camino::Utf8Path;
use globset::{GlobBuilder, GlobMatcher};

/// A pattern of paths below a root. `*` does not cross a `/`, `**` does.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern(Vec<GlobMatcher>);

impl PathPattern {
    /// As an allowance: from the root, and no more than it says. `None` for what says nothing about paths below a root.
    pub(crate) fn allowing(text: &str) -> Option<Self> {
        let text = normalized(text)?;
        let text = if text.ends_with('/') { format!("{text}**") } else { text };
        Some(Self(vec![matcher(&text, Case::Counts)?]))
    }

    /// As a denial: at any depth if it is only a name, with everything below, in any case of the letters.
    pub(crate) fn denying(text: &str) -> Option<Self> {
        let text = normalized(text)?;
        let text = text.trim_end_matches('/');
        let text = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
        let own = matcher(&text, Case::Ignored)?;
        Some(Self(vec![own, matcher(&format!("{text}/**"), Case::Ignored)?]))
    }

    pub(crate) fn matches(&self, path: &Utf8Path) -> bool {
        self.0.iter().any(|it| it.is_match(path))
    }
}

fn normalized(text: &str) -> Option<String> {
    let text = text.trim();
    if text.starts_with("//") || text.starts_with('~') {
        return None;
    }
    let text = text.strip_prefix("./").or_else(|| text.strip_prefix('/')).unwrap_or(text);
    let fine = !text.is_empty() && text.split('/').all(|step| step != "..");
    fine.then(|| text.to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Counts,
    Ignored,
}

fn matcher(text: &str, case: Case) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .case_insensitive(case == Case::Ignored)
        .backslash_escape(true)
        .build();
    glob.ok().map(|it| it.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_narrow_and_a_denial_is_wide() {
        for (text, path, allows, denies) in [
            ("src/**", "src/a/b.rs", true, true),
            ("src/**", "tests/a.rs", false, false),
            ("./src/*.rs", "src/a.rs", true, true),
            ("src/*.rs", "src/deep/a.rs", false, false),
            ("*.env", "a.env", true, true),
            ("*.env", "deep/a.env", false, true),
            ("secrets/", "secrets/key", true, true),
            ("secrets", "secrets/key", false, true),
            ("SECRETS", "secrets", false, true),
            ("/docs/*", "docs/a", true, true),
        ] {
            let path = Utf8Path::new(path);
            assert_eq!(PathPattern::allowing(text).unwrap().matches(path), allows, "{text} {path}");
            assert_eq!(PathPattern::denying(text).unwrap().matches(path), denies, "{text} {path}");
        }
        for text in ["../x", "~/x", "//etc/**", "", "a[", "src/../../x"] {
            assert!(PathPattern::allowing(text).is_none(), "{text}");
        }
    }
}
