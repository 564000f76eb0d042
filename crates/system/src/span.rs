//! Spans of time as people write and read them, and where they end.

use std::time::{Duration, Instant};

/// As far as anything is ever waited for.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);

/// So long after a moment. A span that somebody else names may be longer than clocks go; then it is a century.
///
/// ```
/// use std::time::{Duration, Instant};
/// use agents_system::span;
///
/// let now = Instant::now();
/// assert_eq!(span::after(now, Duration::from_secs(1)), now + Duration::from_secs(1));
/// assert!(span::after(now, Duration::MAX) > now + Duration::from_secs(3600));
/// ```
#[must_use]
pub fn after(moment: Instant, span: Duration) -> Instant {
    let latest = || moment.checked_add(CENTURY).unwrap_or(moment);
    moment.checked_add(span).unwrap_or_else(latest)
}

/// `500ms`, `90s`, `10m`, `2h`, `7d`, or a bare number of `unit`s.
///
/// ```
/// use std::time::Duration;
/// use agents_system::span;
///
/// let minutes = |text| span::parse(text, Duration::from_secs(60));
/// assert_eq!(minutes("90s"), Some(Duration::from_secs(90)));
/// assert_eq!(minutes("2"), minutes("2m"));
/// assert_eq!(minutes("soon"), None);
/// ```
#[must_use]
pub fn parse(text: &str, unit: Duration) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" => u64::try_from(unit.as_millis()).ok()?,
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Duration::from_millis)
}

/// For people: `0.2 s`, `41 s`, `2 m 04 s`, `1 h 05 m`.
#[must_use]
pub fn told(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// For people, of something that was set: `10 min`, `90 s`, `2 h`.
#[must_use]
pub fn set(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (0, millis) => format!("{millis} ms"),
        (seconds, _) if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        (seconds, _) if seconds % 60 == 0 => format!("{} min", seconds / 60),
        (seconds, _) => format!("{seconds} s"),
    }
}

/// As [`parse`] reads it: the shortest way.
#[must_use]
pub fn written(time: Duration) -> String {
    let millis = time.as_millis();
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if millis >= size && millis.is_multiple_of(size) {
            return format!("{}{unit}", millis / size);
        }
    }
    format!("{millis}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_read_it() {
        let told_of = |millis| told(Duration::from_millis(millis));
        assert_eq!(
            [told_of(210), told_of(41_900), told_of(124_000), told_of(3_900_000)],
            ["0.2 s", "41 s", "2 m 04 s", "1 h 05 m"]
        );
        let set_of = |seconds| set(Duration::from_secs(seconds));
        assert_eq!([set_of(600), set_of(90), set_of(7200)], ["10 min", "90 s", "2 h"]);
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for millis in [0, 1, 999, 1000, 90_000, 600_000, 7_200_000, 172_800_000] {
            let time = Duration::from_millis(millis);
            assert_eq!(parse(&written(time), Duration::from_secs(1)), Some(time), "{millis}");
        }
    }
}
