//! One server at work.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};

use crate::model::{Model, Rule, SIGMA};
use crate::named::ServerId;
use crate::rules::Wait;

/// What a server says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In service until [`Server::leave`].
    Admitted,
    /// 429, with whole seconds to wait if this server sends them.
    Rejected(Option<Duration>),
}

/// One server: its rule, its latency, and what is in service now.
#[derive(Debug)]
pub struct Server {
    rule: Rule,
    hints: bool,
    in_service: usize,
    service: LogNormal<f64>,
    rng: StdRng,
}

impl Server {
    /// A fresh server; time starts at zero with its first request.
    #[must_use]
    pub fn new(model: &Model, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let rule = model.rule.clone().seeded(&mut rng);
        // Finite by construction: the median is positive, sigma a constant.
        let service = LogNormal::new(model.median.ln(), SIGMA).unwrap_or_else(|_| unreachable!());
        Self { rule, hints: model.hints, in_service: 0, service, rng }
    }

    /// A fresh server of a model that has a name.
    #[must_use]
    pub fn named(id: ServerId, seed: u64) -> Self {
        Self::new(&Model::named(id), seed)
    }

    /// Decides on a request that arrives at `now` (seconds). An admitted one is in service from here on.
    pub fn admit(&mut self, now: f64) -> Verdict {
        match self.rule.take(now, self.in_service) {
            Ok(()) => {
                self.in_service += 1;
                Verdict::Admitted
            }
            Err(wait) if self.hints => Verdict::Rejected(Some(whole_seconds(wait))),
            Err(_) => Verdict::Rejected(None),
        }
    }

    /// How long a request that came at `now` would have to wait to be admitted; zero if it would be at once. Nothing
    /// comes of asking. For a cap the answer is a guess.
    pub(crate) fn wait(&mut self, now: f64) -> Wait {
        self.rule.wait(now, self.in_service)
    }

    /// An admitted request leaves the service.
    pub const fn leave(&mut self) {
        self.in_service = self.in_service.saturating_sub(1);
    }

    /// How long the next request stays in service, in seconds: lognormal around the median.
    pub fn service_time(&mut self) -> f64 {
        self.service.sample(&mut self.rng)
    }

    /// How long one way through the network takes, in seconds: 15 to 45 ms.
    pub fn travel_time(&mut self) -> f64 {
        self.rng.random_range(0.015..0.045)
    }
}

/// Retry-After counts whole seconds, and never says "now".
fn whole_seconds(wait: Wait) -> Duration {
    // Less a rounding error: a wait of 60 s must not become 61.
    Duration::try_from_secs_f64((wait - 1e-6).ceil().max(1.0)).unwrap_or(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Verdict {
        Verdict::Rejected(Some(Duration::from_secs(n)))
    }

    /// Sends `count` requests at `now` and leaves them in service.
    fn admitted(server: &mut Server, now: f64, count: usize) -> usize {
        (0..count).filter(|_| server.admit(now) == Verdict::Admitted).count()
    }

    #[test]
    fn hints_are_whole_seconds_and_only_where_the_server_sends_them() {
        let mut a1 = Server::named(ServerId::A1, 1);
        assert_eq!(admitted(&mut a1, 0.0, 61), 60);
        assert_eq!(a1.admit(0.0), seconds(1));
        let mut a2 = Server::named(ServerId::A2, 1);
        assert_eq!(admitted(&mut a2, 0.0, 61), 60);
        assert_eq!(a2.admit(0.0), Verdict::Rejected(None));
        let mut d2 = Server::named(ServerId::D2, 1);
        assert_eq!(admitted(&mut d2, 0.0, 60), 60);
        assert_eq!(d2.admit(0.0), seconds(60));
        assert_eq!(d2.admit(30.5), seconds(60), "extended by the request itself");
    }

    #[test]
    fn a_window_hint_points_to_its_border_and_the_phase_comes_from_the_seed() {
        let hint = |seed| {
            let mut b1 = Server::named(ServerId::B1, seed);
            assert_eq!(admitted(&mut b1, 0.0, 120), 120);
            let Verdict::Rejected(Some(hint)) = b1.admit(0.0) else { panic!("b1 sends hints") };
            assert_eq!(b1.admit(hint.as_secs_f64()), Verdict::Admitted, "the hint is long enough");
            hint
        };
        assert_eq!(hint(1), hint(1));
        assert!((2..20).any(|seed| hint(seed) != hint(1)));
    }

    #[test]
    fn a_cap_frees_a_place_when_a_request_leaves() {
        let mut c1 = Server::named(ServerId::C1, 1);
        assert_eq!(admitted(&mut c1, 0.0, 40), 8);
        c1.leave();
        assert_eq!(admitted(&mut c1, 1.0, 40), 1);
        assert_eq!(admitted(&mut c1, 30.0, 40), 24, "32 from 30 s on");
        for _ in 0..21 {
            c1.leave();
        }
        assert_eq!(admitted(&mut c1, 38.0, 40), 1, "11 in service, 12 allowed");
    }

    #[test]
    fn the_onset_server_is_free_at_first_and_then_starts_with_a_full_bucket() {
        let mut e2 = Server::named(ServerId::E2, 1);
        assert_eq!(admitted(&mut e2, 7.9, 500), 500);
        assert_eq!(admitted(&mut e2, 8.0, 500), 20);
    }

    #[test]
    fn the_mixed_server_spends_no_token_on_a_request_that_finds_no_place() {
        let mut g = Server::named(ServerId::G, 1);
        assert_eq!(admitted(&mut g, 0.0, 500), 6);
        for _ in 0..6 {
            g.leave();
        }
        assert_eq!(admitted(&mut g, 0.0, 500), 6, "24 of 30 tokens were left");
    }

    #[test]
    fn every_server_admits_the_first_request_and_is_the_same_for_the_same_seed() {
        for id in ServerId::ALL {
            let run = |seed| {
                let mut server = Server::named(id, seed);
                let verdicts: Vec<_> = (0..300u32).map(|i| server.admit(f64::from(i) / 10.0)).collect();
                (verdicts, server.service_time(), server.travel_time())
            };
            let (verdicts, service, travel) = run(7);
            assert_eq!(verdicts[0], Verdict::Admitted, "{id:?}");
            assert_eq!((verdicts, service, travel), run(7), "{id:?}");
        }
    }

    #[test]
    fn latencies_have_the_median_and_spread_that_the_table_says() {
        for (id, median) in [(ServerId::A1, 0.5), (ServerId::C2, 3.0)] {
            let mut server = Server::named(id, 3);
            let mut times: Vec<f64> = (0..4001).map(|_| server.service_time()).collect();
            times.sort_by(f64::total_cmp);
            assert!((times[2000] / median - 1.0).abs() < 0.03, "{id:?}: {}", times[2000]);
            // One sigma up is the 84th percentile.
            assert!((times[3366] / times[2000] - 0.35_f64.exp()).abs() < 0.06, "{id:?}: {}", times[3366]);
            let travel = server.travel_time();
            assert!((0.015..0.045).contains(&travel));
        }
    }
}
