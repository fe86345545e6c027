//! A model behind a real socket: its clock, its delays and its exact counters.
//!
//! Time is the model's: seconds since the first request, times the scale. Each request is one [`Visit`], counted when
//! it arrives and, however it ends, gone when the visit is dropped.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tidegate_servers::{Server, ServerId, Verdict};
use tokio::time::{Instant, sleep};

/// What a server has counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Requests that arrived.
    pub(crate) requests: u64,
    /// Admitted: served, unless the client left.
    pub(crate) ok: u64,
    /// Answered 429.
    pub(crate) throttled: u64,
    /// Answered 401.
    pub(crate) refused: u64,
    /// Requests for something that was asked for before.
    pub(crate) retries: u64,
    /// Those of them that were answered 429.
    pub(crate) throttled_retries: u64,
    /// Here now: in service or on their way.
    pub(crate) in_flight: u64,
    /// The most that were ever here at once.
    pub(crate) max_in_flight: u64,
}

struct State {
    server: Server,
    first: Option<Instant>,
    tally: Tally,
    attempts: HashMap<u64, u32>,
    /// Requests that may still be admitted.
    quota: Option<u64>,
}

/// One rate-limited service.
pub(crate) struct Service {
    scale: f64,
    state: Mutex<State>,
}

/// How the model decided on a visit.
pub(crate) enum Admission {
    /// It was served; the answer may go out.
    Served,
    /// 429, with the scaled time to wait if this server sends hints.
    Throttled(Option<Duration>),
    /// 401: the quota is used up. The model did not see it.
    Exhausted,
}

impl Service {
    /// A service that behaves like `id`, `scale` times as fast, and admits as many requests as the quota covers.
    pub(crate) fn new(id: ServerId, seed: u64, scale: f64, quota: Option<u64>) -> Arc<Self> {
        let server = Server::named(id, seed);
        let state = State { server, first: None, tally: Tally::default(), attempts: HashMap::new(), quota };
        Arc::new(Self { scale, state: Mutex::new(state) })
    }

    /// The counters now.
    pub(crate) fn tally(&self) -> Tally {
        self.state().tally
    }

    /// A request for `what` arrives.
    pub(crate) fn visit(self: &Arc<Self>, what: &impl Hash) -> Visit {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let mut state = self.state();
        let attempt = state.attempts.entry(hasher.finish()).or_default();
        *attempt += 1;
        let retry = *attempt > 1;
        let tally = &mut state.tally;
        tally.requests += 1;
        tally.retries += u64::from(retry);
        tally.in_flight += 1;
        tally.max_in_flight = tally.max_in_flight.max(tally.in_flight);
        drop(state);
        Visit { service: Arc::clone(self), retry, in_service: false }
    }

    /// One way through the network.
    async fn travel(&self) {
        let time = self.state().server.travel_time();
        sleep(self.scaled(time)).await;
    }

    fn scaled(&self, seconds: f64) -> Duration {
        Duration::try_from_secs_f64(seconds / self.scale).unwrap_or(Duration::ZERO)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request, from its arrival until its answer has left or its client has gone.
pub(crate) struct Visit {
    service: Arc<Service>,
    retry: bool,
    in_service: bool,
}

impl Visit {
    /// The whole way: in through the network, past quota and model, through the service, and out.
    pub(crate) async fn serve(mut self) -> Admission {
        self.service.travel().await;
        let (admission, time) = self.decide();
        if self.in_service {
            sleep(time).await;
            self.leave();
        }
        self.service.travel().await;
        admission
    }

    /// Turned away at the door with a 401.
    pub(crate) async fn refuse(self) {
        self.service.travel().await;
        self.service.state().tally.refused += 1;
        self.service.travel().await;
    }

    /// What becomes of the request, and how long it stays in service.
    fn decide(&mut self) -> (Admission, Duration) {
        let service = Arc::clone(&self.service);
        let mut state = service.state();
        if state.quota == Some(0) {
            state.tally.refused += 1;
            return (Admission::Exhausted, Duration::ZERO);
        }
        let first = *state.first.get_or_insert_with(Instant::now);
        match state.server.admit(first.elapsed().as_secs_f64() * service.scale) {
            Verdict::Admitted => {
                state.tally.ok += 1;
                state.quota = state.quota.map(|left| left - 1);
                self.in_service = true;
                (Admission::Served, service.scaled(state.server.service_time()))
            }
            Verdict::Rejected(hint) => {
                state.tally.throttled += 1;
                state.tally.throttled_retries += u64::from(self.retry);
                let hint = hint.map(|hint| service.scaled(hint.as_secs_f64()));
                (Admission::Throttled(hint), Duration::ZERO)
            }
        }
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.in_service) {
            self.service.state().server.leave();
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.leave();
        self.service.state().tally.in_flight -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn counters_are_exact_and_a_client_that_leaves_frees_its_place() {
        let service = Service::new(ServerId::C1, 1, 10.0, None);
        let visits: Vec<_> = (0..10).map(|paper| tokio::spawn(service.visit(&paper).serve())).collect();
        sleep(Duration::from_millis(15)).await;
        let tally = service.tally();
        assert_eq!((tally.requests, tally.ok, tally.throttled), (10, 8, 2));
        assert_eq!(
            (tally.in_flight, tally.max_in_flight, tally.retries),
            (8, 10, 0),
            "the rejected have left"
        );
        for visit in &visits {
            visit.abort();
        }
        for visit in visits {
            drop(visit.await);
        }
        assert_eq!(service.tally().in_flight, 0);
        // All eight places are free again; paper 0 comes for the second time.
        assert!(matches!(service.visit(&0).serve().await, Admission::Served));
        let tally = service.tally();
        assert_eq!((tally.requests, tally.ok, tally.retries, tally.throttled_retries), (11, 9, 1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn delays_and_hints_are_divided_by_the_scale() {
        let service = Service::new(ServerId::D2, 1, 60.0, None);
        for paper in 0..70 {
            tokio::spawn(service.visit(&paper).serve());
        }
        sleep(Duration::from_millis(10)).await;
        let before = Instant::now();
        let Admission::Throttled(hint) = service.visit(&70).serve().await else { panic!("the box is shut") };
        assert_eq!(hint, Some(Duration::from_secs(1)), "60 s in the model");
        assert!(before.elapsed() < Duration::from_millis(10), "two ways of at most 45 ms, divided by 60");
        let Admission::Throttled(_) = service.visit(&70).serve().await else { panic!("the box is shut") };
        assert_eq!(service.tally().throttled_retries, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_quota_covers_exactly_its_number_of_admitted_requests() {
        let service = Service::new(ServerId::C1, 1, 10.0, Some(9));
        let visits: Vec<_> = (0..10).map(|paper| tokio::spawn(service.visit(&paper).serve())).collect();
        for visit in visits {
            assert!(!matches!(visit.await.unwrap(), Admission::Exhausted), "a rejection uses nothing up");
        }
        assert!(matches!(service.visit(&8).serve().await, Admission::Served));
        assert!(matches!(service.visit(&9).serve().await, Admission::Exhausted));
        let tally = service.tally();
        assert_eq!((tally.requests, tally.ok, tally.throttled, tally.refused), (12, 9, 2, 1));
    }
}
