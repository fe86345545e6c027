//! The algorithms that find the limit, and the seam for your own.

mod aimd;
mod ramp;
mod window;

use std::time::Duration;

use tidegate_core::Outcome;

pub use aimd::Aimd;
pub use ramp::Ramp;
pub use window::PacedWindow;

/// One attempt's verdict, as an algorithm gets it.
///
/// Only attempts that say something about capacity become samples: of those that are not stale, each
/// [`Overload`](Outcome::Overload), each [`Success`](Outcome::Success) that was saturated, and, of the others, those whose
/// time was taken. What is none is counted without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The limit in force.
    pub limit: usize,
    /// Permits out when the attempt ended, its own included.
    pub in_flight: usize,
    /// Whether the limit was what held the work back: all permits were out when this one was granted or when it came
    /// back, or its taker had waited for it.
    pub saturated: bool,
    /// The epoch of the permit: its tag if it has one, else the semaphore's epoch when it was taken.
    pub epoch: u64,
    /// How long the attempt took, if its time was taken: for one permit at a time, and only where the algorithm
    /// [wants it](Limit::interest).
    pub latency: Option<Duration>,
}

impl Sample {
    /// A sample to test an algorithm with: saturated, `limit` permits out, epoch 0.
    #[must_use]
    pub fn new(outcome: Outcome, limit: usize) -> Self {
        Self { outcome, limit, in_flight: limit, saturated: true, epoch: 0, latency: None }
    }
}

/// An algorithm that says what the limit should be.
///
/// It proposes; the semaphore disposes. Whatever [`on_sample`](Limit::on_sample) answers, the limit stays within the
/// bounds and at 1 or more (AS-7), an overload never raises it, nothing raises it unless the sample was saturated
/// (AS-5), and an answer below the limit in force is a *cut*: it begins a new epoch, so that the rest of the same wave
/// is stale and never gets here (AS-4).
///
/// The methods run under the semaphore's lock: they must be short, must not block, and must not call the semaphore or
/// drop its permits (that deadlocks). A panic in them reaches whoever reported the outcome; no permit is lost by it.
///
/// ```
/// use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Limit, Outcome, Sample};
///
/// /// One more after every success, half after a wave of overloads.
/// struct Bold;
/// impl Limit for Bold {
///     fn on_sample(&mut self, sample: &Sample) -> usize {
///         match sample.outcome {
///             Outcome::Overload => sample.limit / 2,
///             _ => sample.limit + 1,
///         }
///     }
/// }
///
/// let semaphore = AdaptiveSemaphore::builder().initial(1).limit(Bold).build();
/// semaphore.try_acquire()?.success();
/// assert_eq!(semaphore.limit(), 2);
/// # Ok::<(), tidegate_adaptive_semaphore::TryAcquireError>(())
/// ```
pub trait Limit: Send + 'static {
    /// The limit that should be in force after `sample`; `sample.limit` to leave it as it is.
    fn on_sample(&mut self, sample: &Sample) -> usize;

    /// What it wants to hear of: [`Interest::Verdicts`] unless said otherwise. Asked once, when the semaphore is built.
    fn interest(&self) -> Interest {
        Interest::Verdicts
    }

    /// A new epoch began: after a cut of this algorithm's own, or by
    /// [`begin_epoch`](crate::AdaptiveSemaphore::begin_epoch). Samples of older ones will not come any more.
    fn on_epoch(&mut self, epoch: u64) {
        let _ = epoch;
    }

    /// The limit or its bounds were set from outside; `limit` is in force.
    fn on_limit_set(&mut self, limit: usize) {
        let _ = limit;
    }
}

/// What an algorithm wants to hear of. Whatever it is not interested in costs no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interest {
    /// Nothing: [`on_sample`](Limit::on_sample) is not called.
    Nothing,
    /// Overloads, and successes that were saturated.
    Verdicts,
    /// The same, and how long attempts take: one at a time is timed, about one a round trip.
    Latency,
}

impl<L: Limit + ?Sized> Limit for Box<L> {
    fn interest(&self) -> Interest {
        (**self).interest()
    }

    fn on_sample(&mut self, sample: &Sample) -> usize {
        (**self).on_sample(sample)
    }

    fn on_epoch(&mut self, epoch: u64) {
        (**self).on_epoch(epoch);
    }

    fn on_limit_set(&mut self, limit: usize) {
        (**self).on_limit_set(limit);
    }
}

/// The limit stays where it was set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed;

impl Limit for Fixed {
    fn interest(&self) -> Interest {
        Interest::Nothing
    }

    fn on_sample(&mut self, sample: &Sample) -> usize {
        sample.limit
    }
}

/// `limit * factor`, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast rounds down and saturates, which is what is wanted"
)]
fn share(limit: usize, factor: f64) -> usize {
    (limit as f64 * factor) as usize
}

/// A share as it holds: in `0.0..=1.0`; what is no number is 0.
const fn factor(share: f64) -> f64 {
    share.max(0.0).min(1.0)
}
