//! The page: its table of figures, and what it says about changes that nobody could notice.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    attempt::Tally,
    change::Change,
    room::{ROOMS, Room},
};

/// Below the root.
pub(crate) const PAGE: &str = "docs/real-coverage.md";

const HEAD: [&str; 8] = [
    "room",
    "what",
    "changes",
    "do not compile",
    "noticed",
    "without an end",
    "not noticed",
    "of them explained",
];

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

/// The row of a room.
pub(crate) fn row(room: Room, tally: &Tally, unexplained: usize) -> Vec<String> {
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
    words.into_iter().chain(figures.map(|it| it.to_string())).collect()
}

pub(crate) fn table(rows: Vec<Vec<String>>) -> String {
    hosts_suite::table::render(&HEAD, rows)
}

/// The page with these rows in its table; rooms that were not tried keep theirs.
pub(crate) fn update(page: &str, mut rows: Vec<Vec<String>>) -> Option<String> {
    let start = page.find("| room | what | changes |")?;
    let length = page[start..].find("\n\n")? + 1;
    let old = page[start..start + length].lines().skip(2).map(cells);
    let is_new = |old: &Vec<String>| rows.iter().all(|it| it.first() != old.first());
    let kept: Vec<_> = old.filter(is_new).collect();
    rows.extend(kept);
    let place = |row: &Vec<String>| {
        let name = row.first().map(|it| it.trim_matches('`'));
        ROOMS.iter().position(|it| Some(it.name) == name)
    };
    rows.sort_by_key(place);
    Some(format!("{}{}{}", &page[..start], table(rows), &page[start + length..]))
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

    #[test]
    fn rooms_that_were_not_tried_keep_their_row() {
        let old = |name: &str| [name, "w", "1", "2", "3", "4", "5", "6"].map(str::to_owned);
        let page = format!(
            "before\n\n{}\nafter\n",
            table(vec![old("`tool`").to_vec(), old("`hook`").to_vec()])
        );
        let tally =
            Tally { changes: 9, noticed: 8, not_noticed: vec![change()], ..Tally::default() };
        let hook = room("hook");
        let new = update(&page, vec![row(hook, &tally, 0)]).unwrap();
        let expected = page.replace("| `hook` | w | 1 | 2 | 3 | 4 | 5 | 6 |\n", "").replace(
            "| `tool`",
            &format!("| `hook` | {} | 9 | 0 | 8 | 0 | 1 | 1 |\n| `tool`", hook.what),
        );
        assert_eq!(new, expected);
    }
}
