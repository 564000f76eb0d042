//! Who may read and write below which paths.
//!
//! A tree of paths with what is held at each and how much is held below it: whether a lease can be had is seen by walking from
//! the root to it. A path is a sequence of names; `.` and the empty path are the whole workspace.

use std::collections::HashMap;

use camino::{Utf8Component, Utf8Path};

/// A place in the tree.
pub(super) type Spot = usize;

/// What a lease is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    Read,
    Write,
}

/// Who is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Here,
    Below,
}

#[derive(Debug, Default)]
struct Held {
    parent: Option<Spot>,
    children: HashMap<Box<str>, Spot>,
    /// Readers and writers here.
    here: [u32; 2],
    /// Readers and writers below.
    below: [u32; 2],
}

/// The tree.
#[derive(Debug)]
pub(super) struct Leases {
    spots: Vec<Held>,
}

impl Leases {
    pub(super) fn new() -> Self {
        Self { spots: vec![Held::default()] }
    }

    pub(super) fn len(&self) -> usize {
        self.spots.len()
    }

    /// The spot of a path. What leads out of the workspace, or is absolute, is a tree of its own below the root.
    pub(super) fn spot(&mut self, path: &Utf8Path) -> Spot {
        let mut names: Vec<&str> = Vec::new();
        for component in path.components() {
            match component {
                Utf8Component::CurDir => {}
                Utf8Component::ParentDir if names.last().is_some_and(|it| *it != "..") => {
                    names.pop();
                }
                other => names.push(other.as_str()),
            }
        }
        let mut at = 0;
        for name in names {
            at = match self.spots[at].children.get(name) {
                Some(child) => *child,
                None => {
                    let child = self.spots.len();
                    self.spots.push(Held { parent: Some(at), ..Held::default() });
                    self.spots[at].children.insert(name.into(), child);
                    child
                }
            };
        }
        at
    }

    /// Where somebody is in the way: the spot, and whether it is somebody there or somebody below it.
    pub(super) fn conflict(&self, spot: Spot, mode: Mode) -> Option<(Spot, Side)> {
        let hinders = |held: &[u32; 2]| match mode {
            Mode::Read => held[1] > 0,
            Mode::Write => held[0] + held[1] > 0,
        };
        if hinders(&self.spots[spot].below) {
            return Some((spot, Side::Below));
        }
        let mut at = Some(spot);
        while let Some(here) = at {
            if hinders(&self.spots[here].here) {
                return Some((here, Side::Here));
            }
            at = self.spots[here].parent;
        }
        None
    }

    pub(super) fn take(&mut self, spot: Spot, mode: Mode) {
        self.change(spot, mode, |held| *held += 1);
    }

    pub(super) fn give_back(&mut self, spot: Spot, mode: Mode) {
        self.change(spot, mode, |held| *held -= 1);
    }

    fn change(&mut self, spot: Spot, mode: Mode, change: impl Fn(&mut u32)) {
        change(&mut self.spots[spot].here[mode as usize]);
        let mut at = self.spots[spot].parent;
        while let Some(above) = at {
            change(&mut self.spots[above].below[mode as usize]);
            at = self.spots[above].parent;
        }
    }

    /// A spot and those above it.
    pub(super) fn upwards(&self, spot: Spot) -> impl Iterator<Item = Spot> {
        std::iter::successors(Some(spot), |at| self.spots[*at].parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_read_or_one_writes_and_a_lease_covers_what_is_below() {
        let mut leases = Leases::new();
        let mut spot = |path: &str| leases.spot(Utf8Path::new(path));
        let (all, a, deep, b) =
            (spot("."), spot("crates/a"), spot("./crates/x/../a/src"), spot("crates/b"));
        leases.take(deep, Mode::Write);
        assert_eq!(leases.conflict(a, Mode::Read), Some((a, Side::Below)));
        assert_eq!(leases.conflict(all, Mode::Read), Some((all, Side::Below)));
        assert_eq!(leases.conflict(deep, Mode::Read), Some((deep, Side::Here)));
        assert_eq!(leases.conflict(b, Mode::Write), None);
        leases.give_back(deep, Mode::Write);
        leases.take(a, Mode::Read);
        leases.take(deep, Mode::Read);
        assert_eq!(leases.conflict(a, Mode::Read), None);
        assert_eq!(leases.conflict(deep, Mode::Write), Some((deep, Side::Here)));
        leases.give_back(deep, Mode::Read);
        assert_eq!(leases.conflict(deep, Mode::Write), Some((a, Side::Here)));
        leases.give_back(a, Mode::Read);
        assert_eq!(leases.conflict(all, Mode::Write), None);
    }

    #[test]
    fn what_leads_out_of_the_workspace_is_something_else() {
        let mut leases = Leases::new();
        let (outside, absolute) =
            (leases.spot(Utf8Path::new("../a")), leases.spot(Utf8Path::new("/a")));
        let inside = leases.spot(Utf8Path::new("a"));
        assert!(outside != inside && absolute != inside && outside != absolute);
    }
}
