//! The difference between two contents of a skill, to be read by people: hidden characters are written out.

use std::collections::BTreeMap;

use agents_plugin::skills::{Mode, SkillTree, TreeKind};
use camino::Utf8Path;
use similar::{ChangeTag, TextDiff};

use crate::content::reveal;

/// The files of a tree by path.
type Files<'t> = BTreeMap<&'t Utf8Path, (Mode, &'t [u8])>;

/// A difference between two contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// A unified diff; files that are no text are only named.
    pub diff: String,
    /// How many lines it adds or removes.
    pub lines: usize,
}

/// What has to be read to get from `before` to `after`. Without a `before`, everything.
#[must_use]
pub fn review(before: Option<&SkillTree>, after: &SkillTree, name: &str) -> Review {
    let nothing = SkillTree::default();
    let (old, new) = (files(before.unwrap_or(&nothing)), files(after));
    let mut paths: Vec<&Utf8Path> = old.keys().chain(new.keys()).copied().collect();
    paths.sort();
    paths.dedup();
    let mut review = Review::default();
    for path in paths {
        let (old, new) = (old.get(path).copied(), new.get(path).copied());
        if old != new {
            review.add(old, new, &format!("{name}/{path}"));
        }
    }
    review
}

fn files(tree: &SkillTree) -> Files<'_> {
    let files = tree.entries.iter().filter_map(|entry| match &entry.kind {
        TreeKind::Dir => None,
        TreeKind::File { mode, bytes } => Some((entry.path.as_path(), (*mode, bytes.as_slice()))),
    });
    files.collect()
}

impl Review {
    fn add(&mut self, old: Option<(Mode, &[u8])>, new: Option<(Mode, &[u8])>, path: &str) {
        let text = |file: Option<(Mode, &[u8])>| match file {
            None => Some(String::new()),
            Some((_, bytes)) => std::str::from_utf8(bytes).ok().map(reveal),
        };
        let header = |file: Option<_>| if file.is_some() { path } else { "/dev/null" };
        match (text(old), text(new)) {
            (Some(before), Some(after)) => {
                let diff = TextDiff::from_lines(before.as_str(), after.as_str());
                let changed = diff.iter_all_changes().filter(|it| it.tag() != ChangeTag::Equal);
                self.lines += changed.count();
                let mut unified = diff.unified_diff();
                self.diff +=
                    &unified.context_radius(3).header(header(old), header(new)).to_string();
            }
            _ => {
                let size = |file: Option<(Mode, &[u8])>| file.map_or(0, |(_, bytes)| bytes.len());
                self.lines += 1;
                self.diff += &format!(
                    "--- {}\n+++ {}\nno text: {} bytes before, {} bytes after\n",
                    header(old),
                    header(new),
                    size(old),
                    size(new)
                );
            }
        }
        if let (Some((before, _)), Some((after, _))) = (old, new)
            && before != after
        {
            let can = if after == Mode::Executable { "can now" } else { "can no longer" };
            self.lines += 1;
            self.diff += &format!("`{path}` {can} be run\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use agents_plugin::skills::TreeEntry;

    use super::*;

    fn tree(files: &[(&str, Mode, &[u8])]) -> SkillTree {
        let entry = |(path, mode, bytes): &(&str, Mode, &[u8])| TreeEntry {
            path: (*path).into(),
            kind: TreeKind::File { mode: *mode, bytes: bytes.to_vec() },
        };
        SkillTree { entries: files.iter().map(entry).collect() }
    }

    #[test]
    fn lines_modes_and_what_is_no_text() {
        let before = tree(&[
            ("SKILL.md", Mode::Plain, b"one\ntwo\n"),
            ("gone.md", Mode::Plain, b"x\n"),
            ("run.sh", Mode::Plain, b"true\n"),
        ]);
        let after = tree(&[
            ("SKILL.md", Mode::Plain, "one\ntwo\u{200b}\n".as_bytes()),
            ("logo.png", Mode::Plain, &[0xff]),
            ("run.sh", Mode::Executable, b"true\n"),
        ]);
        let Review { diff, lines } = review(Some(&before), &after, "usage");
        assert_eq!(
            diff,
            "--- usage/SKILL.md\n+++ usage/SKILL.md\n@@ -1,2 +1,2 @@\n one\n-two\n+two\\u{200b}\n\
             --- usage/gone.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
             --- /dev/null\n+++ usage/logo.png\nno text: 0 bytes before, 1 bytes after\n\
             `usage/run.sh` can now be run\n"
        );
        assert_eq!(lines, 5);
        assert_eq!(review(Some(&after), &after, "usage"), Review::default());
    }
}
