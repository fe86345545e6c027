//! How long to wait before each retry: growth, cap and jitter. Pure arithmetic, total for any input.
//!
//! # Invariants
//! - I1: every delay given is at most the policy's `max_delay`, whatever the other numbers are.
//! - I2: floating point only ever scales a duration, and what does not come out as a duration (NaN, an overflow) becomes
//!   the cap: the cautious side.

use core::time::Duration;

use fastrand::Rng;

/// How delays are spread, so that callers who failed together do not come back together.
///
/// `base` is the delay without jitter: `initial x factor^n`, at most `max_delay`. No jitter exceeds `max_delay`, and none
/// undercuts a server's hint (**RP-1**).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Jitter {
    /// Exactly `base`. For a lone caller, or where something else spreads the load.
    #[default]
    None,
    /// Anything from zero to `base`: the widest spread, the least load.
    Full,
    /// Half of `base`, and anything up to the other half.
    Equal,
    /// Anything from `initial` to three times the previous delay. Grows by itself: the policy's factor is not used.
    Decorrelated,
    /// `base`, more or less by this fraction of it. Taken as 0 if it is NaN or negative, as 1 if it is larger.
    Fraction(f64),
}

/// The numbers of a policy that make its delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) initial: Duration,
    pub(crate) factor: f64,
    pub(crate) max_delay: Duration,
    pub(crate) jitter: Jitter,
}

/// Where a sequence of delays stands.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    /// The next base; with decorrelated jitter the previous delay. None before the first.
    at: Option<Duration>,
    rng: Rng,
}

impl Backoff {
    pub(crate) fn new(rng: Rng) -> Self {
        Self { at: None, rng }
    }

    /// The next delay, at most `curve.max_delay` (I1).
    pub(crate) fn next(&mut self, curve: &Curve) -> Duration {
        let cap = curve.max_delay;
        let first = curve.initial.min(cap);
        let at = self.at.unwrap_or(first).min(cap);
        if curve.jitter == Jitter::Decorrelated {
            let delay = between(first, scaled(at, 3.0, cap), &mut self.rng);
            self.at = Some(delay);
            return delay;
        }
        self.at = Some(scaled(at, growth(curve.factor), cap));
        match curve.jitter {
            Jitter::None | Jitter::Decorrelated => at,
            Jitter::Full => between(Duration::ZERO, at, &mut self.rng),
            Jitter::Equal => between(at / 2, at, &mut self.rng),
            Jitter::Fraction(fraction) => {
                let fraction = if fraction > 0.0 { fraction.min(1.0) } else { 0.0 };
                let low = scaled(at, 1.0 - fraction, cap);
                between(low, scaled(at, 1.0 + fraction, cap), &mut self.rng)
            }
        }
    }
}

/// A factor that never shrinks: NaN and anything below 1 count as 1.
fn growth(factor: f64) -> f64 {
    if factor > 1.0 { factor } else { 1.0 }
}

/// `duration x factor`, at most `cap`; `cap` too if the product is no duration (I2). Zero stays zero.
fn scaled(duration: Duration, factor: f64, cap: Duration) -> Duration {
    if duration.is_zero() {
        return duration;
    }
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).map_or(cap, |product| product.min(cap))
}

/// Anything from `low` to `high`, both included; `low` if they are the wrong way round.
fn between(low: Duration, high: Duration, rng: &mut Rng) -> Duration {
    let span = high.saturating_sub(low);
    let part = scaled(span, rng.f64_inclusive(), span);
    low.saturating_add(part).min(high.max(low))
}

/// The delays between the calls of one run, in order; made by [`RetryPolicy::delays`](crate::RetryPolicy::delays).
#[derive(Clone, Debug)]
#[must_use = "iterators are lazy"]
pub struct Delays {
    curve: Curve,
    backoff: Backoff,
    left: u32,
}

impl Delays {
    pub(crate) fn new(curve: Curve, seed: u64, left: u32) -> Self {
        Self { curve, backoff: Backoff::new(Rng::with_seed(seed)), left }
    }
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        Some(self.backoff.next(&self.curve))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}
