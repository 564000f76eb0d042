use std::{fmt, str::FromStr};

use crate::{Currency, MoneyError};

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Amount {
    minor: i64,
    currency: Currency,
}

impl Amount {
    /// So many of the smallest unit: `Amount::new(1230, Currency::EUR)` is 12.30 EUR.
    pub const fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// How many of the smallest unit.
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// Of which currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Both together.
    ///
    /// ```
    /// use coinage::{Amount, Currency, MoneyError};
    ///
    /// let price = Amount::new(1230, Currency::EUR);
    /// assert_eq!(price.plus(price)?.to_string(), "24.60 EUR");
    /// let yen = Amount::new(1230, Currency::JPY);
    /// assert_eq!(price.plus(yen), Err(MoneyError::Mixed(Currency::EUR, Currency::JPY)));
    /// # Ok::<(), MoneyError>(())
    /// ```
    pub fn plus(self, other: Self) -> Result<Self, MoneyError> {
        if self.currency != other.currency {
            return Err(MoneyError::Mixed(self.currency, other.currency));
        }
        let minor = self.minor.checked_add(other.minor).ok_or(MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    /// So many of it.
    pub fn times(self, count: i64) -> Result<Self, MoneyError> {
        let minor = self.minor.checked_mul(count).ok_or(MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    /// A part of it in hundredths of a percent, rounded to the nearest unit; a half goes to the even one.
    ///
    /// ```
    /// use coinage::{Amount, Currency};
    ///
    /// let price = Amount::new(1_25, Currency::EUR);
    /// assert_eq!(price.basis_points(19_00)?.minor(), 24); // 23.75 cents
    /// assert_eq!(price.basis_points(10_00)?.minor(), 12); // 12.5 cents
    /// # Ok::<(), coinage::MoneyError>(())
    /// ```
    pub fn basis_points(self, points: i64) -> Result<Self, MoneyError> {
        let exact = i128::from(self.minor) * i128::from(points);
        let (floor, rest) = (exact.div_euclid(10_000), exact.rem_euclid(10_000));
        let up = rest > 5_000 || (rest == 5_000 && floor % 2 != 0);
        let minor = i64::try_from(floor + i128::from(up)).map_err(|_| MoneyError::Overflow)?;
        Ok(Self { minor, ..self })
    }

    /// As equal parts as there can be; the first ones have the units that are left over. There is nobody to give anything to if
    /// there are 0 parts: the list is empty.
    pub fn split(self, parts: u32) -> Vec<Self> {
        let count = i64::from(parts);
        if count == 0 {
            return Vec::new();
        }
        let (share, left) = (self.minor / count, (self.minor % count).abs());
        let more = |it| if it < left { self.minor.signum() } else { 0 };
        (0..count).map(|it| Self { minor: share + more(it), ..self }).collect()
    }

    /// The sum, `None` of none.
    pub fn total(amounts: impl IntoIterator<Item = Self>) -> Result<Option<Self>, MoneyError> {
        amounts.into_iter().try_fold(None, |sum: Option<Self>, it| match sum {
            Some(sum) => sum.plus(it).map(Some),
            None => Ok(Some(it)),
        })
    }
}

impl FromStr for Amount {
    type Err = MoneyError;

    /// `12.30 EUR`: all decimals of the currency, or none of them.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let malformed = || MoneyError::Malformed(text.to_owned());
        let (number, code) = text.split_once(' ').ok_or_else(malformed)?;
        let currency: Currency = code.parse()?;
        let decimals = currency.decimals() as usize;
        let (whole, part) = match number.split_once('.') {
            Some((whole, part)) if part.len() == decimals && decimals > 0 => {
                (whole, part.to_owned())
            }
            Some(_) => return Err(malformed()),
            None => (number, "0".repeat(decimals)),
        };
        let digits = whole.strip_prefix('-').unwrap_or(whole);
        if digits.is_empty() || !digits.chars().chain(part.chars()).all(|it| it.is_ascii_digit()) {
            return Err(malformed());
        }
        let minor = format!("{whole}{part}").parse().map_err(|_| MoneyError::Overflow)?;
        Ok(Self { minor, currency })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = self.currency.decimals() as usize;
        let digits = format!("{:0width$}", self.minor.unsigned_abs(), width = decimals + 1);
        let (whole, part) = digits.split_at(digits.len() - decimals);
        let sign = if self.minor < 0 { "-" } else { "" };
        let point = if decimals > 0 { "." } else { "" };
        write!(f, "{sign}{whole}{point}{part} {}", self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "0.05 EUR",
            "-0.05 EUR",
            "12.30 USD",
            "1230 JPY",
            "1.001 KWD",
            "-92233720368547758.08 EUR",
        ] {
            assert_eq!(text.parse::<Amount>().map(|it| it.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("7 EUR".parse(), Ok(Amount::new(700, Currency::EUR)));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            "12.30",
            "12.3 EUR",
            "12.300 EUR",
            "1,230 EUR",
            "+1 EUR",
            "1.0 JPY",
            ". EUR",
            "- EUR",
            "--1 EUR",
        ] {
            assert_eq!(
                text.parse::<Amount>(),
                Err(MoneyError::Malformed(text.to_owned())),
                "{text}"
            );
        }
        assert_eq!("1 XXX".parse::<Amount>(), Err(MoneyError::UnknownCurrency("XXX".to_owned())));
        assert_eq!("99999999999999999999 JPY".parse::<Amount>(), Err(MoneyError::Overflow));
    }

    #[test]
    fn shares_add_up_and_differ_by_one_unit_at_most() {
        for minor in [-7, -1, 0, 1, 2, 99, 100, i64::MAX, i64::MIN] {
            for parts in 1..8 {
                let whole = Amount::new(minor, Currency::EUR);
                let shares = whole.split(parts);
                let (most, least) = (
                    shares.iter().map(|it| it.minor).max(),
                    shares.iter().map(|it| it.minor).min(),
                );
                assert!(
                    most.zip(least).is_some_and(|(most, least)| most - least <= 1),
                    "{minor} / {parts}"
                );
                assert_eq!(Amount::total(shares), Ok(Some(whole)));
            }
        }
        assert_eq!(Amount::new(5, Currency::EUR).split(0), []);
    }

    #[test]
    fn parts_are_rounded_to_even() {
        let part = |minor, points| {
            Amount::new(minor, Currency::EUR).basis_points(points).map(Amount::minor)
        };
        for (minor, points, expected) in [
            (5, 10_00, 0),
            (15, 10_00, 2),
            (25, 10_00, 2),
            (-15, 10_00, -2),
            (-25, 10_00, -2),
            (100, -19_00, -19),
        ] {
            assert_eq!(part(minor, points), Ok(expected), "{minor} * {points}");
        }
        assert_eq!(part(i64::MAX, 200_00), Err(MoneyError::Overflow));
    }
}
