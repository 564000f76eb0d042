//! Texts that are put between those of a file, so that what belongs inside comes inside.

use std::{cmp::Reverse, ops::Range};

use crate::change::Switch;

/// What is put in at one place: pieces of code, each for a change or for all of them.
#[derive(Debug)]
pub(super) struct Insert {
    at: usize,
    order: Order,
    pieces: Vec<(String, Option<Switch>)>,
}

/// At the same place: what ends there, inner things first; what stands before everything; what begins there, outer things first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// By where it began.
    Close(Reverse<usize>, Depth),
    Before,
    /// By where it ends.
    Open(Reverse<usize>, Reverse<Depth>),
}

/// Of what is around the same expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    Inner,
    Outer,
}

impl Insert {
    /// One piece at a place where nothing else belongs together.
    pub(super) fn before(at: usize, pieces: Vec<(String, Option<Switch>)>) -> Self {
        Self { at, order: Order::Before, pieces }
    }

    /// Something before and after an expression.
    pub(super) fn around(
        range: &Range<usize>,
        depth: Depth,
        open: Vec<(String, Option<Switch>)>,
        close: String,
    ) -> [Self; 2] {
        let opening = Order::Open(Reverse(range.end), Reverse(depth));
        let closing = Order::Close(Reverse(range.start), depth);
        [
            Self { at: range.start, order: opening, pieces: open },
            Self { at: range.end, order: closing, pieces: vec![(close, None)] },
        ]
    }
}

/// The text with everything in it, and where the pieces of each change are in there.
pub(super) fn insert(
    text: &str,
    mut inserts: Vec<Insert>,
) -> (String, Vec<(Range<usize>, Switch)>) {
    inserts.sort_by(|a, b| (a.at, &a.order).cmp(&(b.at, &b.order)));
    let (mut out, mut places, mut last) = (String::new(), Vec::new(), 0);
    for insert in &inserts {
        out.push_str(&text[last..insert.at]);
        last = insert.at;
        for (piece, switch) in &insert.pieces {
            let start = out.len();
            out.push_str(piece);
            places.extend(switch.map(|it| (start..out.len(), it)));
        }
    }
    out.push_str(&text[last..]);
    (out, places)
}
