//! The time of the primitives: tokio's, or one that a test moves by hand.

use std::sync::Arc;
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A monotonic clock, read as the time since the clock was made.
///
/// The default reads tokio's clock, which needs no runtime and stands still under `start_paused`. Blocking forms cannot
/// rely on that (a paused clock does not move for a thread outside the runtime), so their tests take a manual one.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Tokio(Instant),
    Manual(Arc<ManualClock>),
}

impl Default for Clock {
    fn default() -> Self {
        Self(Source::Tokio(Instant::now()))
    }
}

impl Clock {
    /// A clock that stands at zero until its [`hand`](Clock::hand) moves it.
    #[must_use]
    pub fn manual() -> Self {
        Self(Source::Manual(Arc::default()))
    }

    /// The hand of a manual clock; none for a real one.
    #[must_use]
    pub fn hand(&self) -> Option<Arc<ManualClock>> {
        match &self.0 {
            Source::Manual(hand) => Some(Arc::clone(hand)),
            Source::Tokio(_) => None,
        }
    }

    /// The time since the clock was made.
    #[must_use]
    pub fn now(&self) -> Duration {
        match &self.0 {
            Source::Tokio(base) => base.elapsed(),
            Source::Manual(hand) => hand.state.lock().now,
        }
    }

    /// Where `instant` stands on this clock: zero if it lies before the clock's making.
    ///
    /// A manual clock shares no base with an [`Instant`]: the distance from now is kept instead.
    #[must_use]
    pub fn reading(&self, instant: Instant) -> Duration {
        match &self.0 {
            Source::Tokio(base) => instant.saturating_duration_since(*base),
            Source::Manual(_) => self.now().saturating_add(instant.saturating_duration_since(Instant::now())),
        }
    }

    /// The tokio instant at which this clock reads `reading`; saturates 30 years ahead, which is "far".
    #[must_use]
    pub fn instant(&self, reading: Duration) -> Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
        let base = match &self.0 {
            Source::Tokio(base) => *base,
            Source::Manual(_) => {
                let now = Instant::now();
                now.checked_sub(self.now()).unwrap_or(now)
            }
        };
        base.checked_add(reading.min(FAR)).unwrap_or(base)
    }

    /// Sleeps this thread until it is unparked, or for about `left` of this clock's time.
    #[cfg(not(tidegate_loom))]
    pub(crate) fn park(&self, left: Duration) {
        match &self.0 {
            Source::Tokio(_) => std::thread::park_timeout(left),
            Source::Manual(_) => std::thread::park(),
        }
    }

    /// Has `thread` unparked whenever a manual clock moves, until the watch is dropped.
    #[cfg(not(tidegate_loom))]
    pub(crate) fn watch(&self, thread: &Thread) -> Watch {
        let hand = self.hand();
        if let Some(hand) = &hand {
            hand.state.lock().watching.push(thread.clone());
        }
        Watch { hand, thread: thread.id() }
    }
}

/// The hand of a [`Clock::manual`].
#[derive(Debug, Default)]
pub struct ManualClock {
    state: Mutex<Manual>,
}

#[derive(Debug, Default)]
struct Manual {
    now: Duration,
    watching: Vec<Thread>,
}

impl ManualClock {
    /// Moves the clock on by `by` and wakes every thread that blocks on it.
    pub fn advance(&self, by: Duration) {
        let watching = {
            let mut state = self.state.lock();
            state.now = state.now.saturating_add(by);
            state.watching.clone()
        };
        for thread in watching {
            thread.unpark();
        }
    }
}

/// Takes the thread off the manual clock's list when dropped.
#[cfg(not(tidegate_loom))]
pub(crate) struct Watch {
    hand: Option<Arc<ManualClock>>,
    thread: std::thread::ThreadId,
}

#[cfg(not(tidegate_loom))]
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(hand) = &self.hand {
            let mut state = hand.state.lock();
            if let Some(at) = state.watching.iter().position(|thread| thread.id() == self.thread) {
                state.watching.swap_remove(at);
            }
        }
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_default_clock_moves_with_the_runtime() {
        let clock = Clock::default();
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(clock.now(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn readings_and_instants_convert_both_ways_and_saturate() {
        let clock = Clock::default();
        let at = clock.instant(Duration::from_secs(9));
        assert_eq!(clock.reading(at), Duration::from_secs(9));
        assert!(clock.instant(Duration::MAX) > at);
    }

    #[test]
    fn a_manual_clock_stands_still_until_moved() {
        let clock = Clock::manual();
        assert_eq!(clock.now(), Duration::ZERO);
        clock.hand().unwrap().advance(Duration::MAX);
        clock.hand().unwrap().advance(Duration::MAX);
        assert_eq!(clock.now(), Duration::MAX);
    }
}
