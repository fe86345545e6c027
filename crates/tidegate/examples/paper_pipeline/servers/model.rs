//! The servers that the example can rate-limit like: sixteen models of admission, latency and hints.
//!
//! Pure logic: no clock, no I/O, and every draw comes from a seeded generator, so a server with the same seed that
//! sees the same requests at the same times answers the same.

use std::time::Duration;

use clap::ValueEnum;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};

use super::rules::{Bucket, Penalty, Sliding, Steps, Wait, Window};

/// Which server to behave like. Rates per second, bursts in requests; "hints" means that a rejection says how long
/// to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerId {
    /// Token bucket, 2/s, burst 60, with hints
    A1,
    /// Token bucket, 2/s, burst 60, no hints
    A2,
    /// Token bucket, 8/s, burst 10, no hints
    A3,
    /// Token bucket, 1/s, burst 2, no hints
    A4,
    /// Fixed window, 120 per 60 s, with hints
    B1,
    /// Fixed window, 120 per 60 s, no hints
    B2,
    /// Concurrency cap 8, then 32 from 30 s, then 12 from 38 s
    C1,
    /// Concurrency cap 8, then 32 from 150 s, then 12 from 190 s; answers take 3 s
    C2,
    /// Penalty box: over 2/s (burst 60), 60 s of rejections, and every request extends it; no hints
    D1,
    /// Penalty box as d1, with hints
    D2,
    /// Penalty box: over 4/s (burst 20), 30 s of rejections, extended by every request
    D3,
    /// Penalty box: over 2/s (burst 60), a fixed 60 s of rejections
    D4,
    /// Token bucket that drifts: 4/s, 1/s from 60 s, 6/s from 180 s; burst 10
    E1,
    /// Unlimited for 8 s, then a token bucket of 2/s, burst 20
    E2,
    /// Sliding window, 120 per 60 s, which counts rejected requests too
    F,
    /// Concurrency cap 6 and a token bucket of 8/s, burst 30
    G,
}

impl ServerId {
    /// Seconds that a client who knows the server takes for 1000 papers with 32 in flight.
    pub(crate) const fn ideal_for_1000(self) -> u32 {
        match self {
            Self::A1 | Self::A2 | Self::D1 | Self::D2 | Self::D4 => 471,
            Self::A3 => 124,
            Self::A4 => 999,
            Self::B1 | Self::B2 => 448,
            Self::C1 => 43,
            Self::C2 => 252,
            Self::D3 => 246,
            Self::E1 => 286,
            Self::E2 => 274,
            Self::F => 481,
            Self::G => 122,
        }
    }

    /// Whether its rejections say how long to wait.
    const fn hints(self) -> bool {
        matches!(self, Self::A1 | Self::B1 | Self::D2)
    }

    /// Median of the time in service, in seconds.
    const fn median(self) -> f64 {
        if matches!(self, Self::C2) { 3.0 } else { 0.5 }
    }

    fn rule(self, rng: &mut StdRng) -> Rule {
        const TWO: &[(f64, f64)] = &[(0.0, 2.0)];
        match self {
            Self::A1 | Self::A2 => Rule::Bucket(Bucket::new(60.0, TWO)),
            Self::A3 => Rule::Bucket(Bucket::new(10.0, &[(0.0, 8.0)])),
            Self::A4 => Rule::Bucket(Bucket::new(2.0, &[(0.0, 1.0)])),
            Self::B1 | Self::B2 => Rule::Window(Window::new(60.0, 120, rng.random_range(0.0..60.0))),
            Self::C1 => Rule::Cap(Steps(&[(0.0, 8), (30.0, 32), (38.0, 12)])),
            Self::C2 => Rule::Cap(Steps(&[(0.0, 8), (150.0, 32), (190.0, 12)])),
            Self::D1 | Self::D2 => Rule::Penalty(Penalty::new(Bucket::new(60.0, TWO), 60.0, true)),
            Self::D3 => Rule::Penalty(Penalty::new(Bucket::new(20.0, &[(0.0, 4.0)]), 30.0, true)),
            Self::D4 => Rule::Penalty(Penalty::new(Bucket::new(60.0, TWO), 60.0, false)),
            Self::E1 => Rule::Bucket(Bucket::new(10.0, &[(0.0, 4.0), (60.0, 1.0), (180.0, 6.0)])),
            Self::E2 => Rule::Onset(8.0, Bucket::new(20.0, TWO)),
            Self::F => Rule::Sliding(Sliding::new(60.0, 120)),
            Self::G => Rule::Mixed(Steps(&[(0.0, 6)]), Bucket::new(30.0, &[(0.0, 8.0)])),
        }
    }
}

#[derive(Debug)]
enum Rule {
    Bucket(Bucket),
    Window(Window),
    Cap(Steps),
    Penalty(Penalty),
    Sliding(Sliding),
    /// Everything is admitted before the onset; then the bucket, full, decides.
    Onset(f64, Bucket),
    /// Both must admit; a request that finds no place takes no token.
    Mixed(Steps, Bucket),
}

impl Rule {
    fn take(&mut self, now: f64, in_service: usize) -> Result<(), Wait> {
        match self {
            Self::Bucket(bucket) => bucket.take(now),
            Self::Window(window) => window.take(now),
            Self::Cap(steps) => steps.take(now, in_service),
            Self::Penalty(penalty) => penalty.take(now),
            Self::Sliding(sliding) => sliding.take(now),
            Self::Onset(from, _) if now < *from => Ok(()),
            Self::Onset(_, bucket) => bucket.take(now),
            Self::Mixed(steps, bucket) => steps.take(now, in_service).and_then(|()| bucket.take(now)),
        }
    }
}

/// What a server says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// In service until [`Server::leave`].
    Admitted,
    /// 429, with whole seconds to wait if this server sends them.
    Rejected(Option<Duration>),
}

/// One server: its rule, its latency, and what is in service now.
#[derive(Debug)]
pub(crate) struct Server {
    rule: Rule,
    hints: bool,
    in_service: usize,
    service: LogNormal<f64>,
    rng: StdRng,
}

impl Server {
    /// A fresh server; time starts at zero with its first request.
    pub(crate) fn new(id: ServerId, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let rule = id.rule(&mut rng);
        // Finite by construction: the median is positive, sigma a constant.
        let service = LogNormal::new(id.median().ln(), 0.35).unwrap_or_else(|_| unreachable!());
        Self { rule, hints: id.hints(), in_service: 0, service, rng }
    }

    /// Decides on a request that arrives at `now` (seconds). An admitted one is in service from here on.
    pub(crate) fn admit(&mut self, now: f64) -> Verdict {
        match self.rule.take(now, self.in_service) {
            Ok(()) => {
                self.in_service += 1;
                Verdict::Admitted
            }
            Err(wait) if self.hints => Verdict::Rejected(Some(whole_seconds(wait))),
            Err(_) => Verdict::Rejected(None),
        }
    }

    /// An admitted request leaves the service.
    pub(crate) const fn leave(&mut self) {
        self.in_service = self.in_service.saturating_sub(1);
    }

    /// How long the next request stays in service, in seconds: lognormal around the median.
    pub(crate) fn service_time(&mut self) -> f64 {
        self.service.sample(&mut self.rng)
    }

    /// How long one way through the network takes, in seconds: 15 to 45 ms.
    pub(crate) fn travel_time(&mut self) -> f64 {
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
        let mut a1 = Server::new(ServerId::A1, 1);
        assert_eq!(admitted(&mut a1, 0.0, 61), 60);
        assert_eq!(a1.admit(0.0), seconds(1));
        let mut a2 = Server::new(ServerId::A2, 1);
        assert_eq!(admitted(&mut a2, 0.0, 61), 60);
        assert_eq!(a2.admit(0.0), Verdict::Rejected(None));
        let mut d2 = Server::new(ServerId::D2, 1);
        assert_eq!(admitted(&mut d2, 0.0, 60), 60);
        assert_eq!(d2.admit(0.0), seconds(60));
        assert_eq!(d2.admit(30.5), seconds(60), "extended by the request itself");
    }

    #[test]
    fn a_window_hint_points_to_its_border_and_the_phase_comes_from_the_seed() {
        let hint = |seed| {
            let mut b1 = Server::new(ServerId::B1, seed);
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
        let mut c1 = Server::new(ServerId::C1, 1);
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
        let mut e2 = Server::new(ServerId::E2, 1);
        assert_eq!(admitted(&mut e2, 7.9, 500), 500);
        assert_eq!(admitted(&mut e2, 8.0, 500), 20);
    }

    #[test]
    fn the_mixed_server_spends_no_token_on_a_request_that_finds_no_place() {
        let mut g = Server::new(ServerId::G, 1);
        assert_eq!(admitted(&mut g, 0.0, 500), 6);
        for _ in 0..6 {
            g.leave();
        }
        assert_eq!(admitted(&mut g, 0.0, 500), 6, "24 of 30 tokens were left");
    }

    #[test]
    fn every_server_admits_the_first_request_and_is_the_same_for_the_same_seed() {
        for id in ServerId::value_variants() {
            let run = |seed| {
                let mut server = Server::new(*id, seed);
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
            let mut server = Server::new(id, 3);
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
