//! The window that a terminal is shown in.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How much fits into a line.
    pub columns: usize,
    /// How many lines fit.
    pub rows: usize,
}

impl Size {
    /// Where nobody knows better.
    pub const USUAL: Self = Self { columns: 80, rows: 24 };

    /// The window that standard error goes to.
    #[cfg(unix)]
    #[must_use]
    pub fn now() -> Self {
        let known = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
        let known = known.ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        known.map_or(Self::USUAL, |size| Self {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        })
    }

    /// The window that standard error goes to.
    #[cfg(not(unix))]
    #[must_use]
    pub fn now() -> Self {
        Self::USUAL
    }
}

/// As many columns of it as there are, with a sign if that is not all.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used < columns
    });
    let mut kept: String = kept.collect();
    kept.push('…');
    kept
}
