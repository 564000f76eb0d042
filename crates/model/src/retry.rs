//! When to ask again. Pure: the clock and the dice are the caller's.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};

use crate::error::Problem;

/// How often and how soon a request is sent again, as long as nothing of an answer was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often it is sent altogether.
    pub attempts: u32,
    /// How long to wait after the first time; twice as long after each further one.
    pub first_wait: Duration,
    /// How long to wait at most, if the provider does not say.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Send it once.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// How long to wait after `attempt` attempts, of which the last ended with `problem`; `None` to give up. There is
    /// no point in a wait that takes longer than what is `left` of the time.
    ///
    /// `dice` is a number from 0 to 1. Half of the wait is certain, the other half is up to the dice, so that many who
    /// failed together do not come back together. What the provider asked for is a minimum.
    #[must_use]
    pub fn wait(
        &self,
        attempt: u32,
        problem: &Problem,
        dice: f64,
        left: Duration,
    ) -> Option<Duration> {
        if attempt >= self.attempts || !problem.is_retryable() {
            return None;
        }
        let doublings = attempt.saturating_sub(1).min(16);
        let wait = self.first_wait.saturating_mul(1 << doublings).min(self.longest_wait);
        let share = |of: Duration| of.mul_f64(dice.clamp(0.0, 1.0) / 2.0);
        let wait = match problem.retry_after() {
            Some(asked) => asked.saturating_add(share(self.first_wait)),
            None => wait / 2 + share(wait),
        };
        (wait < left).then_some(wait)
    }
}

/// Reads a `Retry-After`: seconds, or a date.
#[must_use]
pub fn parse_retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = rfc2822::DateTimeParser::new().parse_zoned(value).ok()?.timestamp();
    // A date that has passed means now.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn overloaded(retry_after: Option<u64>) -> Problem {
        let retry_after = retry_after.map(Duration::from_secs);
        Problem::Overloaded { status: Some(529), retry_after, said: String::new() }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_then_it_gives_up() {
        let policy = RetryPolicy { attempts: 9, ..RetryPolicy::default() };
        let waits = |dice| -> Vec<u128> {
            let wait = |attempt| policy.wait(attempt, &overloaded(None), dice, HOUR);
            (1..).map_while(wait).map(|it| it.as_millis()).collect()
        };
        assert_eq!(waits(1.0), [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!(waits(0.0), [250, 500, 1000, 2000, 4000, 8000, 15000, 15000]);
        assert_eq!(waits(f64::MAX), waits(1.0));
    }

    #[test]
    fn what_the_provider_asks_for_is_a_minimum_and_too_much_is_not_waited_for() {
        let policy = RetryPolicy::default();
        let wait = |problem: &Problem, left| policy.wait(1, problem, 0.0, left);
        assert_eq!(wait(&overloaded(Some(7)), HOUR), Some(Duration::from_secs(7)));
        assert_eq!(wait(&overloaded(Some(7)), Duration::from_secs(7)), None);
        assert_eq!(wait(&overloaded(Some(u64::MAX)), HOUR), None);
        assert_eq!(wait(&Problem::Cancelled, HOUR), None);
        assert_eq!(RetryPolicy::never().wait(1, &overloaded(None), 0.0, HOUR), None);
        let last = RetryPolicy { attempts: u32::MAX, ..policy };
        assert!(last.wait(u32::MAX - 1, &overloaded(None), 1.0, HOUR).is_some());
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let table = [
            ("0", Some(0)),
            (" 12 ", Some(12)),
            ("Sun, 15 Nov 2026 12:01:30 GMT", Some(90)),
            ("Sun, 15 Nov 2026 11:00:00 GMT", Some(0)),
            ("-1", None),
            ("NaN", None),
            ("1e400", None),
            ("soon", None),
            ("", None),
        ];
        for (value, expected) in table {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(parse_retry_after(value, now), expected, "{value}");
        }
        assert_eq!(parse_retry_after("0.25", now), Some(Duration::from_millis(250)));
    }
}
