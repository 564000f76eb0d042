//! Links between pages.

use std::collections::{BTreeMap, BTreeSet};

use agents_testkit::book::prose;
use camino::{Utf8Path, Utf8PathBuf};

/// The links of a page that lead nowhere, each with the page. Those to other places are not looked at.
pub(super) fn broken(root: &Utf8Path, page: &Utf8Path, text: &str) -> Vec<String> {
    let dir = page.parent().unwrap_or(Utf8Path::new(""));
    let leads_nowhere = |link: &String| {
        let (path, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
        let target = if path.is_empty() { page.to_owned() } else { tidied(&dir.join(path)) };
        let target = root.join(target);
        if !target.exists() {
            return true;
        }
        let has = || anchors(&fs_err::read_to_string(&target).unwrap()).contains(anchor);
        !anchor.is_empty() && !has()
    };
    let links = targets(text).into_iter().filter(|link| !link.contains("://"));
    links.filter(leads_nowhere).map(|link| format!("{page}: {link}")).collect()
}

/// Where the links of a page lead.
fn targets(text: &str) -> Vec<String> {
    let text = without_code(&prose(text));
    let starts = text.match_indices("](").map(|(at, found)| at + found.len());
    let ends = starts.filter_map(|start| {
        let (target, _) = text.get(start..)?.split_once(')')?;
        (!target.contains(char::is_whitespace)).then(|| target.to_owned())
    });
    ends.collect()
}

/// What is between backquotes is no link.
fn without_code(text: &str) -> String {
    text.lines()
        .map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("") + "\n")
        .collect()
}

/// What headings of a page are called in links, as code hosts and mdBook do it.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let text = prose(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let name = anchor(line.trim_start_matches('#').trim());
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
        })
        .collect()
}

fn anchor(heading: &str) -> String {
    let heading = heading.to_lowercase();
    let kept = heading.chars().filter_map(|it| match it {
        ' ' => Some('-'),
        '-' | '_' => Some(it),
        it if it.is_alphanumeric() => Some(it),
        _ => None,
    });
    kept.collect()
}

/// Without `..`, so that it does not matter which directories there are.
fn tidied(path: &Utf8Path) -> Utf8PathBuf {
    let mut tidy = Utf8PathBuf::new();
    for part in path.components() {
        if part.as_str() == ".." {
            tidy.pop();
        } else {
            tidy.push(part.as_str());
        }
    }
    tidy
}

#[test]
fn links_and_headings_are_read_as_others_read_them() {
    let text =
        "# A `b` (c)\n## A `b` (c)\nsee [x](y.md#z), `[no](no)`, [`p`](q)\n```text\n[r](s)\n```\n";
    assert_eq!(targets(text), ["y.md#z", "q"]);
    let found: Vec<String> = anchors(text).into_iter().collect();
    assert_eq!(found, ["a-b-c", "a-b-c-1"]);
    assert_eq!(tidied("docs/start/../a.md".into()), "docs/a.md");
}
