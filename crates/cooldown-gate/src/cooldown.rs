//! How long the gate closes when nobody says for how long.

use std::time::Duration;

use crate::word::tick;

const SECOND: Duration = Duration::from_secs(1);
/// The longest step of the ladder.
const LADDER_TOP: Duration = Duration::from_secs(256);
/// How far a fixed length doubles.
const FIXED_TOP: u32 = 8;

/// How long the gate closes for a throttle without a hint.
///
/// A hint from the server always replaces it; a [closing by hand](crate::CooldownGate::close_for) brings its own length.
///
/// | kind | the first closing | while probes fail | once something is known |
/// |---|---|---|---|
/// | [`ladder`](Cooldown::ladder), the default | 1 s | 2, 4, 8 .. 256 s | begins one step below what worked last, and not below an interval of the pace |
/// | [`fixed`](Cooldown::fixed) | that length | doubles, up to 8 times it | begins with the geometric mean of the longest that failed and the shortest that worked |
///
/// ```
/// use std::time::Duration;
/// use tidegate_cooldown_gate::{Cooldown, CooldownGate};
///
/// let minute = Duration::from_secs(60);
/// let gate = CooldownGate::builder()
///     .cooldown(Cooldown::fixed(minute).quick_probe(Duration::from_secs(1)))
///     .build();
/// # let _ = gate;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    kind: Kind,
    quick: Option<Duration>,
    longest: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ladder,
    Fixed(Duration),
}

impl Default for Cooldown {
    fn default() -> Self {
        Self::ladder()
    }
}

impl From<Duration> for Cooldown {
    /// [`Cooldown::fixed`].
    fn from(length: Duration) -> Self {
        Self::fixed(length)
    }
}

impl Cooldown {
    /// Finds the length by itself: 1 s, doubling up to 256 s; the next time it starts one step below what worked.
    #[must_use]
    pub const fn ladder() -> Self {
        Self { kind: Kind::Ladder, quick: None, longest: None }
    }

    /// Closes for `length`, then for twice as long with every further strike until a probe succeeds.
    #[must_use]
    pub const fn fixed(length: Duration) -> Self {
        Self { kind: Kind::Fixed(length), quick: None, longest: None }
    }

    /// Tries a first, short step before the fixed length: cheap to try where most refusals are short. The ladder has short
    /// steps anyway, and ignores it.
    #[must_use]
    pub const fn quick_probe(mut self, length: Duration) -> Self {
        self.quick = Some(length);
        self
    }

    /// The longest step; 256 s for the ladder and 8 times the length for a fixed one unless set, never below the first.
    #[must_use]
    pub const fn longest(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
        self
    }

    fn first(&self) -> u64 {
        match self.kind {
            Kind::Ladder => tick(SECOND),
            // Never of no length, or the gate would not close.
            Kind::Fixed(length) => tick(length).max(1),
        }
    }

    fn top(&self) -> u64 {
        let usual = match self.kind {
            Kind::Ladder => LADDER_TOP,
            Kind::Fixed(length) => length.saturating_mul(FIXED_TOP),
        };
        tick(self.longest.unwrap_or(usual)).max(self.first())
    }
}

/// The course of the default cooldown, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    cooldown: Cooldown,
    /// Strikes in a row.
    strikes: u32,
    /// The length of the latest strike that had none of its own.
    step: u64,
    /// The shortest length that worked; of the ladder, the latest.
    worked: Option<u64>,
    /// The longest length that failed since something worked that had failed before.
    failed: Option<u64>,
}

impl Lengths {
    pub(crate) const fn new(cooldown: Cooldown) -> Self {
        Self { cooldown, strikes: 0, step: 0, worked: None, failed: None }
    }

    pub(crate) const fn strikes(&self) -> u32 {
        self.strikes
    }

    /// The length that worked, if one did.
    pub(crate) const fn worked(&self) -> Option<u64> {
        self.worked
    }

    /// Begins with a length that worked for somebody else.
    pub(crate) fn restore(&mut self, worked: u64) {
        self.worked = Some(worked.min(self.cooldown.top()));
    }

    /// A strike: how long the gate closes. `hint` replaces the default, `pause` is the least that makes sense.
    pub(crate) fn strike(&mut self, hint: Option<u64>, pause: u64) -> u64 {
        let failed = (self.strikes > 0 && self.step > 0).then_some(self.step);
        self.strikes = self.strikes.saturating_add(1);
        if let Some(hint) = hint {
            self.step = 0;
            return hint;
        }
        self.step = match failed {
            Some(step) => self.longer_than(step),
            None => self.first().max(pause),
        }
        .min(self.cooldown.top());
        self.step
    }

    /// A probe succeeded: the latest length was long enough.
    pub(crate) fn succeeded(&mut self) {
        if self.strikes > 0 && self.step > 0 {
            let shortest = self.worked.map_or(self.step, |worked| match self.cooldown.kind {
                Kind::Ladder => self.step,
                Kind::Fixed(_) => worked.min(self.step),
            });
            self.worked = Some(shortest);
        }
        self.start_over();
    }

    /// The next strike is the first of a row, whatever became of the latest.
    pub(crate) const fn start_over(&mut self) {
        (self.strikes, self.step) = (0, 0);
    }

    /// The first step of a row.
    fn first(&self) -> u64 {
        let first = self.cooldown.first();
        match (self.cooldown.kind, self.worked) {
            (Kind::Ladder, Some(worked)) => (worked / 2).max(first),
            (Kind::Ladder, None) => first,
            (Kind::Fixed(_), Some(worked)) => self.failed.map_or(worked, |failed| mean(failed, worked)),
            (Kind::Fixed(_), None) => self.cooldown.quick.map_or(first, tick),
        }
    }

    /// The step after one that failed.
    fn longer_than(&mut self, step: u64) -> u64 {
        let doubled = step.saturating_mul(2);
        let Kind::Fixed(length) = self.cooldown.kind else { return doubled };
        match self.worked {
            Some(worked) if step < worked => {
                self.failed = self.failed.max(Some(step));
                worked
            }
            Some(_) => {
                // What worked does not any more: the server has changed.
                (self.worked, self.failed) = (None, None);
                doubled
            }
            None => {
                self.failed = self.failed.max(Some(step));
                if step < tick(length) { tick(length) } else { doubled }
            }
        }
    }
}

/// The geometric mean of two lengths.
fn mean(one: u64, other: u64) -> u64 {
    // The product of two lengths of 61 bits has at most 122.
    let root = (u128::from(one) * u128::from(other)).isqrt();
    u64::try_from(root).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    /// The lengths, in seconds, of so many strikes in a row.
    fn row(lengths: &mut Lengths, strikes: usize) -> Vec<u64> {
        (0..strikes).map(|_| lengths.strike(None, 0) / SECOND).collect()
    }

    #[test]
    fn the_ladder_doubles_to_its_top_and_starts_one_step_below_what_worked() {
        let mut lengths = Lengths::new(Cooldown::default());
        assert_eq!(row(&mut lengths, 10), [1, 2, 4, 8, 16, 32, 64, 128, 256, 256]);
        lengths.succeeded();
        assert_eq!(row(&mut lengths, 2), [128, 256]);
        lengths.start_over();
        assert_eq!(row(&mut lengths, 1), [128], "nothing is learned from an opening by hand");
        lengths.succeeded();
        assert_eq!((row(&mut lengths, 1), lengths.worked()), (vec![64], Some(128 * SECOND)));
    }

    #[test]
    fn a_pause_is_the_least_first_step() {
        let mut lengths = Lengths::new(Cooldown::ladder());
        assert_eq!(lengths.strike(None, 5 * SECOND), 5 * SECOND);
        assert_eq!(lengths.strike(None, 100 * SECOND), 10 * SECOND, "only the first");
        let mut lengths = Lengths::new(Cooldown::ladder().longest(seconds(3)));
        assert_eq!(lengths.strike(None, 5 * SECOND), 3 * SECOND, "the top bounds it");
    }

    #[test]
    fn a_fixed_length_doubles_up_to_eight_times() {
        let mut lengths = Lengths::new(seconds(60).into());
        assert_eq!(row(&mut lengths, 5), [60, 120, 240, 480, 480]);
        let mut lengths = Lengths::new(seconds(60).into());
        assert_eq!(row(&mut lengths, 4), [60, 120, 240, 480]);
        lengths.succeeded();
        assert_eq!(row(&mut lengths, 1), [339], "between 240, which failed, and 480");
    }

    #[test]
    fn a_quick_probe_comes_first_and_later_lengths_close_in() {
        let mut lengths = Lengths::new(Cooldown::fixed(seconds(60)).quick_probe(seconds(1)));
        assert_eq!(row(&mut lengths, 2), [1, 60]);
        lengths.succeeded();
        assert_eq!(row(&mut lengths, 2), [7, 60], "the mean of 1 and 60, then what worked");
        lengths.succeeded();
        assert_eq!(row(&mut lengths, 1), [21], "the mean of 7.7 and 60");
        lengths.succeeded();
        assert_eq!(row(&mut lengths, 3), [12, 21, 43], "what worked and no longer does is forgotten");
    }

    #[test]
    fn a_hint_replaces_the_default_and_is_nobodys_lesson() {
        let mut lengths = Lengths::new(Cooldown::ladder());
        assert_eq!(lengths.strike(Some(7), 0), 7);
        lengths.succeeded();
        assert_eq!((lengths.worked(), lengths.strikes()), (None, 0));
        assert_eq!(row(&mut lengths, 1), [1]);
        assert_eq!(lengths.strike(Some(7), 0), 7);
        assert_eq!((row(&mut lengths, 1), lengths.strikes()), (vec![1], 3));
    }

    #[test]
    fn no_length_is_below_one_tick_or_above_the_top_after_a_restore() {
        for worked in [0, 1, u64::MAX] {
            for cooldown in
                [Cooldown::ladder(), Cooldown::fixed(Duration::ZERO), Cooldown::fixed(Duration::MAX)]
            {
                let mut lengths = Lengths::new(cooldown);
                lengths.restore(worked);
                for _ in 0..70 {
                    assert!(lengths.strike(None, 0) <= cooldown.top());
                }
            }
        }
    }
}
