//! The hosts whose pages may be read.

use crate::tool::ToolError;

/// A list of hosts. An empty one is no restriction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sites(Vec<String>);

impl Sites {
    /// Those of these names; `*.` in front stands for all names below.
    pub fn new<S: AsRef<str>>(hosts: impl IntoIterator<Item = S>) -> Self {
        Self(hosts.into_iter().map(|it| it.as_ref().to_ascii_lowercase()).collect())
    }

    /// Those that are listed.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// An error if the host is not among them.
    pub(super) fn admit(&self, host: &str) -> Result<(), ToolError> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let fits = |pattern: &String| match pattern.strip_prefix("*.") {
            Some(above) => host.strip_suffix(above).is_some_and(|it| it.ends_with('.')),
            None => host == *pattern,
        };
        if self.0.is_empty() || self.0.iter().any(fits) {
            return Ok(());
        }
        Err(ToolError::hinted(
            format!("pages of `{host}` are not read"),
            format!("the configuration allows {}", self.0.join(", ")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_itself_and_nothing_that_looks_like_it() {
        let sites = Sites::new(["docs.rs", "*.Rust-Lang.org"]);
        for (host, fine) in [
            ("docs.rs", true),
            ("DOCS.RS.", true),
            ("a.docs.rs", false),
            ("docs.rs.evil.example", false),
            ("doc.rust-lang.org", true),
            ("a.b.rust-lang.org", true),
            ("rust-lang.org", false),
            ("evilrust-lang.org", false),
            ("", false),
        ] {
            assert_eq!(sites.admit(host).is_ok(), fine, "{host}");
        }
        assert!(Sites::default().admit("any.example").is_ok());
        assert_eq!(sites.hosts().collect::<Vec<_>>(), ["docs.rs", "*.rust-lang.org"]);
    }
}
