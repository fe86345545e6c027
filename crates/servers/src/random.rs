//! Servers that nobody tuned anything for.

use rand::{Rng, RngExt};

use crate::model::{Model, Rule};
use crate::rules::{Bucket, Penalty, Sliding, Steps, Window};

impl Model {
    /// A server of any kind: bucket, drift, window, concurrency, penalty box, sliding window or mixed, each as likely
    /// as the others; every second one sends hints.
    ///
    /// The ranges surround those of the named servers: rates are 0.5 to 10 a second, which drift by a factor of up to
    /// six, bursts 2 to 100, windows 10 to 120 s, caps 4 to 32, penalties 10 to 90 s, and the median of the latency 0.25
    /// to 1 s. All are drawn evenly on a logarithmic scale.
    #[must_use]
    pub fn random(rng: &mut impl Rng) -> Self {
        let rule = match rng.random_range(0..7) {
            0 => Rule::Bucket(bucket(rng)),
            1 => Rule::Bucket(drifting(rng)),
            2 => window(rng),
            3 => Rule::Cap(cap(rng)),
            4 => Rule::Penalty(Penalty::new(bucket(rng), whole(rng, 10.0, 90.0), rng.random())),
            5 => sliding(rng),
            _ => Rule::Mixed(Steps(vec![(0.0, places(rng))]), bucket(rng)),
        };
        Self { rule, hints: rng.random(), median: hundredths(rng, 0.25, 1.0) }
    }
}

fn logarithmic(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    rng.random_range(low.ln()..=high.ln()).exp().clamp(low, high)
}

/// A number that reads well.
fn tenths(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    (logarithmic(rng, low, high) * 10.0).round() / 10.0
}

fn hundredths(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    (logarithmic(rng, low, high) * 100.0).round() / 100.0
}

fn whole(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    logarithmic(rng, low, high).round()
}

fn rate(rng: &mut impl Rng) -> f64 {
    tenths(rng, 0.5, 10.0)
}

fn bucket(rng: &mut impl Rng) -> Bucket {
    let rate = rate(rng);
    Bucket::new(whole(rng, 2.0, 100.0), &[(0.0, rate)])
}

/// Three rates, each of which holds for half a minute to three.
fn drifting(rng: &mut impl Rng) -> Bucket {
    let first = whole(rng, 30.0, 180.0);
    let second = first + whole(rng, 30.0, 180.0);
    let start = rate(rng);
    let drifted =
        |rng: &mut _| (start * logarithmic(rng, 1.0 / 6.0, 6.0) * 10.0).round().clamp(5.0, 100.0) / 10.0;
    let rates = [(0.0, start), (first, drifted(rng)), (second, drifted(rng))];
    Bucket::new(whole(rng, 2.0, 100.0), &rates)
}

fn window(rng: &mut impl Rng) -> Rule {
    let (length, cap) = per_window(rng);
    Rule::Window(Window::new(length, cap, 0.0))
}

fn sliding(rng: &mut impl Rng) -> Rule {
    let (length, cap) = per_window(rng);
    Rule::Sliding(Sliding::new(length, usize::try_from(cap).unwrap_or(usize::MAX)))
}

/// A length, and how many requests it holds at some rate.
fn per_window(rng: &mut impl Rng) -> (f64, u32) {
    let length = whole(rng, 10.0, 120.0);
    (length, integer(rate(rng) * length).max(1))
}

/// Constant, or with two steps like the named ones.
fn cap(rng: &mut impl Rng) -> Steps {
    if rng.random() {
        return Steps(vec![(0.0, places(rng))]);
    }
    let first = whole(rng, 20.0, 150.0);
    let second = first + whole(rng, 8.0, 60.0);
    Steps(vec![(0.0, places(rng)), (first, places(rng)), (second, places(rng))])
}

fn places(rng: &mut impl Rng) -> usize {
    usize::try_from(integer(logarithmic(rng, 4.0, 32.0))).unwrap_or(usize::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and rates are not negative"
)]
fn integer(x: f64) -> u32 {
    x.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn random_servers_are_of_every_kind_and_the_same_for_the_same_seed() {
        let draw = |seed| {
            let mut rng = StdRng::seed_from_u64(seed);
            (0..200).map(|_| Model::random(&mut rng).to_string()).collect::<Vec<_>>()
        };
        let models = draw(1);
        assert_eq!(models, draw(1));
        assert_ne!(models, draw(2));
        let count = |what: &str| models.iter().filter(|model| model.contains(what)).count();
        for kind in ["bucket", "/s (", "window", "cap", "penalty", "sliding", "cap", "extended", "fixed"] {
            assert!(count(kind) >= 5, "{kind}: {}", count(kind));
        }
        assert!((70..=130).contains(&count("hints")));
    }

    #[test]
    fn every_random_server_can_be_done() {
        let mut rng = StdRng::seed_from_u64(3);
        for _ in 0..200 {
            let model = Model::random(&mut rng);
            let ideal = model.ideal(1000, 32, 1);
            assert!((1.0..2100.0).contains(&ideal), "{model}: {ideal}");
        }
    }
}
