use std::{fmt, str::FromStr};

use crate::MoneyError;

/// A currency, with the number of decimals that it has.
///
/// ```
/// use coinage::Currency;
///
/// assert_eq!(Currency::EUR.decimals(), 2);
/// assert_eq!("JPY".parse::<Currency>()?.decimals(), 0);
/// # Ok::<(), coinage::MoneyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency {
    code: &'static str,
    decimals: u32,
}

impl Currency {
    /// Euro.
    pub const EUR: Self = Self { code: "EUR", decimals: 2 };
    /// Dollar of the United States.
    pub const USD: Self = Self { code: "USD", decimals: 2 };
    /// Yen, which has no decimals.
    pub const JPY: Self = Self { code: "JPY", decimals: 0 };
    /// Dinar of Kuwait, which has three.
    pub const KWD: Self = Self { code: "KWD", decimals: 3 };

    const ALL: [Self; 4] = [Self::EUR, Self::USD, Self::JPY, Self::KWD];

    /// How many digits stand behind the point.
    pub const fn decimals(self) -> u32 {
        self.decimals
    }
}

impl FromStr for Currency {
    type Err = MoneyError;

    fn from_str(code: &str) -> Result<Self, MoneyError> {
        let known = Self::ALL.into_iter().find(|it| it.code == code);
        known.ok_or_else(|| MoneyError::UnknownCurrency(code.to_owned()))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}
