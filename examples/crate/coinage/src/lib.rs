//! Amounts of money that lose no cent.
//!
//! An [`Amount`] is a whole number of the smallest unit of its [`Currency`]: cents, yen, fils. Floats never come into it,
//! different currencies are never added, and what is split is all there afterwards.
//!
//! ```
//! use coinage::Amount;
//!
//! let bill: Amount = "100.00 EUR".parse()?;
//! let shares = bill.split(3);
//! assert_eq!(shares.iter().map(ToString::to_string).collect::<Vec<_>>(), ["33.34 EUR", "33.33 EUR", "33.33 EUR"]);
//! assert_eq!(Amount::total(shares)?, Some(bill));
//! # Ok::<(), coinage::MoneyError>(())
//! ```

mod amount;
mod currency;

pub use amount::Amount;
pub use currency::Currency;

/// What cannot be done with money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoneyError {
    /// It is not written as `12.30 EUR`, or has more digits than the currency.
    Malformed(String),
    /// There is no such currency here.
    UnknownCurrency(String),
    /// Amounts of different currencies were put together.
    Mixed(Currency, Currency),
    /// The result is larger than can be counted.
    Overflow,
}

impl std::fmt::Display for MoneyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(text) => write!(f, "`{text}` is not an amount such as `12.30 EUR`"),
            Self::UnknownCurrency(code) => write!(f, "there is no currency `{code}`"),
            Self::Mixed(one, other) => {
                write!(f, "{one} and {other} cannot be added; convert one of them first")
            }
            Self::Overflow => f.write_str("the amount is too large"),
        }
    }
}

impl std::error::Error for MoneyError {}
