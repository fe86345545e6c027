//! Every task for itself: back off alone, wake together.

use std::time::Duration;

use ::tidegate::throttle::Judge;

use super::super::http::Answer;
use super::super::judge::{Exchange, Kind};
use super::{Fault, Performance, Terms, persist};

/// A task gives its paper up after this many tries, having slept 31.5 s between them: without a bound it would hammer
/// a penalty box for ever.
const TRIES: u32 = 7;
const FIRST_DELAY: Duration = Duration::from_millis(500);

pub(crate) struct Naive {
    kind: Kind,
    first_delay: Duration,
    in_flight: usize,
}

impl Naive {
    pub(super) fn new(terms: &Terms<'_>) -> Self {
        Self { kind: terms.kind, first_delay: terms.scaled(FIRST_DELAY), in_flight: terms.ramp.max }
    }

    pub(super) async fn call<F, Fut>(&self, exchange: F) -> Result<Answer, Fault>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Exchange>,
    {
        let attempt = || async {
            let result = exchange().await;
            Ok((self.kind.judge(&result), result))
        };
        persist(self.kind, TRIES, attempt, |tried| self.first_delay * 2_u32.pow(tried - 1)).await
    }

    /// The stage has one worker for each call in flight, so nothing here has to count them.
    pub(super) const fn performance(&self) -> Performance {
        let number = self.in_flight;
        Performance { initial: number, peak: number, last: number, ramp_per_s: 0.0, cooldowns: 0 }
    }
}
