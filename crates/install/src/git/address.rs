//! Where a git repository is, and which part of it is meant.

use std::fmt;

use agents_system::explain::{Code, ErrorKind, Explain};

/// A git repository, and the branch, tag or commit and the directory in it that are meant.
///
/// Everything that git takes is an address, and so is what a browser shows for a directory of a repository:
///
/// ```
/// use agents_install::git::GitAddress;
/// let address = GitAddress::parse("https://github.com/o/r/tree/main/tools")?;
/// assert_eq!(address.url(), "https://github.com/o/r");
/// assert_eq!(address.tree(), Some("main/tools"));
/// assert_eq!(GitAddress::parse("git@host:o/r.git")?.tree(), None);
/// # Ok::<(), agents_install::git::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitAddress {
    url: String,
    tree: Option<String>,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an address that git can fetch from")]
pub struct AddressError {
    /// The text.
    pub text: String,
}

impl Explain for AddressError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        Some(Code::GitPlace)
    }

    fn hint(&self) -> Option<String> {
        Some("write `https://...`, `ssh://...`, `git@host:path` or `file:///...`".to_owned())
    }
}

impl GitAddress {
    /// Understands `text`.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let refused = || AddressError { text: text.to_owned() };
        let trimmed = text.trim().trim_end_matches('/');
        // What cannot be an argument, or would do something to a terminal, is no address either.
        let odd = |it: char| it.is_whitespace() || it.is_control();
        if trimmed.is_empty() || trimmed.starts_with('-') || trimmed.contains(odd) {
            return Err(refused());
        }
        let Some((scheme, rest)) = trimmed.split_once("://") else {
            return match is_scp_like(trimmed) || trimmed.starts_with('/') {
                true => Ok(Self { url: trimmed.to_owned(), tree: None }),
                false => Err(refused()),
            };
        };
        // `a::b` names a program that git would run to fetch.
        if scheme.is_empty() || scheme.contains(':') || rest.is_empty() {
            return Err(refused());
        }
        if scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http") {
            let (path, tree) = split_tree(rest);
            let tree = tree.map(|tree| tree.trim_matches('/').to_owned());
            if tree.as_deref().is_some_and(|tree| tree.split('/').any(is_odd)) {
                return Err(refused());
            }
            return Ok(Self { url: format!("{scheme}://{path}"), tree });
        }
        Ok(Self { url: trimmed.to_owned(), tree: None })
    }

    /// The same repository at `tree`: a branch, tag or full commit, optionally followed by `/` and a
    /// directory.
    pub fn at(self, tree: &str) -> Result<Self, AddressError> {
        let tree = tree.trim_matches('/');
        if tree.split('/').any(is_odd) {
            return Err(AddressError { text: format!("{self}/tree/{tree}") });
        }
        Ok(Self { tree: Some(tree.to_owned()), ..self })
    }

    /// What git is given; it may hold a password.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `<ref>` or `<ref>/<dir>`. Where the reference ends, only the repository knows.
    #[must_use]
    pub fn tree(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    /// The address without a password in it, for people and for files.
    #[must_use]
    pub fn redacted_url(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else {
            return self.url.clone();
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        match authority.rsplit_once('@') {
            Some((user, host)) if scheme != "ssh" || user.contains(':') => {
                format!("{scheme}://***@{host}{path}")
            }
            _ => self.url.clone(),
        }
    }

    /// A short name: the last two parts of the path.
    pub(crate) fn readable(&self) -> String {
        let path = self.url.rsplit("://").next().unwrap_or_default();
        let path = path.strip_suffix(".git").unwrap_or(path);
        let mut parts: Vec<_> =
            path.rsplit(['/', ':']).filter(|part| !part.is_empty()).take(2).collect();
        parts.reverse();
        parts.join("-")
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted_url())?;
        match &self.tree {
            Some(tree) => write!(f, "/tree/{tree}"),
            None => Ok(()),
        }
    }
}

impl std::str::FromStr for GitAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text)
    }
}

/// Parts of a path that would lead somewhere else.
fn is_odd(part: &str) -> bool {
    matches!(part, "" | "." | "..")
}

/// `[user@]host:path`, where no slash comes before the colon.
fn is_scp_like(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else {
        return false;
    };
    !host.is_empty() && !host.contains('/') && !path.is_empty() && !path.starts_with(':')
}

/// `host/owner/repo/tree/<tree>`, and the way GitLab writes it: `host/group/repo/-/tree/<tree>`.
fn split_tree(path: &str) -> (&str, Option<&str>) {
    if let Some((repo, tree)) = path.split_once("/-/tree/") {
        return (repo, Some(tree));
    }
    let Some((at, _)) = path.match_indices('/').nth(2) else {
        return (path, None);
    };
    match path[at..].strip_prefix("/tree/") {
        Some(tree) if !tree.is_empty() => (&path[..at], Some(tree)),
        _ => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, url: &str, tree: Option<&str>) {
        let address = GitAddress::parse(text).unwrap();
        assert_eq!((address.url(), address.tree()), (url, tree));
    }

    #[test]
    fn addresses() {
        check("https://github.com/o/r", "https://github.com/o/r", None);
        check("https://github.com/o/r/", "https://github.com/o/r", None);
        check("https://github.com/o/r.git", "https://github.com/o/r.git", None);
        check("HTTPS://GitHub.com/o/r/tree/main", "HTTPS://GitHub.com/o/r", Some("main"));
        check("https://github.com/o/r/tree/a/b/c/", "https://github.com/o/r", Some("a/b/c"));
        check("https://github.com/o/r/tree", "https://github.com/o/r/tree", None);
        check("https://gitlab.com/g/s/r/-/tree/v1/x", "https://gitlab.com/g/s/r", Some("v1/x"));
        check("https://host/a/b/c/tree/d", "https://host/a/b/c/tree/d", None);
        check("git@github.com:o/r.git", "git@github.com:o/r.git", None);
        check("ssh://git@host:22/o/r", "ssh://git@host:22/o/r", None);
        check("file:///tmp/o/r/tree/x", "file:///tmp/o/r/tree/x", None);
        check("/tmp/repo", "/tmp/repo", None);
    }

    #[test]
    fn what_git_must_not_be_given_is_refused() {
        for text in
            ["", "-uroot", "--upload-pack=x", "owner/repo", "ext::sh -c x", "ext::sh", "a b"]
        {
            assert!(GitAddress::parse(text).is_err(), "{text}");
        }
        assert!(GitAddress::parse("ext::sh://x").is_err());
        assert!(GitAddress::parse("git@host:o/r\0.git").is_err());
        assert!(GitAddress::parse("https://host/o/\u{1b}[2Jr").is_err());
        assert!(GitAddress::parse("https://h/o/r/tree/main/../../x").is_err());
    }

    #[test]
    fn passwords_are_not_shown() {
        let address = GitAddress::parse("https://me:secret@host/o/r/tree/main").unwrap();
        assert_eq!(address.to_string(), "https://***@host/o/r/tree/main");
        assert_eq!(
            GitAddress::parse("ssh://git@host/o/r").unwrap().to_string(),
            "ssh://git@host/o/r"
        );
    }
}
