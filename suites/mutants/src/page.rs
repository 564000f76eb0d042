//! The page: its table of figures, and what it says about changes that nobody could notice.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    attempt::Tally,
    change::Change,
    room::{ROOMS, Room},
};

/// Below the root.
pub(crate) const PAGE: &str = "docs/real-coverage.md";

const HEAD: [&str; 9] = [
    "room",
    "what",
    "changes",
    "do not compile",
    "noticed",
    "without an end",
    "not noticed",
    "of them explained",
    "when, at which commit",
];

/// The words by which the table is found.
const BEGINS: &str = "| room | what | changes |";

/// Changes that stay, each for one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explained(Vec<(Utf8PathBuf, String)>);

impl Explained {
    /// From the rows of the page that begin with a file. The names of changes are between backticks in the second cell.
    pub(crate) fn parse(page: &str) -> Self {
        let mut found = Vec::new();
        for line in page.lines().filter(|it| it.starts_with("| `crates/")) {
            let cells = cells(line);
            let [file, names, _] = cells.as_slice() else { continue };
            let file = Utf8Path::new(file.trim_matches('`'));
            let names = names.split('`').skip(1).step_by(2);
            found.extend(names.map(|name| (file.to_owned(), name.to_owned())));
        }
        Self(found)
    }

    /// Takes away what is explained; each explanation is good for one change.
    pub(crate) fn unexplained<'a>(&mut self, changes: &'a [Change]) -> Vec<&'a Change> {
        let is_unexplained = |change: &&Change| {
            let fits = |it: &(Utf8PathBuf, String)| it.0 == change.file && it.1 == change.what();
            match self.0.iter().position(fits) {
                Some(at) => {
                    self.0.remove(at);
                    false
                }
                None => true,
            }
        };
        changes.iter().filter(is_unexplained).collect()
    }

    /// Explanations for which there is no change, or a test notices it: of the rooms that were tried, and of none.
    pub(crate) fn stale(&self, tried: &[Room]) -> Vec<String> {
        let is_of = |rooms: &[Room], file: &Utf8Path| {
            rooms.iter().any(|room| file.starts_with(room.path()))
        };
        let stale = self.0.iter().filter(|(file, _)| is_of(tried, file) || !is_of(&ROOMS, file));
        stale.map(|(file, name)| format!("{file}: {name}")).collect()
    }
}

/// A row of a table; `\|` is a stroke in a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\0");
    line.split('|').map(|it| it.trim().replace('\0', "|")).collect()
}

/// The row of a room, and when it was tried.
pub(crate) fn row(room: Room, tally: &Tally, unexplained: usize, when: &str) -> Vec<String> {
    let explained = tally.not_noticed.len() - unexplained;
    let figures = [
        tally.changes,
        tally.not_rust,
        tally.noticed,
        tally.endless,
        tally.not_noticed.len(),
        explained,
    ];
    let words = [format!("`{}`", room.name), room.what.to_owned()];
    let figures = figures.map(|it| it.to_string());
    words.into_iter().chain(figures).chain([when.to_owned()]).collect()
}

/// The row of a room of which nothing is known: one that is not on the page would not be missed.
fn unknown(room: Room) -> Vec<String> {
    let words = [format!("`{}`", room.name), room.what.to_owned()];
    words.into_iter().chain(std::iter::repeat("-".to_owned())).take(HEAD.len()).collect()
}

pub(crate) fn table(rows: Vec<Vec<String>>) -> String {
    hosts_suite::table::render(&HEAD, rows)
}

/// The page with these rows in its table; rooms that were not tried keep theirs, if it still has the same columns.
pub(crate) fn update(page: &str, tried: &[Vec<String>]) -> Option<String> {
    let start = page.find(BEGINS)?;
    let length = page[start..].find("\n\n")? + 1;
    let mut lines = page[start..start + length].lines().map(cells);
    let is_same = lines.next().is_some_and(|head| head == HEAD);
    // After the head comes a rule.
    let old: Vec<_> = lines.skip(1).filter(|it| is_same && it.len() == HEAD.len()).collect();
    let rows = ROOMS.map(|room| {
        let name = format!("`{}`", room.name);
        let known = tried.iter().chain(&old).find(|row| row.first() == Some(&name));
        known.cloned().unwrap_or_else(|| unknown(room))
    });
    Some(format!("{}{}{}", &page[..start], table(rows.to_vec()), &page[start + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Genre;

    fn change_in(file: &str) -> Change {
        let mut change = Change::of("a || b", "||", Genre::BinaryOperator, "&&");
        change.file = file.into();
        change
    }

    fn change() -> Change {
        change_in("crates/hook/src/run.rs")
    }

    fn room(name: &str) -> Room {
        ROOMS.into_iter().find(|it| it.name == name).unwrap()
    }

    #[test]
    fn an_explanation_is_good_for_one_change_of_its_file() {
        let page = "| `crates/hook/src/run.rs` | `\\|\\|`, `delete !` | why not |\n\
            | `other` | `\\|\\|` | - |\n\
            | `crates/gone/src/lib.rs` | `delete -` | the room is gone |\n";
        let mut explained = Explained::parse(page);
        let changes = [change(), change(), change_in("crates/hook/src/merge.rs")];
        let left = explained.unexplained(&changes);
        assert_eq!(
            left.iter().map(|it| it.file.as_str()).collect::<Vec<_>>(),
            ["crates/hook/src/run.rs", "crates/hook/src/merge.rs"]
        );
        let gone = "crates/gone/src/lib.rs: delete -";
        assert_eq!(explained.stale(&[room("hook")]), ["crates/hook/src/run.rs: delete !", gone]);
        assert_eq!(explained.stale(&[room("tool")]), [gone]);
    }

    const WHEN: &str = "2026-11-18, abc";

    fn page(head: &[&str], rows: &[&[&str]]) -> String {
        let rows = rows.iter().map(|row| row.iter().map(|it| (*it).to_owned()).collect());
        format!("before\n\n{}\nafter\n", hosts_suite::table::render(head, rows))
    }

    fn tried() -> Vec<Vec<String>> {
        let tally =
            Tally { changes: 9, noticed: 8, not_noticed: vec![change()], ..Tally::default() };
        vec![row(room("hook"), &tally, 0, WHEN)]
    }

    /// The rows of a page, by the names of their rooms.
    fn row_of(page: &str, name: &str) -> Vec<String> {
        let row = page.lines().find(|it| it.starts_with(&format!("| `{name}` |")));
        cells(row.unwrap()).split_off(2)
    }

    #[test]
    fn rooms_that_were_not_tried_keep_their_row() {
        let tool = ["`tool`", "w", "1", "2", "3", "4", "5", "6", "long ago"];
        let hook = ["`hook`", "w", "1", "2", "3", "4", "5", "6", "long ago"];
        let new = update(&page(&HEAD, &[&tool, &hook]), &tried()).unwrap();
        assert!(new.starts_with("before\n\n| room |") && new.ends_with(" |\n\nafter\n"), "{new}");
        assert_eq!(row_of(&new, "hook"), ["9", "0", "8", "0", "1", "1", WHEN]);
        assert_eq!(row_of(&new, "tool"), tool[2..]);
        assert_eq!(row_of(&new, "plan"), ["-"; 7]);
        assert_eq!(new.matches("| `").count(), ROOMS.len(), "a row for each room: {new}");
        let places = ROOMS.map(|it| new.find(&format!("| `{}` |", it.name)));
        assert!(places.is_sorted(), "in their order: {new}");
        assert_eq!(update(&new, &[]).unwrap(), new);
    }

    #[test]
    fn rows_of_other_columns_are_dropped() {
        let short = ["`tool`", "w", "1", "2", "3", "4", "5", "6"];
        let new = update(&page(&HEAD, &[&short]), &tried()).unwrap();
        assert_eq!(row_of(&new, "tool"), ["-"; 7]);
        // As many cells, which mean something else.
        let mut head = HEAD;
        head[4] = "no switch";
        let other = ["`tool`", "w", "1", "2", "3", "4", "5", "6", "7"];
        let new = update(&page(&head, &[&other]), &tried()).unwrap();
        assert_eq!(row_of(&new, "tool"), ["-"; 7]);
        assert!(!new.contains("no switch"), "{new}");
    }

    #[test]
    fn the_page_has_the_columns_of_this_suite() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/real-coverage.md");
        let page = fs_err::read_to_string(path).unwrap();
        assert_eq!(update(&page, &[]).unwrap(), page);
    }
}
