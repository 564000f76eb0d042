//! Git repositories, fetched by the git program so that credentials, mirrors and proxies just work.
//!
//! [`Checkouts`] keeps checked-out trees in the cache. A tree is a shallow fetch of one commit;
//! it is never changed, a newer commit gets a directory of its own.

mod address;
mod checkout;
mod content;

use agents_system::{memory::Watch, process::Call, progress::Progress};
use camino::{Utf8Path, Utf8PathBuf};

pub use address::{AddressError, GitAddress};
pub use checkout::{Checkout, Checkouts, TreeNow, TreeStanding, Trees};
pub(crate) use checkout::{TreeOrigin, tree_slot};
use content::tree_digest;

use crate::{
    error::{AcquireError, Needs, StepError},
    receipt::{Content, part_of},
    step::{GIT, Step},
};

/// What an address means in its repository right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// What to fetch: a full reference name or a commit.
    pub(crate) reference: String,
    pub(crate) commit: String,
    /// The directory that is meant; empty for all of it.
    pub(crate) dir: Utf8PathBuf,
}

/// Asks the repository.
pub(crate) fn resolve(address: &GitAddress, progress: &Progress) -> Result<Resolved, AcquireError> {
    let mut patterns = vec!["HEAD".to_owned()];
    for (reference, _) in address.tree().map(splits).unwrap_or_default() {
        patterns.push(format!("refs/heads/{reference}"));
        patterns.push(format!("refs/tags/{reference}"));
        patterns.push(format!("refs/tags/{reference}^{{}}"));
    }
    let call = git().args(["ls-remote", "--", address.url()]).args(patterns);
    let captured = step("git ls-remote", address, progress).run(&call)?;
    let said = captured.stdout_text();
    let remote: Vec<_> = said.lines().filter_map(|line| line.split_once('\t')).collect();
    choose(address.tree(), &remote).ok_or_else(|| AcquireError::NoSuchReference {
        url: address.redacted_url(),
        tree: address.tree().unwrap_or("HEAD").to_owned(),
    })
}

/// The longest reference wins: with branches `a` and `a/b`, `a/b/c` is directory `c` of `a/b`.
fn choose(tree: Option<&str>, remote: &[(&str, &str)]) -> Option<Resolved> {
    let commit_of = |reference: &str| {
        remote.iter().find(|(_, name)| *name == reference).map(|(commit, _)| (*commit).to_owned())
    };
    let resolved =
        |reference: String, commit, dir: &str| Resolved { reference, commit, dir: dir.into() };
    let Some(tree) = tree else {
        return Some(resolved("HEAD".to_owned(), commit_of("HEAD")?, ""));
    };
    for (reference, dir) in splits(tree) {
        let branch = format!("refs/heads/{reference}");
        if let Some(commit) = commit_of(&branch) {
            return Some(resolved(branch, commit, dir));
        }
        let tag = format!("refs/tags/{reference}");
        if let Some(commit) = commit_of(&format!("{tag}^{{}}")).or_else(|| commit_of(&tag)) {
            return Some(resolved(tag, commit, dir));
        }
    }
    let (first, dir) = tree.split_once('/').unwrap_or((tree, ""));
    if first == "HEAD" {
        return Some(resolved("HEAD".to_owned(), commit_of("HEAD")?, dir));
    }
    let is_commit = matches!(first.len(), 40 | 64) && first.bytes().all(|b| b.is_ascii_hexdigit());
    is_commit.then(|| resolved(first.to_owned(), first.to_ascii_lowercase(), dir))
}

/// All ways to split `a/b/c` into a reference and a directory, longest reference first.
fn splits(tree: &str) -> Vec<(&str, &str)> {
    let ends = tree.match_indices('/').map(|(at, _)| (&tree[..at], &tree[at + 1..]));
    let mut splits: Vec<_> = ends.chain([(tree, "")]).collect();
    splits.reverse();
    splits
}

/// Fetches what `resolved` names into the empty directory `into`.
pub(crate) fn fetch(
    address: &GitAddress,
    resolved: &Resolved,
    into: &Utf8Path,
    progress: &Progress,
) -> Result<Content, AcquireError> {
    let run = |name: &str, call: Call| -> Result<_, Box<StepError>> {
        let needs = if name == "git fetch" { Needs::Network } else { Needs::Machine };
        Step { needs, ..step(name, address, progress) }.run(&call.cwd(into))
    };
    // Without a template there are no hooks of the user's in it.
    run("git init", git().args(["init", "--quiet", "--template="]))?;
    let fetch = git().args(["fetch", "--quiet", "--depth", "1", "--no-tags", "--", address.url()]);
    run("git fetch", fetch.arg(resolved.reference.as_str()))?;
    run("git checkout", git().args(["checkout", "--quiet", "--detach", "FETCH_HEAD"]))?;
    let head = run("git rev-parse", git().args(["rev-parse", "HEAD"]))?;
    let commit = head.stdout_text().trim().to_owned();
    if !is_dir_within(into, &resolved.dir) {
        return Err(AcquireError::NoSuchDirectory {
            url: address.redacted_url(),
            dir: resolved.dir.clone(),
            commit,
        });
    }
    let within = resolved.dir.clone();
    let tree = Some(tree_digest(&part_of(into.to_owned(), &within), &mut Watch::new())?);
    Ok(Content { id: commit.clone(), within, commit: Some(commit), tree, ..Content::default() })
}

/// A link in the repository may lead out of it; that is not a directory of the repository.
fn is_dir_within(tree: &Utf8Path, dir: &Utf8Path) -> bool {
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    match (real(tree), real(&tree.join(dir))) {
        (Some(tree), Some(dir)) => dir.is_dir() && dir.starts_with(tree),
        _ => false,
    }
}

fn step<'a>(name: &str, address: &GitAddress, progress: &'a Progress) -> Step<'a> {
    Step {
        name: format!("`{name}`"),
        doing: format!("fetching {address}"),
        needs: Needs::Network,
        deadline: GIT,
        progress,
    }
}

fn git() -> Call {
    // A git hook that runs us sets these; they would make git work on the wrong repository.
    let inherited =
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"];
    let call = inherited.into_iter().fold(Call::new("git"), Call::without_env);
    // There is nobody to answer: a helper or an agent knows the password, or the fetch fails.
    call.env("GIT_TERMINAL_PROMPT", "0")
        .env("SSH_ASKPASS_REQUIRE", "force")
        .env("LC_ALL", "C")
        .args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        // The same bytes on every machine: they are hashed, and scripts among them are run.
        .args(["-c", "core.autocrlf=false"])
}

#[cfg(test)]
mod tests;
