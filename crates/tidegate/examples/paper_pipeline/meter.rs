//! Counts the exchanges with one service, the same way under every strategy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tidegate::core::Class;
use tidegate::throttle::Judge;

use super::judge::{Exchange, Kind};

/// Exact counts of the exchanges so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Requests sent.
    pub(crate) requests: u64,
    /// Requests that succeeded.
    pub(crate) ok: u64,
    /// Requests answered "slow down".
    pub(crate) throttled: u64,
    /// Requests for a paper that another one was sent for before.
    pub(crate) retries: u64,
    /// Those of them that were answered "slow down".
    pub(crate) throttled_retries: u64,
    /// Requests without an answer yet.
    pub(crate) in_flight: u64,
    /// The most of these there ever were.
    pub(crate) peak_in_flight: u64,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Meter(Mutex<State>);

#[derive(Default)]
struct State {
    counts: Counts,
    tries: HashMap<Arc<str>, u32>,
}

impl Meter {
    /// The counts now.
    pub(crate) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Counts one exchange about a paper, from the request to its answer. Dropped in between, it was sent all the same.
    pub(crate) async fn measure(
        &self,
        kind: Kind,
        paper: &Arc<str>,
        exchange: impl Future<Output = Exchange>,
    ) -> Exchange {
        let retry = self.begin(paper);
        let _under_way = UnderWay(self);
        let exchange = exchange.await;
        self.end(kind.judge(&exchange), retry);
        exchange
    }

    fn begin(&self, paper: &Arc<str>) -> bool {
        let mut state = self.state();
        let tries = state.tries.entry(Arc::clone(paper)).or_default();
        *tries += 1;
        let retry = *tries > 1;
        let counts = &mut state.counts;
        counts.requests += 1;
        counts.retries += u64::from(retry);
        counts.in_flight += 1;
        counts.peak_in_flight = counts.peak_in_flight.max(counts.in_flight);
        retry
    }

    fn end(&self, class: Option<Class>, retry: bool) {
        let counts = &mut self.state().counts;
        match class {
            None => counts.ok += 1,
            Some(Class::Throttled(_)) => {
                counts.throttled += 1;
                counts.throttled_retries += u64::from(retry);
            }
            Some(_) => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct UnderWay<'a>(&'a Meter);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().counts.in_flight -= 1;
    }
}
