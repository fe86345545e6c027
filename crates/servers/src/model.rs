//! What a server is, apart from any run.

use std::fmt;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::rules::{Bucket, Penalty, Sliding, Steps, Wait, Window, verdict};

/// What a server is: the rule by which it admits, how long its answers take, whether a rejection carries a hint.
///
/// Its `Display` is a short description, such as `bucket 2/s, burst 60, hints`.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) rule: Rule,
    pub(crate) hints: bool,
    /// Median of the time in service, in seconds.
    pub(crate) median: f64,
}

/// What the documentation of a server says, for clients that have to be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Requests per second, in the long run.
    pub rate: f64,
    /// Requests that may come at once, before the rate holds.
    pub burst: f64,
}

/// The sigma of the lognormal time in service.
pub(crate) const SIGMA: f64 = 0.35;

impl Model {
    /// Whether its rejections say how long to wait.
    #[must_use]
    pub const fn hints(&self) -> bool {
        self.hints
    }

    /// What a client knows who reads the documentation: the rate, as it is at the start.
    ///
    /// A window of `cap` requests has that rate and no burst: a client does not know where the borders are. A mere cap
    /// on concurrency has no rate; what it amounts to is the cap over the mean latency, without a burst either.
    #[must_use]
    pub fn published(&self) -> Published {
        let even = |rate| Published { rate, burst: 1.0 };
        match &self.rule {
            Rule::Bucket(bucket) | Rule::Onset(_, bucket) => bucket.published(),
            Rule::Penalty(penalty) => penalty.bucket.published(),
            Rule::Window(window) => even(f64::from(window.cap) / window.length),
            Rule::Sliding(sliding) => even(count(sliding.cap) / sliding.length),
            Rule::Cap(steps) => even(self.throughput(steps)),
            Rule::Mixed(steps, bucket) => {
                let bucket = bucket.published();
                let capacity = self.throughput(steps);
                if capacity < bucket.rate { even(capacity) } else { bucket }
            }
        }
    }

    fn throughput(&self, steps: &Steps) -> f64 {
        let mean = self.median * (SIGMA * SIGMA / 2.0).exp();
        count(steps.0[0].1) / mean
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule)?;
        if (self.median - 0.5).abs() > 1e-9 {
            write!(f, ", {:.1} s", self.median)?;
        }
        if self.hints { f.write_str(", hints") } else { Ok(()) }
    }
}

/// A small count as a float.
pub(crate) fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}

impl Bucket {
    fn published(&self) -> Published {
        Published { rate: self.rates[0].1, burst: self.burst }
    }
}

/// How a server decides. As part of a [`Model`] it is fresh: nothing was asked of it yet.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Bucket(Bucket),
    /// Its phase is drawn for each server.
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
    /// What is random about a server of this rule.
    pub(crate) fn seeded(mut self, rng: &mut StdRng) -> Self {
        if let Self::Window(window) = &mut self {
            window.phase = rng.random_range(0.0..window.length);
        }
        self
    }

    pub(crate) fn take(&mut self, now: f64, in_service: usize) -> Result<(), Wait> {
        match self {
            Self::Bucket(bucket) => bucket.take(now),
            Self::Window(window) => window.take(now),
            Self::Cap(steps) => verdict(steps.wait(now, in_service)),
            Self::Penalty(penalty) => penalty.take(now),
            Self::Sliding(sliding) => sliding.take(now),
            Self::Onset(from, _) if now < *from => Ok(()),
            Self::Onset(_, bucket) => bucket.take(now),
            Self::Mixed(steps, bucket) => {
                verdict(steps.wait(now, in_service)).and_then(|()| bucket.take(now))
            }
        }
    }

    /// What a request that came now would have to wait; asking costs nothing.
    pub(crate) fn wait(&mut self, now: f64, in_service: usize) -> Wait {
        match self {
            Self::Bucket(bucket) => bucket.wait(now),
            Self::Window(window) => window.wait(now),
            Self::Cap(steps) => steps.wait(now, in_service),
            Self::Penalty(penalty) => penalty.wait(now),
            Self::Sliding(sliding) => sliding.wait(now),
            Self::Onset(from, _) if now < *from => 0.0,
            Self::Onset(_, bucket) => bucket.wait(now),
            Self::Mixed(steps, bucket) => steps.wait(now, in_service).max(bucket.wait(now)),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket(bucket) => write!(f, "bucket {bucket}"),
            Self::Window(Window { length, cap, .. }) => write!(f, "window {cap} per {length} s"),
            Self::Cap(steps) => write!(f, "cap {steps}"),
            Self::Penalty(Penalty { bucket, length, extends, .. }) => {
                let kind = if *extends { "extended" } else { "fixed" };
                write!(f, "penalty {length} s {kind}, {bucket}")
            }
            Self::Sliding(Sliding { length, cap, .. }) => write!(f, "sliding {cap} per {length} s"),
            Self::Onset(from, bucket) => write!(f, "from {from} s: bucket {bucket}"),
            Self::Mixed(steps, bucket) => write!(f, "cap {steps}, bucket {bucket}"),
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        steps(f, &self.rates, "/s")?;
        write!(f, ", burst {}", self.burst)
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        steps(f, &self.0, "")
    }
}

/// Values with the times from which they hold: `8, 32 (30 s), 12 (38 s)`.
fn steps<T: fmt::Display>(f: &mut fmt::Formatter<'_>, steps: &[(f64, T)], unit: &str) -> fmt::Result {
    for (n, (from, value)) in steps.iter().enumerate() {
        if n == 0 {
            write!(f, "{value}{unit}")?;
        } else {
            write!(f, ", {value}{unit} ({from} s)")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerId;

    #[test]
    fn what_is_published_is_the_rate_that_a_client_can_rely_on() {
        let published = |id| {
            let Published { rate, burst } = Model::named(id).published();
            (rate, burst)
        };
        assert_eq!(published(ServerId::A3), (8.0, 10.0));
        assert_eq!(published(ServerId::B2), (2.0, 1.0), "the borders of a window are not known");
        assert_eq!(published(ServerId::F), (2.0, 1.0));
        assert_eq!(published(ServerId::D3), (4.0, 20.0));
        assert_eq!(published(ServerId::E1), (4.0, 10.0), "as it is at the start");
        assert_eq!(published(ServerId::G), (8.0, 30.0), "6 at once are 11 a second: the bucket is narrower");
        let (rate, burst) = published(ServerId::C2);
        assert!((rate - 8.0 / 3.19).abs() < 0.01 && burst < 1.5, "{rate}");
    }

    #[test]
    fn a_model_describes_itself() {
        let text = |id| Model::named(id).to_string();
        assert_eq!(text(ServerId::A1), "bucket 2/s, burst 60, hints");
        assert_eq!(text(ServerId::C2), "cap 8, 32 (150 s), 12 (190 s), 3.0 s");
        assert_eq!(text(ServerId::D3), "penalty 30 s extended, 4/s, burst 20");
        assert_eq!(text(ServerId::E1), "bucket 4/s, 1/s (60 s), 6/s (180 s), burst 10");
        assert_eq!(text(ServerId::E2), "from 8 s: bucket 2/s, burst 20");
    }
}
