//! The sixteen servers that have a name.

use std::fmt;

use crate::model::{Model, Rule};
use crate::rules::{Bucket, Penalty, Sliding, Steps, Window};

/// Which server to behave like. Rates per second, bursts in requests; "hints" means that a rejection says how long
/// to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum ServerId {
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
    /// All of them, in the order of their names.
    pub const ALL: [Self; 16] = [
        Self::A1,
        Self::A2,
        Self::A3,
        Self::A4,
        Self::B1,
        Self::B2,
        Self::C1,
        Self::C2,
        Self::D1,
        Self::D2,
        Self::D3,
        Self::D4,
        Self::E1,
        Self::E2,
        Self::F,
        Self::G,
    ];

    /// Seconds that a client who knows the server takes for 1000 requests with 32 in flight: the figures that results
    /// are compared with. [`Model::ideal`] comes to the same within two in a hundred.
    #[must_use]
    pub const fn ideal_for_1000(self) -> u32 {
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

    fn rule(self) -> Rule {
        let two = || Bucket::new(60.0, &[(0.0, 2.0)]);
        match self {
            Self::A1 | Self::A2 => Rule::Bucket(two()),
            Self::A3 => Rule::Bucket(Bucket::new(10.0, &[(0.0, 8.0)])),
            Self::A4 => Rule::Bucket(Bucket::new(2.0, &[(0.0, 1.0)])),
            Self::B1 | Self::B2 => Rule::Window(Window::new(60.0, 120, 0.0)),
            Self::C1 => Rule::Cap(Steps(vec![(0.0, 8), (30.0, 32), (38.0, 12)])),
            Self::C2 => Rule::Cap(Steps(vec![(0.0, 8), (150.0, 32), (190.0, 12)])),
            Self::D1 | Self::D2 => Rule::Penalty(Penalty::new(two(), 60.0, true)),
            Self::D3 => Rule::Penalty(Penalty::new(Bucket::new(20.0, &[(0.0, 4.0)]), 30.0, true)),
            Self::D4 => Rule::Penalty(Penalty::new(two(), 60.0, false)),
            Self::E1 => Rule::Bucket(Bucket::new(10.0, &[(0.0, 4.0), (60.0, 1.0), (180.0, 6.0)])),
            Self::E2 => Rule::Onset(8.0, Bucket::new(20.0, &[(0.0, 2.0)])),
            Self::F => Rule::Sliding(Sliding::new(60.0, 120)),
            Self::G => Rule::Mixed(Steps(vec![(0.0, 6)]), Bucket::new(30.0, &[(0.0, 8.0)])),
        }
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Model {
    /// The server with this name.
    #[must_use]
    pub fn named(id: ServerId) -> Self {
        let hints = matches!(id, ServerId::A1 | ServerId::B1 | ServerId::D2);
        let median = if id == ServerId::C2 { 3.0 } else { 0.5 };
        Self { rule: id.rule(), hints, median }
    }
}
