//! What is random, from a seed.
//!
//! ```
//! use agents_testkit::chance::Chance;
//! let (mut one, mut other) = (Chance::new(7), Chance::new(7));
//! assert_eq!([one.below(1000), one.below(1000)], [other.below(1000), other.below(1000)]);
//! assert!(one.between(5, 9).as_millis() < 9);
//! ```

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Numbers that nobody expects, the same ones for the same seed.
#[derive(Debug, Clone)]
pub struct Chance(u64);

/// A seed that was not used a moment ago.
#[must_use]
pub fn any() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs() ^ u64::from(now.subsec_nanos()) << 20
}

impl Chance {
    /// What follows from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of its own: what it is asked changes nothing for others.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less than this.
    pub fn below(&mut self, most: usize) -> usize {
        let most = u64::try_from(most.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % most).unwrap_or_default()
    }

    /// From 0 to less than 2 to this power, small numbers as often as large ones.
    pub fn of_any_size(&mut self, power: usize) -> usize {
        let size = 1 + self.below(power);
        self.below(1 << size)
    }

    /// So often out of a hundred.
    pub fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    /// A moment, shorter than so many milliseconds.
    pub fn moment(&mut self, most: usize) -> Duration {
        Duration::from_millis(u64::try_from(self.below(most)).unwrap_or_default())
    }

    /// At least so many milliseconds, and fewer than so many.
    pub fn between(&mut self, low: usize, high: usize) -> Duration {
        Duration::from_millis(u64::try_from(low).unwrap_or_default()) + self.moment(high - low)
    }

    /// One of these.
    pub fn one<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}
