//! What an answer costs, in whole micro-dollars.

use std::{fmt, iter::Sum, ops::AddAssign};

use serde::{Deserialize, Serialize};

use crate::event::Usage;

/// Millionths of a dollar. Whole numbers, so that sums do not drift.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroDollars(pub u64);

impl MicroDollars {
    /// One dollar.
    pub const DOLLAR: Self = Self(1_000_000);

    /// Reads dollars: `0.50`, `$2`. At most six digits after the point count; `None` for what is no amount.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('$').unwrap_or(text);
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
        if (whole.is_empty() && rest.is_empty()) || !digits(whole) || !digits(rest) {
            return None;
        }
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let rest: u64 = format!("{rest:0<6.6}").parse().ok()?;
        whole.checked_mul(1_000_000)?.checked_add(rest).map(Self)
    }

    /// To the last digit, as [`MicroDollars::parse`] reads it; how it is shown leaves out what is too little to speak of.
    #[must_use]
    pub fn written(self) -> String {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = format!("{rest:06}");
        let cents = digits.trim_end_matches('0').len().max(2);
        format!("{whole}.{}", &digits[..cents])
    }

    /// The sum, or as much as fits.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for MicroDollars {
    fn add_assign(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl Sum for MicroDollars {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Self::saturating_add)
    }
}

/// `$0.06`, with as many digits as it takes to tell it from nothing.
impl fmt::Display for MicroDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = format!("{rest:06}");
        // Cents, if there are any to speak of; below that up to the first digit that is not 0.
        let length = match digits.find(|digit| digit != '0') {
            None | Some(0 | 1) => 2,
            Some(_) if whole > 0 => 2,
            Some(at) => at + 1,
        };
        f.pad(&format!("${whole}.{}", &digits[..length]))
    }
}

/// What a million tokens cost, in micro-dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Price {
    /// Of the request.
    pub input: u64,
    /// Of the answer, thoughts included.
    pub output: u64,
    /// Of the request, from the cache.
    pub cache_read: u64,
    /// Of the request, into the cache.
    pub cache_write: u64,
}

impl Price {
    /// What so many tokens cost, rounded up to the next micro-dollar once.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> MicroDollars {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            // Who has no price for it charges it as input.
            (usage.cache_write, if self.cache_write == 0 { self.input } else { self.cache_write }),
        ];
        let products = parts.map(|(tokens, price)| u128::from(tokens) * u128::from(price));
        let total = products.into_iter().fold(0_u128, u128::saturating_add);
        MicroDollars(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SONNET: Price =
        Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };

    #[test]
    fn every_kind_of_token_has_its_price() {
        let usage = |input, output, cache_read, cache_write| Usage {
            input,
            output,
            cache_read,
            cache_write,
            reasoning: output,
        };
        for (usage, cost) in [
            (usage(0, 0, 0, 0), 0),
            (usage(1_000_000, 0, 0, 0), 3_000_000),
            (usage(0, 1_000_000, 0, 0), 15_000_000),
            (usage(0, 0, 1_000_000, 0), 300_000),
            (usage(0, 0, 0, 1_000_000), 3_750_000),
            (usage(1, 1, 0, 0), 18),
            // Three tenths of a micro-dollar are one: nothing that was paid for is free.
            (usage(0, 0, 1, 0), 1),
            (usage(u64::MAX, u64::MAX, u64::MAX, u64::MAX), u64::MAX),
        ] {
            assert_eq!(SONNET.of(&usage), MicroDollars(cost), "{usage:?}");
        }
        let no_write_price = Price { cache_write: 0, ..SONNET };
        assert_eq!(no_write_price.of(&usage(0, 0, 0, 1_000_000)), MicroDollars(3_000_000));
    }

    #[test]
    fn an_amount_is_told_from_nothing() {
        for (amount, text) in [
            (0, "$0.00"),
            (1, "$0.000001"),
            (999, "$0.0009"),
            (12_345, "$0.01"),
            (60_000, "$0.06"),
            (1_000_000, "$1.00"),
            (1_000_001, "$1.00"),
            (12_340_000, "$12.34"),
        ] {
            assert_eq!(MicroDollars(amount).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(amount in any::<u64>()) {
            let amount = MicroDollars(amount);
            prop_assert_eq!(MicroDollars::parse(&amount.written()), Some(amount));
        }

        #[test]
        fn a_sum_of_parts_is_never_cheaper_than_the_whole(a in any::<[u32; 4]>(), b in any::<[u32; 4]>()) {
            let usage = |of: [u32; 4]| Usage {
                input: of[0].into(),
                output: of[1].into(),
                cache_read: of[2].into(),
                cache_write: of[3].into(),
                reasoning: 0,
            };
            let (one, other) = (usage(a), usage(b));
            let mut both = one;
            both += other;
            let parts = SONNET.of(&one).saturating_add(SONNET.of(&other));
            prop_assert!(SONNET.of(&both) <= parts);
            prop_assert!(parts.0 - SONNET.of(&both).0 <= 1);
        }
    }
}
