//! Services whose capacity is hidden: what a semaphore has to find.

use std::fmt;

use crate::model::{Model, Rule};
use crate::rules::{Bucket, Steps};

/// Which hidden capacity. No hints, and answers take half a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapacityId {
    /// 8 at once, then 32 from 30 s, then 12 from 38 s
    Steps,
    /// 32 at once
    Wide,
    /// 6 at once
    Narrow,
    /// 12 or 24 at once, changing every 20 s
    Flapping,
    /// 12 at once; a hundred requests one by one come before the others
    Burst,
    /// A token bucket of 6/s, burst 6
    Bucket,
    /// 3 at once
    Three,
}

/// How long one of the two capacities holds that flap, in seconds.
const FLAP: u32 = 20;
/// So often they change: for more than two hours.
const FLAPS: u32 = 400;

impl CapacityId {
    /// All of them, in the order in which reports show them.
    pub const ALL: [Self; 7] =
        [Self::Steps, Self::Wide, Self::Narrow, Self::Flapping, Self::Burst, Self::Bucket, Self::Three];

    /// How many requests come one by one before the others.
    #[must_use]
    pub const fn idle(self) -> usize {
        if matches!(self, Self::Burst) { 100 } else { 0 }
    }

    fn rule(self) -> Rule {
        let cap = |at_once| Rule::Cap(Steps(vec![(0.0, at_once)]));
        match self {
            Self::Steps => Rule::Cap(Steps(vec![(0.0, 8), (30.0, 32), (38.0, 12)])),
            Self::Wide => cap(32),
            Self::Narrow => cap(6),
            Self::Flapping => Rule::Cap(Steps(
                (0..FLAPS).map(|n| (f64::from(n * FLAP), if n % 2 == 0 { 12 } else { 24 })).collect(),
            )),
            Self::Burst => cap(12),
            Self::Bucket => Rule::Bucket(Bucket::new(6.0, &[(0.0, 6.0)])),
            Self::Three => cap(3),
        }
    }
}

impl fmt::Display for CapacityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "steps",
            Self::Wide => "wide",
            Self::Narrow => "narrow",
            Self::Flapping => "flapping",
            Self::Burst => "burst",
            Self::Bucket => "bucket",
            Self::Three => "three",
        })
    }
}

impl Model {
    /// The service with this hidden capacity.
    #[must_use]
    pub fn capacity(id: CapacityId) -> Self {
        Self { rule: id.rule(), hints: false, median: 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, Verdict};

    #[test]
    fn each_admits_as_many_at_once_as_its_name_says() {
        let at_once = |id, at| {
            let mut server = Server::new(&Model::capacity(id), 1);
            (0..100).take_while(|_| server.admit(at) == Verdict::Admitted).count()
        };
        let found = CapacityId::ALL.map(|id| (at_once(id, 0.0), at_once(id, 35.0), at_once(id, 45.0)));
        assert_eq!(
            found,
            [(8, 32, 12), (32, 32, 32), (6, 6, 6), (12, 24, 12), (12, 12, 12), (6, 6, 6), (3, 3, 3)]
        );
    }
}
