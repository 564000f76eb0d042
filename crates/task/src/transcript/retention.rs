//! Which transcripts are kept.

use std::{collections::BTreeSet, time::Duration};

use super::meta::Stamp;
use crate::id::TaskId;

/// Which transcripts are kept. Runs that live always are, and so is what a run that is kept goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// So many of the last ones; all of them at 0.
    pub files: usize,
    /// Those that ended less than so long ago.
    pub age: Option<Duration>,
}

impl Retention {
    /// All of them, for ever.
    pub const FOREVER: Self = Self { files: 0, age: None };
}

/// What has to be known of a transcript.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) id: TaskId,
    /// The one that it goes on from.
    pub(super) needs: Option<TaskId>,
    /// When it ended, or began.
    pub(super) last: Stamp,
    pub(super) lives: bool,
}

/// Those that are not kept, the oldest first.
pub(super) fn expired(known: &[Known], retention: Retention, now: Stamp) -> Vec<TaskId> {
    let mut order: Vec<&Known> = known.iter().collect();
    order.sort_by_key(|it| std::cmp::Reverse((it.last, it.id)));
    let is_young =
        |it: &Known| retention.age.is_none_or(|age| now.seconds_since(it.last) < age.as_secs());
    let most = if retention.files == 0 { usize::MAX } else { retention.files };
    let mut kept: BTreeSet<TaskId> = BTreeSet::new();
    for (at, it) in order.iter().enumerate() {
        if it.lives || (at < most && is_young(it)) {
            kept.insert(it.id);
        }
    }
    let mut waiting: Vec<TaskId> = kept.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        let needed = known.iter().find(|it| it.id == id).and_then(|it| it.needs);
        if let Some(needed) = needed.filter(|it| kept.insert(*it)) {
            waiting.push(needed);
        }
    }
    order.iter().rev().map(|it| it.id).filter(|id| !kept.contains(id)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(last: i64) -> Known {
        Known { id: TaskId::new(), needs: None, last: Stamp::from_second(last), lives: false }
    }

    #[test]
    fn the_oldest_go_first() {
        let all: Vec<Known> = [3, 1, 2].into_iter().map(known).collect();
        let gone = |files, age| {
            let retention = Retention { files, age };
            expired(&all, retention, Stamp::from_second(4))
        };
        assert_eq!(gone(2, None), [all[1].id]);
        assert_eq!(gone(0, None), [], "0 keeps all");
        assert_eq!(gone(3, None), []);
        assert_eq!(gone(0, Some(Duration::from_secs(3))), [all[1].id]);
        assert_eq!(gone(1, Some(Duration::from_secs(3))), [all[1].id, all[2].id]);
    }

    proptest! {
        #[test]
        fn what_lives_and_what_it_needs_stays(
            shape in proptest::collection::vec((0..100_i64, proptest::option::of(0..20_usize), any::<bool>()), 1..20),
            files in 0..5_usize, age in proptest::option::of(0..100_u64),
        ) {
            let mut all: Vec<Known> = shape.iter().map(|(last, ..)| known(*last)).collect();
            let ids: Vec<TaskId> = all.iter().map(|it| it.id).collect();
            for (it, (_, needs, lives)) in all.iter_mut().zip(&shape) {
                it.needs = needs.and_then(|at| ids.get(at).copied());
                it.lives = *lives;
            }
            let retention = Retention { files, age: age.map(Duration::from_secs) };
            let gone = expired(&all, retention, Stamp::from_second(100));
            for it in &all {
                if !gone.contains(&it.id) {
                    prop_assert!(it.needs.is_none_or(|needed| !gone.contains(&needed)));
                } else {
                    prop_assert!(!it.lives);
                }
            }
        }
    }
}
